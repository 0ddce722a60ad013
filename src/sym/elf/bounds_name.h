/*
 * The name of a function that has no symbol but known bounds: its file and its start there,
 * `liblzma.so.5!fn_1a30`. Only this file knows how such names are spelled.
 */
#ifndef AF_SYM_ELF_BOUNDS_NAME_H
#define AF_SYM_ELF_BOUNDS_NAME_H

#include <stddef.h>
#include <stdint.h>

struct af_buf;

/* Matches the end of such a name, in the regular expressions of `report` and of the page alike. */
#define AF_BOUNDS_NAME_PATTERN "!fn_[0-9a-f]+$"

/* Append the name of the function that starts at @start, an address in the file called @module. */
void af_bounds_name(struct af_buf *b, const char *module, uint64_t start);

/*
 * The number of bytes of the file's name at the start of @text, if @text is such a name; 0 for all
 * others.
 */
size_t af_bounds_name_module(const char *text, size_t len);

#endif
