/*
 * Slices of threads in the Trace Event Format, of whatever program: whole ones (X), and beginnings
 * and ends (B, E) that are joined when all are there, as a file need not be in order of time.
 */
#ifndef AF_EXCHANGE_EVENTS_SPANS_H
#define AF_EXCHANGE_EVENTS_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct af_draft;

struct import_span {
	uint64_t ns, busy_ns; /* busy_ns: of a whole one */
	uint64_t order;       /* in the file */
	uint32_t thread, name;
	char phase; /* X, B, E */
};

struct import_spans {
	struct import_span *all;
	uint64_t nr, cap;
	bool ranges; /* private */
};

/* A zeroed one is empty. */
void import_spans_add(struct import_spans *s, const struct import_span *span);

/*
 * Make slices of them all, and forget them; with @ranges they are no frames, as samples are there.
 * An end closes the innermost slice of its name, of any where it has none; as Perfetto and
 * speedscope have it. What has no other half is counted.
 */
void import_spans_finish(struct import_spans *s, struct af_draft *d, bool ranges);

/* Free what @s holds. A zeroed struct is fine. */
void import_spans_free(struct import_spans *s);

#endif
