/*
 * A thread of the recorder that does something at fixed times: once every period from the moment at
 * which recording is on, by CLOCK_MONOTONIC, and once more at the end. Each time that is due is
 * either a tick or was missed: in a recording of D ns their number is D / period + 2, rounded down.
 * One thread calls, in order:
 *
 *	af_heartbeat_open → af_heartbeat_begin → af_heartbeat_pump* → af_heartbeat_stop
 *	→ af_heartbeat_close
 */
#ifndef AF_COLLECT_WRITER_HEARTBEAT_H
#define AF_COLLECT_WRITER_HEARTBEAT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct af_recording;

struct af_heartbeat {
	struct af_recording *r;
	uint64_t period_ns;
	/* By the thread; in begin() and stop() by the caller. @again: recording was off before. */
	void (*tick)(void *arg, bool again);
	/* So many were due and not made. */
	void (*missed)(void *arg, uint64_t count);
	void *arg;
	uint64_t nr_ticks, nr_missed;

	/* private */
	pthread_t thread;
	bool began, runs, stopped;
	int wake;            /* an eventfd */
	_Atomic uint32_t on; /* 0 or 1; RISC-V exchanges words without libatomic, not bytes */
	_Atomic uint32_t stop;
	bool was_on;      /* at the last tick */
	uint64_t next_ns; /* when the next one is due */
};

/* The five members before the private ones are set. False: there is no descriptor for it. */
bool af_heartbeat_open(struct af_heartbeat *h);

/* The first tick, if recording is on. */
void af_heartbeat_begin(struct af_heartbeat *h);

/*
 * Several times a second: starts the thread, which has the privileges that are left by then, and
 * switches it on and off with the session's state. Where there can be no thread it does the ticks.
 */
void af_heartbeat_pump(struct af_heartbeat *h);

/* End the thread. A last tick covers what a short program leaves of a period. */
void af_heartbeat_stop(struct af_heartbeat *h);
void af_heartbeat_close(struct af_heartbeat *h);

#endif
