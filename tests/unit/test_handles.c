#include "inject/core/handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void unknown_handle_has_no_value(void **state)
{
	struct af_handles h = AF_HANDLES_INIT;

	assert_int_equal(af_handles_get(&h, 5), 0);
	af_handles_set(&h, 6, 60);
	assert_int_equal(af_handles_get(&h, 5), 0);
	assert_int_equal(af_handles_get(&h, 0), 0);
	af_handles_after_fork(&h);
}

static void values_survive_growth(void **state)
{
	struct af_handles h = AF_HANDLES_INIT;

	for (uint64_t i = 1; i <= 20000; i++)
		af_handles_set(&h, i * 64, i);
	for (uint64_t i = 1; i <= 20000; i++)
		assert_int_equal(af_handles_get(&h, i * 64), i);
	af_handles_after_fork(&h);
}

static void handle_that_comes_back_has_its_new_value(void **state)
{
	struct af_handles h = AF_HANDLES_INIT;

	af_handles_set(&h, 0x1000, 1);
	af_handles_set(&h, 0x1000, 0);
	assert_int_equal(af_handles_get(&h, 0x1000), 0);
	af_handles_set(&h, 0x1000, 2);
	assert_int_equal(af_handles_get(&h, 0x1000), 2);
	af_handles_after_fork(&h);
}

static void first_claim_wins(void **state)
{
	struct af_handles h = AF_HANDLES_INIT;

	assert_int_equal(af_handles_claim(&h, 7, 70), 70);
	assert_int_equal(af_handles_claim(&h, 7, 71), 70);
	af_handles_set(&h, 7, 0);
	assert_int_equal(af_handles_claim(&h, 7, 72), 72);
	af_handles_after_fork(&h);
}

/* One thread sets handles, another must never see a key without its value. */
static void *set_many(void *arg)
{
	struct af_handles *h = arg;

	for (uint64_t i = 1; i <= 100000; i++)
		af_handles_set(h, i, i + 1);
	return NULL;
}

static void readers_need_no_lock(void **state)
{
	struct af_handles h = AF_HANDLES_INIT;
	unsigned wrong = 0;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, set_many, &h), 0);
	for (uint64_t i = 1; i <= 100000; i++) {
		uint64_t v = af_handles_get(&h, i);
		wrong += v != 0 && v != i + 1;
	}
	pthread_join(t, NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(af_handles_get(&h, 100000), 100001);
	af_handles_after_fork(&h);
}

static void forked_child_starts_empty(void **state)
{
	struct af_handles h = AF_HANDLES_INIT;

	af_handles_set(&h, 9, 90);
	af_handles_after_fork(&h);
	assert_int_equal(af_handles_get(&h, 9), 0);
	af_handles_set(&h, 9, 91);
	assert_int_equal(af_handles_get(&h, 9), 91);
	af_handles_after_fork(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unknown_handle_has_no_value),
	    cmocka_unit_test(values_survive_growth),
	    cmocka_unit_test(handle_that_comes_back_has_its_new_value),
	    cmocka_unit_test(first_claim_wins),
	    cmocka_unit_test(readers_need_no_lock),
	    cmocka_unit_test(forked_child_starts_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
