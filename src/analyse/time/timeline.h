/*
 * A trace as slices: calls, functions and waits of threads, work of devices, the program's own
 * ranges, and memory and counters of devices and of the host, over time.
 *
 *	af_timeline_open → af_timeline_slices → af_timeline_run → af_timeline_close
 *
 * The trace is read twice: the names of addresses stand at its end, and slices are handed over as
 * the second reading finds them, so that memory does not grow with their number.
 */
#ifndef AF_ANALYSE_TIME_TIMELINE_H
#define AF_ANALYSE_TIME_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/time/slices.h"

struct af_query;
struct af_err;
struct af_timeline;

/* The parts of a timeline. T(NAME, word) */
#define AF_TIMELINE_PARTS(T)                                                                       \
	T(CALLS, "calls")       /* of device APIs, by thread */                                    \
	T(WORK, "work")         /* of devices, by queue */                                         \
	T(RANGES, "ranges")     /* NVTX */                                                         \
	T(RUN, "run")           /* CPU samples, joined where they found the same function */       \
	T(WAITS, "waits")       /* off the CPU */                                                  \
	T(MEMORY, "memory")     /* of devices */                                                   \
	T(COUNTERS, "counters") /* of devices and of the host */                                   \
	T(OVERHEAD, "overhead") /* of tracing */                                                   \
	T(LOST, "lost")

enum af_timeline_part {
#define AF_T(NAME, word) AF_TIMELINE_##NAME,
	AF_TIMELINE_PARTS(AF_T)
#undef AF_T
	    AF_TIMELINE_END
};

struct af_timeline_query {
	uint32_t parts; /* bits 1 << AF_TIMELINE_…; 0: all */
	/* Since the trace began: slices that reach into it; to 0: to its end */
	uint64_t from_ns, to_ns;
	bool cuts;             /* slices are cut to the range: within.h */
	uint64_t min_ns;       /* leave out shorter slices, but no instants */
	uint64_t limit;        /* most slices and points; 0: any number */
	uint64_t process, pid; /* only of these, UINT64_MAX: of any */
	uint32_t threads;      /* that may work on it; 0: af_threads_allowed() */
	/*
	 * Samples and works add up to the trees of this query, whose time range cuts all slices
	 * instead of the one above, and have nodes of those trees as stacks. Each sample is a
	 * slice, unless it continues the same stack. NULL: stacks are those of calls, and samples
	 * are joined by function.
	 */
	const struct af_query *trees;
};

typedef void af_timeline_progress(void *arg, uint64_t done, uint64_t size);

/* The first reading. *@t is the caller's to close, NULL after a failure. @progress may be NULL. */
int af_timeline_open(struct af_timeline **t, const char *dir, const struct af_timeline_query *query,
                     af_timeline_progress *progress, void *arg, struct af_err *err);

/* The meaning of the ids; valid, and growing, until the close. */
const struct af_slices *af_timeline_slices(const struct af_timeline *t);

/*
 * The second reading, once: hands all slices to @sink. Fails with the sink's error and no message,
 * or with a message when the trace cannot be opened any more.
 */
int af_timeline_run(struct af_timeline *t, const struct af_slices_sink *sink, struct af_err *err);

/* Free @t and the names it handed out. NULL is fine. */
void af_timeline_close(struct af_timeline *t);

#endif
