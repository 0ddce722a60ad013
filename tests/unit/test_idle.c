/* Why devices are idle: verdicts at their thresholds, and gaps explained piece by piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/idle/idle.h"
#include "analyse/idle/verdict.h"
#include "analyse/table/table.h"
#include "analyse/world/samples.h"
#include "analyse/world/waits.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/arena.h"

static enum idle_verdict verdict(uint64_t kernels, uint64_t queued, uint64_t host, uint64_t copy,
                                 uint64_t sync, uint64_t input, uint64_t unseen)
{
	const uint64_t shares[IDLE_SHARES] = {
	    [IDLE_SHARE_KERNELS] = kernels, [IDLE_SHARE_QUEUED] = queued,
	    [IDLE_SHARE_LAUNCHES] = host,   [IDLE_SHARE_COPY] = copy,
	    [IDLE_SHARE_SYNC] = sync,       [IDLE_SHARE_INPUT] = input,
	    [IDLE_SHARE_UNSEEN] = unseen,
	};

	return idle_verdict(shares);
}

static void a_device_with_work_four_fifths_of_the_time_is_busy(void **state)
{
	(void)state;
	assert_int_equal(verdict(80, 0, 20, 0, 0, 0, 0), IDLE_VERDICT_BUSY);
	assert_int_equal(verdict(70, 10, 20, 0, 0, 0, 0), IDLE_VERDICT_BUSY);
	assert_int_equal(verdict(79, 0, 21, 0, 0, 0, 0), IDLE_VERDICT_LAUNCH);
}

static void more_than_half_of_the_rest_is_a_verdict(void **state)
{
	(void)state;
	assert_int_equal(verdict(10, 0, 46, 15, 15, 14, 0), IDLE_VERDICT_LAUNCH);
	assert_int_equal(verdict(10, 0, 15, 46, 15, 14, 0), IDLE_VERDICT_COPY);
	assert_int_equal(verdict(10, 0, 15, 15, 46, 14, 0), IDLE_VERDICT_SYNC);
	assert_int_equal(verdict(10, 0, 15, 15, 14, 46, 0), IDLE_VERDICT_INPUT);
	assert_int_equal(verdict(10, 0, 15, 15, 14, 0, 46), IDLE_VERDICT_UNSEEN);
	assert_int_equal(verdict(10, 0, 45, 45, 0, 0, 0), IDLE_VERDICT_MIXED);
}

static void copies_alone_on_the_device_count_for_copying(void **state)
{
	const uint64_t shares[IDLE_SHARES] = {
	    [IDLE_SHARE_KERNELS] = 40, [IDLE_SHARE_COPIES] = 31, [IDLE_SHARE_HOST] = 29};

	(void)state;
	assert_int_equal(idle_verdict(shares), IDLE_VERDICT_COPY);
}

static void what_takes_long_between_launches_is_no_launching(void **state)
{
	uint64_t shares[IDLE_SHARES] = {
	    [IDLE_SHARE_KERNELS] = 40, [IDLE_SHARE_LAUNCHES] = 10, [IDLE_SHARE_HOST] = 30};

	(void)state;
	assert_int_equal(idle_verdict(shares), IDLE_VERDICT_HOST);
	shares[IDLE_SHARE_LAUNCHES] = 30;
	assert_int_equal(idle_verdict(shares), IDLE_VERDICT_LAUNCH);
	shares[IDLE_SHARE_COPY] = 60;
	assert_int_equal(idle_verdict(shares), IDLE_VERDICT_MIXED);
	assert_string_equal(idle_verdict_text(IDLE_VERDICT_HOST, true), "host-bound");
}

static void a_lock_is_no_input(void **state)
{
	uint64_t shares[IDLE_SHARES] = {
	    [IDLE_SHARE_KERNELS] = 40, [IDLE_SHARE_INPUT] = 20, [IDLE_SHARE_OFF] = 30};

	(void)state;
	assert_int_equal(idle_verdict(shares), IDLE_VERDICT_OFF);
	shares[IDLE_SHARE_OFF] = 10;
	assert_int_equal(idle_verdict(shares), IDLE_VERDICT_INPUT);
	assert_string_equal(idle_verdict_text(IDLE_VERDICT_OFF, true), "blocked");
}

static void times_that_cannot_be_do_not_overflow_a_verdict(void **state)
{
	const uint64_t big = UINT64_MAX / 4;

	(void)state;
	assert_int_equal(verdict(big, 0, big, 0, 0, 0, 0), IDLE_VERDICT_LAUNCH);
}

static void only_a_busy_gpu_is_called_one(void **state)
{
	(void)state;
	assert_string_equal(idle_verdict_text(IDLE_VERDICT_BUSY, true), "GPU-bound");
	assert_string_equal(idle_verdict_text(IDLE_VERDICT_BUSY, false), "device-bound");
	assert_string_equal(idle_verdict_text(IDLE_VERDICT_SYNC, true), "sync-bound");
}

/* A device of process 1 whose gaps thread 7 ends. */
struct fixture {
	struct idle i;
	struct af_world w;
	struct af_process processes[2];
	struct idle_device device;
};

