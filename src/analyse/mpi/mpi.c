/* How much time was spent inside MPI, and for what? What became of the requests? */
#include <stdlib.h>
#include <string.h>

#include "analyse/mpi/private.h"
#include "analyse/pass/pass.h"
#include "base/arena.h"

static struct mpi_thread *thread_of(struct mpi *m, const struct mpi_call *call)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&m->by_thread, AF_KEY(call->process, call->tid), &fresh);

	if (fresh) {
		AF_GROW(m->threads, m->nr_threads, m->cap_threads);
		m->threads[m->nr_threads] = (struct mpi_thread){.process = call->process,
		                                                .tid = call->tid,
		                                                .begin_ns = call->start_ns,
		                                                .end_ns = call->end_ns};
		*slot = m->nr_threads++;
	}
	return &m->threads[*slot];
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

static void mpi_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct mpi *m = self;
	struct mpi_call call;

	(void)w;
	if (!mpi_call_read(ev, m->params, &call))
		return;
	struct mpi_thread *t = thread_of(m, &call);
	if (is_bound(t, &call))
		return;
	t->calls++;
	if (!call.is.head.depth) {
		t->time_ns += call.end_ns - call.start_ns;
		t->parts_ns[part_of(call.is.function->category)] += call.end_ns - call.start_ns;
	}
	if (!t->has_ended)
		t->end_ns = call.end_ns;
	if (call.is.head.flags & AF_API_CALL_FAILED)
		return;
	bytes_add(t, &call);
	struct mpi_bytes bytes = mpi_requests_take(&m->requests, &call);
	t->sent_bytes += bytes.sent;
	t->received_bytes += bytes.received;
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
}

const struct af_pass_ops af_pass_mpi = {
    .name = "mpi",
    .question = "how much time was spent inside MPI?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_API_BIT,
    .state_size = sizeof(struct mpi),
    .event = mpi_event,
    .finish = mpi_finish,
    .close = mpi_close,
};
