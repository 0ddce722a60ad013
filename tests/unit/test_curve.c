/* A counter over time as running sums: they add up, gaps have nothing, memory is bounded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/counters/curve.h"

static void assert_about(double is, double wanted)
{
	if (!(fabs(is - wanted) <= 1e-9 * fabs(wanted) + 1e-9))
		fail_msg("%.17g, not %.17g", is, wanted);
}

static void sums_of_any_interval_are_exact(void **state)
{
	struct af_curve c = {0};
	double covered;

	(void)state;
	assert_about(af_curve_sum(&c, 0, 100, &covered), 0);
	assert_about(covered, 0);
	af_curve_add(&c, 10, 20, 100);
	af_curve_add(&c, 20, 30, 300);
	af_curve_add(&c, 50, 60, 50); /* behind a gap */
	assert_about(af_curve_sum(&c, 0, 100, &covered), 450);
	assert_about(covered, 30);
	assert_about(af_curve_sum(&c, 12, 18, &covered), 60);
	assert_about(covered, 6);
	assert_about(af_curve_sum(&c, 18, 26, &covered), 20 + 180);
	assert_about(covered, 8);
	assert_about(af_curve_sum(&c, 35, 55, &covered), 25);
	assert_about(covered, 5);
	assert_about(af_curve_sum(&c, 30, 50, &covered), 0);
	assert_about(covered, 0);
	assert_about(af_curve_sum(&c, 60, 70, &covered), 0);
	assert_about(af_curve_sum(&c, 25, 25, &covered), 0);
	af_curve_free(&c);
}

static void time_with_a_value_keeps_it(void **state)
{
	struct af_curve c = {0};
	double covered;

	(void)state;
	af_curve_add(&c, 10, 20, 100);
	af_curve_add(&c, 15, 25, 1000); /* half of it is behind the first */
	af_curve_add(&c, 12, 24, 7);    /* none of it */
	af_curve_add(&c, 30, 30, 7);
	af_curve_add(&c, 40, 35, 7);
	assert_about(af_curve_sum(&c, 0, UINT64_MAX, &covered), 600);
	assert_about(covered, 15);
	assert_int_equal(c.nr, 2);
	af_curve_free(&c);
}

/* Value i from 10 i to 10 i + 8: joined pieces have the sums and the gaps of their parts. */
static void memory_is_bounded_and_sums_stay(void **state)
{
	const uint64_t nr = 5ull * AF_CURVE_PIECES;
	struct af_curve c = {0};
	double covered, sum = 0;

	(void)state;
	for (uint64_t i = 0; i < nr; i++)
		af_curve_add(&c, 10 * i, 10 * i + 8, (double)i);
	assert_true(c.nr <= AF_CURVE_PIECES);
	assert_true(c.nr > AF_CURVE_PIECES / 2);
	assert_about(af_curve_sum(&c, 0, 10 * nr, &covered), (double)nr * (double)(nr - 1) / 2);
	assert_about(covered, 8 * (double)nr);
	/* Eight are one by now, in the early half at least. */
	for (uint64_t i = 8000; i < 8800; i++)
		sum += (double)i;
	assert_about(af_curve_sum(&c, 80000, 88000, &covered), sum);
	assert_about(covered, 8 * 800);
	af_curve_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_of_any_interval_are_exact),
	    cmocka_unit_test(time_with_a_value_keeps_it),
	    cmocka_unit_test(memory_is_bounded_and_sums_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
