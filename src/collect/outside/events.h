/*
 * The perf events of outside.c, and the records in their rings.
 */
#ifndef AF_COLLECT_OUTSIDE_EVENTS_H
#define AF_COLLECT_OUTSIDE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/perf/perf_rings.h"
#include "collect/perf/sideband.h"

enum { AF_OUTSIDE_STACK_BYTES = 8192 }; /* copied of each sample's stack */

/* A sample as it lies in a ring; valid during the call that hands it out. */
struct af_outside_sample {
	uint32_t pid, tid, cpu;
	uint64_t time_ns;
	uint64_t event;        /* the id of its event, or of the event that it inherits from */
	const uint64_t *chain; /* by frame pointers, leaf first; of the user's code only */
	uint64_t nr_chain;
	uint64_t fp, sp;
	const void *stack;
	uint64_t stack_bytes; /* that could be read */
};

/* 0, or -errno when the user is allowed no (more) rings. */
int af_outside_rings_open(struct af_perf_rings *r);

/*
 * Open events on thread @tid, one for each CPU, that write to @r; with @inherit also on all threads
 * and processes that it makes from now on. *@fds gets @r->nr descriptors, malloc'd. 0, or -errno
 * and nothing is open.
 */
int af_outside_events_open(const struct af_perf_rings *r, uint32_t tid, uint64_t period_ns,
                           bool inherit, int **fds);

/* The id of the event; 0 where the kernel does not tell it. */
uint64_t af_outside_event_id(int fd);

/* Have the threads of these @nr events ended, and all that inherited them? perf_event_open(2). */
bool af_outside_events_over(const int *fds, uint32_t nr);

/*
 * Take the records written until @until_ns: samples go to @sample, all others into @sideband.
 * Records of one CPU come in order of time.
 */
void af_outside_rings_read(const struct af_perf_rings *r, uint64_t until_ns,
                           struct af_sideband *sideband,
                           void (*sample)(void *arg, const struct af_outside_sample *s), void *arg);

#endif
