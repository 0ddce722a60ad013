/*
 * The flat profile on standard output: samples, dropped ones, the rate, and the table of functions
 * or of lines.
 */
#ifndef AF_CMD_FLAT_FLAT_H
#define AF_CMD_FLAT_FLAT_H

#include "analyse/pass/pass.h"
#include "render/text/tables.h"

struct af_err;

enum { AF_FLAT_ROWS = 20 };

struct af_flat_options {
	bool json;
	bool lines;     /* lines in place of functions */
	uint32_t limit; /* rows; 0: all */
	const char *by; /* a word of by_track.h, or NULL */
	/* The weight, for af_flat_report(); NULL: time, or what there is instead of it */
	const char *weight;
	/* A text that stands before the sum of the weight, in place of the lines about samples */
	const char *head;
};

/* Add to @query what af_flat_print() prints: locations in trees, and losses. */
void af_flat_query(struct af_query *query, const char *by);

/*
 * Print @tree, finished and with locations, by @weight: it is the view @document->view of @results,
 * or a part of that. @warning (may be NULL) stands above the table.
 */
void af_flat_print(const struct af_results *results, const struct af_tree *tree, uint32_t weight,
                   const struct af_document *document, const char *warning,
                   const struct af_flat_options *options);

/*
 * Load the trace in @dir once, for the weight of the first of the @nr @reports, which has the
 * stacks of all, and print these with an empty line between them. -ENODATA where it has no CPU
 * samples, but not for reports with a head; @who is the command, for messages on standard error.
 */
int af_flat_report(const char *who, const char *dir, const struct af_flat_options *reports,
                   unsigned nr, struct af_err *err);

#endif
