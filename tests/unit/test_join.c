#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/join/join.h"

static void launch_is_taken_once(void **state)
{
	struct af_join j = {0};
	struct af_cause l;

	(void)state;
	af_join_put(&j, &(struct af_cause){.id = 7, .process = 1, .what = 3});
	assert_false(af_join_take(&j, 1, 8, &l));
	assert_false(af_join_take(&j, 2, 7, &l));
	assert_true(af_join_take(&j, 1, 7, &l));
	assert_int_equal(l.what, 3);
	assert_false(af_join_take(&j, 1, 7, &l));
	assert_int_equal(j.nr, 0);
	af_join_free(&j);
}

static void empty_join_has_nothing(void **state)
{
	struct af_join j = {0};
	struct af_cause l;

	(void)state;
	assert_false(af_join_take(&j, 1, 1, &l));
	af_join_free(&j);
}

/* Against an array: put and take in a mixed order, so that gaps close across many homes. */
static void deletion_keeps_the_others_findable(void **state)
{
	enum { N = 5000 };
	static uint8_t there[N];
	struct af_join j = {0};
	struct af_cause l;
	uint64_t seed = 1, in = 0;

	(void)state;
	for (int step = 0; step < 200000; step++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint32_t k = (uint32_t)(seed >> 40) % N;
		if (there[k]) {
			assert_true(af_join_take(&j, 1 + k % 3, k, &l));
			assert_int_equal(l.what, k + 1);
			there[k] = 0;
			in--;
		} else {
			assert_false(af_join_take(&j, 1 + k % 3, k, &l));
			af_join_put(
			    &j, &(struct af_cause){.id = k, .process = 1 + k % 3, .what = k + 1});
			there[k] = 1;
			in++;
		}
		assert_int_equal(j.nr, in);
	}
	for (uint32_t k = 0; k < N; k++)
		assert_int_equal(af_join_take(&j, 1 + k % 3, k, &l), there[k]);
	af_join_free(&j);
}

/* The table is as large as what is in flight. */
static void memory_follows_what_is_in_flight(void **state)
{
	struct af_join j = {0};
	struct af_cause l;

	(void)state;
	for (uint64_t i = 0; i < 1000000; i++) {
		af_join_put(&j, &(struct af_cause){.id = i, .process = 1});
		if (i >= 100)
			assert_true(af_join_take(&j, 1, i - 100, &l));
	}
	assert_true(j.cap <= 1024);
	af_join_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launch_is_taken_once),
	    cmocka_unit_test(empty_join_has_nothing),
	    cmocka_unit_test(deletion_keeps_the_others_findable),
	    cmocka_unit_test(memory_follows_what_is_in_flight),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
