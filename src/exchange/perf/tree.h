/*
 * Reads perf script's text into a tree, without a trace, for a picture.
 */
#ifndef AF_EXCHANGE_PERF_TREE_H
#define AF_EXCHANGE_PERF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_tree;

struct af_perf_tree_options {
	const char *event; /* of several events the one to use, NULL: the first one seen */
	bool plain;        /* frames do not show their kinds: no _[k], _[i], _[j] */
	bool pid, tid;     /* COMM-PID or COMM-PID/TID at the root, not COMM */
	bool addresses;    /* of functions without a name */
	bool lines;        /* of perf script -F +srcline */
};

struct af_perf_tree_stats {
	uint64_t lines, bad_lines, first_bad, samples, other_samples;
	char event[128], other[128]; /* the event that is used, and the first one that is not */
};

/*
 * Add the stacks in @text to @t and finish it. Its first column counts periods (samples, where no
 * periods are printed) and is named after what they measure: time, or a count of the event.
 */
void af_perf_tree(struct af_tree *t, const char *text, size_t size,
                  const struct af_perf_tree_options *o, struct af_perf_tree_stats *stats);

#endif
