/*
 * The events that send samples: each thread that there is has a perf event of its CPU time, which
 * the threads that it makes inherit; or, where these are not permitted, a timer on its CPU clock,
 * which later threads get from prof_events_poll().
 */
#ifndef AF_PROF_EVENTS_H
#define AF_PROF_EVENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct prof_event {
	int tid;
	int fd;        /* of perf, or the timer's number; -1: the thread is not sampled */
	uint32_t seen; /* the last round that found the thread */
	bool blocked;  /* the signal, when last looked at; it is tried again now and then */
	bool gone;     /* the thread had ended */
};

struct prof_events {
	pthread_mutex_t lock; /* held while the list changes; zeroed it is free */
	struct prof_event *list;
	uint32_t nr, cap;
	uint32_t nr_sampled; /* since this start */
	uint32_t round, nr_polls;
	uint16_t start; /* number of this start, never 0 */
	bool timers, on;
	uint64_t period_ns;
	int only, own;      /* the only thread, or 0; the library's */
	uint64_t nr_missed; /* threads that were not sampled, of the starts before */
};

/* Find out which of the two is possible here; and the signal that it sends. */
void prof_events_choose(struct prof_events *e);
int prof_events_signal(const struct prof_events *e);

/* In the thread e->own, which is left out. 0 or -errno: no thread is sampled then. */
int prof_events_start(struct prof_events *e);

/* Now and then, in that thread: sample threads that can be sampled by now. */
void prof_events_poll(struct prof_events *e);

/* Threads that were not sampled, of all starts so far; without those that had ended. */
uint64_t prof_events_missed(struct prof_events *e);

/*
 * In a forked child, whose parent had e->lock meanwhile: close the copies of descriptors, with
 * which the events would stay.
 */
void prof_events_forked(struct prof_events *e);

/* No thread is sampled any more; and free everything. In any thread, when no other uses @e. */
void prof_events_stop(struct prof_events *e);
void prof_events_close(struct prof_events *e);

#endif
