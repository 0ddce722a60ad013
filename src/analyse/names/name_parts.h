/* Divides the name of a function: namespaces, classes, the function. For name_forms.c alone. */
#ifndef AF_ANALYSE_NAMES_NAME_PARTS_H
#define AF_ANALYSE_NAMES_NAME_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Where a part is in text[0] and text[1], without the separator before it. */
struct af_name_part {
	size_t at[2], end[2];
	char separator; /* '\0' before the first */
};

struct af_name_parts {
	struct af_buf text[2]; /* all parts: with marks of their arguments, without */
	struct af_name_part *parts;
	size_t nr;
	size_t cap;
};

/*
 * Divide @text at "::", with @dots at points and with @slashes at slashes; return type and
 * parameters are left out. False: it is not the name of a function. Close @n in both cases.
 */
bool af_name_parts_read(struct af_name_parts *n, const char *text, size_t len, bool dots,
                        bool slashes);

/* Free what @n holds. */
void af_name_parts_close(struct af_name_parts *n);

/* A letter, a digit or an underscore of ASCII. */
bool af_name_word(char c);

#endif
