/*
 * Names of functions, cut to fit without losing the function. viewer/names.js has the same rules
 * for pages and for the script of pictures; both are held to tests/unit/name_forms.txt.
 */
#ifndef AF_ANALYSE_NAMES_NAME_FORMS_H
#define AF_ANALYSE_NAMES_NAME_FORMS_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Append to @b, each with a NUL behind it, the texts that @name may be written as, each with fewer
 * characters than the one before: all of it, without arguments, with fewer namespaces, the function
 * alone. Returns how many there are: 1 for what is not the name of a function.
 */
size_t af_name_forms(struct af_buf *b, const char *name, size_t len);

/*
 * Append the longest of those texts that has at most @room characters; where the shortest has more,
 * its beginning and "…". Nothing for no room.
 */
void af_name_fit(struct af_buf *b, const char *name, size_t len, size_t room);

#endif
