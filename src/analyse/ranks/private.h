/*
 * Shared by the files of this room:
 *
 *	activity.c  a pass: what a rank did over time
 *	bytes.c     profiles as bytes, for another process
 *	profile.c   a rank's times by kind and call path, in bounded memory
 *	sums.c      times of paths with everything below them, of one rank or of many
 *	groups.c    ranks that behave alike
 *	causes.c    why an odd rank is odd, and how much of the job's time that explains
 *	ranks.c     the order of it all
 *	tables.c    the tables
 *	heat.c      rank × time
 */
#ifndef AF_ANALYSE_RANKS_PRIVATE_H
#define AF_ANALYSE_RANKS_PRIVATE_H

#include <math.h>

#include "analyse/ranks/ranks.h"
#include "base/arena.h"

/* Time of a kind at a path, without paths below it that the profile has, too. */
struct ranks_part {
	uint32_t path; /* node of the paths */
	enum af_rank_kind kind;
	uint64_t ns;
	double variance; /* by sampling; 0: measured */
};

/* A rank as it was added. */
struct ranks_profile {
	struct ranks_part *parts;
	uint32_t nr, cap;
	uint64_t start_ns, each_ns;
	uint32_t nr_bins;
	uint32_t *bins; /* by bin and kind, in 10,000ths of a bin */
};

struct af_ranks {
	struct af_arena arena;
	struct af_tree paths; /* call paths of all ranks; its weight is not used */
	struct ranks_profile *profiles;
	struct af_rank *ranks;
	uint32_t nr, cap, cap_ranks;
	bool has_waits;
	struct af_ranks_result result;
};

/* A new rank, the last one, and its profile, which is empty. @who is copied. */
struct ranks_profile *ranks_new(struct af_ranks *all, const struct af_member *who);

/* Fill @p from the results of a rank; the names of its paths go into all->paths. */
void ranks_profile_make(struct af_ranks *all, struct ranks_profile *p, struct af_rank *rank,
                        const struct af_results *r);

/*
 * Times by path and kind, each with what lies below it. Of a rank only the cells that it has are
 * filled, and `touched` lists them; of the mean of several all may be.
 */
struct ranks_sums {
	uint32_t nr;           /* paths */
	double *ns, *variance; /* by cell: path × AF_RANK_KINDS + kind */
	uint32_t *touched;
	uint32_t nr_touched;
	bool *is_touched;
};

static inline uint32_t ranks_cell(uint32_t path, enum af_rank_kind kind)
{
	return path * AF_RANK_KINDS + (uint32_t)kind;
}

/*
 * The standard deviation of the time of a rank at @cell from the mean of others, by chance: of its
 * variance @own, that of one of the others @each, and that of the mean @mean. A rank that was not
 * sampled there varies as the others do. The number of samples varies by chance. That of waits
 * hardly does, as a program makes them step by step, so half of it counts.
 */
static inline double ranks_deviation(uint32_t cell, double own, double each, double mean)
{
	enum af_rank_kind kind = (enum af_rank_kind)(cell % AF_RANK_KINDS);
	bool waits = kind == AF_RANK_DISK || kind == AF_RANK_WAIT || kind == AF_RANK_QUEUED;

	return sqrt(fmax(own, each) + mean) * (waits ? 0.5 : 1);
}

/* All zero, for the paths that there are. The caller closes them. */
void ranks_sums_open(struct ranks_sums *s, const struct af_ranks *all);
void ranks_sums_close(struct ranks_sums *s);

/* Make all zero again. */
void ranks_sums_clear(struct ranks_sums *s);

/* Add the times of @p, multiplied by @scale. */
void ranks_sums_add(struct ranks_sums *s, const struct af_ranks *all, const struct ranks_profile *p,
                    double scale);

/* Sets the groups, and each rank's; the largest group comes first. */
void ranks_groups_make(struct af_ranks *all);

/* Sets odd ranks, their causes and their order; and the causes of the groups' typical ranks. */
void ranks_causes_find(struct af_ranks *all);

/* Time that a rank spends itself, so that others may wait for it. */
static inline bool ranks_kind_is_own(enum af_rank_kind kind)
{
	return kind == AF_RANK_CPU || kind == AF_RANK_DEVICE || kind == AF_RANK_DISK;
}

#endif
