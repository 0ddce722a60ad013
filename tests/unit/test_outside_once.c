/* Which samples of a thread count? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/outside/once.h"

enum { TID = 7, OF_A = 10, OF_B = 20 };

/* Watches @a and @b, with an event each. */
struct two {
	struct af_outside_once once;
	uint32_t a, b;
};

static struct two two_watches(void)
{
	struct two w = {0};

	w.a = af_outside_once_open(&w.once);
	w.b = af_outside_once_open(&w.once);
	af_outside_once_event(&w.once, w.a, OF_A);
	af_outside_once_event(&w.once, w.b, OF_B);
	return w;
}

static void first_watch_that_speaks_has_the_thread(void **state)
{
	struct two w = two_watches();

	(void)state;
	af_outside_once_event(&w.once, w.a, 11); /* of another CPU */
	assert_true(af_outside_once_accepts(&w.once, TID, OF_B, 100));
	assert_false(af_outside_once_accepts(&w.once, TID, OF_A, 101));
	assert_true(af_outside_once_accepts(&w.once, TID, OF_B, 102));
	assert_true(af_outside_once_accepts(&w.once, TID + 1, OF_A, 103));
	assert_true(af_outside_once_accepts(&w.once, TID + 1, 11, 104));
	assert_false(af_outside_once_accepts(&w.once, TID + 1, OF_B, 105));
	af_outside_once_free(&w.once);
}

static void event_of_no_watch_has_none(void **state)
{
	struct af_outside_once o = {0};

	(void)state;
	assert_false(af_outside_once_accepts(&o, TID, 99, 100));
	af_outside_once_free(&o);
}

static void closed_watch_leaves_its_threads_to_others(void **state)
{
	struct two w = two_watches();

	(void)state;
	assert_true(af_outside_once_accepts(&w.once, TID, OF_A, 100));
	assert_false(af_outside_once_accepts(&w.once, TID, OF_B, 101));
	af_outside_once_close(&w.once, w.a);
	assert_true(af_outside_once_accepts(&w.once, TID, OF_B, 102));
	assert_false(af_outside_once_accepts(&w.once, TID, OF_A, 103));
	af_outside_once_free(&w.once);
}

static void thread_of_the_same_number_begins_anew(void **state)
{
	struct two w = two_watches();

	(void)state;
	assert_true(af_outside_once_accepts(&w.once, TID, OF_A, 100));
	/* Reported before the last samples of the one before it. */
	af_outside_once_begin(&w.once, TID, 200);
	assert_false(af_outside_once_accepts(&w.once, TID, OF_B, 150));
	assert_true(af_outside_once_accepts(&w.once, TID, OF_B, 210));
	assert_false(af_outside_once_accepts(&w.once, TID, OF_A, 211));
	af_outside_once_free(&w.once);
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
