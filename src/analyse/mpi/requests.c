/* Requests, from their post to their completion. */
#include <stdlib.h>
#include <string.h>

#include "analyse/mpi/private.h"
#include "base/arena.h"

/* MPICH's numbers, which events have: of no request; and of those that are there from the start. */
enum { REQUEST_NULL = 0x2c000000, BUILTIN = 1, BUILTIN_SHIFT = 30 };

/* As a status is stored: see merge_mpi.py. */
struct status {
	int32_t source, tag, cancelled, padding;
	uint64_t bytes;
};

static struct mpi_request_sum *sum_of(struct mpi_requests *r, uint32_t process,
                                      const struct mpi_request *q)
{
	bool fresh;
	uint64_t *slot =
	    af_keys_at(&r->by_sum, AF_KEY(process, q->function, (uint32_t)q->peer), &fresh);

	if (fresh) {
		AF_GROW(r->sums, r->nr_sums, r->cap_sums);
		r->sums[r->nr_sums] = (struct mpi_request_sum){
		    .process = process, .function = q->function, .peer = q->peer};
		*slot = r->nr_sums++;
	}
	return &r->sums[*slot];
}

static uint64_t *head_of(struct mpi_requests *r, uint32_t process, uint64_t handle)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&r->by_handle, AF_KEY(process, handle), &fresh);

	if (fresh)
		*slot = 0;
	return slot;
}

static uint32_t request_add(struct mpi_requests *r, const struct mpi_request *q)
{
	uint32_t at = r->spare;

	if (at) {
		r->spare = r->all[at - 1].next;
	} else {
		AF_GROW(r->all, r->nr, r->cap);
		at = ++r->nr;
	}
	r->all[at - 1] = *q;
	r->all[at - 1].next = 0;
	return at;
}

/* The oldest of a handle is over. */
static void request_drop(struct mpi_requests *r, uint64_t *head)
{
	uint32_t at = (uint32_t)*head;

	*head = r->all[at - 1].next;
	r->all[at - 1].next = r->spare;
	r->spare = at;
}

static void post(struct mpi_requests *r, uint32_t process, uint64_t handle,
                 const struct mpi_request *q)
{
	bool shared = handle >> BUILTIN_SHIFT == BUILTIN;
	uint64_t *head = head_of(r, process, handle);
	uint32_t last = (uint32_t)*head;

	if (last && !shared) {
		struct mpi_request *old = &r->all[last - 1];
		if (old->is_open)
			sum_of(r, process, old)->unseen++;
		uint32_t next = old->next;
		*old = *q;
		old->next = next;
	} else {
		while (last && r->all[last - 1].next)
			last = r->all[last - 1].next;
		uint32_t added = request_add(r, q);
		if (last)
			r->all[last - 1].next = added;
		else
			*head = added;
	}
	if (q->is_open)
		sum_of(r, process, q)->posted++;
}

/* The status of a receive, the @i-th of several: how much came from whom. */
static bool status_read(const struct mpi_call *call, uint32_t i, struct status *s)
{
	const struct af_api_view *v;

	if (call->params.status < 0)
		return false;
	v = &call->is.args[call->params.status].target;
	if (!v->data || i >= v->nr)
		return false;
	memcpy(s, v->data + (size_t)i * sizeof *s, sizeof *s);
	return true;
}

/* The completion of @q; the bytes that came by it. */
static uint64_t complete(struct mpi_requests *r, const struct mpi_call *call, uint32_t i,
                         struct mpi_request *q, bool receives)
{
	struct status status;
	bool has_status = receives && status_read(call, i, &status);
	uint64_t bytes = has_status ? status.bytes : q->bytes;

	if (has_status && q->peer == MPI_ANY_SOURCE) {
		sum_of(r, call->process, q)->posted--;
		q->peer = status.source;
		sum_of(r, call->process, q)->posted++;
	}
	struct mpi_request_sum *sum = sum_of(r, call->process, q);
	uint64_t ns = call->end_ns > q->posted_ns ? call->end_ns - q->posted_ns : 0;
	sum->completed++;
	sum->bytes += bytes;
	sum->time_ns += ns;
	sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
	sum->waited_ns += call->end_ns - call->start_ns < ns ? call->end_ns - call->start_ns : ns;
	q->is_open = false;
	return receives ? bytes : 0;
}

