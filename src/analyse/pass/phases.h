/*
 * The phases of a run that repeats itself, a typed result: the table `phases` is made from it, and
 * whatever else shows steps. All times are since the trace's start, as --from and --to take them.
 */
#ifndef AF_ANALYSE_PASS_PHASES_H
#define AF_ANALYSE_PASS_PHASES_H

#include <stdint.h>

/* By what the steady part was found. */
enum af_phases_by {
	AF_PHASES_NONE = 0,   /* nothing was found, or a part of a run was read */
	AF_PHASES_RANGES = 1, /* the program's own ranges are the steps */
	AF_PHASES_MARKS = 2,  /* its marks begin them */
	AF_PHASES_CALLS = 3,  /* call paths that launch work once in each step */
	AF_PHASES_RATE = 4,   /* one call path launches about evenly: no single steps are known */
	AF_PHASES_MIX = 5     /* the sampled mix of functions is about the same: as above */
};

struct af_phases {
	enum af_phases_by by;
	/* The start is before, then the warm-up, which may be empty; the end begins at last_ns. */
	uint64_t first_ns, steady_ns, last_ns, end_ns;
	uint64_t error_ns; /* of steady_ns, by MIX */
	/* Where each step begins, and where the last one ends; freed by af_results_close(). */
	uint64_t *steps_ns;
	uint32_t nr_steps;    /* 0: none are known */
	uint32_t steady_step; /* the steps before it are the warm-up */
};

#endif
