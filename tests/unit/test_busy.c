#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/join/busy.h"

static void count(void *arg, const struct af_interval *busy)
{
	(void)busy;
	++*(uint32_t *)arg;
}

static void what_overlaps_or_touches_is_one(void **state)
{
	uint32_t settled = 0;
	struct af_busy b = {.settled = count, .arg = &settled};

	(void)state;
	af_busy_add(&b, 100, 200);
	af_busy_add(&b, 150, 160);
	af_busy_add(&b, 200, 250);
	af_busy_add(&b, 300, 300);
	af_busy_add(&b, 500, 400);
	assert_int_equal(b.nr, 1);
	af_busy_add(&b, 300, 400);
	af_busy_add(&b, 50, 60);
	assert_int_equal(b.nr, 3);
	af_busy_add(&b, 55, 350);
	af_busy_end(&b);
	assert_int_equal(settled, 1);
	assert_int_equal(b.busy_ns, 350);
	assert_int_equal(b.first_ns, 50);
	assert_int_equal(b.last_ns, 400);
	assert_int_equal(b.late_ns, 0);
	af_busy_free(&b);
}

static void never_busy_is_nothing(void **state)
{
	struct af_busy b = {0};

	(void)state;
	af_busy_end(&b);
	assert_int_equal(b.busy_ns, 0);
	af_busy_free(&b);
}

struct reported {
	uint64_t last_ns, busy_ns;
};

static void tell(void *arg, const struct af_interval *busy)
{
	struct reported *reported = arg;

	assert_true(busy->start_ns > reported->last_ns);
	assert_true(busy->end_ns > busy->start_ns);
	reported->last_ns = busy->end_ns;
	reported->busy_ns += busy->end_ns - busy->start_ns;
}

/* Against a map of all instants: many short intervals, in an order that is mixed nearby. */
static void many_in_a_mixed_order_are_exact(void **state)
{
	enum { N = 100000, SPAN = N * 12, FAR = 4000 };
	static uint8_t map[SPAN + 200];
	struct reported reported = {0};
	struct af_busy b = {.settled = tell, .arg = &reported};
	uint64_t seed = 7, busy = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t start = 1 + i * 12 + (seed >> 40) % FAR, end = start + (seed >> 20) % 20;
		if (end >= SPAN)
			continue;
		af_busy_add(&b, start, end);
		memset(map + start, 1, end - start);
	}
	af_busy_end(&b);
	for (uint32_t i = 0; i < SPAN; i++)
		busy += map[i];
	assert_int_equal(b.busy_ns, busy);
	assert_int_equal(reported.busy_ns, busy);
	assert_int_equal(b.late_ns, 0);
	af_busy_free(&b);
}

/* As drivers report it: buffer after buffer, each of the same time as others. */
static void buffers_of_one_time_are_exact(void **state)
{
	enum { BUFFERS = 8, EACH = 3000, APART = 100 };
	struct af_busy b = {0};

	(void)state;
	for (uint64_t time = 0; time < 3; time++)
		for (uint64_t buffer = 0; buffer < BUFFERS; buffer++)
			for (uint64_t i = 0; i < EACH; i++) {
				uint64_t start =
				    1 + (time * EACH + i) * APART + buffer * (APART / BUFFERS);
				af_busy_add(&b, start, start + 3);
			}
	af_busy_end(&b);
	assert_int_equal(b.late_ns, 0);
	assert_int_equal(b.busy_ns, 3 * BUFFERS * EACH * 3);
	af_busy_free(&b);
}

/* A part whose middle the part before reaches into cannot be added: the sums of both are known. */
static void parts_that_overlap_by_more_than_a_head_are_refused(void **state)
{
	struct af_busy whole = {0}, near = {0}, far = {0}, part = {.in_part = true};

	(void)state;
	for (uint64_t i = 0; i < 3 * AF_BUSY_OPEN; i++)
		af_busy_add(&part, 1000 + i * 10, 1000 + i * 10 + 4);
	af_busy_add(&near, 900, 1000 + 5 * 10 + 4);
	af_busy_add(&far, 900, 1000 + AF_BUSY_OPEN * 10);
	assert_true(af_busy_merge(&whole, &near) && af_busy_merge(&whole, &part));
	assert_false(af_busy_merge(&far, &part));
	af_busy_end(&whole);
	assert_int_equal(whole.busy_ns, 3 * AF_BUSY_OPEN * 4 + 100 + 5 * 6);
	af_busy_free(&whole);
	af_busy_free(&near);
	af_busy_free(&far);
	af_busy_free(&part);
}

static void what_comes_too_late_is_cut_off_and_counted(void **state)
{
	struct af_busy b = {0};

	(void)state;
	for (uint64_t i = 0; i < 3 * AF_BUSY_OPEN; i++)
		af_busy_add(&b, 1000 + i * 10, 1000 + i * 10 + 4);
	uint64_t settled = b.settled_ns;
	assert_true(settled > 1000);
	af_busy_add(&b, 10, 20);
	af_busy_add(&b, settled - 3, settled + 2);
	assert_int_equal(b.late_ns, 13);
	af_busy_end(&b);
	assert_int_equal(b.busy_ns, 3 * AF_BUSY_OPEN * 4 + 2);
	assert_int_equal(b.first_ns, 10);
	af_busy_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_overlaps_or_touches_is_one),
	    cmocka_unit_test(never_busy_is_nothing),
	    cmocka_unit_test(many_in_a_mixed_order_are_exact),
	    cmocka_unit_test(buffers_of_one_time_are_exact),
	    cmocka_unit_test(parts_that_overlap_by_more_than_a_head_are_refused),
	    cmocka_unit_test(what_comes_too_late_is_cut_off_and_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
