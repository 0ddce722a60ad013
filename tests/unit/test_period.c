/* Periods are found, and only periods. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/time/period.h"

enum { NR = 20000 };

static double values[NR];
static uint64_t random_state;

static double next_unit(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static int setup(void **state)
{
	random_state = 88172645463325252ull;
	return 0;
}

static void near(double got, double want, double by)
{
	if (fabs(got - want) > by)
		fail_msg("%f is not %f", got, want);
}

static void bursts_have_their_period(void **state)
{
	static const double lags[] = {5, 17.3, 100, 1234.5};
	struct af_period p;

	for (size_t k = 0; k < sizeof lags / sizeof *lags; k++) {
		for (int i = 0; i < NR; i++)
			values[i] = fmod(i, lags[k]) < lags[k] / 3 ? 1000 : 0;
		assert_true(af_period_find(values, NR, &p));
		near(p.lag, lags[k], 0.1 + lags[k] / 1000);
		assert_true(p.strength > 0.8);
	}
}

static void bursts_with_noise_and_jitter_have_theirs(void **state)
{
	struct af_period p;
	double next = 0;

	for (int i = 0; i < NR; i++)
		values[i] = 300 * next_unit();
	while (next + 60 < NR) {
		double start = next + 6 * (next_unit() - 0.5);
		for (int i = 0; i < 15; i++)
			values[(int)fmax(start, 0) + i] += 300;
		next += 50;
	}
	assert_true(af_period_find(values, NR, &p));
	near(p.lag, 50, 1);
	assert_true(p.strength > 0.35 && p.strength < 0.95);
}

static void a_pattern_of_steps_is_as_long_as_a_step(void **state)
{
	struct af_period p;

	/* Three short bursts and a pause: 90 is the period, 20 only seems to be one. */
	for (int i = 0; i < NR; i++)
		values[i] = i % 90 < 60 && i % 90 % 20 < 8 ? 1 : 0;
	assert_true(af_period_find(values, NR, &p));
	near(p.lag, 90, 0.1);
}

static void noise_ramps_and_rest_have_none(void **state)
{
	struct af_period p;
	double walk = 0;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < NR; i++)
			values[i] = next_unit();
		assert_false(af_period_find(values, NR, &p));
		for (int i = 0; i < NR; i++)
			values[i] = walk += next_unit() - 0.5;
		assert_false(af_period_find(values, NR, &p));
		for (int i = 0; i < NR; i++)
			values[i] = next_unit() < 0.01 ? 100 : 0;
		assert_false(af_period_find(values, NR, &p));
	}
	for (int i = 0; i < NR; i++)
		values[i] = i;
	assert_false(af_period_find(values, NR, &p));
	for (int i = 0; i < NR; i++)
		values[i] = i > NR / 2 ? 10 : 0;
	assert_false(af_period_find(values, NR, &p));
	for (int i = 0; i < NR; i++)
		values[i] = 100 + (i % 10 == 0);
	assert_false(af_period_find(values, NR, &p));
	for (int i = 0; i < NR; i++)
		values[i] = 7;
	assert_false(af_period_find(values, NR, &p));
	for (uint32_t nr = 0; nr < 40; nr++)
		assert_false(af_period_find(values, nr, &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(bursts_have_their_period, setup),
	    cmocka_unit_test_setup(bursts_with_noise_and_jitter_have_theirs, setup),
	    cmocka_unit_test_setup(a_pattern_of_steps_is_as_long_as_a_step, setup),
	    cmocka_unit_test_setup(noise_ramps_and_rest_have_none, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
