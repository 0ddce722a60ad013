/*
 * Text in another encoding than UTF-8. Everything behind this works in UTF-8, and so does the
 * picture: its script, its search and its address need one encoding. Converted by iconv(3).
 */
#ifndef AF_RENDER_HTML_ENCODING_H
#define AF_RENDER_HTML_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct af_err;

/* Is there nothing to convert: UTF-8 by one of its names, or NULL? */
bool af_encoding_is_utf8(const char *encoding);

/*
 * Append @data, text in @encoding ("latin1", "UTF-16", any name iconv knows), to @out as UTF-8.
 * What is not a character there becomes U+FFFD. -EINVAL when there is no such encoding.
 */
int af_encoding_read(const char *encoding, const char *data, size_t size, struct af_buf *out,
                     struct af_err *err);

#endif
