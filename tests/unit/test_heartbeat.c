/*
 * The recorder's heartbeat: how many ticks there are, and which thread makes them. None of it
 * depends on how fast the machine is: what was not in time is counted as missed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "collect/session/session.h"
#include "collect/writer/heartbeat.h"

enum { MS = 1000000, TICKS_MOST = 4096 };

/* The ticks that a beat made. */
struct seen {
	uint64_t nr, nr_again, missed;
	pid_t by[TICKS_MOST];
	uint64_t takes_ns[TICKS_MOST]; /* what is expected of each tick, and what it takes */
	uint64_t at_ns[TICKS_MOST];
};

static struct seen a, b;
static struct af_recording recording;

static void sleep_ns(uint64_t ns)
{
	const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
	                           .tv_nsec = (long)(ns % 1000000000)};

	nanosleep(&t, NULL);
}

static void seen_tick(void *arg, bool again)
{
	struct seen *s = arg;

	assert_true(s->nr < TICKS_MOST);
	s->at_ns[s->nr] = af_now_ns();
	s->by[s->nr] = (pid_t)syscall(SYS_gettid);
	if (s->takes_ns[s->nr])
		sleep_ns(s->takes_ns[s->nr]);
	s->nr_again += again;
	s->nr++;
}

static void seen_missed(void *arg, uint64_t count)
{
	((struct seen *)arg)->missed += count;
}

static uint64_t seen_takes(void *arg, uint64_t time_ns, bool again)
{
	const struct seen *s = arg;
	(void)time_ns;
	(void)again;

	return s->takes_ns[s->nr];
}

static int set_up(void **state)
{
	(void)state;
	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	recording.own.state = AF_SESSION_ON;
	return 0;
}

static struct af_beat beat_of(struct seen *s, uint64_t period_ns)
{
	return (struct af_beat){.period_ns = period_ns,
	                        .tick = seen_tick,
	                        .missed = seen_missed,
	                        .takes = seen_takes,
	                        .arg = s};
}

/* Runs both for @ms, and gives the time that it ran: at least, and at most. */
static void run(struct af_beat *x, struct af_beat *y, int ms, uint64_t *least, uint64_t *most)
{
	struct af_heartbeat h = {.r = &recording, .beats = {x, y}, .nr = y ? 2 : 1};

	uint64_t from = af_now_ns();
	af_heartbeat_begin(&h);
	uint64_t begun = af_now_ns();
	for (uint64_t end = begun + (uint64_t)ms * MS; af_now_ns() < end; sleep_ns(5 * MS))
		af_heartbeat_pump(&h);
	uint64_t to = af_now_ns();
	af_heartbeat_stop(&h);
	*least = to - begun;
	*most = af_now_ns() - from;
	af_heartbeat_close(&h);
}

static void expect_exact(const struct af_beat *x, const struct seen *s, uint64_t least,
                         uint64_t most)
{
	assert_int_equal(x->nr_ticks, s->nr);
	assert_int_equal(x->nr_missed, s->missed);
	assert_in_range(s->nr + s->missed, least / x->period_ns + 2, most / x->period_ns + 2);
}

static void ticks_and_misses_are_one_for_each_period(void **state)
{
	struct af_beat x = beat_of(&a, MS), y = beat_of(&b, 7 * MS);
	uint64_t least, most;
	(void)state;

	run(&x, &y, 200, &least, &most);
	expect_exact(&x, &a, least, most);
	expect_exact(&y, &b, least, most);
	assert_int_equal(a.nr_again, 1);
	assert_int_equal(b.nr_again, 1);
	assert_true(x.last && y.last);
}

