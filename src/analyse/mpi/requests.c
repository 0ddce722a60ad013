/* Requests, from their post to their completion. */
#include <stdlib.h>
#include <string.h>

#include "analyse/mpi/private.h"
#include "base/arena.h"

/* MPICH's numbers of requests that are there from the start. */
enum { BUILTIN = 1, BUILTIN_SHIFT = 30 };

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

static uint8_t category_of(uint32_t function)
{
	return af_api_named("mpi")->functions[function].category;
}

/* The completion of @q; the bytes that came by it. */
static uint64_t complete(struct mpi_requests *r, uint32_t process, const struct mpi_action *a,
                         struct mpi_request *q)
{
	bool receives = category_of(q->function) == AF_CATEGORY_RECEIVE;
	bool has_status = receives && a->has_status;
	uint64_t bytes = has_status ? a->bytes : q->bytes;

	if (has_status && q->peer == MPI_ANY_SOURCE) {
		sum_of(r, process, q)->posted--;
		q->peer = a->peer;
		sum_of(r, process, q)->posted++;
	}
	struct mpi_request_sum *sum = sum_of(r, process, q);
	uint64_t ns = a->end_ns > q->posted_ns ? a->end_ns - q->posted_ns : 0;
	sum->completed++;
	sum->bytes += bytes;
	sum->time_ns += ns;
	sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
	sum->waited_ns += a->end_ns - a->start_ns < ns ? a->end_ns - a->start_ns : ns;
	q->is_open = false;
	return receives ? bytes : 0;
}

static uint64_t take_completed(struct mpi_requests *r, uint32_t process, const struct mpi_action *a)
{
	uint64_t *head = head_of(r, process, a->handle);
	struct mpi_request *q = *head ? &r->all[*head - 1] : NULL;

	if (!q || !q->is_open || !(a->is_gone || (q->is_persistent && a->is_all)))
		return 0;
	uint64_t came = complete(r, process, a, q);
	if (!q->is_persistent)
		request_drop(r, head);
	return came;
}

/* The bytes, if it sends. */
static uint64_t take_started(struct mpi_requests *r, uint32_t process, const struct mpi_action *a)
{
	uint64_t *head = head_of(r, process, a->handle);

	if (!*head)
		return 0;
	struct mpi_request q = r->all[*head - 1];
	q.is_open = true;
	q.posted_ns = a->start_ns;
	post(r, process, a->handle, &q);
	return category_of(q.function) == AF_CATEGORY_SEND ? q.bytes : 0;
}

static void take_freed(struct mpi_requests *r, uint32_t process, const struct mpi_action *a)
{
	uint64_t *head = head_of(r, process, a->handle);

	if (!*head)
		return;
	if (r->all[*head - 1].is_open)
		sum_of(r, process, &r->all[*head - 1])->unseen++;
	request_drop(r, head);
}

static void take_posted(struct mpi_requests *r, uint32_t process, const struct mpi_action *a)
{
	bool is_persistent = a->role == MPI_ROLE_MAKES;
	const struct mpi_request q = {
	    .function = a->function,
	    .peer = a->peer,
	    .is_persistent = is_persistent,
	    .is_open = !is_persistent,
	    .posted_ns = a->start_ns,
	    .bytes = a->bytes,
	};

	post(r, process, a->handle, &q);
}

struct mpi_bytes mpi_requests_take(struct mpi_requests *r, uint32_t process,
                                   const struct mpi_action *a)
{
	struct mpi_bytes bytes = {0, 0};

	switch ((enum mpi_role)a->role) {
	case MPI_ROLE_POSTS:
	case MPI_ROLE_MAKES:
		take_posted(r, process, a);
		break;
	case MPI_ROLE_STARTS:
		bytes.sent = take_started(r, process, a);
		break;
	case MPI_ROLE_COMPLETES:
		bytes.received = take_completed(r, process, a);
		break;
	case MPI_ROLE_FREES:
		take_freed(r, process, a);
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
