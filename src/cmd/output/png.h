/* Pictures as PNG: an SVG that rsvg-convert (librsvg) turns into one, where it is installed. */
#ifndef AF_CMD_OUTPUT_PNG_H
#define AF_CMD_OUTPUT_PNG_H

#include <stdbool.h>

#include "cmd/output/atomic_write.h"

struct af_err;

/* Is @name that of a PNG: "x.png", or the format "png"? */
bool af_png_is(const char *name);

/*
 * Can a PNG be made for @name? -EINVAL with the way to have one, where rsvg-convert is not
 * installed.
 */
int af_png_check(const char *name, struct af_err *err);

/* Write to @fd the PNG of the SVG that @svg writes with @arg. 0, or -errno with a message. */
int af_png_write(int fd, af_atomic_write_all *svg, void *arg, struct af_err *err);

#endif
