/* How much time was spent inside MPI, and for what? What became of the requests? */
#include <stdlib.h>
#include <string.h>

#include "analyse/mpi/private.h"
#include "analyse/pass/pass.h"
#include "base/arena.h"

/* @first: what is known of the thread if it is new. */
static uint32_t thread_of(struct mpi *m, const struct mpi_thread *first)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&m->by_thread, AF_KEY(first->process, first->tid), &fresh);

	if (fresh) {
		AF_GROW(m->threads, m->nr_threads, m->cap_threads);
		m->threads[m->nr_threads] = (struct mpi_thread){.process = first->process,
		                                                .tid = first->tid,
		                                                .begin_ns = first->begin_ns,
		                                                .end_ns = first->end_ns};
		*slot = m->nr_threads++;
	}
	return (uint32_t)*slot;
}

/* MPI_Init and MPI_Finalize bound the time that has a share. */
static bool is_bound(struct mpi_thread *t, const struct mpi_call *call)
{
	const char *name = call->is.function->name;

	if (!strcmp(name, "MPI_Init") || !strcmp(name, "MPI_Init_thread")) {
		t->begin_ns = call->end_ns;
		t->has_begun = true;
		return true;
	}
	if (strcmp(name, "MPI_Finalize"))
		return false;
	t->end_ns = call->start_ns;
	t->has_ended = true;
	return true;
}

static enum mpi_part part_of(uint8_t category)
{
	switch (category) {
	case AF_CATEGORY_SEND:
	case AF_CATEGORY_RECEIVE:
		return MPI_PART_POINT;
	case AF_CATEGORY_SYNC:
		return MPI_PART_WAIT;
	case AF_CATEGORY_COLLECTIVE:
		return MPI_PART_COLLECTIVE;
	default:
		return MPI_PART_REST;
	}
}

static void bytes_add(struct mpi_thread *t, const struct mpi_call *call)
{
	/* A receive that is posted has its bytes later, and a send that is made sends later. */
	if (call->params.role == MPI_ROLE_MAKES)
		return;
	switch (call->is.function->category) {
	case AF_CATEGORY_SEND:
		t->sent_bytes += call->is.bytes;
		break;
	case AF_CATEGORY_RECEIVE:
		t->received_bytes += call->params.role == MPI_ROLE_NONE ? call->is.bytes : 0;
		break;
	case AF_CATEGORY_COLLECTIVE:
		t->collective_bytes += call->is.bytes;
		break;
	default:
		break;
	}
}

static void action_take(struct mpi *m, const struct mpi_action *a)
{
	struct mpi_thread *t = &m->threads[a->thread];
	struct mpi_bytes bytes = mpi_requests_take(&m->requests, t->process, a);

	t->sent_bytes += bytes.sent;
	t->received_bytes += bytes.received;
}

static void call_actions(struct mpi *m, const struct mpi_call *call, uint32_t thread, bool in_part)
{
	struct mpi_action a;

	for (uint32_t i = 0; mpi_action_next(call, &i, &a);) {
		a.thread = thread;
		if (!in_part) {
			action_take(m, &a);
			continue;
		}
		AF_GROW(m->actions, m->nr_actions, m->cap_actions);
		m->actions[m->nr_actions++] = a;
	}
}

static void mpi_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct mpi *m = self;
	struct mpi_call call;

	if (!mpi_call_read(ev, m->params, &call))
		return;
	struct af_call inside = {.start_ns = call.start_ns, .end_ns = call.end_ns};
	if (!af_time_range_call(&w->time_range, &inside))
		return;
	call.start_ns = inside.start_ns;
	call.end_ns = inside.end_ns;
	uint32_t thread = thread_of(m, &(struct mpi_thread){.process = call.process,
	                                                    .tid = call.tid,
	                                                    .begin_ns = call.start_ns,
	                                                    .end_ns = call.end_ns});
	struct mpi_thread *t = &m->threads[thread];
	if (is_bound(t, &call))
		return;
	t->has_called = true;
	t->calls += !inside.out_of_range;
	if (!call.is.head.depth) {
		t->time_ns += call.end_ns - call.start_ns;
		t->parts_ns[part_of(call.is.function->category)] += call.end_ns - call.start_ns;
	}
	if (!t->has_ended)
		t->end_ns = call.end_ns;
	if (call.is.head.flags & AF_API_CALL_FAILED || inside.out_of_range)
		return;
	bytes_add(t, &call);
	call_actions(m, &call, thread, w->in_part);
}

/* A thread's time ends with its last call, or with what comes before MPI_Finalize. */
static void thread_merge(struct mpi_thread *t, const struct mpi_thread *from)
{
	t->calls += from->calls;
	t->time_ns += from->time_ns;
	for (uint32_t i = 0; i < MPI_PARTS; i++)
		t->parts_ns[i] += from->parts_ns[i];
	t->sent_bytes += from->sent_bytes;
	t->received_bytes += from->received_bytes;
	t->collective_bytes += from->collective_bytes;
	if (from->has_begun)
		t->begin_ns = from->begin_ns;
	if (from->has_ended || (from->has_called && !t->has_ended))
		t->end_ns = from->end_ns;
	t->has_called |= from->has_called;
	t->has_begun |= from->has_begun;
	t->has_ended |= from->has_ended;
}

static bool mpi_merge(void *self, const struct af_world *w, const void *other)
{
	const struct mpi *from = other;
	struct mpi *m = self;
	uint32_t *threads = af_xcalloc((size_t)from->nr_threads + 1, sizeof *threads);

	(void)w;
	for (uint32_t i = 0; i < from->nr_threads; i++) {
		threads[i] = thread_of(m, &from->threads[i]);
		thread_merge(&m->threads[threads[i]], &from->threads[i]);
	}
	for (uint32_t i = 0; i < from->nr_actions; i++) {
		struct mpi_action a = from->actions[i];
		a.thread = threads[a.thread];
		action_take(m, &a);
	}
	free(threads);
	return true;
}

static void mpi_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct mpi *m = self;

	mpi_requests_end(&m->requests);
	mpi_tables(m, w, out);
}

static void mpi_close(void *self)
{
	struct mpi *m = self;

	mpi_requests_free(&m->requests);
	af_keys_free(&m->by_thread);
	free(m->threads);
	free(m->actions);
}

const struct af_pass_ops af_pass_mpi = {
    .name = "mpi",
    .question = "how much time was spent inside MPI?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_API_BIT,
    .state_size = sizeof(struct mpi),
    .event = mpi_event,
    .merge = mpi_merge,
    .finish = mpi_finish,
    .close = mpi_close,
};
