#include "trace/read/clock.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trace/read/merge.h"
#include "trace/read/near.h"
#include "trace/read/reader.h"

enum {
	CLOCK_APART_NS = 500000000, /* pairs nearer than this add noise, not knowledge */
	CLOCK_DRIFT = 10000,        /* one in so many: 100 ppm, more than a quartz has */
	CLOCK_STEP = 128,           /* one in so many is no drift: the clock was set */
	CLOCK_PARENTS = 8,          /* devices in devices */
};

#define CLOCK_WANTS (1ull << AF_KIND_CLOCK | 1ull << AF_KIND_DEVICE)

struct clock_reading {
	uint64_t device; /* key */
	struct af_clock_pair pair;
};

static uint64_t clock_key(uint32_t process, uint32_t device)
{
	return (uint64_t)process << 32 | device;
}

static uint64_t add_most(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

void af_clocks_free(struct af_clocks *c)
{
	free(c->clocks);
	free(c->readings);
	free(c->pairs);
	af_map_free(&c->by_device);
	af_map_free(&c->parents);
	*c = (struct af_clocks){0};
}

/* A pair is written after it was read; a clock that stands at 0 is none. */
static bool reading_can_be(const struct af_event *ev, const struct af_ev_clock *f)
{
	return f->foreign && f->mono_ns && f->mono_ns <= ev->time_ns;
}

static void clocks_reading(struct af_clocks *c, const struct af_event *ev)
{
	struct af_ev_clock f;

	if (!af_event_decode(ev, &f, sizeof f, NULL) || f.clock != AF_CLOCK_DEVICE ||
	    !reading_can_be(ev, &f))
		return;
	AF_GROW(c->readings, c->nr_readings, c->cap_readings);
	c->readings[c->nr_readings++] = (struct clock_reading){
	    .device = clock_key(ev->process, f.device),
	    .pair = {f.foreign, f.mono_ns, f.uncertainty_ns},
	};
}

static void clocks_device(struct af_clocks *c, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_device f;

	if (af_event_decode(ev, &f, sizeof f, tails) && f.parent)
		*af_map_at(&c->parents, clock_key(ev->process, f.device), NULL) = f.parent;
}

void af_clocks_event(struct af_clocks *c, const struct af_event *ev)
{
	if (ev->kind == AF_KIND_CLOCK)
		clocks_reading(c, ev);
	else if (ev->kind == AF_KIND_DEVICE)
		clocks_device(c, ev);
}

static int reading_order(const void *a, const void *b)
{
	const struct clock_reading *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->pair.foreign_ns != y->pair.foreign_ns)
		return x->pair.foreign_ns < y->pair.foreign_ns ? -1 : 1;
	if (x->pair.uncertainty_ns != y->pair.uncertainty_ns)
		return x->pair.uncertainty_ns < y->pair.uncertainty_ns ? -1 : 1;
	return x->pair.mono_ns < y->pair.mono_ns ? -1 : x->pair.mono_ns > y->pair.mono_ns;
}

/* Whether only one of two pairs is worth having; @b has the later foreign time. */
static bool pairs_compete(const struct af_clock_pair *a, const struct af_clock_pair *b)
{
	uint64_t passed = b->foreign_ns - a->foreign_ns;

	return passed < CLOCK_APART_NS || b->mono_ns <= a->mono_ns ||
	       apart(a->uncertainty_ns, b->uncertainty_ns) > passed / CLOCK_DRIFT;
}

static void clock_add(struct af_clock *clock, const struct af_clock_pair *pair)
{
	while (clock->nr && pairs_compete(&clock->pairs[clock->nr - 1], pair)) {
		if (clock->pairs[clock->nr - 1].uncertainty_ns <= pair->uncertainty_ns)
			return;
		clock->nr--;
	}
	clock->pairs[clock->nr++] = *pair;
}

void af_clocks_build(struct af_clocks *c)
{
	if (!c->nr_readings)
		return;
	AF_SORT(c->readings, c->nr_readings, reading_order);
	for (uint64_t i = 0; i < c->nr_readings; i++)
		c->nr += !i || c->readings[i].device != c->readings[i - 1].device;
	c->clocks = af_xcalloc(c->nr, sizeof *c->clocks);
	c->pairs = af_xcalloc(c->nr_readings, sizeof *c->pairs);

	struct af_clock *clock = c->clocks - 1;
	for (uint64_t i = 0; i < c->nr_readings; i++) {
		uint64_t device = c->readings[i].device;
		if (!i || device != c->readings[i - 1].device) {
			clock++;
			clock->process = (uint32_t)(device >> 32);
			clock->device = (uint32_t)device;
			clock->pairs = c->pairs + i;
			*af_map_at(&c->by_device, device, NULL) = (uint64_t)(clock - c->clocks);
		}
		clock_add(clock, &c->readings[i].pair);
	}
	free(c->readings);
	c->readings = NULL;
	c->nr_readings = c->cap_readings = 0;
}

