/*
 * Spans of time, half open: a span contains its start and not its end. Two lists of them tell how
 * each instant of a third span was spent.
 *
 *	af_spans_tidy → { af_spans_has, af_spans_walk }*
 */
#ifndef AF_ANALYSE_JOIN_SPANS_H
#define AF_ANALYSE_JOIN_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct af_span {
	uint64_t start_ns, end_ns;
	uint32_t place, what; /* the caller's */
};

/*
 * Sort the spans and make them disjoint: where several overlap, the first to start keeps the time,
 * and among those the longest. Empty spans are dropped. Returns the number left. The first @tidy of
 * the @nr spans are so already: they cost nothing if all others come behind them.
 */
uint32_t af_spans_tidy(struct af_span *spans, uint32_t tidy, uint32_t nr);

/* The first of a tidy list that ends after @at_ns, or @nr. */
uint32_t af_spans_after(const struct af_span *spans, uint32_t nr, uint64_t at_ns);

/* The span of a tidy list that holds @at_ns, or NULL. */
const struct af_span *af_spans_has(const struct af_span *spans, uint32_t nr, uint64_t at_ns);

/*
 * The same, for a caller who reads lists from their begin to their end: *@near is a number that the
 * caller keeps for the list, 0 at first, from which the search begins.
 */
uint32_t af_spans_after_near(const struct af_span *spans, uint32_t nr, uint64_t at_ns,
                             uint32_t *near);
const struct af_span *af_spans_has_near(const struct af_span *spans, uint32_t nr, uint64_t at_ns,
                                        uint32_t *near);

/* Two tidy lists; time in both belongs to the first. */
struct af_spans {
	const struct af_span *first, *second;
	uint32_t nr_first, nr_second;
	uint32_t *near_first, *near_second; /* as above, or NULL */
};

/* @ns of the time belong to this span: of the first list, or else of the second. */
typedef void af_spans_take(void *arg, bool first, const struct af_span *span, uint64_t ns);

/* Share out [@from_ns, @to_ns); returns how much of it no span holds. */
uint64_t af_spans_walk(const struct af_spans *s, uint64_t from_ns, uint64_t to_ns,
                       af_spans_take *take, void *arg);

#endif
