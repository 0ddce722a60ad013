/* Between the files of this room: what repeats, as times, and the steps that fit them. */
#ifndef AF_ANALYSE_PHASES_PRIVATE_H
#define AF_ANALYSE_PHASES_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/join/join.h"
#include "analyse/world/stack_locations.h"
#include "base/hash.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"

struct af_event;
struct af_phases;
struct af_sample;
struct af_tables;
struct af_work;
struct af_world;

enum {
	PHASE_STEPS_LEAST = 8,
	PHASE_TIMES_MOST = 1 << 16 /* that are kept: what is more often is within a step */
};

/* For qsort() of uint64_t. */
int phase_number_order(const void *a, const void *b);

/*
 * Too many times are thinned: a time is kept if its hash has none of the bits @thin, which are a
 * number of the lowest ones; with all 64 none is kept. So it does not matter in which order times
 * come, nor in how many parts.
 */
static inline bool phase_keeps(uint64_t ns, uint64_t thin)
{
	return !thin || !((af_mix(ns) | 1ull << 63) & thin);
}

/* When something happened. */
struct phase_times {
	uint32_t cap, kept;
	uint64_t nr, thin; /* thin: see phase_keeps(); 0: all are kept */
	uint64_t first_ns, last_ns;
	uint64_t *at_ns; /* in any order until phase_times_sort() */
};

/* Keep a time, if there are not too many. */
void phase_times_add(struct phase_times *t, uint64_t ns);
/* The same in two steps, of @nr times: what is known of all, and what is kept. */
void phase_times_count(struct phase_times *t, const uint64_t *at_ns, uint32_t nr);
void phase_times_keep(struct phase_times *t, const uint64_t *at_ns, uint32_t nr);
/* Add those of @from, which were not sorted yet. */
void phase_times_merge(struct phase_times *t, const struct phase_times *from);
/* Put them in order: the first and the last one are among them from now on. No more will come. */
void phase_times_sort(struct phase_times *t);
/* The time from the first to the last one. */
uint64_t phase_times_span(const struct phase_times *t);
/* How many that are kept are before @ns. Of one or more, sorted. */
uint32_t phase_times_before(const struct phase_times *t, uint64_t ns);

/* The steps that were found. */
struct phase_steps {
	const struct phase_times *anchor; /* its times begin the steps, the last one ends them */
	uint32_t paths;                   /* that are called once in each */
	uint32_t group;     /* so many in a row take about the same time; 0: none do */
	uint64_t median_ns; /* of groups in the later half */
	uint64_t even_ns;   /* where no group is known: when the steady part begins */
};

/*
 * Are the times of @anchor regular, in steps of their own or (@group) in groups of 2 to 16? Fills
 * group and median_ns of @s if so. All times are kept, and sorted.
 */
bool phase_steps_single(struct phase_steps *s, const struct phase_times *anchor);
bool phase_steps_grouped(struct phase_steps *s, const struct phase_times *anchor);

/* The first step from which several groups take about the median time, or which is in even time. */
uint32_t phase_steps_steady(const struct phase_steps *s);

/* Adds the table `slow_steps` of a run whose steps are known to @f. */
void phase_slow_table(const struct af_phases *p, struct af_tables *f);

/*
 * Steps by call paths that launch device work.
 *
 *	{ phase_calls_add | phase_calls_merge }* → phase_calls_sort → { phase_calls_find |
 *	phase_calls_of }* → phase_calls_free
 */
struct phase_calls {
	struct phase_path *paths; /* by call path of the world; sorted: of those with calls */
	uint32_t nr, cap;
	struct phase_block **blocks; /* of calls by path: their times are not with the paths yet */
	uint32_t nr_blocks, cap_blocks;
	/* The calls that came last, which no path knows of. */
	struct phase_call {
		uint32_t process, path;
		uint64_t ns;
	} * log;
	uint32_t nr_log, cap_log;
};
/* A call of @process at @ns, which launched work, from the call path @path of the world. */
void phase_calls_add(struct phase_calls *c, uint32_t process, uint32_t path, uint64_t ns);
/*
 * Add those of @from, which is not sorted. Both share blocks then: one thread at a time adds them
 * and frees them.
 */
void phase_calls_merge(struct phase_calls *c, const struct phase_calls *from);
void phase_calls_sort(struct phase_calls *c);
bool phase_calls_find(struct phase_calls *c, struct phase_steps *s);
/*
 * The calls of @process (0: of all), and the longest time from the first to the last call of one of
 * its paths that has as many as there must be steps; 0: no path has.
 */
uint64_t phase_calls_of(const struct phase_calls *c, uint32_t process, uint64_t *longest_ns);
void phase_calls_free(struct phase_calls *c);

/*
 * Steps by the ranges and marks that the program makes itself.
 *
 *	phase_ranges_event* → phase_ranges_find → phase_ranges_free
 */
struct phase_ranges {
	struct af_strtab names;
	struct phase_range *all; /* by process, thread, domain, name, and whether it is a mark */
	uint32_t nr, cap;
	struct phase_nest *nests; /* by process, thread and domain */
	uint32_t nr_nests, cap_nests;
	struct af_keys by_range, by_nest;
	struct af_join started; /* by START */
};
void phase_ranges_event(struct phase_ranges *r, const struct af_event *ev);
/*
 * The steps among the ranges of a run from @start_ns to @end_ns, if one fits; *@name is its name,
 * with N in place of a number, which lives as long as @r, and *@marks tells that it is a mark.
 */
bool phase_ranges_find(struct phase_ranges *r, const struct phase_calls *calls, uint64_t start_ns,
                       uint64_t end_ns, struct phase_steps *s, const char **name, bool *marks);
void phase_ranges_free(struct phase_ranges *r);

/*
 * The time in which the CPU samples are of about the same functions.
 *
 *	{ phase_mix_sample | phase_mix_merge }* → phase_mix_find → phase_mix_free
 */
struct phase_mix {
	struct af_stack_locations locations;
	struct phase_sample *samples;
	uint32_t nr, cap;
	uint64_t thin; /* see phase_keeps() */
};
struct phase_mixed {
	uint64_t from_ns, to_ns; /* of the trace's clock */
	uint64_t error_ns;       /* of from_ns */
	uint32_t parts;          /* of so many parts of the run */
	uint32_t
	    differ_percent; /* a function's share in one of them from its share in all, at most */
	uint32_t loading_percent; /* of the samples before: importing, linking, compiling */
};
void phase_mix_sample(struct phase_mix *m, const struct af_sample *s);
/* Add those of @from. */
void phase_mix_merge(struct phase_mix *m, const struct phase_mix *from);
/* The steady part of a run of @run_ns: false if it has none, or if it is nearly all of it. */
bool phase_mix_find(struct phase_mix *m, const struct af_world *w, uint64_t run_ns,
                    struct phase_mixed *found);
void phase_mix_free(struct phase_mix *m);

#endif
