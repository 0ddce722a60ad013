/* The functions of MPI that messages depend on, by name, and the places of their arguments. */
#include <string.h>

#include "analyse/clocks/private.h"

enum { FUNCTIONS = 1024 };

/* Each name stands for its variant with large counts, too: MPI_Send_c. */
static const struct {
	const char *name;
	enum clock_role role;
} roles[] = {
    {"MPI_Init", CLOCK_ROLE_INIT},
    {"MPI_Init_thread", CLOCK_ROLE_INIT},
    {"MPI_Send", CLOCK_ROLE_SEND},
    {"MPI_Bsend", CLOCK_ROLE_SEND},
    {"MPI_Ssend", CLOCK_ROLE_SEND},
    {"MPI_Rsend", CLOCK_ROLE_SEND},
    {"MPI_Isend", CLOCK_ROLE_SEND},
    {"MPI_Ibsend", CLOCK_ROLE_SEND},
    {"MPI_Issend", CLOCK_ROLE_SEND},
    {"MPI_Irsend", CLOCK_ROLE_SEND},
    {"MPI_Recv", CLOCK_ROLE_RECEIVE},
    {"MPI_Irecv", CLOCK_ROLE_RECEIVE},
    {"MPI_Sendrecv", CLOCK_ROLE_BOTH},
    {"MPI_Sendrecv_replace", CLOCK_ROLE_BOTH},
    {"MPI_Isendrecv", CLOCK_ROLE_BOTH},
    {"MPI_Isendrecv_replace", CLOCK_ROLE_BOTH},
    {"MPI_Send_init", CLOCK_ROLE_MAKE_SEND},
    {"MPI_Bsend_init", CLOCK_ROLE_MAKE_SEND},
    {"MPI_Ssend_init", CLOCK_ROLE_MAKE_SEND},
    {"MPI_Rsend_init", CLOCK_ROLE_MAKE_SEND},
    {"MPI_Recv_init", CLOCK_ROLE_MAKE_RECEIVE},
    {"MPI_Start", CLOCK_ROLE_START},
    {"MPI_Startall", CLOCK_ROLE_START},
    {"MPI_Wait", CLOCK_ROLE_COMPLETE},
    {"MPI_Waitall", CLOCK_ROLE_COMPLETE},
    {"MPI_Waitany", CLOCK_ROLE_COMPLETE},
    {"MPI_Waitsome", CLOCK_ROLE_COMPLETE},
    {"MPI_Test", CLOCK_ROLE_COMPLETE},
    {"MPI_Testall", CLOCK_ROLE_COMPLETE},
    {"MPI_Testany", CLOCK_ROLE_COMPLETE},
    {"MPI_Testsome", CLOCK_ROLE_COMPLETE},
    {"MPI_Request_free", CLOCK_ROLE_FREE},
    {"MPI_Cancel", CLOCK_ROLE_CANCEL},
    {"MPI_Mprobe", CLOCK_ROLE_PROBE},
    {"MPI_Improbe", CLOCK_ROLE_PROBE},
    {"MPI_Mrecv", CLOCK_ROLE_PROBE},
    {"MPI_Imrecv", CLOCK_ROLE_PROBE},
    {"MPI_Comm_dup", CLOCK_ROLE_DUP},
    {"MPI_Comm_dup_with_info", CLOCK_ROLE_DUP},
    {"MPI_Comm_free", CLOCK_ROLE_DROP},
    {"MPI_Comm_disconnect", CLOCK_ROLE_DROP},
    {"MPI_Barrier", CLOCK_ROLE_MEET},
    {"MPI_Allreduce", CLOCK_ROLE_MEET},
    {"MPI_Allgather", CLOCK_ROLE_MEET},
    {"MPI_Alltoall", CLOCK_ROLE_MEET},
    {"MPI_Reduce_scatter_block", CLOCK_ROLE_MEET},
};

static enum clock_role role_of(const char *name)
{
	size_t len = strlen(name);

	if (len > 2 && !strcmp(name + len - 2, "_c"))
		len -= 2;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (strlen(roles[i].name) == len && !memcmp(roles[i].name, name, len))
			return roles[i].role;
	return CLOCK_ROLE_NONE;
}

/* The first of the parameters that the function has, or -1. */
static int8_t param_of(const struct af_api_function *f, const char *name, const char *other)
{
	for (uint8_t i = 0; i < f->nr_params; i++)
		if (!strcmp(f->params[i].name, name))
			return (int8_t)i;
	return other ? param_of(f, other, NULL) : -1;
}

static void function_find(struct clock_function *is, const struct af_api_function *f)
{
	*is = (struct clock_function){
	    .known = true,
	    .role = f->name ? role_of(f->name) : CLOCK_ROLE_NONE,
	    .dest = param_of(f, "dest", NULL),
	    .send_tag = param_of(f, "sendtag", "tag"),
	    .source = param_of(f, "source", NULL),
	    .receive_tag = param_of(f, "recvtag", "tag"),
	    .comm = param_of(f, "comm", NULL),
	    .new_comm = param_of(f, "newcomm", NULL),
	    .request = param_of(f, "request", "array_of_requests"),
	    .status = param_of(f, "status", "array_of_statuses"),
	    .count = param_of(f, "recvcount", "count"),
	    .index = param_of(f, "index", "indx"),
	};
	/* Where nothing is passed on, nobody need wait for anybody, but in a barrier. */
	if (is->role == CLOCK_ROLE_MEET && !strncmp(f->name, "MPI_Barrier", 11))
		is->count = -1;
	is->is_all = f->name && (!strcmp(f->name, "MPI_Wait") || !strcmp(f->name, "MPI_Waitall"));
}

const struct clock_function *clock_function_of(uint32_t number, const struct af_api_function *f)
{
	static const struct clock_function none = {.known = true};
	static _Thread_local struct clock_function all[FUNCTIONS];

	if (number >= FUNCTIONS)
		return &none;
	if (!all[number].known)
		function_find(&all[number], f);
	return &all[number];
}
