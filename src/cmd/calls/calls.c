#include "cmd/calls/calls.h"

#include <stdlib.h>

#include "base/arena.h"

struct af_calls_thread {
	struct af_line *held; /* as they ended */
	uint32_t nr, cap;
};

static struct af_calls_thread *thread_of(struct af_calls *c, const struct af_line *line)
{
	bool fresh;
	uint64_t *slot =
	    af_map_at(&c->by_thread, (uint64_t)line->ev.process << 32 | line->tid, &fresh);

	if (fresh) {
		AF_GROW(c->threads, c->nr, c->cap);
		c->threads[c->nr] = (struct af_calls_thread){0};
		*slot = c->nr++;
	}
	return &c->threads[*slot];
}

/* The outer one of two that began together came later, and has less depth. */
static int line_order(const void *a, const void *b)
{
	const struct af_line *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->ev.time_ns != y->ev.time_ns && x->depth == y->depth)
		return x->ev.time_ns < y->ev.time_ns ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static void thread_put(struct af_calls *c, struct af_calls_thread *t, const struct af_world *w,
                       struct af_buf *b)
{
	if (t->nr > 1)
		AF_SORT(t->held, t->nr, line_order);
	for (uint32_t i = 0; i < t->nr; i++) {
		af_line_put(&t->held[i], &c->style, w, &c->values, b);
		if (c->keeps)
			free((void *)t->held[i].ev.payload);
	}
	t->nr = 0;
}

static void line_keep(struct af_line *line)
{
	uint8_t *copy = af_xcalloc(1, line->ev.payload_size + 1);

	memcpy(copy, line->ev.payload, line->ev.payload_size);
	line->ev.payload = copy;
}

void af_calls_event(struct af_calls *c, const struct af_world *w, const struct af_event *ev,
                    struct af_buf *b)
{
	struct af_line line;

	if (!af_line_read(ev, &line))
		return;
	line.begin_ns += line.is_open ? c->shift_ns : 0;
	struct af_calls_thread *t = thread_of(c, &line);
	if (!line.depth && !t->nr) {
		af_line_put(&line, &c->style, w, &c->values, b);
		return;
	}
	if (t->nr == AF_CALLS_HELD) {
		c->nr_early += t->nr;
		thread_put(c, t, w, b);
	}
	if (c->keeps)
		line_keep(&line);
	AF_GROW(t->held, t->nr, t->cap);
	t->held[t->nr++] = line;
	if (!line.depth)
		thread_put(c, t, w, b);
}

void af_calls_end(struct af_calls *c, const struct af_world *w, struct af_buf *b)
{
	for (uint32_t i = 0; i < c->nr; i++)
		thread_put(c, &c->threads[i], w, b);
}

void af_calls_free(struct af_calls *c)
{
	for (uint32_t i = 0; i < c->nr; i++) {
		for (uint32_t j = 0; c->keeps && j < c->threads[i].nr; j++)
			free((void *)c->threads[i].held[j].ev.payload);
		free(c->threads[i].held);
	}
	free(c->threads);
	af_map_free(&c->by_thread);
	af_handles_free(&c->values.handles);
}
