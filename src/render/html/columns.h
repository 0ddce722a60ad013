/*
 * The slices of one track of report.html as columns of varints, which time.h describes. Where there
 * are too many slices for a page, those shorter than a step that begin within the same step of time
 * are merged, one for each name and stack: with their total length and weight, in the order in
 * which the first of each came, evenly over the time that they took with what lay between them.
 *
 *	{ html_columns_add | html_columns_count → html_columns_coarsen }* → html_columns_end
 *	→ html_columns_write → html_columns_free
 */
#ifndef AF_RENDER_HTML_COLUMNS_H
#define AF_RENDER_HTML_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/time/slices.h"
#include "base/buf.h"
#include "base/leb128.h"

struct html_slice {
	uint64_t start_ns; /* since the trace began */
	uint64_t length_ns, weight_ns;
	uint64_t count; /* samples, or the number of merged slices */
	uint64_t flow;  /* id plus 1 of its arrow, 0 for none */
	uint32_t what;  /* stands for its name and its stack: the caller's, from 0 on */
};

/* Its meaning, which is not needed before the end. */
struct html_what {
	uint32_t name; /* of the pack, sorted: its rank */
	uint32_t node; /* in preorder plus 1, 0 for none */
};

enum {
	COLUMN_START,
	COLUMN_LENGTH,
	COLUMN_NAME,
	COLUMN_NODE,
	COLUMN_WEIGHT,
	COLUMN_COUNT,
	COLUMN_FLOW,
	COLUMN_END
};

enum { HTML_STEP_NS = 1000, HTML_STEPS = 26 };

/* A column as pack.h has it: all first bytes of its varints, then all second ones, … */
struct html_column {
	struct af_buf planes[AF_LEB128_MAX];
};

/* Zeroed: empty. */
struct html_columns {
	uint64_t nr;    /* slices in the columns */
	uint64_t taken; /* that were added */
	uint32_t depth;

	/* private */
	struct html_column columns[COLUMN_END]; /* but those of names and nodes */
	uint32_t *whats;
	size_t cap_whats;
	uint64_t last_start_ns, last_flow;
	uint64_t ends_ns[AF_ROWS_DEPTH + 1]; /* ends of the slices around the latest one */
	uint32_t nr_ends;
	struct html_slice *window; /* of short ones, not in the columns yet */
	uint32_t nr_window, cap_window, epoch;
	uint64_t window_at, window_end_ns;
	uint64_t *in_window; /* by what: epoch and index in the window */
	uint32_t cap_in_window;
};

/* Add slices in order of their starts, the outer one first; @step_ns 0 merges none. */
void html_columns_add(struct html_columns *c, const struct html_slice *s, uint64_t step_ns);

/* Steps are of HTML_STEP_NS, and of 4 times as much at each level. */
static inline uint64_t html_step_ns(uint32_t level)
{
	return (uint64_t)HTML_STEP_NS << 2 * level;
}

/*
 * Add to @merged, by the lowest level that merges a slice into another or leaves it out, how many
 * there are. Some of them stay: those that a longer slice separates from the one before.
 */
void html_columns_count(struct html_columns *c, uint64_t merged[HTML_STEPS]);

/* Merge those shorter than @step_ns, which is larger than before. */
void html_columns_coarsen(struct html_columns *c, uint64_t step_ns);

/* No more slices come. */
void html_columns_end(struct html_columns *c);

/* Zeroed: at the first slice. */
struct html_columns_reader {
	uint64_t nr, start_ns, flow;
	size_t at[COLUMN_END][AF_LEB128_MAX];
};

/* The next slice of @c, to which none are added meanwhile; false at the end. */
bool html_columns_next(const struct html_columns *c, struct html_columns_reader *r,
                       struct html_slice *s);

/*
 * Append the blob: 0, or -ENOMEM. @whats has what the slices stand for. Where no slice is @named
 * other than its node, names need no column.
 */
int html_columns_write(const struct html_columns *c, const struct html_what *whats, bool named,
                       struct af_buf *out);

/* Free what @c holds. A zeroed struct is fine. */
void html_columns_free(struct html_columns *c);

/* Differences as varints: 0, -1, 1, -2, … are 0, 1, 2, 3, … */
static inline uint64_t html_zigzag(uint64_t value, uint64_t before)
{
	return value >= before ? (value - before) * 2 : (before - value) * 2 - 1;
}

#endif
