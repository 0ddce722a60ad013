/*
 * A pass for the profile of a rank. It follows what the rank did over time, and how long it was
 * inside MPI, by function. It answers AF_ANSWER_OWN with the struct af_activity in the query's
 * `own`, of fixed size.
 */
#ifndef AF_ANALYSE_RANKS_ACTIVITY_H
#define AF_ANALYSE_RANKS_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The kinds of a rank's time. Work of its own comes first: it may make others wait. In the rest it
 * waits for others or for its turn.
 */
#define AF_RANK_KIND_LIST(K)                                                                       \
	K(CPU, "cpu", "CPU")                                                                       \
	K(DEVICE, "device", "device")                                                              \
	K(DISK, "disk", "disk or lock")                                                            \
	K(MPI, "mpi", "MPI")                                                                       \
	K(WAIT, "wait", "waiting")                                                                 \
	K(QUEUED, "queued", "waiting for a CPU")

enum af_rank_kind {
#define AF_K(NAME, name, title) AF_RANK_##NAME,
	AF_RANK_KIND_LIST(AF_K)
#undef AF_K
	    AF_RANK_KINDS
};

enum { AF_ACTIVITY_BINS = 256, AF_ACTIVITY_CALLS = 48, AF_ACTIVITY_NAME = 48 };

/* A function of MPI; "" for all that have no entry of their own. */
struct af_activity_call {
	char name[AF_ACTIVITY_NAME];
	uint64_t ns, calls;
};

struct af_activity {
	/* Bins of the trace's clock; the first begins at a multiple of each_ns. */
	uint64_t start_ns, each_ns;
	uint32_t nr; /* bins in use */
	uint64_t ns[AF_RANK_KINDS][AF_ACTIVITY_BINS];
	uint64_t total_ns[AF_RANK_KINDS];
	struct af_activity_call calls[AF_ACTIVITY_CALLS];
	uint32_t nr_calls;
	uint64_t wall_ns;
	/* Waits for disks as the recorder has polled them, and the polls that found one. */
	uint64_t polled_disk_ns, disk_polls;
};

struct af_pass_ops;
extern const struct af_pass_ops af_pass_activity;

#endif
