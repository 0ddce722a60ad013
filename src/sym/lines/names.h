/*
 * Resolves the names of line-table rows. ptxas wrote their offsets in .debug_str for one object;
 * nvlink concatenates the line programs and the strings of several objects and leaves the offsets
 * as they were. The start of an object's strings is then known only if every name is used.
 */
#ifndef AF_SYM_LINES_NAMES_H
#define AF_SYM_LINES_NAMES_H

#include "sym/lines/table.h"

/*
 * Turn the names of the rows of @t into offsets in @strings (SHT_NOBITS: there is none). @programs
 * are the @nr first rows of its line programs.
 */
void line_names_place(struct af_line_table *t, const struct af_elf *e, const Elf64_Shdr *strings,
                      const uint32_t *programs, uint32_t nr);

#endif
