/* Shared by the files of the pass `coverage`. */
#ifndef AF_ANALYSE_PASSES_COVERAGE_PRIVATE_H
#define AF_ANALYSE_PASSES_COVERAGE_PRIVATE_H

#include "analyse/coverage/coverage.h"
#include "analyse/world/family.h"
#include "base/map.h"
#include "trace/layout.h"

struct af_results;

/* Whatever events say of one image of a process. */
struct coverage_image {
	uint64_t sampled_user, sampled_kernel;
	uint64_t children_user, children_kernel; /* that it waited for, with theirs */
};

struct coverage_thread {
	uint32_t process, tid;
	bool known;
	uint32_t source;
	struct af_covered cpu;
};

struct coverage_pass {
	struct coverage_image *images; /* by ordinal */
	uint32_t nr_images;
	struct coverage_thread *threads;
	uint32_t nr_threads, cap_threads;
	struct af_map by_thread;
	struct af_map cause_count, cause_ns; /* by process << 8 | enum af_unsampled */
	struct af_map lost;                  /* by process << 8 | enum af_lost */
	uint64_t least_ns;                   /* the lightest sample */
	struct af_covered tree;              /* used, as the recorder's wait4 has it */
	bool has_tree;
	bool summed;
	bool kernel_seen; /* a sample was in it */
};

/*
 * coverage_used.c: rows of all processes with what each used itself. @row_of is by ordinal of an
 * image: its row's index plus one, 0 for none.
 */
void coverage_used(const struct coverage_pass *p, const struct af_world *w,
                   const struct af_family *family, struct af_coverage *c, uint32_t *row_of);

/* coverage_cause.c: for each row, and the total, is much missing, and why? */
void coverage_causes(const struct coverage_pass *p, const struct af_world *w,
                     const struct af_family *family, struct af_coverage *c);

#endif