static void clocks_take(struct af_clocks *c, struct af_trace *t)
{
	struct af_event ev;

	while (af_trace_next(t, &ev))
		af_clocks_event(c, &ev);
	af_trace_close(t);
	af_clocks_build(c);
}

void af_clocks_read_again(struct af_clocks *c, const struct af_trace *of,
                          const struct af_near *near)
{
	clocks_take(c, af_trace_open_again(of, CLOCK_WANTS, near));
}

int af_clocks_read(struct af_clocks *c, const char *dir, const struct af_near *near,
                   struct af_err *err)
{
	struct af_trace *t;
	int rc = af_trace_open_near(&t, dir, CLOCK_WANTS, near, err);

	if (!rc)
		clocks_take(c, t);
	return rc;
}

struct af_clock *af_clocks_find(const struct af_clocks *c, uint32_t process, uint32_t device)
{
	/* The trace may say that a device is a part of itself. */
	for (int i = 0; i < CLOCK_PARENTS; i++) {
		const uint64_t *clock = af_map_get(&c->by_device, clock_key(process, device));
		if (clock)
			return &c->clocks[*clock];
		const uint64_t *parent = af_map_get(&c->parents, clock_key(process, device));
		if (!parent)
			return NULL;
		device = (uint32_t)*parent;
	}
	return NULL;
}

/* How far off a time is that was reckoned from @pair. */
static uint64_t pair_doubt(const struct af_clock_pair *pair, uint64_t foreign_ns)
{
	return add_most(pair->uncertainty_ns, apart(pair->foreign_ns, foreign_ns) / CLOCK_DRIFT);
}

/* Slope 1 from @pair. */
static uint64_t pair_reckon(const struct af_clock_pair *pair, uint64_t foreign_ns)
{
	if (foreign_ns >= pair->foreign_ns)
		return add_most(pair->mono_ns, foreign_ns - pair->foreign_ns);
	uint64_t before = pair->foreign_ns - foreign_ns;
	return pair->mono_ns > before ? pair->mono_ns - before : 0;
}

/* @a times @b / @c: most products have 64 bits, and a longer one is divided by a call. */
static inline uint64_t share_of(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product / c;
	return (uint64_t)((unsigned __int128)a * b / c);
}

/* @foreign_ns lies in the half open interval from @a to @b. */
static uint64_t between(const struct af_clock_pair *a, const struct af_clock_pair *b,
                        uint64_t foreign_ns, uint64_t *doubt)
{
	uint64_t foreign = b->foreign_ns - a->foreign_ns, mono = b->mono_ns - a->mono_ns;
	uint64_t passed = foreign_ns - a->foreign_ns, off = apart(foreign, mono);
	uint64_t known = add_most(a->uncertainty_ns, b->uncertainty_ns);

	if (off <= add_most(known, foreign / CLOCK_STEP)) {
		uint64_t from_a = pair_doubt(a, foreign_ns), from_b = pair_doubt(b, foreign_ns);
		*doubt = from_a < from_b ? from_a : from_b;
		return a->mono_ns + share_of(passed, mono, foreign);
	}

	/* It was set in between. The halves must not overlap where that took time away. */
	uint64_t middle = a->mono_ns + mono / 2;
	bool first = passed <= foreign / 2;
	uint64_t ns = pair_reckon(first ? a : b, foreign_ns);
	*doubt = add_most(off, known);
	if (first)
		return ns < middle ? ns : middle;
	return ns > middle ? ns : middle;
}

/* The last pair not after @foreign_ns; the first when there is none. */
static uint32_t clock_seek(struct af_clock *c, uint64_t foreign_ns)
{
	uint32_t low = 0, high = c->nr;
	uint32_t last = __atomic_load_n(&c->last, __ATOMIC_RELAXED); /* threads share the hint */

	if (c->pairs[last].foreign_ns <= foreign_ns &&
	    (last + 1 == c->nr || c->pairs[last + 1].foreign_ns > foreign_ns))
		return last;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (c->pairs[middle].foreign_ns <= foreign_ns)
			low = middle;
		else
			high = middle;
	}
	__atomic_store_n(&c->last, low, __ATOMIC_RELAXED);
	return low;
}

uint64_t af_clock_convert(struct af_clock *clock, uint64_t foreign_ns, uint64_t *uncertainty_ns)
{
	uint32_t i = clock_seek(clock, foreign_ns);
	const struct af_clock_pair *pair = &clock->pairs[i];
	uint64_t ns, doubt;

	if (foreign_ns >= pair->foreign_ns && i + 1 < clock->nr) {
		ns = between(pair, pair + 1, foreign_ns, &doubt);
	} else {
		ns = pair_reckon(pair, foreign_ns);
		doubt = pair_doubt(pair, foreign_ns);
	}
	if (uncertainty_ns)
		*uncertainty_ns = doubt;
	return ns;
}
