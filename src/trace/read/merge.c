#include "trace/read/merge.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"

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

void af_merge_start(struct af_trace *t)
{
	t->start_ns = UINT64_MAX;
	t->heap = af_xcalloc(t->nr_streams + 2, sizeof *t->heap);
	memset(t->heap, 0xff, (t->nr_streams + 2) * sizeof *t->heap);
	for (uint32_t i = 0; i < t->nr_streams; i++) {
		struct af_cursor *c = &t->cursors[i];
		if (c->start_ns < t->start_ns)
			t->start_ns = c->start_ns;
		if (af_cursor_next(c))
			heap_push(t, merge_key(c->time_ns, i));
	}
	if (t->start_ns == UINT64_MAX)
		t->start_ns = 0;
	merge_take_first(t);
}

bool af_trace_next(struct af_trace *t, struct af_event *ev)
{
	struct af_cursor *c = t->now;

	if (!c)
		return false;
	uint32_t stream = (uint32_t)(c - t->cursors);
	*ev = (struct af_event){
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
		return true;
	}
	/* Most often the same stream goes on, or is the only one left. */
	af_merge_key key = merge_key(c->time_ns, stream);
	if (key > t->heap[0]) {
		t->now = &t->cursors[(uint32_t)t->heap[0]];
		heap_sink(t, key);
	}
	return true;
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
