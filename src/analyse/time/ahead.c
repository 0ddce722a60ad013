#include "analyse/time/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* A thread that waits is woken when half of the ring is there for it: to wake it takes long. */
enum { AHEAD_RING = 16, AHEAD_HALF = AHEAD_RING / 2, AHEAD_FEW = 64 };

/*
 * Where the sink has to settle more often, the thread that makes slices hands them to it itself: to
 * wait for the other one each time takes longer.
 */
enum { AHEAD_RUN = 8192 };

/*
 * An entry is a head and words. A slice is most often like the last one of its track and kind but
 * for a few fields, so these are handed over alone: to bring memory from one processor to another
 * is what this thread costs, often no more than 2 GB/s.
 */
enum {
	AHEAD_WORDS = 4096,
	AHEAD_MOST = 64, /* words of an entry */
	SLICE_WORDS = sizeof(struct af_slice) / sizeof(uint32_t),
	POINT_WORDS = sizeof(struct af_point) / sizeof(uint32_t),
	/* The low bits of heads; the place of the slice that it is like stands above them. */
	AHEAD_POINT = 0,
	AHEAD_SLICE,
	AHEAD_LIKE,
	AHEAD_BITS = 2
};

/* The fields in which a slice differs, in the order of the words; the last three of work alone. */
enum {
	LIKE_LENGTH,
	LIKE_START,
	LIKE_CORRELATION = LIKE_START + 2,
	LIKE_NAME,
	LIKE_STACK,
	LIKE_WORDS,
	LIKE_QUEUED = LIKE_WORDS,
	LIKE_DESCRIPTOR,
	LIKE_TID,
	LIKE_WORK_WORDS
};

_Static_assert(SLICE_WORDS == 22, "slice_like() has all fields");
_Static_assert(SLICE_WORDS < AHEAD_MOST, "an entry fits");

struct ahead_batch {
	uint32_t nr, used; /* entries, words */
	uint32_t words[AHEAD_WORDS];
};

static int point_hand_over(const struct af_slices_sink *sink, const uint32_t *words)
{
	struct af_point p;

	memcpy(&p, words, sizeof p);
	return sink->point(sink->arg, &p);
}

/* A slice but for the fields in which others like it differ. */
static struct af_slice slice_frame(const struct af_slice *s)
{
	struct af_slice frame = *s;

	frame.start_ns = frame.end_ns = frame.queued_ns = 0;
	frame.flow ^= frame.correlation; /* most arrows have that number, and more */
	frame.correlation = frame.correlation >> 32 << 32;
	frame.name = frame.stack = 0;
	if (frame.kind == AF_SLICE_WORK)
		frame.descriptor = frame.tid = 0;
	return frame;
}

/* Does @s differ from @frame in no other fields, and do these fit into their words? */
static bool slice_like(const struct af_slice *s, const struct af_slice *frame)
{
	const uint64_t differs =
	    (s->flow ^ s->correlation ^ frame->flow) | (s->value ^ frame->value) |
	    (s->weight_ns ^ frame->weight_ns) | (s->track ^ frame->track) |
	    (s->graph ^ frame->graph) | (uint32_t)(s->status ^ frame->status) |
	    (uint64_t)(s->kind ^ frame->kind) | (uint64_t)(s->way ^ frame->way) |
	    (uint64_t)(s->open ^ frame->open) | (s->correlation ^ frame->correlation) >> 32 |
	    (s->end_ns - s->start_ns) >> 32 | s->queued_ns >> 32;

	return !differs && (s->kind == AF_SLICE_WORK || (s->descriptor == frame->descriptor &&
	                                                 s->tid == frame->tid && !s->queued_ns));
}

/* The number of words that @s differs in. */
static uint32_t like_pack(uint32_t words[LIKE_WORK_WORDS], const struct af_slice *s)
{
	words[LIKE_LENGTH] = (uint32_t)(s->end_ns - s->start_ns);
	memcpy(words + LIKE_START, &s->start_ns, sizeof s->start_ns);
	words[LIKE_CORRELATION] = (uint32_t)s->correlation;
	words[LIKE_NAME] = s->name;
	words[LIKE_STACK] = s->stack;
	if (s->kind != AF_SLICE_WORK)
		return LIKE_WORDS;
	words[LIKE_QUEUED] = (uint32_t)s->queued_ns;
	words[LIKE_DESCRIPTOR] = s->descriptor;
	words[LIKE_TID] = s->tid;
	return LIKE_WORK_WORDS;
}

