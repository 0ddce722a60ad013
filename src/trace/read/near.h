/*
 * Reading only what lies near a time range of a large trace.
 *
 * Events stand in the order in which they were written: a piece of device work after its end, and
 * up to a flush later; its launch before it. So the range is read with some time before and behind
 * it. Farther away only definitions and what holds on (open ranges, memory in use) are handed over;
 * behind the range the streams of targets are not read at all. What is then missing in the range:
 * work that was launched earlier than the lead has no launch, and work that was reported later than
 * the tail is missing, with its launch counted as unfinished.
 */
#ifndef AF_TRACE_READ_NEAR_H
#define AF_TRACE_READ_NEAR_H

#include <stdint.h>

struct af_err;
struct af_trace;

/* How far around the range is read. Device records are handed over twice a second. */
#define AF_NEAR_LEAD_NS UINT64_C(1000000000)
#define AF_NEAR_TAIL_NS UINT64_C(1000000000)

/*
 * The packets of a trace that define nothing, as far as readers have found out: those far away are
 * then skipped by their headers. It lies in shared memory, so that what one process finds out the
 * next one knows. Good for one recording only.
 */
struct af_near_memo;

/* For a trace of so many bytes in so many streams; NULL: no memory. */
struct af_near_memo *af_near_memo_make(uint64_t bytes, uint32_t nr_streams);
void af_near_memo_free(struct af_near_memo *memo);

/* Since the trace began; to 0: its end. */
struct af_near {
	uint64_t from_ns, to_ns;
	struct af_near_memo *memo; /* or NULL */
};

/* af_trace_open(), of what is near @near only; NULL: of everything. */
int af_trace_open_near(struct af_trace **t, const char *dir, uint64_t wanted,
                       const struct af_near *near, struct af_err *err);

#endif
