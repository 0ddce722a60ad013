/* The messages of one member, from its calls of MPI. */
#include <stdlib.h>
#include <string.h>

#include "analyse/clocks/private.h"
#include "base/arena.h"
#include "trace/read/reader.h"

/* MPICH's numbers, which events have. */
enum { WORLD = 0x44000000, REQUEST_NULL = 0x2c000000, DUPS = 64 };

/* A request of a receive: one that is under way, or one that can be started. */
struct request {
	uint64_t receive; /* plus 1; 0: not started */
	uint32_t comm;
	int32_t peer, tag;
	bool sends, is_persistent;
};

/* A communicator with the ranks of MPI_COMM_WORLD: itself and what was duplicated of it. */
struct comm {
	uint32_t id; /* the same in all processes: by the order in which they were made */
	uint32_t dups;
};

struct reading {
	struct clock_messages *m;
	struct clock_receives *receives;
	struct af_map comms;    /* handle → index in all, plus 1 */
	struct af_map requests; /* handle → index in under_way, plus 1 */
	struct comm *all;
	struct request *under_way;
	uint32_t nr_comms, cap_comms, nr_requests, cap_requests;
	uint32_t process; /* that has called MPI_Init */
	bool begun;
};

struct call {
	const struct clock_function *is;
	struct af_api_call api;
	int64_t start, end;
	uint32_t tid, number;
};

/* As a status is stored: see src/api/models/merge_mpi.py. */
struct status {
	int32_t source, tag, cancelled, padding;
	uint64_t bytes;
};

static int64_t value_of(const struct call *c, int8_t param)
{
	const struct af_api_arg *arg = &c->api.args[param];

	return af_api_signed(arg->param->type, arg->value);
}

static uint64_t handle_of(const struct call *c, int8_t param)
{
	const struct af_api_arg *arg = &c->api.args[param];

	return af_api_unsigned(arg->param->type, arg->value);
}

/* The @i-th handle that a parameter points to; false where it has none. */
static bool element(const struct af_api_view *v, uint32_t i, uint64_t *handle)
{
	if (!v->data || i >= v->nr)
		return false;
	memcpy(handle, v->data + (size_t)i * sizeof *handle, sizeof *handle);
	return true;
}

static struct status status_of(const struct call *c, uint32_t i)
{
	struct status s = {.source = CLOCK_ANY_SOURCE, .tag = CLOCK_ANY_TAG};

	if (c->is->status < 0)
		return s;
	const struct af_api_view *v = &c->api.args[c->is->status].target;
	if (v->data && i < v->nr)
		memcpy(&s, v->data + (size_t)i * sizeof s, sizeof s);
	return s;
}

static struct comm *comm_find(struct reading *r, uint64_t handle)
{
	uint64_t *slot = af_map_get(&r->comms, handle);

	return slot && *slot ? &r->all[*slot - 1] : NULL;
}

static void comm_add(struct reading *r, uint64_t handle, uint32_t id)
{
	bool fresh;

	AF_GROW(r->all, r->nr_comms, r->cap_comms);
	r->all[r->nr_comms++] = (struct comm){.id = id};
	*af_map_at(&r->comms, handle, &fresh) = r->nr_comms;
}

static const struct comm *comm_of(struct reading *r, const struct call *c)
{
	return c->is->comm < 0 ? NULL : comm_find(r, handle_of(c, c->is->comm));
}

static void send(struct reading *r, const struct call *c, uint32_t comm, int32_t dest, int32_t tag)
{
	struct clock_channel *to =
	    dest >= 0 ? clock_channel_of(r->m, comm, (uint32_t)dest, tag, true, c->tid) : NULL;

	if (to)
		clock_channel_put(r->m, to, to->nr++, c->start);
}

static struct request *request_find(struct reading *r, uint64_t handle)
{
	uint64_t *slot = handle == REQUEST_NULL ? NULL : af_map_get(&r->requests, handle);

	return slot && *slot ? &r->under_way[*slot - 1] : NULL;
}

/* Whatever has had the handle before is over, and nobody saw when. */
static void handle_reused(struct reading *r, uint64_t handle)
{
	struct request *q = request_find(r, handle);

	if (!q)
		return;
	if (q->receive)
		clock_receive_lost(r->receives, q->receive - 1, false);
	*q = (struct request){0};
}

static void request_add(struct reading *r, const struct call *c, const struct request *q)
{
	uint64_t handle;
	bool fresh;

	if (c->is->request < 0 || !element(&c->api.args[c->is->request].target, 0, &handle))
		return;
	handle_reused(r, handle);
	uint64_t *slot = af_map_at(&r->requests, handle, &fresh);
	if (fresh || !*slot) {
		AF_GROW(r->under_way, r->nr_requests, r->cap_requests);
		*slot = ++r->nr_requests;
	}
	r->under_way[*slot - 1] = *q;
}

