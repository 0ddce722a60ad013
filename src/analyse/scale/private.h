/*
 * Shared by the files of this room:
 *
 *	scale.c   the sets, and the times of their paths and calls
 *	parts.c   what becomes a row, and how its time grows
 *	tables.c  the tables
 */
#ifndef AF_ANALYSE_SCALE_PRIVATE_H
#define AF_ANALYSE_SCALE_PRIVATE_H

#include "analyse/scale/scale.h"
#include "base/keys.h"

enum scale_kind { SCALE_CPU, SCALE_DEVICE, SCALE_WAIT, SCALE_KINDS, SCALE_CALL = SCALE_KINDS };

struct scale_set {
	const char *name;
	uint32_t nr_ranks;
	uint64_t wall_ns; /* of the rank that took longest */
	uint64_t mpi_ns;
	uint64_t samples[SCALE_KINDS], sampled_ns[SCALE_KINDS];
	uint64_t *ns[SCALE_KINDS];   /* by node of the paths, its own */
	uint64_t *most[SCALE_KINDS]; /* the same with all below, of the rank with most */
	uint32_t cap[SCALE_KINDS], cap_most[SCALE_KINDS];
	uint64_t *calls_ns; /* by call */
	uint32_t cap_calls;
};

struct scale_call {
	const char *function, *api;
};

struct af_scale {
	bool weak;
	struct af_arena arena;
	struct af_tree paths; /* of all sets */
	struct scale_set sets[AF_SCALE_SETS];
	uint32_t nr;
	struct af_keys by_call;
	struct scale_call *calls;
	uint32_t nr_calls, cap_calls;
};

/* Times of one thing in all sets, and how they grow. */
struct scale_part {
	enum scale_kind kind;
	uint32_t path;              /* of paths and functions: a node */
	uint32_t call;              /* of calls */
	bool is_function;           /* its own time, wherever it was called; else with all below */
	uint64_t ns[AF_SCALE_SETS]; /* of all ranks */
	uint64_t most[AF_SCALE_SETS]; /* of paths: of the rank with most */
	double lost_ns, noise_ns;     /* of a rank of the largest set */
	double exponent;
	bool has_exponent;
	uint64_t efficiency; /* hundredths of a percent */
	uint32_t stops_at;   /* ranks of the first set where it is not efficient; 0: none */
};

struct scale_parts {
	struct scale_part *all;
	uint32_t nr, cap;
};

/* Sets with fewer ranks first; of equal ones in the order of the command. */
void scale_sort(struct af_scale *s);

/*
 * Fill @to with call paths that lose time, with functions, or with calls of APIs, in the order of
 * tables. Of functions and calls, those of at least @least. The caller frees to->all.
 */
void scale_paths(const struct af_scale *s, struct scale_parts *to);
void scale_functions(const struct af_scale *s, uint32_t least, struct scale_parts *to);
void scale_calls(const struct af_scale *s, uint32_t least, struct scale_parts *to);

/*
 * The time of a rank by which it scales: of paths the slowest rank's, as others wait for it; of
 * functions, calls and waits the mean.
 */
double scale_of_rank(const struct af_scale *s, const struct scale_part *p, uint32_t i);

/* The time of @kind in set @i, of all ranks. */
uint64_t scale_total(const struct af_scale *s, uint32_t i, enum scale_kind kind);

#endif
