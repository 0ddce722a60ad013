#include "analyse/time/ahead.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* A thread that waits is woken when half of the ring is there for it: to wake it takes long. */
enum { AHEAD_RING = 16, AHEAD_HALF = AHEAD_RING / 2, AHEAD_FEW = 64 };

/*
 * An entry is a head and words: those of a slice that differ from the slice before it in the batch,
 * with a bit of the head for each. To bring memory from one processor to another is what this
 * thread costs: often no more than 2 GB/s.
 */
enum {
	AHEAD_WORDS = 4096,
	AHEAD_MOST = 64, /* words of an entry */
	SLICE_WORDS = sizeof(struct af_slice) / sizeof(uint32_t),
	TRACK_WORDS = sizeof(struct af_track) / sizeof(uint32_t),
	POINT_WORDS = sizeof(struct af_point) / sizeof(uint32_t),
	AHEAD_TRACK = 1 << 28, /* heads */
	AHEAD_POINT = 1 << 29
};

_Static_assert(SLICE_WORDS < 28 && offsetof(struct af_slice, none) + 1 == sizeof(struct af_slice),
               "a bit for each word, and no padding");
_Static_assert(TRACK_WORDS < AHEAD_MOST, "a track fits");

struct ahead_batch {
	uint32_t nr, used; /* entries, words */
	uint32_t words[AHEAD_WORDS];
};

static int track_hand_over(const struct af_slices_sink *sink, const uint32_t *words)
{
	struct af_track t;

	memcpy(&t, words, sizeof t);
	return sink->track ? sink->track(sink->arg, &t) : 0;
}

static int point_hand_over(const struct af_slices_sink *sink, const uint32_t *words)
{
	struct af_point p;

	memcpy(&p, words, sizeof p);
	return sink->point ? sink->point(sink->arg, &p) : 0;
}

static const uint32_t *slice_unpack(union ahead_slice *s, uint32_t head, const uint32_t *words)
{
	for (; head; head &= head - 1)
		s->words[__builtin_ctz(head)] ^= *words++;
	return words;
}

static int batch_hand_over(const struct af_slices_sink *sink, struct ahead_batch *b, int rc)
{
	const uint32_t *at = b->words;
	union ahead_slice s = {0};

	for (uint32_t i = 0; i < b->nr && !rc; i++) {
		uint32_t head = *at++;
		if (head == AHEAD_TRACK) {
			rc = track_hand_over(sink, at);
			at += TRACK_WORDS;
		} else if (head == AHEAD_POINT) {
			rc = point_hand_over(sink, at);
			at += POINT_WORDS;
		} else {
			at = slice_unpack(&s, head, at);
			rc = sink->slice ? sink->slice(sink->arg, &s.is) : 0;
		}
	}
	b->nr = b->used = 0;
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

/* Where the next entry of the batch goes. */
static uint32_t *entry_next(struct af_ahead *a, int *rc)
{
	struct ahead_batch *b = &a->ring[a->made % AHEAD_RING];

	*rc = 0;
	if (b->used + AHEAD_MOST > AHEAD_WORDS) {
		*rc = publish(a, AHEAD_RING - 1);
		b = &a->ring[a->made % AHEAD_RING];
	}
	if (!b->nr++)
		a->last = (union ahead_slice){0};
	return b->words + b->used;
}

static void entry_end(struct af_ahead *a, const uint32_t *end)
{
	struct ahead_batch *b = &a->ring[a->made % AHEAD_RING];

	b->used = (uint32_t)(end - b->words);
}

static int ahead_track(void *arg, const struct af_track *t)
{
	int rc;
	uint32_t *to = entry_next(arg, &rc);

	*to++ = AHEAD_TRACK;
	memcpy(to, t, sizeof *t);
	entry_end(arg, to + TRACK_WORDS);
	return rc;
}

static int ahead_slice(void *arg, const struct af_slice *s)
{
	struct af_ahead *a = arg;
	const union ahead_slice now = {.is = *s};
	uint32_t bits = 0;
	int rc;
	uint32_t *head = entry_next(a, &rc), *to = head + 1;

	for (uint32_t i = 0; i < SLICE_WORDS; i++) {
		uint32_t differs = now.words[i] ^ a->last.words[i];
		*to = differs;
		to += differs != 0;
		bits |= (uint32_t)(differs != 0) << i;
	}
	*head = bits;
	a->last = now;
	entry_end(a, to);
	return rc;
}

static int ahead_point(void *arg, const struct af_point *p)
{
	int rc;
	uint32_t *to = entry_next(arg, &rc);

	*to++ = AHEAD_POINT;
	memcpy(to, p, sizeof *p);
	entry_end(arg, to + POINT_WORDS);
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