static void receive(struct reading *r, const struct call *c, uint32_t comm)
{
	int32_t source = (int32_t)value_of(c, c->is->source);
	int32_t tag = (int32_t)value_of(c, c->is->receive_tag);

	if (source == CLOCK_PROC_NULL)
		return;
	uint64_t number = clock_receive_post(r->receives, comm, source, tag, c->tid);
	if (c->is->request >= 0) {
		request_add(r, c, &(struct request){.receive = number + 1});
		return;
	}
	struct status s = status_of(c, 0);
	clock_receive_complete(r->receives, number, s.source, s.tag, c->end);
}

static void take_message(struct reading *r, const struct call *c)
{
	const struct comm *comm = comm_of(r, c);
	bool sends = c->is->role != CLOCK_ROLE_RECEIVE, receives = c->is->role != CLOCK_ROLE_SEND;
	uint64_t handle;

	if (comm && sends)
		send(r, c, comm->id, (int32_t)value_of(c, c->is->dest),
		     (int32_t)value_of(c, c->is->send_tag));
	if (comm && receives)
		receive(r, c, comm->id);
	else if (c->is->request >= 0 && element(&c->api.args[c->is->request].target, 0, &handle))
		handle_reused(r, handle);
}

static void take_made(struct reading *r, const struct call *c)
{
	const struct comm *comm = comm_of(r, c);
	bool sends = c->is->role == CLOCK_ROLE_MAKE_SEND;
	struct request q = {.is_persistent = true, .sends = sends, .peer = CLOCK_PROC_NULL};

	if (comm) {
		q.comm = comm->id;
		q.peer = (int32_t)value_of(c, sends ? c->is->dest : c->is->source);
		q.tag = (int32_t)value_of(c, c->is->send_tag);
	}
	request_add(r, c, &q);
}

static void start(struct reading *r, const struct call *c, struct request *q)
{
	if (!q || !q->is_persistent || q->peer == CLOCK_PROC_NULL)
		return;
	if (q->sends) {
		send(r, c, q->comm, q->peer, q->tag);
		return;
	}
	if (q->receive)
		clock_receive_lost(r->receives, q->receive - 1, false);
	q->receive = clock_receive_post(r->receives, q->comm, q->peer, q->tag, c->tid) + 1;
}

/* The completed one of @i, whose status is the @at-th. */
static void complete(struct reading *r, const struct call *c, uint64_t handle, uint32_t at)
{
	struct request *q = request_find(r, handle);
	struct status s = status_of(c, at);

	if (!q || !q->receive)
		return;
	if (s.cancelled)
		clock_receive_lost(r->receives, q->receive - 1, true);
	else
		clock_receive_complete(r->receives, q->receive - 1, s.source, s.tag, c->end);
	q->receive = 0;
}

/*
 * Which requests are complete: those whose handle is gone, all after MPI_Wait and MPI_Waitall. One
 * of a persistent request that MPI_Waitany or MPI_Test found is only known by what follows. The
 * status of the i-th request is the i-th in MPI_Waitall; elsewhere only a sole one is certain.
 */
static void take_completed(struct reading *r, const struct call *c)
{
	const struct af_api_arg *arg = &c->api.args[c->is->request];
	uint32_t gone = 0, nr = arg->before.nr < arg->target.nr ? arg->before.nr : arg->target.nr;
	uint64_t before, after;

	for (uint32_t i = 0; i < nr; i++)
		if (element(&arg->before, i, &before) && element(&arg->target, i, &after))
			gone += before != REQUEST_NULL && after == REQUEST_NULL;
	for (uint32_t i = 0; i < nr; i++) {
		if (!element(&arg->before, i, &before) || !element(&arg->target, i, &after))
			continue;
		const struct request *q = request_find(r, before);
		if (!q || !(after == REQUEST_NULL || (q->is_persistent && c->is->is_all)))
			continue;
		complete(r, c, before, c->is->is_all ? i : gone == 1 ? 0 : UINT32_MAX);
	}
}

static void take_requests(struct reading *r, const struct call *c)
{
	const struct af_api_arg *arg = &c->api.args[c->is->request];
	uint64_t handle;

	if (c->is->role == CLOCK_ROLE_COMPLETE) {
		take_completed(r, c);
		return;
	}
	for (uint32_t i = 0; element(&arg->before, i, &handle); i++) {
		struct request *q = request_find(r, handle);
		if (c->is->role == CLOCK_ROLE_START)
			start(r, c, q);
		else if (q && q->receive)
			clock_receive_lost(r->receives, q->receive - 1,
			                   c->is->role == CLOCK_ROLE_CANCEL);
		if (q && c->is->role == CLOCK_ROLE_FREE)
			*q = (struct request){0};
	}
}