/* A tick is late where the machine is busy: then it is so for the beat that is due with it. */
static void beats_that_are_due_together_are_made_together(void **state)
{
	struct af_beat x = beat_of(&a, 10 * MS), y = beat_of(&b, 20 * MS);
	uint64_t least, most;
	(void)state;

	run(&x, &y, 200, &least, &most);
	for (uint64_t i = 1; i + 1 < b.nr; i++) {
		uint64_t k = 0;
		while (k + 1 < a.nr && a.at_ns[k + 1] <= b.at_ns[i])
			k++;
		assert_int_equal(a.by[k], b.by[i]);
		/* x's tick comes right before: no other tick of x was due in between. */
		assert_true(a.at_ns[k] > b.at_ns[i - 1]);
	}
	assert_int_equal(x.next_ns % (10 * MS), y.next_ns % (10 * MS));
}

static void a_tick_that_takes_long_has_a_thread_while_it_does(void **state)
{
	struct af_beat x = beat_of(&a, MS), y = beat_of(&b, 10 * MS);
	uint64_t least, most;
	(void)state;

	/* The ticks 2 and 3 take long; those before and after them do not. */
	b.takes_ns[2] = b.takes_ns[3] = 30 * MS;
	run(&x, &y, 300, &least, &most);
	assert_true(b.nr > 6 && a.nr > 6);
	pid_t shared = a.by[1];
	for (uint64_t i = 1; i + 1 < a.nr; i++)
		assert_int_equal(a.by[i], shared);
	for (uint64_t i = 1; i + 1 < b.nr; i++)
		if (i == 2 || i == 3)
			assert_int_not_equal(b.by[i], shared);
		else
			assert_int_equal(b.by[i], shared);
	assert_int_equal(b.by[2], b.by[3]);
	expect_exact(&x, &a, least, most);
	expect_exact(&y, &b, least, most);
	assert_true(b.missed >= 4); /* of itself */
}

static void one_that_is_alone_holds_up_nobody(void **state)
{
	struct af_beat x = beat_of(&a, 10 * MS);
	uint64_t least, most;
	(void)state;

	a.takes_ns[2] = 30 * MS;
	run(&x, NULL, 120, &least, &most);
	for (uint64_t i = 2; i + 1 < a.nr; i++)
		assert_int_equal(a.by[i], a.by[1]);
	expect_exact(&x, &a, least, most);
}

static void nothing_is_due_while_recording_is_off(void **state)
{
	struct af_beat x = beat_of(&a, 5 * MS), y = beat_of(&b, 10 * MS);
	struct af_heartbeat h = {.r = &recording, .beats = {&x, &y}, .nr = 2};
	(void)state;

	/* One of them takes long when recording ends, and would go on alone. */
	for (int i = 1; i < TICKS_MOST; i++)
		b.takes_ns[i] = MS;
	recording.own.state = AF_SESSION_PAUSED;
	af_heartbeat_begin(&h);
	af_heartbeat_pump(&h);
	sleep_ns(30 * MS);
	assert_int_equal(a.nr + a.missed, 0);
	recording.own.state = AF_SESSION_ON;
	af_heartbeat_pump(&h);
	uint64_t on_ns = af_now_ns();
	sleep_ns(100 * MS);
	recording.own.state = AF_SESSION_PAUSED;
	af_heartbeat_pump(&h);
	/* The threads may be busy with what was due until now. */
	on_ns = af_now_ns() - on_ns + 100 * MS;
	sleep_ns(400 * MS);
	af_heartbeat_stop(&h);
	assert_in_range(a.nr + a.missed, 2, on_ns / x.period_ns + 1);
	assert_in_range(b.nr + b.missed, 2, on_ns / y.period_ns + 1);
	assert_int_equal(a.nr_again, 1);
	af_heartbeat_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(ticks_and_misses_are_one_for_each_period, set_up),
	    cmocka_unit_test_setup(beats_that_are_due_together_are_made_together, set_up),
	    cmocka_unit_test_setup(a_tick_that_takes_long_has_a_thread_while_it_does, set_up),
	    cmocka_unit_test_setup(one_that_is_alone_holds_up_nobody, set_up),
	    cmocka_unit_test_setup(nothing_is_due_while_recording_is_off, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