static void fixture_open(struct fixture *f)
{
	*f = (struct fixture){.device = {.process = 1, .id = 1}};
	f->w.processes = f->processes;
	f->w.nr_processes = 2;
	f->i.devices = &f->device;
	f->i.nr_devices = 1;
}

static void fixture_close(struct fixture *f)
{
	f->i.devices = NULL;
	idle_free(&f->i);
}

static void call(struct fixture *f, uint64_t start_ns, uint64_t end_ns)
{
	const struct af_call c = {
	    .process = 1, .tid = 7, .path = 3, .start_ns = start_ns, .end_ns = end_ns};

	idle_call(&f->i, &c);
}

static void tick(struct fixture *f, uint64_t time_ns, uint64_t weight_ns)
{
	const struct af_sample s = {
	    .time_ns = time_ns, .weight_ns = weight_ns, .tid = 7, .at = {1, 4, 0}};

	idle_tick(&f->i, &s);
}

static struct idle_piece ends(uint64_t call_start_ns, uint64_t call_end_ns)
{
	return (struct idle_piece){
	    .call_start_ns = call_start_ns, .call_end_ns = call_end_ns, .tid = 7, .launched = true};
}

static uint64_t sum_of(const struct idle *i, enum idle_kind kind)
{
	uint64_t ns = 0;

	for (uint32_t k = 0; k < i->nr_sums; k++)
		ns += i->sums[k].kind == kind ? idle_sum_ns(i, &i->sums[k]) : 0;
	return ns;
}

static void work_that_was_launched_before_its_gap_is_nobodys_fault(void **state)
{
	const struct idle_piece e = ends(10, 20);
	struct fixture f;

	(void)state;
	fixture_open(&f);
	tick(&f, 150, 1000);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 200, &e);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_QUEUED), 100);
	assert_int_equal(f.i.nr_sums, 1);
	fixture_close(&f);
}

static void a_gap_is_its_pieces(void **state)
{
	const struct idle_piece e = ends(160, 180);
	struct fixture f;

	(void)state;
	fixture_open(&f);
	call(&f, 90, 110);
	call(&f, 160, 180);
	tick(&f, 105, 1000); /* in a call, which is exact */
	tick(&f, 130, 30);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 200, &e);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_CALL), 10 + 20);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_TICK), 30);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_ON_WAY), 20);
	assert_int_equal(f.i.stories[0].left_ns, 50);
	fixture_close(&f);
}

/* Code that is nowhere for long is in a thousand places: what it was is known all the same. */
static void of_a_gap_with_many_causes_the_rest_is_kept_by_kind(void **state)
{
	const struct idle_piece e = ends(100000, 100010);
	struct fixture f;
	uint64_t ns = 0;

	(void)state;
	fixture_open(&f);
	for (uint32_t k = 0; k < 1000; k++) {
		const struct af_sample s = {
		    .time_ns = 200 + 50ull * k, .weight_ns = 90, .tid = 7, .at = {1, 4 + k, 0}};
		idle_tick(&f.i, &s);
	}
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 100010, &e);
	const struct idle_gap *gap = &f.i.longest[0];
	assert_int_equal(gap->nr_causes, AF_IDLE_CAUSES);
	for (uint32_t k = 0; k < gap->nr_causes; k++)
		ns += gap->causes[k].kind == IDLE_KIND_TICK ? gap->causes[k].ns : 0;
	assert_int_equal(ns + gap->rest_ns[IDLE_REST_TICKS], 90000);
	assert_int_equal(gap->rest_ns[IDLE_REST_CALLS] + gap->rest_ns[IDLE_REST_OFF], 0);
	fixture_close(&f);
}

static void samples_are_never_more_than_the_time_there_was(void **state)
{
	const struct idle_piece e = ends(200, 300);
	struct fixture f;

	(void)state;
	fixture_open(&f);
	tick(&f, 110, 10000);
	tick(&f, 120, 30000);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 200, &e);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_TICK), 100);
	fixture_close(&f);
}