/* All processes duplicate a communicator in the same order. */
static void take_dup(struct reading *r, const struct call *c)
{
	struct comm *of = comm_find(r, handle_of(c, c->is->comm));
	uint64_t handle;

	if (c->is->new_comm < 0 || !element(&c->api.args[c->is->new_comm].target, 0, &handle))
		return;
	uint64_t *old = af_map_get(&r->comms, handle);
	if (old && handle != WORLD)
		*old = 0;
	if (!of || of->dups == DUPS - 1 || of->id >= UINT32_MAX / DUPS - 1)
		return;
	uint32_t id = of->id * DUPS + ++of->dups;
	comm_add(r, handle, id);
}

static void take_dropped(struct reading *r, const struct call *c)
{
	uint64_t handle, *slot = NULL;

	if (element(&c->api.args[c->is->comm].before, 0, &handle))
		slot = af_map_get(&r->comms, handle);
	if (slot && handle != WORLD)
		*slot = 0;
}

static void take_meeting(struct reading *r, const struct call *c)
{
	const struct comm *comm = comm_of(r, c);

	if (comm && (c->is->count < 0 || value_of(c, c->is->count) > 0))
		clock_meeting_put(r->m, comm->id, c->number, c->start, c->end);
}

static void take(struct reading *r, const struct call *c)
{
	switch (c->is->role) {
	case CLOCK_ROLE_SEND:
	case CLOCK_ROLE_RECEIVE:
	case CLOCK_ROLE_BOTH:
		take_message(r, c);
		break;
	case CLOCK_ROLE_MAKE_SEND:
	case CLOCK_ROLE_MAKE_RECEIVE:
		take_made(r, c);
		break;
	case CLOCK_ROLE_START:
	case CLOCK_ROLE_COMPLETE:
	case CLOCK_ROLE_FREE:
	case CLOCK_ROLE_CANCEL:
		take_requests(r, c);
		break;
	case CLOCK_ROLE_PROBE:
		clock_receives_break(r->receives);
		break;
	case CLOCK_ROLE_DUP:
		take_dup(r, c);
		break;
	case CLOCK_ROLE_DROP:
		take_dropped(r, c);
		break;
	case CLOCK_ROLE_MEET:
		take_meeting(r, c);
		break;
	case CLOCK_ROLE_NONE:
	case CLOCK_ROLE_INIT:
		break;
	}
}

static bool call_read(const struct af_event *ev, struct call *c)
{
	const struct af_api_table *api = af_api_of(ev->kind);
	const struct af_api_function *f = af_api_function(ev->kind);

	if (!api || api->api != AF_API_MPI || !f || ev->time_ns >= (uint64_t)CLOCK_TIME_MAX)
		return false;
	c->number = (uint32_t)(ev->kind - api->kind);
	c->is = clock_function_of(c->number, f);
	if (c->is->role == CLOCK_ROLE_NONE ||
	    !af_api_decode(f, ev->payload, ev->payload_size, &c->api) || c->api.head.depth)
		return false;
	c->end = (int64_t)ev->time_ns;
	c->start = c->end - (int64_t)af_u48_value(c->api.head.duration_ns);
	c->tid = ev->tid;
	return true;
}

/* From then on --ctl has switched calls of MPI off, or on that had not been recorded. */
static bool is_switched(const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];

	return ev->kind == AF_KIND_NOTE && af_event_decode(ev, NULL, 0, tails) &&
	       !strcmp((const char *)tails[0].data, "calls.switched") &&
	       !strncmp((const char *)tails[1].data, "mpi:", 4);
}

/* False: what follows is not certain. */
static bool event_take(struct reading *r, const struct af_event *ev)
{
	struct call c;

	if (is_switched(ev))
		return false;
	if (!call_read(ev, &c))
		return true;
	if (c.is->role == CLOCK_ROLE_INIT) {
		if (r->begun)
			return false; /* a second process: several ranks are in one trace */
		r->begun = true;
		r->process = ev->process;
		return true;
	}
	/* Recorded from somewhere in the middle: nobody knows how many there were before. */
	if (!r->begun || ev->process != r->process)
		return false;
	if (c.api.head.flags & AF_API_CALL_FAILED)
		return false;
	take(r, &c);
	return true;
}

static bool is_whole(const struct af_trace *t)
{
	const struct af_trace_damage *d = af_trace_damage(t);

	return !d->packets && !d->missing && !d->disordered && !d->events && !d->retimed &&
	       !d->discarded;
}

bool clock_messages_read(struct clock_messages *m, const char *path)
{
	struct reading r = {.m = m};
	struct af_trace *t;
	struct af_event ev;

	if (af_trace_open(&t, path, UINT64_C(1) << AF_KIND_API_BIT | 1ull << AF_KIND_NOTE, NULL))
		return false;
	r.receives = clock_receives_new(m);
	comm_add(&r, WORLD, 0);
	while (af_trace_next(t, &ev) && is_whole(t) && event_take(&r, &ev))
		;
	af_trace_close(t);
	clock_receives_free(r.receives);
	af_map_free(&r.comms);
	af_map_free(&r.requests);
	free(r.all);
	free(r.under_way);
	return m->nr_channels || m->nr_meetings;
}
