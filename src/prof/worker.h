/*
 * A thread of the library's own. It never records, is never sampled, and takes no signal of the
 * program's; neither do the threads that it makes. Between calls it polls.
 */
#ifndef AF_PROF_WORKER_H
#define AF_PROF_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct prof_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wakes, done;
	bool runs;
	int tid;
	void (*call)(void *arg); /* to be made, and then NULL */
	void *arg;
	bool is_made, ends;
	void (*poll)(void *arg);
	void *poll_arg;
	bool polls;
};

/* Start it; while w->polls it calls @poll every PROF_POLL_MS. 0 or -errno. */
int prof_worker_open(struct prof_worker *w, void (*poll)(void *arg), void *arg);

/* Call @call with @arg in the worker, after all earlier calls, and return when it has returned. */
void prof_worker_run(struct prof_worker *w, void (*call)(void *arg), void *arg);

/* End it. One that was not started is fine. */
void prof_worker_close(struct prof_worker *w);

#endif
