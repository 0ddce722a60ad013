/* Text in columns of a terminal: UTF-8, a code point a column, near enough. */
#ifndef AF_RENDER_TEXT_COLUMNS_H
#define AF_RENDER_TEXT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* How many @s takes. */
size_t af_columns_of(const char *s);

/* Where code point @n of @s begins. */
size_t af_columns_offset(const char *s, size_t n);

/*
 * @s made harmless for a terminal (af_buf_terminal), cut to @width by an ellipsis, and with @pad
 * filled to it by spaces.
 */
void af_columns_text(struct af_buf *b, const char *s, size_t width, bool pad);

/* The same for what is no text of others: numbers, to the right. */
void af_columns_right(struct af_buf *b, const char *s, size_t width);

/* Take the spaces before each end of line away, from byte @from of @b on. */
void af_columns_trim(struct af_buf *b, size_t from);

/*
 * @s in lines of at most @width, broken between words; all but the first begin with @indent spaces.
 * Ends with a newline.
 */
void af_columns_wrap(struct af_buf *b, const char *s, size_t used, size_t width, size_t indent);

#endif
