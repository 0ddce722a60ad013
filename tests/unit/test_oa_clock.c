/* The mean frequency by the heads of reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/xe_oa/clock.h"

enum { HZ = 25000000, MHZ = 1000000 };

static void narrow_take(struct af_oa_clock *c, uint32_t stamp, uint32_t ticks)
{
	uint8_t report[AF_OA_BYTES];

	memset(report, 0xee, sizeof report);
	memcpy(report + 4, &stamp, sizeof stamp);
	memcpy(report + 12, &ticks, sizeof ticks);
	af_oa_clock_take(c, report, sizeof report);
}

static void wide_take(struct af_oa_clock *c, uint64_t stamp, uint64_t ticks)
{
	uint8_t report[AF_OA_WIDE_BYTES];

	memset(report, 0xee, sizeof report);
	memcpy(report + 8, &stamp, sizeof stamp);
	memcpy(report + 24, &ticks, sizeof ticks);
	af_oa_clock_take(c, report, sizeof report);
}

static void is_mean(struct af_oa_clock *c, uint64_t khz, uint64_t span_ns)
{
	uint64_t got, span;

	assert_true(af_oa_clock_mean(c, &got, &span));
	assert_int_equal(got, khz);
	assert_int_equal(span, span_ns);
}

static void means_are_over_the_time_of_their_reports(void **state)
{
	struct af_oa_clock c = {.wide = true, .stamp_hz = HZ};
	uint64_t khz, span;

	(void)state;
	assert_false(af_oa_clock_mean(&c, &khz, &span));
	wide_take(&c, 1, 7);
	assert_false(af_oa_clock_mean(&c, &khz, &span));
	wide_take(&c, 1 + HZ / 2, 7 + 600 * (uint64_t)MHZ);
	is_mean(&c, 1200000, 500000000);
	/* It begins where the last one ended. */
	wide_take(&c, 1 + HZ, 7 + 1600 * (uint64_t)MHZ);
	is_mean(&c, 2000000, 500000000);
	assert_false(af_oa_clock_mean(&c, &khz, &span));
	assert_int_equal(c.nr_odd, 0);
	assert_int_equal(c.nr_reports, 3);
}

static void numbers_of_32_bits_wrap(void **state)
{
	struct af_oa_clock c = {.stamp_hz = HZ};

	(void)state;
	narrow_take(&c, UINT32_MAX - 99, UINT32_MAX);
	narrow_take(&c, HZ / 10 - 100, 100 * MHZ - 1);
	is_mean(&c, 1000000, 100000000);
	assert_int_equal(c.nr_odd, 0);
}

static void what_makes_no_sense_is_counted(void **state)
{
	struct af_oa_clock c = {.wide = true, .stamp_hz = HZ};
	uint64_t khz, span;

	(void)state;
	wide_take(&c, HZ, 0);
	wide_take(&c, 0, 0);                   /* time goes back */
	wide_take(&c, 1, 0);                   /* it goes on */
	wide_take(&c, 1 + HZ, UINT64_MAX / 2); /* no clock has so many ticks */
	assert_int_equal(c.nr_odd, 2);
	wide_take(&c, 1 + 2 * HZ, UINT64_MAX / 2 + UINT64_C(200000) * MHZ); /* 200 GHz */
	assert_false(af_oa_clock_mean(&c, &khz, &span));
	assert_int_equal(c.nr_odd, 3);
	af_oa_clock_take(&c, (const uint8_t *)"cut", 3);
	assert_int_equal(c.nr_odd, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(means_are_over_the_time_of_their_reports),
	    cmocka_unit_test(numbers_of_32_bits_wrap),
	    cmocka_unit_test(what_makes_no_sense_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
