/* The content of report_maker's pages; main() begins and ends them. */
#ifndef REPORT_MAKER_H
#define REPORT_MAKER_H

#include <stdint.h>

#include "render/render.h"

extern const struct af_format af_format_html;

/* report_known.c: a few stacks, tables and names, of which tests know all. */
void make_known(struct af_render *r, struct af_err *err);
void make_waits(struct af_render *r, struct af_err *err);
void make_hostile(struct af_render *r, struct af_err *err);
void make_chart(struct af_render *r, struct af_err *err);
void make_kernels(struct af_render *r, struct af_err *err);

/* report_compared.c: counts before and after, and two runs as `aflame diff` has them. */
void make_difference(struct af_render *r, struct af_err *err);
void make_compared(struct af_render *r, struct af_err *err);

/* report_sample.c: what a training step looks like, and trees of so many frames. */
void make_sample(struct af_render *r, struct af_err *err);
void make_cpu(struct af_render *r, uint32_t nr_nodes, struct af_err *err);
void make_gpu(struct af_render *r, uint32_t nr_nodes, struct af_err *err);

/* Tables that known and sample have: the strip and what was lost; where GPU time went. */
void report_run_tables(struct af_tables *f);
void report_top_tables(struct af_tables *f);

#endif
