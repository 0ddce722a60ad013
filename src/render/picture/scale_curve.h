/* Draws the tables of analyse/scale: time and efficiency against the number of ranks. */
#ifndef AF_RENDER_PICTURE_SCALE_CURVE_H
#define AF_RENDER_PICTURE_SCALE_CURVE_H

#include <stdbool.h>

#include "analyse/table/table.h"
#include "base/buf.h"

/*
 * Append an SVG of the tables of af_scale_tables(): the wall time and the efficiency of each set,
 * and the time of a rank in what loses most, each beside its ideal. @weak: ideally times stay the
 * same, else they shrink as ranks grow.
 */
void af_scale_curve_svg(struct af_buf *b, const struct af_tables *f, bool weak);

#endif
