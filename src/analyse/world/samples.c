#include "analyse/world/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct samples_tick {
	uint64_t time_ns, weight_ns;
	uint32_t path, kstack; /* path: what the kernel itself could tell of the user part */
};

struct samples_thread {
	uint32_t process, tid;
	uint32_t nr, cap;
	struct samples_tick *ticks;
	/* In a part: its first SAMPLE has come, with this path, and is held unless ticks got it. */
	bool met, holds;
	uint32_t path, doing;
	struct af_sample held;
};

static struct samples_thread *thread_of(struct af_samples *s, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&s->by_thread, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(s->threads, s->nr, s->cap);
		s->threads[s->nr] = (struct samples_thread){.process = process, .tid = tid};
		*slot = s->nr++;
	}
	return &s->threads[*slot];
}

/*
 * Hand over the ticks that wait for this thread, with one user part or, without it, the kernel's.
 */
static void hand_over(struct af_samples *s, struct samples_thread *t, uint32_t path, uint32_t doing)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		bool own = path == AF_PATH_MISSED && t->ticks[i].path != AF_PATH_NONE;
		struct af_sample sample = {
		    .time_ns = t->ticks[i].time_ns,
		    .weight_ns = t->ticks[i].weight_ns,
		    .length_ns = t->ticks[i].weight_ns,
		    .tid = t->tid,
		    .doing = doing,
		    .at = {t->process, own ? t->ticks[i].path : path, t->ticks[i].kstack},
		    .in_kernel = true,
		};
		s->take(s->arg, &sample);
	}
	t->nr = 0;
}

/* The context in which the thread of @ev is now. */
static uint32_t doing_of(const struct af_world *w, const struct af_event *ev)
{
	return af_annotations_now(&w->annotations, ev->process, ev->tid);
}

static void take_ksample(struct af_samples *s, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_ksample k;

	if (!af_event_decode(ev, &k, sizeof k, NULL))
		return;
	struct af_stack_location at = af_place_of(w, ev, k.callpath, k.kstack);
	if (k.flags & AF_SAMPLE_JOINS) {
		struct samples_thread *t = thread_of(s, ev->process, ev->tid);
		AF_GROW(t->ticks, t->nr, t->cap);
		t->ticks[t->nr++] = (struct samples_tick){
		    .time_ns = ev->time_ns,
		    .weight_ns = k.weight_ns,
		    .path = at.path,
		    .kstack = at.kstack ? at.kstack : AF_KSTACK_MISSED,
		};
		return;
	}
	struct af_sample sample = {
	    .time_ns = ev->time_ns,
	    .weight_ns = k.weight_ns,
	    .length_ns = k.weight_ns,
	    .tid = ev->tid,
	    .doing = doing_of(w, ev),
	    .at = at,
	    .in_kernel = at.kstack != 0,
	};
	s->take(s->arg, &sample);
}

/* The thread of @ev; NULL: it has no ticks, and need not be known. */
static struct samples_thread *thread_near(struct af_samples *s, const struct af_event *ev)
{
	if (s->in_part)
		return thread_of(s, ev->process, ev->tid);
	const uint64_t *slot = af_map_get(&s->by_thread, (uint64_t)ev->process << 32 | ev->tid);
	return slot ? &s->threads[*slot] : NULL;
}

static void take_sample(struct af_samples *s, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_sample u;

	if (!af_event_decode(ev, &u, sizeof u, NULL))
		return;
	uint32_t path = af_world_path(w, ev, u.callpath);
	uint32_t doing = doing_of(w, ev);
	struct samples_thread *t = thread_near(s, ev);
	bool first = s->in_part && !t->met;
	if (first) {
		t->met = true;
		t->path = path;
		t->doing = doing;
	}
	if (t && t->nr) {
		hand_over(s, t, path, doing);
		return;
	}
	bool in_kernel = u.flags & AF_SAMPLE_SYSCALL;
	struct af_sample sample = {
	    .time_ns = ev->time_ns,
	    .weight_ns = u.weight_ns,
	    .length_ns = u.weight_ns,
	    .tid = ev->tid,
	    .doing = doing,
	    .at = {ev->process, path, in_kernel ? AF_KSTACK_MISSED : 0},
	    .in_kernel = in_kernel,
	};
	if (first) {
		t->holds = true;
		t->held = sample;
		return;
	}
	s->take(s->arg, &sample);
}

static void take_counted(struct af_samples *s, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_counted c;

	if (!af_event_decode(ev, &c, sizeof c, NULL))
		return;
	struct af_stack_location at = af_place_of(w, ev, c.callpath, c.kstack);
	struct af_sample sample = {
	    .time_ns = ev->time_ns,
	    .length_ns = c.apart_ns,
	    .count = c.count,
	    .counted = true,
	    .tid = ev->tid,
	    .doing = doing_of(w, ev),
	    .at = at,
	    .in_kernel = at.kstack != 0,
	};
	s->take(s->arg, &sample);
}

void af_samples_event(struct af_samples *s, const struct af_world *w, const struct af_event *ev)
{
	if (ev->kind == AF_KIND_SAMPLE)
		take_sample(s, w, ev);
	else if (ev->kind == AF_KIND_KSAMPLE)
		take_ksample(s, w, ev);
	else if (ev->kind == AF_KIND_COUNTED)
		take_counted(s, w, ev);
}

static void thread_merge(struct af_samples *s, struct samples_thread *from)
{
	struct samples_thread *t = thread_of(s, from->process, from->tid);
	bool waited = t->nr;

	if (from->met)
		hand_over(s, t, from->path, from->doing);
	if (from->holds && !waited)
		s->take(s->arg, &from->held);
	AF_ROOM(t->ticks, t->nr + from->nr, t->cap);
	if (from->nr)
		memcpy(t->ticks + t->nr, from->ticks, from->nr * sizeof *t->ticks);
	t->nr += from->nr;
}

void af_samples_merge(struct af_samples *s, struct af_samples *from)
{
	for (uint32_t i = 0; i < from->nr; i++)
		thread_merge(s, &from->threads[i]);
	af_samples_free(from);
}

uint64_t af_samples_end(struct af_samples *s, const struct af_world *w)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		struct samples_thread *t = &s->threads[i];
		nr += t->nr;
		hand_over(s, t, AF_PATH_MISSED,
		          af_annotations_now(&w->annotations, t->process, t->tid));
	}
	return nr;
}

void af_samples_free(struct af_samples *s)
{
	for (uint32_t i = 0; i < s->nr; i++)
		free(s->threads[i].ticks);
	free(s->threads);
	af_map_free(&s->by_thread);
	*s = (struct af_samples){0};
}
