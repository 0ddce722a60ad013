#include "analyse/time/ahead.h"

#include <stdlib.h>

#include "base/arena.h"

/* A thread that waits is woken when half of the ring is there for it: to wake it takes long. */
enum { AHEAD_BATCH = 512, AHEAD_RING = 16, AHEAD_HALF = AHEAD_RING / 2, AHEAD_FEW = 64 };

enum ahead_what { AHEAD_TRACK, AHEAD_SLICE, AHEAD_POINT };

struct ahead_entry {
	enum ahead_what what;
	union {
		struct af_track track;
		struct af_slice slice;
		struct af_point point;
	};
};

struct ahead_batch {
	uint32_t nr;
	struct ahead_entry entries[AHEAD_BATCH];
};

static int entry_hand_over(const struct af_slices_sink *sink, const struct ahead_entry *e)
{
	switch (e->what) {
	case AHEAD_TRACK:
		return sink->track ? sink->track(sink->arg, &e->track) : 0;
	case AHEAD_SLICE:
		return sink->slice ? sink->slice(sink->arg, &e->slice) : 0;
	case AHEAD_POINT:
		return sink->point ? sink->point(sink->arg, &e->point) : 0;
	}
	return 0;
}

static int batch_hand_over(const struct af_slices_sink *sink, struct ahead_batch *b, int rc)
{
	for (uint32_t i = 0; i < b->nr && !rc; i++)
		rc = entry_hand_over(sink, &b->entries[i]);
	b->nr = 0;
	return rc;
}

/* The next batch, NULL: there will be none. */
static struct ahead_batch *batch_next(struct af_ahead *a, int *rc)
{
	struct ahead_batch *b = NULL;

	pthread_mutex_lock(&a->lock);
	while (a->taken == a->made && !a->leaving)
		pthread_cond_wait(&a->made_more, &a->lock);
	if (a->taken < a->made)
		b = &a->ring[a->taken % AHEAD_RING];
	*rc = a->rc;
	pthread_mutex_unlock(&a->lock);
	return b;
}

/* Signals are sent without the lock, which whoever they wake wants. */
static void *ahead_thread(void *arg)
{
	struct af_ahead *a = arg;
	struct ahead_batch *b;
	int rc;

	while ((b = batch_next(a, &rc))) {
		rc = batch_hand_over(a->sink, b, rc);
		pthread_mutex_lock(&a->lock);
		a->rc = rc;
		bool enough = ++a->taken == a->wanted;
		pthread_mutex_unlock(&a->lock);
		if (enough)
			pthread_cond_signal(&a->taken_more);
	}
	return NULL;
}

bool af_ahead_open(struct af_ahead *a, const struct af_slices_sink *sink)
{
	*a = (struct af_ahead){.sink = sink};
	a->ring = af_xcalloc(AHEAD_RING, sizeof *a->ring);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->made_more, NULL);
	pthread_cond_init(&a->taken_more, NULL);
	if (!pthread_create(&a->thread, NULL, ahead_thread, a))
		return true;
	free(a->ring);
	return false;
}

/* Wait until all but @behind batches are taken; then half of the ring is empty. */
static int wait_until_taken(struct af_ahead *a, uint64_t behind)
{
	pthread_mutex_lock(&a->lock);
	bool waits = a->taken + behind < a->made;
	bool enough = waits || a->made - a->taken >= AHEAD_HALF;
	if (waits)
		a->wanted = behind ? a->made - AHEAD_HALF : a->made;
	int rc = a->rc;
	pthread_mutex_unlock(&a->lock);
	if (enough)
		pthread_cond_signal(&a->made_more);
	if (!waits)
		return rc;
	pthread_mutex_lock(&a->lock);
	while (a->taken < a->wanted)
		pthread_cond_wait(&a->taken_more, &a->lock);
	rc = a->rc;
	pthread_mutex_unlock(&a->lock);
	return rc;
}

/* Hand the open batch over, and wait until all but @behind are taken. */
static int publish(struct af_ahead *a, uint64_t behind)
{
	pthread_mutex_lock(&a->lock);
	if (a->ring[a->made % AHEAD_RING].nr)
		a->made++;
	pthread_mutex_unlock(&a->lock);
	return wait_until_taken(a, behind);
}

/* Few slices are handed over by this thread, if the other one has nothing to do. */
static int ahead_settle(void *arg)
{
	struct af_ahead *a = arg;
	struct ahead_batch *b = &a->ring[a->made % AHEAD_RING];

	if (b->nr > AHEAD_FEW)
		return publish(a, 0);
	int rc = batch_hand_over(a->sink, b, wait_until_taken(a, 0));
	pthread_mutex_lock(&a->lock);
	a->rc = rc;
	pthread_mutex_unlock(&a->lock);
	return rc;
}

static struct ahead_entry *entry_next(struct af_ahead *a, enum ahead_what what, int *rc)
{
	struct ahead_batch *b = &a->ring[a->made % AHEAD_RING];

	*rc = b->nr == AHEAD_BATCH ? publish(a, AHEAD_RING - 1) : 0;
	b = &a->ring[a->made % AHEAD_RING];
	b->entries[b->nr].what = what;
	return &b->entries[b->nr++];
}

static int ahead_track(void *arg, const struct af_track *t)
{
	int rc;

	entry_next(arg, AHEAD_TRACK, &rc)->track = *t;
	return rc;
}

static int ahead_slice(void *arg, const struct af_slice *s)
{
	int rc;

	entry_next(arg, AHEAD_SLICE, &rc)->slice = *s;
	return rc;
}

static int ahead_point(void *arg, const struct af_point *p)
{
	int rc;

	entry_next(arg, AHEAD_POINT, &rc)->point = *p;
	return rc;
}

struct af_slices_sink af_ahead_sink(struct af_ahead *a)
{
	return (struct af_slices_sink){a, ahead_track, ahead_slice, ahead_point, ahead_settle};
}

int af_ahead_close(struct af_ahead *a)
{
	int rc = publish(a, 0);

	pthread_mutex_lock(&a->lock);
	a->leaving = true;
	pthread_cond_signal(&a->made_more);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->made_more);
	pthread_cond_destroy(&a->taken_more);
	free(a->ring);
	return rc;
}
