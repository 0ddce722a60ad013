/*
 * Which names rows mean. Their offsets in .debug_str were written by ptxas for one object; nvlink,
 * which puts the line programs and the strings of several behind each other, leaves them as they
 * were. Where an object's strings begin is then known only if no name is without a use.
 */
#ifndef AF_SYM_LINES_NAMES_H
#define AF_SYM_LINES_NAMES_H

#include "sym/lines/table.h"

/*
 * Make the names of the rows of @t offsets in @strings (SHT_NOBITS: there is none). @programs are
 * the @nr first rows of its line programs.
 */
void line_names_place(struct af_line_table *t, const struct af_elf *e, const Elf64_Shdr *strings,
                      const uint32_t *programs, uint32_t nr);

#endif
