/* Calls added up: exact where it is promised, and percentiles as near as their buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/tally/stats.h"

static uint64_t percentile(const struct af_call_stats *s, unsigned percent)
{
	return af_histogram_percentile(&s->times, percent, s->min_ns, s->max_ns);
}

static void buckets_are_in_order(void **state)
{
	unsigned last = 0;

	for (uint64_t v = 1; v < 1ull << 62; v += 1 + v / 64) {
		unsigned bucket = af_histogram_bucket(v);
		assert_true(bucket == last || bucket == last + 1);
		last = bucket;
	}
	assert_int_equal(af_histogram_bucket(0), 0);
	assert_int_equal(af_histogram_bucket(UINT64_MAX), AF_HISTOGRAM_BUCKETS - 1);
}

static void equal_calls_have_exact_percentiles(void **state)
{
	struct af_call_stats s = {0};

	for (int i = 0; i < 1000; i++)
		af_stats_call(&s, 90);
	assert_int_equal(s.count, 1000);
	assert_int_equal(s.time_ns, 90000);
	assert_int_equal(s.min_ns, 90);
	assert_int_equal(s.max_ns, 90);
	assert_null(s.times.counts);
	assert_int_equal(percentile(&s, 50), 90);
	assert_int_equal(percentile(&s, 99), 90);
	af_stats_free(&s);
}

static void percentiles_of_even_times_are_near(void **state)
{
	struct af_call_stats s = {0};

	for (uint64_t ns = 1; ns <= 100000; ns++)
		af_stats_call(&s, ns);
	assert_non_null(s.times.counts);
	for (unsigned percent = 1; percent <= 100; percent++) {
		uint64_t exact = percent * 1000ull, is = percentile(&s, percent);
		assert_in_range(is, exact - exact / 8, exact + exact / 8);
	}
	assert_int_equal(percentile(&s, 100), 100000);
	af_stats_free(&s);
}

static void a_call_of_no_time_is_the_shortest(void **state)
{
	struct af_call_stats s = {0};

	af_stats_call(&s, 0);
	af_stats_call(&s, 10);
	assert_int_equal(s.min_ns, 0);
	assert_int_equal(percentile(&s, 50), 0);
	assert_int_equal(percentile(&s, 100), 10);
}

static void merged_is_as_if_counted_together(void **state)
{
	struct af_call_stats one = {0}, two = {0}, both = {0}, merged = {0};

	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t ns = i * i % 7919, bytes = 1ull << i % 50;
		struct af_call_stats *s = i % 3 ? &one : &two;
		af_stats_call(s, ns);
		af_stats_call(&both, ns);
		af_stats_bytes(s, bytes);
		af_stats_bytes(&both, bytes);
	}
	one.count += 5; /* failed ones have no time */
	one.failed += 5;
	af_stats_merge(&merged, &one);
	af_stats_merge(&merged, &two);
	assert_int_equal(merged.count, both.count + 5);
	assert_int_equal(merged.failed, 5);
	assert_int_equal(merged.time_ns, both.time_ns);
	assert_int_equal(merged.min_ns, both.min_ns);
	assert_int_equal(merged.max_ns, both.max_ns);
	assert_int_equal(merged.bytes, both.bytes);
	assert_int_equal(merged.min_bytes, both.min_bytes);
	assert_int_equal(merged.max_bytes, both.max_bytes);
	for (unsigned percent = 1; percent <= 100; percent++)
		assert_int_equal(percentile(&merged, percent), percentile(&both, percent));
	struct af_call_stats *all[] = {&one, &two, &both, &merged};
	for (int i = 0; i < 4; i++)
		af_stats_free(all[i]);
}

static void what_failed_alone_has_no_times(void **state)
{
	struct af_call_stats failed = {.count = 3, .failed = 3}, s = {0};

	af_stats_call(&s, 70);
	af_stats_merge(&s, &failed);
	assert_int_equal(s.min_ns, 70);
	assert_int_equal(s.count, 4);
	assert_int_equal(percentile(&failed, 50), 0);
}

/* As where the target counted by powers of two: a bucket may lie beside what is known exactly. */
static void percentiles_are_never_beyond_the_ends(void **state)
{
	struct af_histogram h = {0};

	af_histogram_put(&h, af_histogram_bucket(64), 1);
	assert_int_equal(af_histogram_percentile(&h, 50, 100, 100), 100);
	assert_int_equal(af_histogram_percentile(&h, 50, 3, 5), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(buckets_are_in_order),
	    cmocka_unit_test(equal_calls_have_exact_percentiles),
	    cmocka_unit_test(percentiles_of_even_times_are_near),
	    cmocka_unit_test(a_call_of_no_time_is_the_shortest),
	    cmocka_unit_test(merged_is_as_if_counted_together),
	    cmocka_unit_test(what_failed_alone_has_no_times),
	    cmocka_unit_test(percentiles_are_never_beyond_the_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
