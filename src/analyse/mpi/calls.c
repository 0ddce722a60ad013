/* Calls of MPI: their parameters, by what they are, and what they do to requests. */
#include <string.h>

#include "analyse/mpi/private.h"
#include "analyse/pass/pass.h"

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static int8_t param_named(const struct af_api_function *f, const char *name)
{
	for (uint8_t i = 0; i < f->nr_params; i++)
		if (!strcmp(f->params[i].name, name))
			return (int8_t)i;
	return -1;
}

static int8_t param_of(const struct af_api_function *f, const char *const *names)
{
	int8_t found = -1;

	for (; *names && found < 0; names++)
		found = param_named(f, *names);
	return found;
}

static enum mpi_role role_of(const struct af_api_function *f, int8_t request)
{
	if (request < 0)
		return MPI_ROLE_NONE;
	if (starts_with(f->name, "MPI_Wait") || starts_with(f->name, "MPI_Test"))
		return MPI_ROLE_COMPLETES;
	if (starts_with(f->name, "MPI_Start"))
		return MPI_ROLE_STARTS;
	if (!strcmp(f->name, "MPI_Request_free"))
		return MPI_ROLE_FREES;
	const struct af_api_param *p = &f->params[request];
	if (!p->is_out || p->is_inout || p->pointee != AF_API_ONE)
		return MPI_ROLE_NONE;
	return strstr(f->name, "_init") ? MPI_ROLE_MAKES : MPI_ROLE_POSTS;
}

static void params_find(const struct af_api_function *f, struct mpi_params *p)
{
	static const char *const peers[] = {"dest", "source", "target_rank", "root", NULL};
	static const char *const requests[] = {"request", "array_of_requests", NULL};
	static const char *const statuses[] = {"status", "array_of_statuses", NULL};

	*p = (struct mpi_params){
	    .known = true,
	    .peer = param_of(f, peers),
	    .request = param_of(f, requests),
	    .status = param_of(f, statuses),
	};
	p->role = role_of(f, p->request);
}

bool mpi_call_read(const struct af_event *ev, struct mpi_params *known, struct mpi_call *call)
{
	const struct af_api_table *api = af_api_of(ev->kind);
	const struct af_api_function *f = af_api_function(ev->kind);

	if (!api || api->api != AF_API_MPI || !f || ev->kind - api->kind >= MPI_FUNCTIONS ||
	    !af_api_decode(f, ev->payload, ev->payload_size, &call->is))
		return false;
	call->process = ev->process;
	call->tid = ev->tid;
	call->end_ns = ev->time_ns;
	uint64_t ns = af_u48_value(call->is.head.duration_ns);
	call->start_ns = ns < ev->time_ns ? ev->time_ns - ns : 0;
	call->function = (uint32_t)(ev->kind - api->kind);
	if (!known[call->function].known)
		params_find(f, &known[call->function]);
	call->params = known[call->function];
	return true;
}

int32_t mpi_call_peer(const struct mpi_call *call)
{
	if (call->params.peer < 0)
		return MPI_PROC_NULL;
	const struct af_api_arg *arg = &call->is.args[call->params.peer];
	return (int32_t)af_api_signed(arg->param->type, arg->value);
}