static uint8_t category_of(uint32_t function)
{
	return af_api_named("mpi")->functions[function].category;
}

static uint64_t element(const struct af_api_view *v, uint32_t i)
{
	uint64_t handle;

	memcpy(&handle, v->data + (size_t)i * sizeof handle, sizeof handle);
	return handle;
}

static bool is_all(const struct mpi_call *call)
{
	const char *name = call->is.function->name;

	return !strcmp(name, "MPI_Wait") || !strcmp(name, "MPI_Waitall");
}

static uint64_t take_completed(struct mpi_requests *r, const struct mpi_call *call)
{
	const struct af_api_arg *arg = &call->is.args[call->params.request];
	uint64_t came = 0;

	for (uint32_t i = 0; i < arg->before.nr && i < arg->target.nr; i++) {
		uint64_t handle = element(&arg->before, i);
		bool gone = element(&arg->target, i) == REQUEST_NULL;
		uint64_t *head = head_of(r, call->process, handle);
		struct mpi_request *q = *head ? &r->all[*head - 1] : NULL;
		if (handle == REQUEST_NULL || !q || !q->is_open ||
		    !(gone || (q->is_persistent && is_all(call))))
			continue;
		came += complete(r, call, i, q, category_of(q->function) == AF_CATEGORY_RECEIVE);
		if (!q->is_persistent)
			request_drop(r, head);
	}
	return came;
}

/* The bytes of those that send. */
static uint64_t take_started(struct mpi_requests *r, const struct mpi_call *call)
{
	const struct af_api_arg *arg = &call->is.args[call->params.request];
	uint64_t sent = 0;

	for (uint32_t i = 0; i < arg->before.nr; i++) {
		uint64_t *head = head_of(r, call->process, element(&arg->before, i));
		if (!*head)
			continue;
		struct mpi_request q = r->all[*head - 1];
		q.is_open = true;
		q.posted_ns = call->start_ns;
		post(r, call->process, element(&arg->before, i), &q);
		sent += category_of(q.function) == AF_CATEGORY_SEND ? q.bytes : 0;
	}
	return sent;
}

static void take_posted(struct mpi_requests *r, const struct mpi_call *call)
{
	const struct af_api_arg *arg = &call->is.args[call->params.request];
	bool is_persistent = call->params.role == MPI_ROLE_MAKES;
	const struct mpi_request q = {
	    .function = call->function,
	    .peer = mpi_call_peer(call),
	    .is_persistent = is_persistent,
	    .is_open = !is_persistent,
	    .posted_ns = call->start_ns,
	    .bytes = call->is.bytes,
	};

	if (arg->target.nr && element(&arg->target, 0) != REQUEST_NULL)
		post(r, call->process, element(&arg->target, 0), &q);
}

static void take_freed(struct mpi_requests *r, const struct mpi_call *call)
{
	const struct af_api_view *before = &call->is.args[call->params.request].before;
	uint64_t *head = before->nr ? head_of(r, call->process, element(before, 0)) : NULL;

	if (!head || !*head)
		return;
	if (r->all[*head - 1].is_open)
		sum_of(r, call->process, &r->all[*head - 1])->unseen++;
	request_drop(r, head);
}

struct mpi_bytes mpi_requests_take(struct mpi_requests *r, const struct mpi_call *call)
{
	struct mpi_bytes bytes = {0, 0};

	switch (call->params.role) {
	case MPI_ROLE_POSTS:
	case MPI_ROLE_MAKES:
		take_posted(r, call);
		break;
	case MPI_ROLE_STARTS:
		bytes.sent = take_started(r, call);
		break;
	case MPI_ROLE_COMPLETES:
		bytes.received = take_completed(r, call);
		break;
	case MPI_ROLE_FREES:
		take_freed(r, call);
		break;
	case MPI_ROLE_NONE:
		break;
	}
	return bytes;
}

void mpi_requests_end(struct mpi_requests *r)
{
	for (uint32_t i = 0; i < r->nr_sums; i++) {
		struct mpi_request_sum *s = &r->sums[i];
		uint64_t over = s->completed + s->unseen;
		s->open = s->posted > over ? s->posted - over : 0;
	}
}

void mpi_requests_free(struct mpi_requests *r)
{
	af_keys_free(&r->by_handle);
	af_keys_free(&r->by_sum);
	free(r->all);
	free(r->sums);
}
