/*
 * Shared by the files of this room:
 *
 *	scale.c   the sets, and the times of their paths and calls
 *	sets.c    sets joined: one of two processes, and all with one numbering
 *	parts.c   what becomes a row, and how its time grows
 *	tables.c  the tables
 */
#ifndef AF_ANALYSE_SCALE_PRIVATE_H
#define AF_ANALYSE_SCALE_PRIVATE_H

#include "analyse/scale/scale.h"
#include "base/keys.h"

enum scale_kind { SCALE_CPU, SCALE_DEVICE, SCALE_WAIT, SCALE_KINDS, SCALE_CALL = SCALE_KINDS };

/* A function of an API, and its time in the ranks of one set. */
struct scale_call {
	const char *function, *api;
	uint64_t ns;
};

struct scale_calls {
	struct af_keys by_name;
	struct scale_call *all;
	uint32_t nr, cap;
};

/* While members are added, paths and calls have numbers of the set's own (sets.c). */
struct scale_set {
	const char *name;
	uint32_t nr_ranks;
	uint64_t wall_ns; /* of the rank that took longest */
	uint64_t mpi_ns;
	uint64_t samples[SCALE_KINDS], sampled_ns[SCALE_KINDS];
	struct af_tree paths;
	uint64_t *ns[SCALE_KINDS];   /* by node of the paths, its own */
	uint64_t *most[SCALE_KINDS]; /* the same with all below, of the rank with most */
	uint32_t cap[SCALE_KINDS], cap_most[SCALE_KINDS];
	struct scale_calls calls;
	uint64_t *calls_ns; /* by call of all sets */
	uint32_t cap_calls;
};

struct af_scale {
	bool weak;
	struct af_arena arena;
	struct af_tree paths; /* of all sets */
	struct scale_set sets[AF_SCALE_SETS];
	uint32_t nr;
	struct scale_calls calls; /* of all sets */
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

/* A set without members, of the arena's @name. Closing frees what it has. */
void scale_set_open(struct scale_set *set, const char *name);
void scale_set_close(struct scale_set *set);

/* Add @ns to the calls of a function, whose names are copied into @arena: the function's number. */
uint32_t scale_call_add(struct scale_calls *to, struct af_arena *arena, const char *api,
                        const char *function, uint64_t ns);

/* @sum and @ns together, or the most there is. */
void scale_sum(uint64_t *sum, uint64_t ns);

/* Give the paths and calls of all sets one numbering: s->paths, s->calls. */
void scale_sets_combine(struct af_scale *s);

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
