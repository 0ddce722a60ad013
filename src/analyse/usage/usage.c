/* The pass: each call is looked at once, by the part that its function has. */
#include "analyse/usage/usage.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/usage/private.h"
#include "analyse/world/work.h"
#include "base/arena.h"

const char *af_usage_word(enum af_usage_kind kind)
{
#define AF_U(NAME, word, text) [AF_USAGE_##NAME] = (word),
	static const char *const words[] = {AF_USAGES(AF_U)};
#undef AF_U
	return words[kind];
}

/* Most events of a stream are of the thread of the one before. */
static uint32_t thread_of(struct usage *u, const struct af_event *ev)
{
	AF_REACH(u->streams, ev->stream, u->cap_streams);
	struct usage_stream *s = &u->streams[ev->stream];

	if (!s->thread || s->tid != ev->tid || s->process != ev->process)
		*s = (struct usage_stream){ev->process, ev->tid,
		                           usage_thread_find(u, ev->process, ev->tid) + 1};
	return s->thread - 1;
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
	/* Those of other APIs have no arguments that are known. */
	if (ev->kind == AF_KIND_API_CALL && f->role != USAGE_MAPPING)
		return;
	uint32_t thread = thread_of(u, ev);
	const struct usage_call call = {u, is, ev, f, thread, is->end_ns - is->start_ns};
	/* The program runs inside of these: they end no loop of queries. */
	if (f->role >= USAGE_REGION) {
		usage_openmp_call(&call);
		return;
	}
	const struct usage_thread *t = &u->threads[thread];
	if (f->role != USAGE_QUERY && (t->nr_loops || !t->has_called))
		usage_loops_end(u, thread);
	if (is->status)
		return;
	if (f->role == USAGE_WORK || f->role == USAGE_COPY) {
		u->threads[thread].works += f->is_device_work;
		usage_queues_work(u, usage_process_of(u, thread), f, ev);
	}
	if (f->role != USAGE_WORK && !is->out_of_range)
		usage_call_counts(&call);
}

static void usage_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct usage *u = self;
	struct af_call room;

	u->in_part = w->in_part;
	if (ev->kind == AF_KIND_MEMORY || ev->kind == AF_KIND_QUEUE) {
		struct usage_process *p = usage_process_of(u, thread_of(u, ev));
		if (ev->kind == AF_KIND_MEMORY)
			usage_memory(p, ev);
		else
			usage_queues_event(u, p, ev);
		return;
	}
	const struct af_call *call = af_time_range_call_at(w, ev, &room);
	if (call && call->function && !af_call_of_program(w, call->function))
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
		usage_loops_end(u, i);
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
	for (uint32_t i = 0; i < u->nr_threads; i++) {
		free(u->threads[i].loops);
		free(u->threads[i].first_loops);
	}
	free(u->functions);
	free(u->threads);
	free(u->processes);
	free(u->queues);
	free(u->streams);
	free(u->sums);
	free(u->regions);
	af_keys_free(&u->by_region);
	free(u->waits);
	af_map_free(&u->by_process);
	af_map_free(&u->by_thread);
	af_keys_free(&u->by_sum);
}

const struct af_pass_ops af_pass_usage = {
    .name = "usage",
    .question = "what do calls of APIs cost by their use?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_MEMORY |
             1ull << AF_KIND_QUEUE | 1ull << AF_KIND_API_CALL | 1ull << AF_KIND_API_BIT,
    .holds = 1ull << AF_KIND_MEMORY | 1ull << AF_KIND_QUEUE,
    .state_size = sizeof(struct usage),
    .event = usage_event,
    .merge = usage_merge,
    .finish = usage_finish,
    .close = usage_close,
};