static const uint32_t *like_unpack(struct af_slice *s, const struct af_slice *frame,
                                   const uint32_t *words)
{
	*s = *frame;
	memcpy(&s->start_ns, words + LIKE_START, sizeof s->start_ns);
	s->end_ns = s->start_ns + words[LIKE_LENGTH];
	s->correlation |= words[LIKE_CORRELATION];
	s->flow ^= s->correlation;
	s->name = words[LIKE_NAME];
	s->stack = words[LIKE_STACK];
	if (s->kind != AF_SLICE_WORK)
		return words + LIKE_WORDS;
	s->queued_ns = words[LIKE_QUEUED];
	s->descriptor = words[LIKE_DESCRIPTOR];
	s->tid = words[LIKE_TID];
	return words + LIKE_WORK_WORDS;
}

static int batch_hand_over(struct af_ahead *a, struct ahead_batch *b, int rc)
{
	const struct af_slices_sink *sink = a->sink;
	const uint32_t *at = b->words;
	struct af_slice s;

	for (uint32_t i = 0; i < b->nr && !rc; i++) {
		uint32_t head = *at++, place = head >> AHEAD_BITS;
		switch (head & ((1 << AHEAD_BITS) - 1)) {
		case AHEAD_POINT:
			rc = point_hand_over(sink, at);
			at += POINT_WORDS;
			break;
		case AHEAD_SLICE:
			memcpy(&s, at, sizeof s);
			at += SLICE_WORDS;
			a->taken_frames[place] = slice_frame(&s);
			rc = sink->slice(sink->arg, &s);
			break;
		default:
			at = like_unpack(&s, &a->taken_frames[place], at);
			rc = sink->slice(sink->arg, &s);
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
		rc = batch_hand_over(a, b, rc);
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

static int failed(struct af_ahead *a, int rc)
{
	if (!rc)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->rc = rc;
	pthread_mutex_unlock(&a->lock);
	return rc;
}

/* Few slices are handed over by this thread, if the other one has nothing to do. */
static int ahead_settle(void *arg)
{
	struct af_ahead *a = arg;
	struct ahead_batch *b = &a->ring[a->made % AHEAD_RING];
	const bool direct = a->direct;

	a->direct = a->since_settled < AHEAD_RUN;
	a->since_settled = 0;
	if (direct)
		return a->rc;
	if (b->nr > AHEAD_FEW)
		return publish(a, 0);
	return failed(a, batch_hand_over(a, b, wait_until_taken(a, 0)));
}

/* Does this thread hand over what comes next? */
static bool is_direct(struct af_ahead *a)
{
	a->direct &= ++a->since_settled < AHEAD_RUN;
	return a->direct;
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
	b->nr++;
	return b->words + b->used;
}

static void entry_end(struct af_ahead *a, const uint32_t *end)
{
	struct ahead_batch *b = &a->ring[a->made % AHEAD_RING];

	b->used = (uint32_t)(end - b->words);
}

static int ahead_slice(void *arg, const struct af_slice *s)
{
	struct af_ahead *a = arg;
	const uint32_t place = (s->track * 8 + s->kind) % AHEAD_FRAMES;
	struct af_slice *frame = &a->made_frames[place];
	int rc;

	if (is_direct(a))
		return a->rc ? a->rc : failed(a, a->sink->slice(a->sink->arg, s));
	uint32_t *to = entry_next(a, &rc);

	if (slice_like(s, frame)) {
		*to++ = place << AHEAD_BITS | AHEAD_LIKE;
		entry_end(a, to + like_pack(to, s));
		return rc;
	}
	*to++ = place << AHEAD_BITS | AHEAD_SLICE;
	memcpy(to, s, sizeof *s);
	entry_end(a, to + SLICE_WORDS);
	*frame = slice_frame(s);
	return rc;
}

static int ahead_point(void *arg, const struct af_point *p)
{
	struct af_ahead *a = arg;
	int rc;

	if (is_direct(a))
		return a->rc ? a->rc : failed(a, a->sink->point(a->sink->arg, p));
	uint32_t *to = entry_next(a, &rc);

	*to++ = AHEAD_POINT;
	memcpy(to, p, sizeof *p);
	entry_end(a, to + POINT_WORDS);
	return rc;
}

struct af_slices_sink af_ahead_sink(struct af_ahead *a)
{
	return (struct af_slices_sink){a, NULL, ahead_slice, ahead_point, ahead_settle};
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
