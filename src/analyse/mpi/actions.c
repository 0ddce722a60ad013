/* A call of MPI acts on its requests: its actions, one after the other. */
#include <string.h>

#include "analyse/mpi/private.h"

/* MPICH's number of no request, which events have. */
enum { REQUEST_NULL = 0x2c000000 };

/* As a status is stored: see merge_mpi.py. */
struct status {
	int32_t source, tag, cancelled, padding;
	uint64_t bytes;
};

static uint64_t element(const struct af_api_view *v, uint32_t i)
{
	uint64_t handle;

	memcpy(&handle, v->data + (size_t)i * sizeof handle, sizeof handle);
	return handle;
}

/* The status of a receive, the @i-th of several: how much came from whom. */
static void status_read(const struct mpi_call *call, uint32_t i, struct mpi_action *a)
{
	const struct af_api_view *v;
	struct status s;

	if (call->params.status < 0)
		return;
	v = &call->is.args[call->params.status].target;
	if (!v->data || i >= v->nr)
		return;
	memcpy(&s, v->data + (size_t)i * sizeof s, sizeof s);
	a->has_status = true;
	a->peer = s.source;
	a->bytes = s.bytes;
}

static bool is_all(const struct mpi_call *call)
{
	const char *name = call->is.function->name;

	return !strcmp(name, "MPI_Wait") || !strcmp(name, "MPI_Waitall");
}

static void completed(const struct mpi_call *call, uint32_t i, struct mpi_action *a)
{
	const struct af_api_arg *arg = &call->is.args[call->params.request];

	a->is_gone = element(&arg->target, i) == REQUEST_NULL;
	a->is_all = is_all(call);
	status_read(call, i, a);
}

/* How many requests the call has that it may do anything to. */
static uint32_t requests_of(const struct mpi_call *call)
{
	const struct af_api_arg *arg = &call->is.args[call->params.request];

	switch (call->params.role) {
	case MPI_ROLE_POSTS:
	case MPI_ROLE_MAKES:
		return arg->target.nr ? 1 : 0;
	case MPI_ROLE_STARTS:
		return arg->before.nr;
	case MPI_ROLE_COMPLETES:
		return arg->before.nr < arg->target.nr ? arg->before.nr : arg->target.nr;
	case MPI_ROLE_FREES:
		return arg->before.nr ? 1 : 0;
	case MPI_ROLE_NONE:
		break;
	}
	return 0;
}

static uint64_t handle_of(const struct mpi_call *call, uint32_t i)
{
	const struct af_api_arg *arg = &call->is.args[call->params.request];
	bool makes = call->params.role == MPI_ROLE_POSTS || call->params.role == MPI_ROLE_MAKES;

	return element(makes ? &arg->target : &arg->before, i);
}

static void action_fill(const struct mpi_call *call, uint32_t i, struct mpi_action *a)
{
	*a = (struct mpi_action){
	    .role = (uint8_t)call->params.role,
	    .function = (uint16_t)call->function,
	    .handle = handle_of(call, i),
	    .start_ns = call->start_ns,
	    .end_ns = call->end_ns,
	};
	if (a->role == MPI_ROLE_COMPLETES) {
		completed(call, i, a);
		return;
	}
	a->peer = mpi_call_peer(call);
	a->bytes = call->is.bytes;
}

bool mpi_action_next(const struct mpi_call *call, uint32_t *i, struct mpi_action *action)
{
	if (call->params.role == MPI_ROLE_NONE)
		return false;
	for (uint32_t nr = requests_of(call); *i < nr; ++*i) {
		if (handle_of(call, *i) == REQUEST_NULL)
			continue;
		action_fill(call, (*i)++, action);
		return true;
	}
	return false;
}
