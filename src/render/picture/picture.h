/* Pictures without a script: how an SVG begins, and its text. */
#ifndef AF_RENDER_PICTURE_PICTURE_H
#define AF_RENDER_PICTURE_PICTURE_H

#include <stdint.h>

#include "base/buf.h"

/* Begin a white picture of that size in pixels, with @title above at @x. "</svg>\n" ends it. */
void af_picture_begin(struct af_buf *b, uint32_t width, uint32_t height, uint32_t font, uint32_t x,
                      const char *title);

/* Append @text, escaped; @more: attributes, each after a blank, or "". */
void af_picture_text(struct af_buf *b, uint32_t x, uint32_t y, const char *more, const char *text);

#endif
