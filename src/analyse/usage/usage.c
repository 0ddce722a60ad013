/* The pass: each call is looked at once, by the part that its function has. */
#include "analyse/usage/usage.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/usage/private.h"
#include "analyse/world/work.h"
#include "base/arena.h"
#include "base/hash.h"

enum { MOMENTS_MOST = 4096 };

/* A wait that takes longer had something to wait for, whatever the trace shows. */
enum { NEEDLESS_NS = 50000 };

const char *af_usage_word(enum af_usage_kind kind)
{
#define AF_U(NAME, word, text) [AF_USAGE_##NAME] = (word),
	static const char *const words[] = {AF_USAGES(AF_U)};
#undef AF_U
	return words[kind];
}

static uint32_t process_find(struct usage *u, uint32_t ordinal)
{
	bool fresh;
	uint64_t *slot = af_map_at(&u->by_process, ordinal, &fresh);

	if (fresh) {
		AF_GROW(u->processes, u->nr_processes, u->cap_processes);
		u->processes[u->nr_processes] = (struct usage_process){.ordinal = ordinal};
		*slot = u->nr_processes++;
	}
	return (uint32_t)*slot;
}

static uint32_t thread_find(struct usage *u, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&u->by_thread, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(u->threads, u->nr_threads, u->cap_threads);
		u->threads[u->nr_threads] = (struct usage_thread){
		    .process = process_find(u, process), .ordinal = process, .tid = tid};
		*slot = u->nr_threads++;
	}
	return (uint32_t)*slot;
}

/* Most events of a stream are of the thread of the one before. */
static uint32_t thread_of(struct usage *u, const struct af_event *ev)
{
	AF_REACH(u->streams, ev->stream, u->cap_streams);
	struct usage_stream *s = &u->streams[ev->stream];

	if (!s->thread || s->tid != ev->tid || s->process != ev->process)
		*s = (struct usage_stream){ev->process, ev->tid,
		                           thread_find(u, ev->process, ev->tid) + 1};
	return s->thread - 1;
}

static struct usage_process *process_of(const struct usage *u, uint32_t thread)
{
	return &u->processes[u->threads[thread].process];
}

static bool is_sum(const struct usage_sum *a, const struct usage_sum *b)
{
	return a->kind == b->kind && a->thread == b->thread && a->function == b->function &&
	       a->path == b->path && a->peer == b->peer;
}

/* Few sums get most of the calls: they are found without their keys. */
static struct usage_sum *sum_of(struct usage *u, const struct usage_sum *like)
{
	uint32_t *near = &u->near_sums[af_near(USAGE_NEAR_BITS, like->path, like->function,
	                                       like->thread, like->peer ^ like->kind << 29)];
	bool fresh;

	if (*near && is_sum(&u->sums[*near - 1], like))
		return &u->sums[*near - 1];
	uint64_t *slot = af_keys_at(
	    &u->by_sum, AF_KEY(like->kind, like->thread, like->function, like->path, like->peer),
	    &fresh);
	if (fresh) {
		AF_GROW(u->sums, u->nr_sums, u->cap_sums);
		u->sums[u->nr_sums] = *like;
		*slot = u->nr_sums++;
	}
	*near = (uint32_t)*slot + 1;
	return &u->sums[*slot];
}

/* Two and two become one where there are too many. */
static void moments_thin(struct usage_moments *m)
{
	for (uint32_t i = 0; i < m->nr / 2; i++) {
		m->all[i] = m->all[2 * i];
		m->all[i].time_ns += m->all[2 * i + 1].time_ns;
		m->all[i].calls += m->all[2 * i + 1].calls;
	}
	m->nr /= 2;
	m->stride *= 2;
}

static void moments_add(struct usage_moments *m, uint64_t start_ns, uint64_t ns)
{
	m->stride += !m->stride;
	if (m->nr && m->all[m->nr - 1].calls < m->stride) {
		m->all[m->nr - 1].calls++;
		m->all[m->nr - 1].time_ns += ns;
		return;
	}
	if (m->nr == MOMENTS_MOST)
		moments_thin(m);
	AF_GROW(m->all, m->nr, m->cap);
	m->all[m->nr++] = (struct usage_moment){start_ns, ns, 1};
}

/* A call with what its event says beside it. */
struct usage_call {
	struct usage *u;
	const struct af_call *is;
	const struct af_event *ev;
	const struct usage_function *f;
	uint32_t thread;
	uint64_t ns;
};

