/*
 * A thread of the recorder that does things at fixed times. Each beat of it has a period of its
 * own: it is due once every period from the moment at which recording is on, by CLOCK_MONOTONIC,
 * and once more at the end. Each time that is due is either a tick or was missed: in a recording of
 * D ns their number is D / period + 2, rounded down. All beats are counted from the same moment, so
 * those that are due at the same time cost one wake-up. A beat that would hold up the others goes
 * to a thread of its own for as long as it takes long. One thread calls, in order:
 *
 *	af_heartbeat_begin → af_heartbeat_pump* → af_heartbeat_stop → af_heartbeat_close
 */
#ifndef AF_COLLECT_WRITER_HEARTBEAT_H
#define AF_COLLECT_WRITER_HEARTBEAT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct af_recording;
struct af_heartbeat;

enum { AF_BEATS_MOST = 16 };

/* A tick and a miss are never at the same time as another one of this beat. */
struct af_beat {
	uint64_t period_ns;
	/* @again: recording was off before. */
	void (*tick)(void *arg, bool again);
	/* So many were due and not made. */
	void (*missed)(void *arg, uint64_t count);
	/* How many ns the tick at @time_ns will take, about; NULL: it never takes long. */
	uint64_t (*takes)(void *arg, uint64_t time_ns, bool again);
	void *arg;
	uint64_t nr_ticks, nr_missed;
	bool last; /* this tick is the one at the end */

	/* private */
	struct af_heartbeat *of;
	bool was_on;       /* at the last tick */
	uint64_t next_ns;  /* when the next one is due */
	pthread_t thread;  /* its own */
	bool runs;         /* there is that thread */
	_Atomic bool away; /* and it has not given the beat back */
};

struct af_heartbeat {
	struct af_recording *r;
	struct af_beat *beats[AF_BEATS_MOST];
	uint32_t nr;

	/* private */
	pthread_t thread;
	bool began, runs, stopped;
	_Atomic bool on, stop;
	_Atomic uint32_t nr_changes; /* of these two and of beats that were given back */
};

/*
 * @h->r and the beats, with their first five members, are set, and all else is 0. Makes the first
 * ticks, if recording is on.
 */
void af_heartbeat_begin(struct af_heartbeat *h);

/*
 * Several times a second: starts the thread, which has the privileges that are left by then, and
 * switches it on and off with the session's state. Where there can be no thread it does the ticks.
 */
void af_heartbeat_pump(struct af_heartbeat *h);

/* End the threads. A last tick of each beat covers what a short program leaves of a period. */
void af_heartbeat_stop(struct af_heartbeat *h);
void af_heartbeat_close(struct af_heartbeat *h);

#endif
