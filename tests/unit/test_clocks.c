/*
 * Clocks of hosts from messages: lines between hulls, parts, chains, and the message of a receive.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/clocks/private.h"

static uint64_t seed;

/* From 0 to 1. */
static double unit(void)
{
	seed += 0x9e3779b97f4a7c15;
	uint64_t x = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* The clock of b for a time of a: it drifts, and from the middle of ten seconds on otherwise. */
struct model {
	int64_t offset_ns;
	double drift, later, least_ns, tail_ns, asymmetry;
};

#define SECOND INT64_C(1000000000)
#define BEGIN (5 * SECOND)

static int64_t of_b(const struct model *m, int64_t a)
{
	double in = (double)(a - BEGIN), half = 5e9;

	return a - m->offset_ns +
	       (int64_t)(in < half ? m->drift * in : m->drift * half + m->later * (in - half));
}

static double latency(const struct model *m)
{
	return m->least_ns - m->tail_ns * log(1 - unit());
}

/* Messages of ten seconds, each way. */
static void messages_make(struct clock_bounds *b, const struct model *m, int nr)
{
	for (int i = 0; i < nr; i++) {
		int64_t sent = BEGIN + (int64_t)(1e10 * (i + unit()) / nr);
		clock_bounds_from_a(b, sent, of_b(m, sent + (int64_t)latency(m)));
		sent += 1000;
		clock_bounds_from_b(b, of_b(m, sent), sent + (int64_t)(m->asymmetry * latency(m)));
	}
}

/* The true offset is inside of the bound at 1,001 times. Returns the largest bound. */
static uint64_t inside(const struct model *m, const struct af_clock_curve *c)
{
	uint64_t most = 0;

	for (int i = 0; i <= 1000; i++) {
		int64_t a = BEGIN + (int64_t)(1e7 * i), b = of_b(m, a);
		struct af_clock_knot k = clock_curve_at(c, b);
		assert_true((uint64_t)llabs(k.offset_ns - (a - b)) <= k.bound_ns);
		most = k.bound_ns > most ? k.bound_ns : most;
	}
	return most;
}

static uint64_t found(const struct model *m, int nr)
{
	struct clock_bounds b = {0};
	struct af_clock_curve c;
	bool contradicted;

	messages_make(&b, m, nr);
	assert_true(clock_bounds_curve(&b, of_b(m, BEGIN), of_b(m, BEGIN + 10 * SECOND), &c,
	                               &contradicted));
	assert_false(contradicted);
	clock_bounds_free(&b);
	return inside(m, &c);
}

static void test_line(void **state)
{
	(void)state;
	for (seed = 1; seed < 100; seed++) {
		struct model m = {.offset_ns = (int64_t)((unit() - 0.5) * 1e8),
		                  .drift = (unit() - 0.5) * 4e-5,
		                  .least_ns = 5000,
		                  .tail_ns = 20000,
		                  .asymmetry = 1 + 3 * unit()};
		m.later = m.drift;
		assert_in_range(found(&m, 1000), 1, 100000);
	}
}

static void test_years_apart(void **state)
{
	const struct model m = {.offset_ns = -100000000 * SECOND,
	                        .drift = 1e-5,
	                        .later = 1e-5,
	                        .least_ns = 5000,
	                        .tail_ns = 20000,
	                        .asymmetry = 1};

	(void)state;
	seed = 7;
	assert_in_range(found(&m, 20000), 1, 100000);
}

/* A clock that is corrected in the middle has no one line. */
static void test_parts(void **state)
{
	(void)state;
	for (seed = 1; seed < 30; seed++) {
		const struct model m = {.offset_ns = 3 * SECOND,
		                        .drift = 1e-4,
		                        .later = -1e-4 * unit(),
		                        .least_ns = 5000,
		                        .tail_ns = 20000,
		                        .asymmetry = 1};
		assert_in_range(found(&m, 2000), 1, 600000);
	}
}

static void test_contradiction(void **state)
{
	struct clock_bounds b = {0};
	struct af_clock_curve c;
	bool contradicted;

	(void)state;
	for (int i = 0; i < 100; i++) { /* received a millisecond before they are sent */
		clock_bounds_from_a(&b, i * 1000000ll, i * 1000000ll - 500000);
		clock_bounds_from_b(&b, i * 1000000ll, i * 1000000ll - 500000);
	}
	assert_false(clock_bounds_curve(&b, 0, SECOND, &c, &contradicted));
	assert_true(contradicted);
	clock_bounds_free(&b);
}

static void test_one_way(void **state)
{
	struct clock_bounds b = {0};
	struct af_clock_curve c;
	bool contradicted;

	(void)state;
	clock_bounds_from_a(&b, 1000, 2000);
	assert_false(clock_bounds_curve(&b, 0, SECOND, &c, &contradicted));
	assert_false(contradicted);
	/* One each way is enough; far from both the drift may have any value. */
	clock_bounds_from_b(&b, 3000, 4000);
	assert_true(clock_bounds_curve(&b, 0, SECOND, &c, &contradicted));
	assert_in_range(clock_curve_at(&c, 2500).bound_ns, 1000, 1010);
	assert_in_range(clock_curve_at(&c, SECOND).bound_ns, 490000, 510000);
	assert_in_range(clock_curve_at(&c, 2 * SECOND).bound_ns, 980000, 1020000);
	clock_bounds_free(&b);
}

static void test_hostile_times(void **state)
{
	const int64_t times[] = {INT64_MIN, -CLOCK_TIME_MAX + 1, 0, CLOCK_TIME_MAX - 1, INT64_MAX};
	struct clock_bounds b = {0};
	struct af_clock_curve c;
	bool contradicted;

	(void)state;
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 5; k++) {
			clock_bounds_from_a(&b, times[i], times[k]);
			clock_bounds_from_b(&b, times[i], times[k]);
		}
	clock_bounds_curve(&b, -CLOCK_TIME_MAX, CLOCK_TIME_MAX, &c, &contradicted);
	clock_bounds_free(&b);
}

