/* Calls by the part that their functions have. */
#include "analyse/pass/pass.h"
#include "analyse/usage/private.h"
#include "analyse/world/work.h"
#include "base/arena.h"
#include "base/hash.h"

/* A wait that takes longer had something to wait for, whatever the trace shows. */
enum { NEEDLESS_NS = 50000 };

static struct usage_sum *call_add(const struct usage_call *c, enum af_usage_kind kind,
                                  uint32_t peer)
{
	struct usage_sum *s = usage_sum_of(c->u, &(struct usage_sum){.kind = kind,
	                                                             .thread = c->thread,
	                                                             .function = c->is->function,
	                                                             .path = c->is->path,
	                                                             .peer = peer});

	s->calls++;
	s->time_ns += c->ns;
	s->bytes += usage_value(c->ev, c->f->bytes);
	return s;
}

/* Pageable: it is known where the memory is, and that it is neither pinned nor managed. */
static void call_copy(const struct usage_call *c)
{
	const struct usage_process *p = usage_process_of(c->u, c->thread);
	bool has_host = usage_has(c->ev, c->f->host),
	     waits = c->f->blocking.bytes ? usage_value(c->ev, c->f->blocking) : !c->f->is_async;

	if (waits) {
		c->u->threads[c->thread].works = 0;
		c->u->threads[c->thread].has_waited = true;
	}
	if (has_host && p->has_memory) {
		if (!usage_is_pinned(p, usage_value(c->ev, c->f->host)))
			call_add(c, AF_USAGE_PAGEABLE, 0);
	} else if (waits) {
		call_add(c, AF_USAGE_HOST_COPY, 0);
	}
}

void usage_wait_add(struct usage *u, const struct usage_wait *wait)
{
	bool counts = wait->needless || wait->works == 1;
	struct usage_sum *s = usage_sum_of(
	    u, &(struct usage_sum){.kind = wait->needless ? AF_USAGE_NEEDLESS : AF_USAGE_WAIT_EACH,
	                           .thread = wait->thread,
	                           .function = wait->function,
	                           .path = wait->path});

	s->calls += counts;
	s->time_ns += counts ? wait->ns : 0;
	s->of_calls += !wait->needless;
	s->bytes += wait->bytes;
}

static void call_wait(const struct usage_call *c)
{
	struct usage *u = c->u;
	struct usage_thread *t = &u->threads[c->thread];
	struct usage_wait wait = {.thread = c->thread,
	                          .function = c->is->function,
	                          .path = c->is->path,
	                          .ns = c->ns,
	                          .bytes = usage_value(c->ev, c->f->bytes),
	                          .works = t->works,
	                          .has_works = t->has_waited};

	usage_queues_wait(u, usage_process_of(u, c->thread), c->f, c->ev, &wait);
	if (wait.ns >= NEEDLESS_NS) {
		wait.needless = false;
		wait.depends = 0;
	}
	t->works = 0;
	t->has_waited = true;
	if (!wait.depends && (wait.needless || wait.has_works || wait.works > 1)) {
		usage_wait_add(u, &wait);
		return;
	}
	AF_GROW(u->waits, u->nr_waits, u->cap_waits);
	u->waits[u->nr_waits++] = wait;
}

static void call_message(const struct usage_call *c)
{
	if (!usage_has(c->ev, c->f->bytes) || !usage_has(c->ev, c->f->peer))
		return;
	c->u->threads[c->thread].messages++;
	if (usage_value(c->ev, c->f->bytes) < AF_USAGE_TINY_BYTES)
		call_add(c, AF_USAGE_TINY, (uint32_t)usage_value(c->ev, c->f->peer));
}

static void call_moment(const struct usage_call *c, enum af_usage_kind kind)
{
	struct usage_sum *s = call_add(c, kind, 0);

	usage_moments_add(&s->moments, c->is->start_ns, c->ns, c->u->in_part);
}

/* Until a thread makes another call, the part before decides which loops there are. */
void usage_loop_add(const struct usage *u, struct usage_thread *t, const struct usage_loop *more)
{
	const uint32_t most = u->in_part && !t->has_called ? UINT32_MAX : USAGE_LOOPS;
	uint32_t i = 0;

	while (i < t->nr_loops && t->loops[i].function != more->function)
		i++;
	if (i == most)
		return;
	if (i == t->nr_loops) {
		AF_GROW(t->loops, t->nr_loops, t->cap_loops);
		t->loops[t->nr_loops++] = *more;
		return;
	}
	struct usage_loop *l = &t->loops[i];
	l->path = more->path;
	l->calls += more->calls;
	l->time_ns += more->time_ns;
	l->end_ns = more->end_ns;
}

/* Queries of a few functions in turn are a loop, too. */
static void call_query(const struct usage_call *c)
{
	usage_loop_add(c->u, &c->u->threads[c->thread],
	               &(struct usage_loop){.function = c->is->function,
	                                    .path = c->is->path,
	                                    .calls = 1,
	                                    .time_ns = c->ns,
	                                    .start_ns = c->is->start_ns,
	                                    .end_ns = c->is->end_ns});
}

static void first_loops_keep(struct usage_thread *t)
{
	t->has_called = true;
	t->first_loops = t->loops;
	t->nr_first_loops = t->nr_loops;
	t->loops = NULL;
	t->nr_loops = t->cap_loops = 0;
}

void usage_loops_end(struct usage *u, uint32_t thread)
{
	struct usage_thread *t = &u->threads[thread];

	if (!t->has_called)
		first_loops_keep(t);
	for (uint32_t i = 0; i < t->nr_loops; i++) {
		const struct usage_loop *l = &t->loops[i];
		if (l->calls < AF_USAGE_LOOP_LEAST)
			continue;
		struct usage_sum *s = usage_sum_of(u, &(struct usage_sum){.kind = AF_USAGE_POLLING,
		                                                          .thread = thread,
		                                                          .function = l->function,
		                                                          .path = l->path});
		s->calls += l->calls;
		s->time_ns += l->time_ns;
		s->lasted_ns += l->end_ns - l->start_ns;
		s->loops++;
	}
	t->nr_loops = 0;
}

void usage_call_counts(const struct usage_call *c)
{
	switch (c->f->role) {
	case USAGE_COPY:
		call_copy(c);
		break;
	case USAGE_WAIT:
		call_wait(c);
		break;
	case USAGE_QUERY:
		call_query(c);
		break;
	case USAGE_MEMORY:
		call_moment(c, AF_USAGE_ALLOCATING);
		break;
	case USAGE_LOAD:
		call_moment(c, AF_USAGE_LOADING);
		break;
	case USAGE_MESSAGE:
		call_message(c);
		break;
	case USAGE_MAPPING:
		call_add(c, AF_USAGE_MAPPING, (uint32_t)af_mix(usage_value(c->ev, c->f->host)));
		break;
	case USAGE_MPI_WAIT:
		call_add(c, AF_USAGE_MPI_WAIT, 0);
		break;
	}
}