static struct usage_sum *call_add(const struct usage_call *c, enum af_usage_kind kind,
                                  uint32_t peer)
{
	struct usage_sum *s = sum_of(c->u, &(struct usage_sum){.kind = kind,
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
	const struct usage_process *p = process_of(c->u, c->thread);
	bool has_host = usage_has(c->ev, c->f->host),
	     waits = c->f->blocking.bytes ? usage_value(c->ev, c->f->blocking) : !c->f->is_async;

	if (waits)
		c->u->threads[c->thread].works = 0;
	if (has_host && p->has_memory) {
		if (!usage_is_pinned(p, usage_value(c->ev, c->f->host)))
			call_add(c, AF_USAGE_PAGEABLE, 0);
	} else if (waits) {
		call_add(c, AF_USAGE_HOST_COPY, 0);
	}
}

static void call_wait(const struct usage_call *c)
{
	struct usage_thread *t = &c->u->threads[c->thread];
	bool needless = usage_queues_wait(c->u, process_of(c->u, c->thread), c->f, c->ev);
	bool one = t->works == 1;

	t->works = 0;
	if (needless && c->ns < NEEDLESS_NS) {
		call_add(c, AF_USAGE_NEEDLESS, 0);
		return;
	}
	struct usage_sum *s = call_add(c, AF_USAGE_WAIT_EACH, 0);
	s->of_calls++;
	s->calls -= !one;
	s->time_ns -= one ? 0 : c->ns;
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

	moments_add(&s->moments, c->is->start_ns, c->ns);
}

/* Queries of a few functions in turn are a loop, too. */
static void call_query(const struct usage_call *c)
{
	struct usage_thread *t = &c->u->threads[c->thread];
	uint32_t i = 0;

	while (i < t->nr_loops && t->loops[i].function != c->is->function)
		i++;
	if (i == USAGE_LOOPS)
		return;
	struct usage_loop *l = &t->loops[i];
	if (i == t->nr_loops) {
		t->nr_loops++;
		*l = (struct usage_loop){.function = c->is->function, .start_ns = c->is->start_ns};
	}
	l->path = c->is->path;
	l->calls++;
	l->time_ns += c->ns;
	l->end_ns = c->is->end_ns;
}

static void loops_end(struct usage *u, uint32_t thread)
{
	struct usage_thread *t = &u->threads[thread];

	for (uint32_t i = 0; i < t->nr_loops; i++) {
		const struct usage_loop *l = &t->loops[i];
		if (l->calls < AF_USAGE_LOOP_LEAST)
			continue;
		struct usage_sum *s = sum_of(u, &(struct usage_sum){.kind = AF_USAGE_POLLING,
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

static void call_counts(const struct usage_call *c)
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
	case USAGE_MPI_WAIT:
		call_add(c, AF_USAGE_MPI_WAIT, 0);
		break;
	}
}

static const struct usage_function *function_of(struct usage *u, const struct af_world *w,
                                                uint32_t function, uint16_t kind)
{
	AF_REACH(u->functions, function, u->cap_functions);
	struct usage_function *f = &u->functions[function];

	if (!f->is_known)
		usage_function_learn(f, &w->functions[function], kind >= AF_KIND_API ? kind : 0);
	return f;
}

/* MPI's functions may call each other; the outer one has the time. */
static bool is_inner(const struct usage_function *f, const struct af_event *ev)
{
	struct af_api_head head;

	if (ev->kind < AF_KIND_API || (f->role != USAGE_MESSAGE && f->role != USAGE_MPI_WAIT))
		return false;
	memcpy(&head, ev->payload, sizeof head);
	return head.depth != 0;
}

static void usage_call(struct usage *u, const struct af_world *w, const struct af_event *ev,
                       const struct af_call *is)
{
	const struct usage_function *f = function_of(u, w, is->function, ev->kind);

	if (f->role == USAGE_RUNTIME || is_inner(f, ev))
		return;
	uint32_t thread = thread_of(u, ev);
	if (f->role != USAGE_QUERY && u->threads[thread].nr_loops)
		loops_end(u, thread);
	if (is->status)
		return;
	if (f->role == USAGE_WORK || f->role == USAGE_COPY) {
		u->threads[thread].works += f->is_device_work;
		usage_queues_work(u, w, process_of(u, thread), f, ev);
	}
	if (f->role != USAGE_WORK && !is->out_of_range)
		call_counts(
		    &(const struct usage_call){u, is, ev, f, thread, is->end_ns - is->start_ns});
}

static void usage_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct usage *u = self;
	struct af_call room;

	if (ev->kind == AF_KIND_MEMORY) {
		usage_memory(process_of(u, thread_of(u, ev)), ev);
		return;
	}
	const struct af_call *call = af_time_range_call_at(w, ev, &room);
	if (call && call->function)
		usage_call(u, w, ev, call);
}

/* Where a part of the run is missing, memory may have been pinned in it. */
static void copies_doubt(struct usage *u)
{
	for (uint32_t i = 0; i < u->nr_sums; i++) {
		struct usage_sum *s = &u->sums[i];
		if (s->kind != AF_USAGE_PAGEABLE)
			continue;
		s->kind = AF_USAGE_HOST_COPY;
		s->calls = u->functions[s->function].is_async ? 0 : s->calls;
	}
}

static void usage_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct usage *u = self;

	for (uint32_t i = 0; i < u->nr_threads; i++)
		loops_end(u, i);
	if (w->lost[AF_LOST_PAUSED] || out->query.near_run_ns)
		copies_doubt(u);
	usage_table(u, w, out);
}

static void usage_close(void *self)
{
	struct usage *u = self;

	for (uint32_t i = 0; i < u->nr_sums; i++)
		free(u->sums[i].moments.all);
	for (uint32_t i = 0; i < u->nr_processes; i++) {
		af_map_free(&u->processes[i].queues);
		free(u->processes[i].ranges);
	}
	free(u->functions);
	free(u->threads);
	free(u->processes);
	free(u->queues);
	free(u->streams);
	free(u->sums);
	af_map_free(&u->by_process);
	af_map_free(&u->by_thread);
	af_keys_free(&u->by_sum);
}

const struct af_pass_ops af_pass_usage = {
    .name = "usage",
    .question = "what do calls of APIs cost by their use?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_MEMORY |
             1ull << AF_KIND_API_BIT,
    .state_size = sizeof(struct usage),
    .event = usage_event,
    .finish = usage_finish,
    .close = usage_close,
};