static void work_that_begins_within_its_call_was_never_on_its_way(void **state)
{
	const struct idle_piece e = ends(150, 400);
	struct fixture f;

	(void)state;
	fixture_open(&f);
	call(&f, 150, 400);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 200, &e);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_CALL), 50);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_ON_WAY), 0);
	assert_int_equal(f.i.stories[0].left_ns, 50);
	fixture_close(&f);
}

static bool drained(const struct idle *i, uint32_t story)
{
	return i->stories && story < i->nr_stories && i->stories[story].drained;
}

static void a_call_that_waits_for_its_own_work_drains_the_device(void **state)
{
	const struct idle_piece e = ends(150, 160);
	struct fixture f;

	(void)state;
	fixture_open(&f);
	f.device.launched = true;
	f.device.tid = 7;
	f.device.call_start_ns = 50;
	f.device.call_end_ns = 110;
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 200, &e);
	assert_true(drained(&f.i, 0));
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 110, 200, &e);
	assert_int_equal(f.i.nr_stories, 2);
	assert_false(drained(&f.i, 1));
	fixture_close(&f);
}

static void no_time_is_no_gap(void **state)
{
	const struct idle_piece e = ends(10, 20);
	struct fixture f;

	(void)state;
	fixture_open(&f);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 100, &e);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 50, &e);
	assert_int_equal(f.device.nr_gaps, 0);
	assert_int_equal(f.i.nr_sums, 0);
	fixture_close(&f);
}

static void of_many_gaps_the_longest_are_kept(void **state)
{
	const struct idle_piece e = ends(1, 2);
	uint64_t at_ns = 1000, sum_ns = 0;
	struct fixture f;

	(void)state;
	fixture_open(&f);
	for (uint64_t k = 0; k < 3 * AF_IDLE_LONGEST; k++) {
		/* 1 to 3000, each once, in no order. */
		uint64_t ns = k * 1009 % (3 * AF_IDLE_LONGEST) + 1;
		idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, at_ns, at_ns + ns, &e);
		at_ns += 10000;
	}
	assert_int_equal(f.device.nr_gaps, 3 * AF_IDLE_LONGEST);
	assert_int_equal(f.device.longest_ns, 3 * AF_IDLE_LONGEST);
	assert_int_equal(f.i.nr_longest, AF_IDLE_LONGEST);
	for (uint32_t k = 0; k < f.i.nr_longest; k++)
		sum_ns += f.i.longest[k].end_ns - f.i.longest[k].start_ns;
	assert_int_equal(sum_ns, (2001ull + 3000) * AF_IDLE_LONGEST / 2);
	fixture_close(&f);
}

static void a_wait_is_blocked_and_then_waits_for_its_turn(void **state)
{
	const struct af_wait wait = {.at = {1, 4, 0},
	                             .tid = 7,
	                             .blocked_ns = 60,
	                             .queued_ns = 30,
	                             .blocked_at_ns = 10,
	                             .queued_at_ns = 70};
	struct fixture f;

	(void)state;
	fixture_open(&f);
	idle_wait(&f.i, &wait, 100);
	const struct idle_thread *t = idle_thread(&f.i, 1, 7);
	assert_int_equal(t->nr_waits, 2);
	assert_int_equal(t->waits[0].start_ns, 10);
	assert_int_equal(t->waits[0].end_ns, 70);
	assert_int_equal(t->waits[1].start_ns, 70);
	assert_int_equal(t->waits[1].end_ns, 100);
	fixture_close(&f);
}

static void piece(struct idle *i, uint64_t start_ns, uint64_t end_ns)
{
	AF_GROW(i->works, i->nr_works, i->cap_works);
	i->works[i->nr_works++] = (struct idle_piece){.start_ns = start_ns,
	                                              .end_ns = end_ns,
	                                              .call_start_ns = start_ns - 20,
	                                              .call_end_ns = start_ns - 5,
	                                              .tid = 7,
	                                              .launched = true,
	                                              .kernel = true};
}

