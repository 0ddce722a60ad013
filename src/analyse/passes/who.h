/* Shared by the files of the pass `who`: the activity of threads, and its tables. */
#ifndef AF_ANALYSE_PASSES_WHO_H
#define AF_ANALYSE_PASSES_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct af_tables;
struct af_family;
struct af_results;
struct af_world;

struct who_use {
	uint64_t sampled_ns, kernel_ns; /* on a CPU; of that in the kernel */
	bool untimed; /* of some samples or sums nobody knows how long they took */
	uint64_t blocked_ns, queued_ns, waits;
};

struct who_thread {
	uint32_t process, tid;
	struct who_use use;
};

struct who {
	struct af_map by_thread;
	struct af_map wakers; /* ordinals of those who woke somebody */
	struct who_thread *threads;
	uint32_t nr, cap;
	uint64_t stacks_ns; /* in the kernel, with its stack */
};

/* The sums of the thread so far, to add to. Valid until the next call. */
struct who_use *who_use(struct who *who, uint32_t process, uint32_t tid);
void who_use_add(struct who_use *to, const struct who_use *u);

/* @there says by ordinal which processes there are; what they used is in the coverage of @out. */
void who_processes(const struct who *who, const struct af_world *w, const bool *there,
                   const struct af_family *family, struct af_results *out);

/* Joins threads as the family joined their processes: what @who holds changes. */
void who_threads(struct who *who, const struct af_world *w, const struct af_family *family,
                 struct af_tables *f);

#endif
