/* The clock of calls is CLOCK_MONOTONIC, as near as its header says, whatever the counter does. */
#include "inject/api/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/core/inject.h"
#include "trace/write/stream.h"

enum {
	READINGS = 300000,
	NEAR_NS =
	    300, /* the system's clock takes so long on a slow machine, and the counter's speed
	                * is known to some parts in a million */
};

static struct af_session *session;

static uint64_t spin(uint64_t ns)
{
	uint64_t begin_ns = af_now_ns(), now_ns;

	while ((now_ns = af_now_ns()) < begin_ns + ns)
		;
	return now_ns - begin_ns;
}

/* As the recorder measures it. */
static uint32_t mult_of_the_counter(void)
{
	uint64_t ticks = af_clock_ticks(), ns = spin(100000000);

	ticks = af_clock_ticks() - ticks;
	return ticks ? (uint32_t)((ns << 32) / ticks) : 0;
}

static int setup(void **state)
{
	(void)state;
	session = aligned_alloc(_Alignof(struct af_session), sizeof *session);
	memset(session, 0, sizeof *session);
	session->state = AF_SESSION_ON;
	af_inject_now.session = session;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	af_inject_now.session = NULL;
	free(session);
	af_call_clock = (struct af_call_clock){0};
	return 0;
}

/* Readings that do not lie between two of the system's clock, give or take @off_ns. */
static uintptr_t nr_far(uint64_t off_ns)
{
	uintptr_t nr_off = 0;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = af_now_ns(), now = af_call_now_ns(), after = af_now_ns();
		nr_off += now + off_ns < before || now > after + off_ns;
	}
	return nr_off;
}

/* One in a thousand may be far, where the thread lost its CPU between the lines. */
static void assert_near(uint64_t off_ns)
{
	assert_in_range(nr_far(off_ns), 0, READINGS / 1000);
}

static void need_counter(void)
{
	if (!mult_of_the_counter())
		skip();
}

static void it_is_the_systems_clock(void **state)
{
	(void)state;
	need_counter();
	session->tsc_mult = mult_of_the_counter();
	assert_near(NEAR_NS);
	assert_in_range(af_call_clock.span, 1, UINT32_MAX);
}

/* The kernel slews its clock by so much at most, and the recorder measures once a second. */
static void a_counter_that_is_wrong_by_500_ppm_is_wrong_by_500_ns(void **state)
{
	(void)state;
	need_counter();
	uint64_t mult = mult_of_the_counter();
	session->tsc_mult = (uint32_t)(mult + mult / 2000);
	assert_near(NEAR_NS + AF_CALL_CLOCK_SPAN_NS / 2000);
	session->tsc_mult = (uint32_t)(mult - mult / 2000);
	assert_near(NEAR_NS + AF_CALL_CLOCK_SPAN_NS / 2000);
}

static void without_a_counter_each_reading_is_the_systems(void **state)
{
	(void)state;
	assert_near(0);
	assert_int_equal(af_call_clock.span, 0);
}

/* As in a virtual machine that is moved to another host, or that sleeps. */
static void a_counter_that_jumps_is_read_anew(void **state)
{
	(void)state;
	need_counter();
	session->tsc_mult = mult_of_the_counter();
	af_call_now_ns();
	af_call_clock.at += UINT64_C(1) << 40;
	assert_near(NEAR_NS);
	af_call_clock.at -= UINT64_C(1) << 40;
	assert_near(NEAR_NS);
}

static void a_session_that_is_over_leaves_the_systems_clock(void **state)
{
	(void)state;
	need_counter();
	session->tsc_mult = mult_of_the_counter();
	af_call_now_ns();
	session->state = AF_SESSION_OVER;
	spin(2 * AF_CALL_CLOCK_SPAN_NS);
	assert_near(0);
	af_inject_now.session = NULL;
	assert_near(0);
}

static void *other_thread(void *none)
{
	(void)none;
	return (void *)nr_far(NEAR_NS);
}

static void each_thread_reads_for_itself(void **state)
{
	(void)state;
	pthread_t t[4];

	need_counter();
	session->tsc_mult = mult_of_the_counter();
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, other_thread, NULL), 0);
	for (int i = 0; i < 4; i++) {
		void *far;

		assert_int_equal(pthread_join(t[i], &far), 0);
		assert_in_range((uintptr_t)far, 0, READINGS / 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(it_is_the_systems_clock, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_counter_that_is_wrong_by_500_ppm_is_wrong_by_500_ns,
	                                    setup, teardown),
	    cmocka_unit_test_setup_teardown(without_a_counter_each_reading_is_the_systems, setup,
	                                    teardown),
	    cmocka_unit_test_setup_teardown(a_counter_that_jumps_is_read_anew, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_session_that_is_over_leaves_the_systems_clock, setup,
	                                    teardown),
	    cmocka_unit_test_setup_teardown(each_thread_reads_for_itself, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