static void test_reverse_and_chain(void **state)
{
	const struct model m = {.offset_ns = 7 * SECOND,
	                        .drift = 2e-5,
	                        .later = 2e-5,
	                        .least_ns = 5000,
	                        .tail_ns = 20000,
	                        .asymmetry = 1};
	struct clock_bounds b = {0};
	struct af_clock_curve c, back, both;
	bool contradicted;

	(void)state;
	seed = 3;
	messages_make(&b, &m, 1000);
	assert_true(clock_bounds_curve(&b, of_b(&m, BEGIN), of_b(&m, BEGIN + 10 * SECOND), &c,
	                               &contradicted));
	clock_curve_reverse(&c, &back);
	clock_curve_chain(&c, &back, &both);
	for (int64_t a = BEGIN; a < BEGIN + 10 * SECOND; a += SECOND) {
		struct af_clock_knot k = clock_curve_at(&back, a);
		assert_true((uint64_t)llabs(k.offset_ns - (of_b(&m, a) - a)) <= k.bound_ns);
		/* There and back again: nothing is added. */
		assert_in_range(llabs(clock_curve_at(&both, of_b(&m, a)).offset_ns), 0, 3);
	}
	clock_bounds_free(&b);
}

/* Rank 0 on one host and rank 1 on another; the messages of rank 0. */
struct two {
	struct af_set_clocks clocks;
	struct af_set_member_clock members[2];
	struct af_map by_rank;
	struct clock_messages m;
	struct clock_receives *r;
};

static void two_make(struct two *t)
{
	bool fresh;

	*t = (struct two){.members = {{.host = 0}, {.host = 1}}};
	t->clocks.members = t->members;
	*af_map_at(&t->by_rank, 0, &fresh) = 1;
	*af_map_at(&t->by_rank, 1, &fresh) = 2;
	t->m.clocks = &t->clocks;
	t->m.by_rank = &t->by_rank;
	t->m.most_times = 1000;
	t->r = clock_receives_new(&t->m);
}

static void two_free(struct two *t)
{
	clock_receives_free(t->r);
	clock_messages_free(&t->m);
	af_map_free(&t->by_rank);
}

static int64_t time_of(const struct two *t, int32_t tag, uint32_t k)
{
	const struct clock_channel *c = clock_channel_find(&t->m, 0, 1, tag, false);

	return c && k < c->times.nr ? c->times.ns[k] : 0;
}

