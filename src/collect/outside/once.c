#include "collect/outside/once.h"

#include <stdlib.h>

#include "base/arena.h"

void af_outside_once_free(struct af_outside_once *o)
{
	af_map_free(&o->watch_of);
	af_map_free(&o->by_tid);
	free(o->threads);
	free(o->closed);
	*o = (struct af_outside_once){0};
}

uint32_t af_outside_once_open(struct af_outside_once *o)
{
	if (!o->nr_watches) {
		AF_GROW(o->closed, o->nr_watches, o->cap_watches);
		o->closed[o->nr_watches++] = true; /* no watch */
	}
	AF_GROW(o->closed, o->nr_watches, o->cap_watches);
	o->closed[o->nr_watches] = false;
	return o->nr_watches++;
}

void af_outside_once_event(struct af_outside_once *o, uint32_t watch, uint64_t id)
{
	*af_map_at(&o->watch_of, id, NULL) = watch;
}

void af_outside_once_close(struct af_outside_once *o, uint32_t watch)
{
	o->closed[watch] = true;
}

static struct once_thread *thread_at(struct af_outside_once *o, uint32_t tid)
{
	uint64_t *at = af_map_at(&o->by_tid, tid, NULL);

	if (!*at) {
		AF_GROW(o->threads, o->nr, o->cap);
		o->threads[o->nr++] = (struct once_thread){0};
		*at = o->nr;
	}
	return &o->threads[*at - 1];
}

void af_outside_once_begin(struct af_outside_once *o, uint32_t tid, uint64_t time_ns)
{
	thread_at(o, tid)->began_ns = time_ns;
}

bool af_outside_once_accepts(struct af_outside_once *o, uint32_t tid, uint64_t id, uint64_t time_ns)
{
	const uint64_t *watch = af_map_get(&o->watch_of, id);

	if (!watch)
		return false;
	struct once_thread *t = thread_at(o, tid);
	/* Its beginning may have been read before what the one before it did last. */
	bool another = t->chosen_ns < t->began_ns && time_ns >= t->began_ns;
	if (!t->watch || o->closed[t->watch] || another) {
		t->watch = (uint32_t)*watch;
		t->chosen_ns = time_ns;
	}
	return t->watch == *watch;
}
