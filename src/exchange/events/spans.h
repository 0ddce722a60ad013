/*
 * Slices of threads in the Trace Event Format, of any program: whole ones (X), and beginnings and
 * ends (B, E), which are joined when all are there, because a file need not be in order of time.
 */
#ifndef AF_EXCHANGE_EVENTS_SPANS_H
#define AF_EXCHANGE_EVENTS_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct af_builder;

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
 * Turn all spans into slices, and forget them. With @ranges they are not frames, because there are
 * samples. An end closes the innermost slice of its name, or the innermost of any name when it has
 * none, as in Perfetto and speedscope. A half without the other is counted.
 */
void import_spans_finish(struct import_spans *s, struct af_builder *d, bool ranges);

/* Free what @s holds. A zeroed struct is fine. */
void import_spans_free(struct import_spans *s);

#endif
