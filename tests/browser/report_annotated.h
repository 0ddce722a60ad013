/* Kernels in full, for report_maker. */
#ifndef AF_REPORT_ANNOTATED_H
#define AF_REPORT_ANNOTATED_H

#include "render/render.h"

int make_annotated(struct af_render *r, const struct af_format *format, struct af_err *err);

#endif
