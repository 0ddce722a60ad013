/* Whose samples of a thread count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/outside_once.h"

enum { TID = 7 };

static void first_watch_that_speaks_has_the_thread(void **state)
{
	struct af_outside_once o = {0};
	uint32_t a = af_outside_once_open(&o), b = af_outside_once_open(&o);

	(void)state;
	af_outside_once_event(&o, a, 10);
	af_outside_once_event(&o, a, 11); /* of another CPU */
	af_outside_once_event(&o, b, 20);
	assert_true(af_outside_once_speaks(&o, TID, 20, 100));
	assert_false(af_outside_once_speaks(&o, TID, 10, 101));
	assert_true(af_outside_once_speaks(&o, TID, 20, 102));
	assert_true(af_outside_once_speaks(&o, TID + 1, 10, 103));
	assert_true(af_outside_once_speaks(&o, TID + 1, 11, 104));
	assert_false(af_outside_once_speaks(&o, TID + 1, 20, 105));
	af_outside_once_free(&o);
}

static void event_of_no_watch_has_none(void **state)
{
	struct af_outside_once o = {0};

	(void)state;
	assert_false(af_outside_once_speaks(&o, TID, 99, 100));
	af_outside_once_free(&o);
}

static void closed_watch_leaves_its_threads_to_others(void **state)
{
	struct af_outside_once o = {0};
	uint32_t a = af_outside_once_open(&o), b = af_outside_once_open(&o);

	(void)state;
	af_outside_once_event(&o, a, 10);
	af_outside_once_event(&o, b, 20);
	assert_true(af_outside_once_speaks(&o, TID, 10, 100));
	assert_false(af_outside_once_speaks(&o, TID, 20, 101));
	af_outside_once_close(&o, a);
	assert_true(af_outside_once_speaks(&o, TID, 20, 102));
	assert_false(af_outside_once_speaks(&o, TID, 10, 103));
	af_outside_once_free(&o);
}

static void thread_of_the_same_number_begins_anew(void **state)
{
	struct af_outside_once o = {0};
	uint32_t a = af_outside_once_open(&o), b = af_outside_once_open(&o);

	(void)state;
	af_outside_once_event(&o, a, 10);
	af_outside_once_event(&o, b, 20);
	assert_true(af_outside_once_speaks(&o, TID, 10, 100));
	/* Told of before the last samples of the one before it. */
	af_outside_once_begin(&o, TID, 200);
	assert_false(af_outside_once_speaks(&o, TID, 20, 150));
	assert_true(af_outside_once_speaks(&o, TID, 20, 210));
	assert_false(af_outside_once_speaks(&o, TID, 10, 211));
	af_outside_once_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_watch_that_speaks_has_the_thread),
	    cmocka_unit_test(event_of_no_watch_has_none),
	    cmocka_unit_test(closed_watch_leaves_its_threads_to_others),
	    cmocka_unit_test(thread_of_the_same_number_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
