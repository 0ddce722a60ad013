#include "trace/read/merge.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trace/read/near.h"
#include "trace/read/near_memo.h"

#define NO_KEY (~(af_merge_key)0) /* after every event; also in the heap behind its last key */

static af_merge_key merge_key(uint64_t time_ns, uint32_t stream)
{
	return (af_merge_key)time_ns << 64 | stream;
}

/* Let @key sink from the root, which is free, to its place. */
static void heap_sink(struct af_trace *t, af_merge_key key)
{
	af_merge_key *heap = t->heap;
	uint32_t at = 0;

	for (uint32_t child; (child = 2 * at + 1) < t->nr_heap; at = child) {
		/* A branch would guess wrong half the time. Behind the last key is NO_KEY. */
		child += heap[child + 1] < heap[child];
		if (heap[child] > key)
			break;
		heap[at] = heap[child];
	}
	heap[at] = key;
}

static void heap_push(struct af_trace *t, af_merge_key key)
{
	af_merge_key *heap = t->heap;
	uint32_t at = t->nr_heap++;

	while (at && key < heap[(at - 1) / 2]) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = key;
}

/* The stream with the earliest event leaves the heap and becomes the one to hand out. */
static void merge_take_first(struct af_trace *t)
{
	if (!t->nr_heap) {
		t->now = NULL;
		return;
	}
	t->now = &t->cursors[(uint32_t)t->heap[0]];
	af_merge_key last = t->heap[--t->nr_heap];
	t->heap[t->nr_heap] = NO_KEY;
	if (t->nr_heap)
		heap_sink(t, last);
}

static void merge_begin_ns(struct af_trace *t)
{
	t->start_ns = UINT64_MAX;
	for (uint32_t i = 0; i < t->nr_streams; i++)
		if (t->cursors[i].start_ns < t->start_ns)
			t->start_ns = t->cursors[i].start_ns;
	if (t->start_ns == UINT64_MAX)
		t->start_ns = 0;
}

static uint64_t merge_moment(const struct af_trace *t, uint64_t since_ns, uint64_t beyond_ns)
{
	uint64_t most = UINT64_MAX - t->start_ns;

	return since_ns > most || beyond_ns > most - since_ns ? UINT64_MAX
	                                                      : t->start_ns + since_ns + beyond_ns;
}

void af_merge_near(struct af_trace *t, const struct af_near *near)
{
	uint64_t lead_ns = near->from_ns < AF_NEAR_LEAD_NS ? near->from_ns : AF_NEAR_LEAD_NS;

	merge_begin_ns(t);
	uint64_t since_ns = merge_moment(t, near->from_ns - lead_ns, 0);
	uint64_t until_ns =
	    near->to_ns ? merge_moment(t, near->to_ns, AF_NEAR_TAIL_NS) : UINT64_MAX;
	af_filter_far(&t->far, &t->filter);
	for (uint32_t i = 0; i < t->nr_streams; i++) {
		struct af_cursor *c = &t->cursors[i];
		c->memo = near->memo;
		c->memo_at = i ? c[-1].memo_at + af_near_memo_size(c[-1].size) : 0;
		af_cursor_near(c, &t->far, since_ns, until_ns);
	}
}

void af_merge_start(struct af_trace *t)
{
	merge_begin_ns(t);
	t->heap = af_xcalloc(t->nr_streams + 2, sizeof *t->heap);
	memset(t->heap, 0xff, (t->nr_streams + 2) * sizeof *t->heap);
	for (uint32_t i = 0; i < t->nr_streams; i++) {
		struct af_cursor *c = &t->cursors[i];
		if (af_cursor_next(c))
			heap_push(t, merge_key(c->time_ns, i));
	}
	merge_take_first(t);
}

/*
 * The stream in front goes on to its next event. Most often it stays in front, or is the only one
 * left.
 */