static void overlapping_work_is_busy_once(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f);
	piece(&f.i, 300, 400);
	piece(&f.i, 100, 200);
	piece(&f.i, 100, 200);
	piece(&f.i, 120, 150);
	piece(&f.i, 150, 250);
	piece(&f.i, 400, 410);
	idle_end(&f.i, &f.w);
	assert_int_equal(f.device.busy_ns, 150 + 110);
	assert_int_equal(f.device.kernels_ns, 150 + 110);
	assert_int_equal(f.device.nr_gaps, 1);
	assert_int_equal(f.device.longest_ns, 50);
	assert_int_equal(f.device.first_ns, 100);
	assert_int_equal(f.device.phase_ns[IDLE_BEFORE], 100);
	fixture_close(&f);
}

static void what_is_long_past_is_settled_and_forgotten(void **state)
{
	const uint64_t step_ns = 1000000;
	struct fixture f;

	(void)state;
	fixture_open(&f);
	for (uint64_t k = 1; k <= 100000; k++) {
		uint64_t at_ns = k * step_ns;
		call(&f, at_ns - 20, at_ns - 5);
		piece(&f.i, at_ns, at_ns + step_ns / 2);
		if (k % 50000)
			continue;
		f.i.fresh = AF_IDLE_SETTLE;
		idle_settle(&f.i, &f.w);
	}
	/* The newest 15 seconds are held, whatever was before. */
	const struct idle_thread *t = idle_thread(&f.i, 1, 7);
	assert_in_range(t->nr_calls, 15000, 15002);
	assert_in_range(f.i.nr_works, 14999, 15001);
	assert_int_equal(f.i.forgotten_before, 0);
	idle_end(&f.i, &f.w);
	assert_int_equal(f.device.busy_ns, 100000 * step_ns / 2);
	assert_int_equal(f.device.nr_gaps, 99999);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_CALL), 100000 * 15);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_ON_WAY), 100000 * 5);
	assert_int_equal(f.i.late, 0);
	fixture_close(&f);
}

/* When a second process comes to a GPU, what the first's device was is what the GPU was. */
static void what_was_explained_of_one_device_is_copied_to_another(void **state)
{
	const struct idle_piece e = ends(120, 180), later = ends(250, 280);
	struct fixture f;

	(void)state;
	fixture_open(&f);
	tick(&f, 110, 100);
	call(&f, 120, 180);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 100, 200, &e);
	idle_explain(&f.i, &f.w, 0, IDLE_BETWEEN, 220, 300, &later);
	uint32_t nr_sums = f.i.nr_sums, nr_stories = f.i.nr_stories;
	uint64_t called = sum_of(&f.i, IDLE_KIND_CALL), ticked = sum_of(&f.i, IDLE_KIND_TICK);

	idle_explain_copy(&f.i, 0, 1);
	assert_int_equal(f.i.nr_sums, 2 * nr_sums);
	assert_int_equal(f.i.nr_stories, 2 * nr_stories);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_CALL), 2 * called);
	assert_int_equal(sum_of(&f.i, IDLE_KIND_TICK), 2 * ticked);
	assert_int_equal(f.i.nr_longest, 4);
	for (uint32_t k = nr_sums; k < f.i.nr_sums; k++)
		assert_int_equal(f.i.stories[f.i.sums[k].story].device, 1);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_device_with_work_four_fifths_of_the_time_is_busy),
	    cmocka_unit_test(more_than_half_of_the_rest_is_a_verdict),
	    cmocka_unit_test(copies_alone_on_the_device_count_for_copying),
	    cmocka_unit_test(what_takes_long_between_launches_is_no_launching),
	    cmocka_unit_test(a_lock_is_no_input),
	    cmocka_unit_test(times_that_cannot_be_do_not_overflow_a_verdict),
	    cmocka_unit_test(only_a_busy_gpu_is_called_one),
	    cmocka_unit_test(work_that_was_launched_before_its_gap_is_nobodys_fault),
	    cmocka_unit_test(a_gap_is_its_pieces),
	    cmocka_unit_test(samples_are_never_more_than_the_time_there_was),
	    cmocka_unit_test(work_that_begins_within_its_call_was_never_on_its_way),
	    cmocka_unit_test(a_call_that_waits_for_its_own_work_drains_the_device),
	    cmocka_unit_test(no_time_is_no_gap),
	    cmocka_unit_test(of_a_gap_with_many_causes_the_rest_is_kept_by_kind),
	    cmocka_unit_test(of_many_gaps_the_longest_are_kept),
	    cmocka_unit_test(a_wait_is_blocked_and_then_waits_for_its_turn),
	    cmocka_unit_test(overlapping_work_is_busy_once),
	    cmocka_unit_test(what_is_long_past_is_settled_and_forgotten),
	    cmocka_unit_test(what_was_explained_of_one_device_is_copied_to_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
