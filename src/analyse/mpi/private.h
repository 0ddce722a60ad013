/*
 * Shared by the files of the pass `mpi`:
 *
 *	calls.c     a call of MPI, as this room needs it
 *	actions.c   the actions of a call on its requests
 *	mpi.c       the pass, and time by thread
 *	requests.c  from the post of a request to its completion
 *	tables.c    the tables
 */
#ifndef AF_ANALYSE_MPI_PRIVATE_H
#define AF_ANALYSE_MPI_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/tables/decode.h"
#include "base/keys.h"

struct af_event;
struct af_results;
struct af_world;

/* A function does this to requests. */
enum mpi_role {
	MPI_ROLE_NONE,
	MPI_ROLE_POSTS, /* makes one that is under way: MPI_Isend */
	MPI_ROLE_MAKES, /* makes one that is started again and again: MPI_Send_init */
	MPI_ROLE_STARTS,
	MPI_ROLE_COMPLETES,
	MPI_ROLE_FREES,
};

/* Parameters of a function by what they are; -1: it has none. */
struct mpi_params {
	bool known;
	enum mpi_role role;
	int8_t peer, request, status;
};

/* A call that worked, taken apart; valid until the next. */
struct mpi_call {
	uint32_t process, tid;
	uint64_t start_ns, end_ns;
	uint32_t function; /* number in the table of MPI */
	struct af_api_call is;
	struct mpi_params params;
};

/* False when @ev is none that is whole and worked. @known, by function, is filled as needed. */
bool mpi_call_read(const struct af_event *ev, struct mpi_params *known, struct mpi_call *call);

/* The peer that it names, MPI_ANY_SOURCE among them; MPI_PROC_NULL where it names none. */
int32_t mpi_call_peer(const struct mpi_call *call);

enum { MPI_FUNCTIONS = 1024, MPI_PROC_NULL = -1, MPI_ANY_SOURCE = -2 };

/* The requests of a function with a peer. */
struct mpi_request_sum {
	uint32_t process, function;
	int32_t peer;
	uint64_t posted, completed, unseen, open; /* unseen: completed, and no call says when */
	uint64_t bytes, time_ns, max_ns, waited_ns;
};

/* One under way, or one that can be started. */
struct mpi_request {
	uint32_t function;
	int32_t peer;
	bool is_persistent, is_open;
	uint64_t posted_ns, bytes;
	uint32_t next; /* posted later with the same handle, plus 1; 0: none */
};

struct mpi_requests {
	struct af_keys by_handle; /* process, handle: the oldest, plus 1 */
	struct mpi_request *all;
	uint32_t nr, cap;
	uint32_t spare; /* of them: the first of a list of those that are over, plus 1 */
	struct af_keys by_sum;
	struct mpi_request_sum *sums;
	uint32_t nr_sums, cap_sums;
};

/* An action of a call on one request. A part of a trace keeps all of its own: they are small. */
struct mpi_action {
	uint64_t handle;
	uint64_t start_ns, end_ns; /* of the call */
	uint64_t bytes;            /* of the request that is posted or made, or by the status */
	int32_t peer;              /* likewise */
	uint32_t thread;           /* index of mpi.threads */
	uint16_t function;         /* that posts or makes it */
	uint8_t role;              /* enum mpi_role */
	/* A completion: the handle is none any more; all requests of the call are complete. */
	bool is_gone : 1, is_all : 1;
	bool has_status : 1; /* of a receive */
};

/* The next action of a call, of which @i, at first 0, have been taken; false: there is none. */
bool mpi_action_next(const struct mpi_call *call, uint32_t *i, struct mpi_action *action);

struct mpi_bytes {
	uint64_t sent, received;
};

/* Do it, for a call of @process: bytes of sends started, and of receives. */
struct mpi_bytes mpi_requests_take(struct mpi_requests *r, uint32_t process,
                                   const struct mpi_action *action);
void mpi_requests_end(struct mpi_requests *r);
void mpi_requests_free(struct mpi_requests *r);

/* Time of a thread by what its calls were for. */
enum mpi_part { MPI_PART_POINT, MPI_PART_WAIT, MPI_PART_COLLECTIVE, MPI_PART_REST, MPI_PARTS };

struct mpi_thread {
	uint32_t process, tid;
	uint64_t calls, time_ns, parts_ns[MPI_PARTS];
	uint64_t sent_bytes, received_bytes, collective_bytes;
	uint64_t begin_ns, end_ns; /* of the time that has a share: see README.md */
	bool has_begun, has_ended;
	bool has_called; /* other functions than MPI_Init and MPI_Finalize */
};

struct mpi {
	struct mpi_params params[MPI_FUNCTIONS];
	struct mpi_requests requests;
	struct af_keys by_thread;
	struct mpi_thread *threads;
	uint32_t nr_threads, cap_threads;
	/* A part of the trace keeps its actions, which depend on those before it. */
	struct mpi_action *actions;
	uint32_t nr_actions, cap_actions;
};

/* "mpi" and "mpi_requests", where there is something. */
void mpi_tables(struct mpi *m, const struct af_world *w, struct af_results *out);

#endif
