/*
 * The flat profile: samples, dropped ones, the rate, and the table of functions or of lines
 * (analyse/functions/flat.h).
 */
#ifndef AF_RENDER_FLAT_FLAT_H
#define AF_RENDER_FLAT_FLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"

struct af_buf;

struct af_flat_report {
	const struct af_results *results;
	const struct af_tree *all;  /* the whole view of @results that @tree is, or is a part of */
	const struct af_tree *tree; /* finished and with locations */
	uint32_t weight;
	const char *by;      /* a word of by_track.h, or NULL */
	bool lines;          /* lines in place of functions */
	uint32_t limit;      /* rows of the text; 0: all */
	const char *warning; /* above the table, or NULL */
	/* A text that stands before the sum of the weight, in place of the lines about samples */
	const char *head;
	const char *more; /* how to see rows that the limit leaves out; or NULL */
	bool colour;
};

/* Add the tables "sampling", "dropped" where there are any, and "flat" or "lines" to @f. */
void af_flat_tables(struct af_tables *f, const struct af_flat_report *report);

/* Append the report as text. */
void af_flat_text(struct af_buf *b, const struct af_flat_report *report);

#endif
