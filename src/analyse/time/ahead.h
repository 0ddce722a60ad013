/*
 * Hands slices and points to a sink that works in a thread of its own, a few batches behind.
 *
 *	af_ahead_open → the functions of af_ahead_sink() → af_ahead_close
 *
 * What the ids in slices mean must not change while the sink reads it: its settle() waits until the
 * sink has taken all that was handed over.
 */
#ifndef AF_ANALYSE_TIME_AHEAD_H
#define AF_ANALYSE_TIME_AHEAD_H

#include <pthread.h>
#include <stdbool.h>

#include "analyse/time/slices.h"

struct ahead_batch;

enum { AHEAD_FRAMES = 64 };

struct af_ahead {
	const struct af_slices_sink *sink;
	/* private */
	struct ahead_batch *ring;
	/* Slices handed over and taken, by track and kind, but for the fields that differ */
	struct af_slice made_frames[AHEAD_FRAMES], taken_frames[AHEAD_FRAMES];
	bool direct;            /* the other thread has nothing to do */
	uint32_t since_settled; /* slices and points */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows, and of the batches from taken to made */
	pthread_cond_t made_more, taken_more;
	uint64_t made, taken; /* batches */
	uint64_t wanted;      /* taken, for which their maker waits or waited last */
	int rc;               /* the sink's error: it gets nothing any more */
	bool leaving;
};

/* False: no thread can be had; use @sink itself. It is borrowed, and takes no tracks. */
bool af_ahead_open(struct af_ahead *a, const struct af_slices_sink *sink);

/* An error of the sink is reported for one of the next slices, or by settle(). */
struct af_slices_sink af_ahead_sink(struct af_ahead *a);

/* The sink takes all that was handed over, and the thread ends. 0, or the sink's error. */
int af_ahead_close(struct af_ahead *a);

#endif
