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
 * The events of the stream that is in front, as long as it is, and @most at most. Most often the
 * same stream goes on, or is the only one left.
 */
static uint32_t merge_run(struct af_trace *t, struct af_event *evs, uint32_t most)
{
	struct af_cursor *c = t->now;
	const uint32_t stream = (uint32_t)(c - t->cursors);
	const af_merge_key other = t->heap[0];

	for (uint32_t nr = 0;;) {
		evs[nr++] = (struct af_event){
		    .kind = c->kind,
		    .time_ns = c->time_ns,
		    .process = c->packet.process,
		    .pid = c->packet.pid,
		    .tid = c->tid,
		    .stream = stream,
		    .payload = c->payload,
		    .payload_size = c->payload_size,
		};
		if (!af_cursor_next(c)) {
			merge_take_first(t);
			return nr;
		}
		af_merge_key key = merge_key(c->time_ns, stream);
		if (key > other) {
			t->now = &t->cursors[(uint32_t)other];
			heap_sink(t, key);
			return nr;
		}
		if (nr == most)
			return nr;
	}
}

uint32_t af_trace_next_some(struct af_trace *t, struct af_event *evs, uint32_t most)
{
	uint32_t nr = 0;

	while (nr < most && t->now)
		nr += merge_run(t, evs + nr, most - nr);
	return nr;
}

bool af_trace_next(struct af_trace *t, struct af_event *ev)
{
	return t->now && merge_run(t, ev, 1);
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

struct af_trace *af_trace_open_again(const struct af_trace *of, uint64_t wanted,
                                     const struct af_near *near)
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
	if (near)
		af_merge_near(trace, near);
	af_merge_start(trace);
	return trace;
}
