/*
 * Converts text in other encodings to UTF-8 by iconv(3). All later code works in UTF-8, and so does
 * the picture: its script, its search and its address need one encoding.
 */
#ifndef AF_RENDER_HTML_ENCODING_H
#define AF_RENDER_HTML_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct af_err;

/* Is the text UTF-8 already: is @encoding one of its names, or NULL? */
bool af_encoding_is_utf8(const char *encoding);

/*
 * Append @data, text in @encoding ("latin1", "UTF-16", any name that iconv knows), to @out as
 * UTF-8. Bytes that are not a character there become U+FFFD. -EINVAL when there is no such
 * encoding.
 */
int af_encoding_read(const char *encoding, const char *data, size_t size, struct af_buf *out,
                     struct af_err *err);

#endif
