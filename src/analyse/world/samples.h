/*
 * Whole CPU samples, for every pass alike. When a tick interrupts the kernel in a thread that
 * carries libaflame, it produces two events: the BPF program writes the kernel stack (KSAMPLE with
 * JOINS), and the thread writes its user stack on its way out of the kernel (SAMPLE). Several ticks
 * in one long system call become one signal, so all waiting KSAMPLEs of a thread get the user part
 * of its next SAMPLE. That SAMPLE then is no sample of its own: the thread had no chance to move. A
 * SAMPLE for which none waits, and a KSAMPLE without JOINS, are samples by themselves.
 *
 *	{ af_samples_event }* → af_samples_end → af_samples_free
 *
 * Feed it events in order of time, across all streams.
 */
#ifndef AF_ANALYSE_WORLD_SAMPLES_H
#define AF_ANALYSE_WORLD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/world/stack_locations.h"
#include "analyse/world/world.h"

struct af_sample {
	uint64_t time_ns, weight_ns; /* weight_ns: CPU time; 0 for COUNTED */
	uint64_t length_ns; /* on a timeline: the weight; for COUNTED the time between two */
	uint64_t count;     /* of COUNTED: the number of events that it stands for */
	bool counted;
	uint32_t tid;
	uint32_t doing; /* of w->annotations: the thread's annotation context, 0 none */
	struct af_stack_location at;
	bool in_kernel;    /* with or without a stack of the kernel */
	bool on_device;    /* in code of a device that is the host: set by analyse.c */
	bool out_of_range; /* its moment is not in the time range: it does not count as a sample */
};

typedef void af_samples_take(void *arg, const struct af_sample *s);

/* The receiver of samples, and the ticks that wait. */
struct af_samples {
	af_samples_take *take;
	void *arg;
	/* Set before the first event: of one of several parts of the trace, see below. */
	bool in_part;

	/* private: by (process, tid) the ticks that wait for their user part */
	struct af_map by_thread;
	struct samples_thread *threads;
	uint32_t nr, cap;
};

#define AF_SAMPLES_WANTS                                                                           \
	(1ull << AF_KIND_SAMPLE | 1ull << AF_KIND_KSAMPLE | 1ull << AF_KIND_COUNTED)

/* An event of AF_SAMPLES_WANTS, after the world @w has seen it. Whole samples go to s->take. */
void af_samples_event(struct af_samples *s, const struct af_world *w, const struct af_event *ev);

/*
 * Add @from, which is of the part that follows those that @s is of, and is empty then. Ticks that
 * wait get the user part of their threads' first SAMPLE in it.
 */
void af_samples_merge(struct af_samples *s, struct af_samples *from);

/*
 * No more will come: ticks that still wait become samples with the kernel's part alone. @w has seen
 * all events. Returns their number.
 */
uint64_t af_samples_end(struct af_samples *s, const struct af_world *w);

/* Free what @s holds; ticks that still wait are dropped. */
void af_samples_free(struct af_samples *s);

#endif