static void test_receives_any(void **state)
{
	struct two t;

	(void)state;
	two_make(&t);
	uint64_t first = clock_receive_post(t.r, 0, CLOCK_ANY_SOURCE, CLOCK_ANY_TAG, 9);
	uint64_t second = clock_receive_post(t.r, 0, 1, 5, 9);
	uint64_t third = clock_receive_post(t.r, 0, 1, 6, 9);
	clock_receive_complete(t.r, third, 1, 6, 300);
	clock_receive_complete(t.r, second, 1, 5, 200);
	/* Nobody knows yet whether the first receive took a message of that tag. */
	assert_int_equal(time_of(&t, 5, 0), 0);
	clock_receive_complete(t.r, first, 1, 5, 400);
	assert_int_equal(time_of(&t, 5, 0), 400);
	assert_int_equal(time_of(&t, 5, 1), 200);
	assert_int_equal(time_of(&t, 6, 0), 300);
	two_free(&t);
}

static void test_receives_lost(void **state)
{
	struct two t;

	(void)state;
	two_make(&t);
	/* Completed, but nobody saw when: it keeps its place. */
	uint64_t first = clock_receive_post(t.r, 0, 1, 5, 9);
	uint64_t second = clock_receive_post(t.r, 0, 1, 5, 9);
	clock_receive_lost(t.r, first, false);
	clock_receive_complete(t.r, second, CLOCK_ANY_SOURCE, CLOCK_ANY_TAG, 200);
	assert_int_equal(time_of(&t, 5, 0), 0);
	assert_int_equal(time_of(&t, 5, 1), 200);
	/* From anywhere, and nobody knows from where: nothing is certain from then on. */
	uint64_t any = clock_receive_post(t.r, 0, CLOCK_ANY_SOURCE, 5, 9);
	uint64_t last = clock_receive_post(t.r, 0, 1, 5, 9);
	clock_receive_lost(t.r, any, false);
	clock_receive_complete(t.r, last, 1, 5, 500);
	assert_int_equal(time_of(&t, 5, 2), 0);
	assert_int_equal(time_of(&t, 5, 3), 0);
	two_free(&t);
}

static void test_two_threads(void **state)
{
	struct two t;

	(void)state;
	two_make(&t);
	clock_receive_post(t.r, 0, 1, 5, 9);
	assert_false(clock_channel_find(&t.m, 0, 1, 5, false)->broken);
	clock_receive_post(t.r, 0, 1, 5, 10);
	assert_true(clock_channel_find(&t.m, 0, 1, 5, false)->broken);
	two_free(&t);
}

/* However many messages and tags: memory is bounded, and the rest are those of round numbers. */
static void test_bounded(void **state)
{
	struct two t;

	(void)state;
	two_make(&t);
	for (int64_t i = 0; i < 100000; i++) {
		uint64_t one = clock_receive_post(t.r, 0, 1, 5, 9);
		clock_receive_complete(t.r, one, 1, 5, i + 1);
	}
	const struct clock_channel *c = clock_channel_find(&t.m, 0, 1, 5, false);
	assert_in_range(c->times.nr, 250, 1000);
	for (uint32_t i = 0; i < c->times.nr; i++)
		assert_int_equal(c->times.ns[i], ((int64_t)i << c->times.shift) + 1);
	for (int32_t tag = 0; tag < 100000; tag++)
		clock_channel_of(&t.m, 0, 1, tag, true, 9);
	assert_in_range(t.m.nr_channels, CLOCK_CHANNELS / 4, CLOCK_CHANNELS);
	assert_null(clock_channel_of(&t.m, 0, 0, 1, true, 9)); /* its own host */
	two_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_line),
	    cmocka_unit_test(test_years_apart),
	    cmocka_unit_test(test_parts),
	    cmocka_unit_test(test_contradiction),
	    cmocka_unit_test(test_one_way),
	    cmocka_unit_test(test_hostile_times),
	    cmocka_unit_test(test_reverse_and_chain),
	    cmocka_unit_test(test_receives_any),
	    cmocka_unit_test(test_receives_lost),
	    cmocka_unit_test(test_two_threads),
	    cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