static inline void merge_advance(struct af_trace *t)
{
	struct af_cursor *c = t->now;

	if (!af_cursor_next(c)) {
		merge_take_first(t);
		return;
	}
	af_merge_key key = merge_key(c->time_ns, (uint32_t)(c - t->cursors));
	if (key > t->heap[0]) {
		t->now = &t->cursors[(uint32_t)t->heap[0]];
		heap_sink(t, key);
	}
}

bool af_trace_next(struct af_trace *t, struct af_event *ev)
{
	const struct af_cursor *c = t->now;

	if (!c)
		return false;
	*ev = (struct af_event){
	    .kind = c->kind,
	    .time_ns = c->time_ns,
	    .process = c->packet.process,
	    .pid = c->packet.pid,
	    .tid = c->tid,
	    .stream = (uint32_t)(c - t->cursors),
	    .payload = c->payload,
	    .payload_size = c->payload_size,
	};
	merge_advance(t);
	return true;
}

/* Does the event that @c stands at, whose header is @h, continue @run? */
static inline bool run_goes_on(const struct af_run *run, const struct af_cursor *c,
                               const struct af_event_header *h)
{
	return run->at + run->bytes == (const uint8_t *)h && run->tid == c->tid &&
	       h->time_ns == c->time_ns;
}

static struct af_run run_begin(const struct af_trace *t, const struct af_cursor *c,
                               const struct af_event_header *h)
{
	return (struct af_run){
	    .at = (const uint8_t *)h,
	    .process = c->packet.process,
	    .pid = c->packet.pid,
	    .tid = c->tid,
	    .stream = (uint32_t)(c - t->cursors),
	    .time_ns = h->time_ns == c->time_ns ? 0 : c->time_ns,
	};
}

uint32_t af_trace_next_runs(struct af_trace *t, struct af_run *runs, uint32_t most,
                            uint32_t most_events)
{
	struct af_run *run = NULL;
	uint32_t nr = 0;

	for (uint32_t n = 0; n < most_events && t->now; n++) {
		const struct af_cursor *c = t->now;
		const struct af_event_header *h = (const void *)c->payload;
		h--;
		if (!run || !run_goes_on(run, c, h)) {
			if (nr == most)
				return nr;
			run = &runs[nr++];
			*run = run_begin(t, c, h);
		}
		run->bytes += (uint32_t)sizeof *h + c->payload_size;
		merge_advance(t);
	}
	return nr;
}

int af_trace_open_memory(struct af_trace **t, const struct af_stream_bytes *streams, uint32_t nr,
                         uint64_t wanted)
{
	struct af_trace *trace = af_xcalloc(1, sizeof *trace);

	trace->dirfd = -1;
	trace->nr_streams = nr;
	trace->cursors = af_xcalloc(nr + 1, sizeof *trace->cursors);
	af_filter_init(&trace->filter, wanted, &trace->damage);
	for (uint32_t i = 0; i < nr; i++) {
		char name[16];
		snprintf(name, sizeof name, "%u", i);
		af_cursor_open(&trace->cursors[i], &trace->filter, streams[i].data, streams[i].size,
		               name);
	}
	af_merge_start(trace);
	*t = trace;
	return 0;
}

struct af_trace *af_trace_reopen(const struct af_trace *of, uint64_t wanted)
{
	struct af_trace *trace = af_xcalloc(1, sizeof *trace);

	trace->dirfd = -1;
	trace->nr_streams = of->nr_streams;
	trace->cursors = af_xcalloc(of->nr_streams + 1, sizeof *trace->cursors);
	af_filter_init(&trace->filter, wanted, &trace->damage);
	for (uint32_t i = 0; i < of->nr_streams; i++) {
		struct af_cursor *c = &trace->cursors[i];
		af_cursor_open(c, &trace->filter, of->files[i].data, of->files[i].size,
		               of->cursors[i].name);
		c->mapped = true;
	}
	return trace;
}

struct af_trace *af_trace_open_again(const struct af_trace *of, uint64_t wanted,
                                     const struct af_near *near)
{
	struct af_trace *trace = af_trace_reopen(of, wanted);

	if (near)
		af_merge_near(trace, near);
	af_merge_start(trace);
	return trace;
}
