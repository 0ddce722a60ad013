#include "trace/read/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "trace_maker.h"

#define S 1000000000ull

enum { PROCESS = 1, DEVICE = 7 }; /* maker_open(…, 0) writes the stream of process 1 */

/* The clocks of a stream with these pairs, each written a microsecond after it was read. */
static void clocks_of(struct af_clocks *c, const struct af_clock_pair *pairs, uint32_t nr)
{
	struct made made;
	struct af_stream s;
	struct af_trace *t;
	struct af_event ev;
	uint64_t now = 1;

	maker_open(&made, &s, 0);
	for (uint32_t i = 0; i < nr; i++) {
		now = pairs[i].mono_ns + 1000 > now ? pairs[i].mono_ns + 1000 : now;
		af_stream_put(&s, clock, now, .clock = AF_CLOCK_DEVICE, .device = DEVICE,
		              .mono_ns = pairs[i].mono_ns, .foreign = pairs[i].foreign_ns,
		              .uncertainty_ns = pairs[i].uncertainty_ns);
	}
	maker_close(&made, &s);

	*c = (struct af_clocks){0};
	af_trace_open_memory(&t, &(struct af_stream_bytes){made.data, made.size}, 1, 0);
	while (af_trace_next(t, &ev))
		af_clocks_event(c, &ev);
	af_trace_close(t);
	af_clocks_build(c);
	free(made.data);
}

#define CLOCKS_OF(c, ...)                                                                          \
	clocks_of(c, (const struct af_clock_pair[])__VA_ARGS__,                                    \
	          sizeof((struct af_clock_pair[])__VA_ARGS__) / sizeof(struct af_clock_pair))

static uint64_t convert(const struct af_clocks *c, uint64_t foreign_ns)
{
	struct af_clock *clock = af_clocks_find(c, PROCESS, DEVICE);

	assert_non_null(clock);
	return af_clock_convert(clock, foreign_ns, NULL);
}

static uint64_t doubt_at(const struct af_clocks *c, uint64_t foreign_ns)
{
	uint64_t doubt = 0;

	af_clock_convert(af_clocks_find(c, PROCESS, DEVICE), foreign_ns, &doubt);
	return doubt;
}

static void assert_never_decreases(const struct af_clocks *c, uint64_t from, uint64_t to)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i <= 1000; i++) {
		uint64_t ns =
		    convert(c, from + (uint64_t)((unsigned __int128)(to - from) * i / 1000));
		assert_true(ns >= before);
		before = ns;
	}
}

static void one_pair_is_an_offset_to_both_sides(void **state)
{
	struct af_clocks c;

	CLOCKS_OF(&c, {{5 * S, 100 * S, 40}});
	assert_int_equal(convert(&c, 5 * S), 100 * S);
	assert_int_equal(convert(&c, 4 * S + 1), 99 * S + 1);
	assert_int_equal(convert(&c, 9 * S), 104 * S);
	assert_int_equal(doubt_at(&c, 5 * S), 40);
	assert_int_equal(doubt_at(&c, 6 * S), 40 + 100000);
	af_clocks_free(&c);
}

static void drift_between_pairs_is_followed(void **state)
{
	struct af_clock_pair pairs[20];
	struct af_clocks c;

	/* 50 ppm slow for ten seconds, 50 ppm fast for ten more, read every second. */
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t off = i <= 10 ? i * 50000 : (20 - i) * 50000;
		pairs[i] = (struct af_clock_pair){(3 + i) * S, (3 + i) * S + off, 50};
	}
	clocks_of(&c, pairs, 20);
	assert_int_equal(convert(&c, 3 * S + S / 2), 3 * S + S / 2 + 25000);
	assert_int_equal(convert(&c, 8 * S + S / 4), 8 * S + S / 4 + 262500);
	assert_int_equal(convert(&c, 20 * S + S / 2), 20 * S + S / 2 + 125000);
	assert_true(doubt_at(&c, 8 * S + S / 2) <= 50 + 50000);
	assert_never_decreases(&c, 1 * S, 30 * S);
	af_clocks_free(&c);
}

static void wide_pairs_yield_to_narrow_ones_nearby(void **state)
{
	struct af_clocks c;

	/* True offset 1000 s; the first and a later pair are off by as much as they say. */
	CLOCKS_OF(&c, {{1 * S, 1001 * S + 8000000, 8500000},
	               {2 * S, 1002 * S, 12000},
	               {2 * S + S / 4, 1002 * S + S / 4 + 90000, 100000},
	               {3 * S, 1003 * S + 3, 50}});
	assert_int_equal(convert(&c, 1 * S), 1001 * S);
	assert_true(doubt_at(&c, 1 * S) <= 12000 + 100000);
	assert_int_equal(convert(&c, 2 * S + S / 4), 1002 * S + S / 4);
	assert_int_equal(convert(&c, 3 * S), 1003 * S + 3);
	af_clocks_free(&c);
}

static void noise_of_the_pairs_bounds_the_error(void **state)
{
	struct af_clock_pair pairs[400];
	struct af_clocks c;

	/* 30 ppm, read four times a second, off by up to the uncertainty, mostly 12 us. */
	srand(7);
	for (uint64_t i = 0; i < 400; i++) {
		uint64_t foreign = 10 * S + i * S / 4, wide = i % 16 ? 12000 : 150000;
		uint64_t noise = (uint64_t)rand() % (2 * wide);
		pairs[i] = (struct af_clock_pair){foreign, foreign + i * 7500 + noise - wide, wide};
	}
	clocks_of(&c, pairs, 400);
	for (uint64_t foreign = 10 * S; foreign < 109 * S; foreign += 37777777) {
		uint64_t truth = foreign + (foreign - 10 * S) / 1000000 * 30, doubt;
		uint64_t ns =
		    af_clock_convert(af_clocks_find(&c, PROCESS, DEVICE), foreign, &doubt);
		uint64_t error = ns > truth ? ns - truth : truth - ns;
		assert_true(error <= doubt + 30);
		assert_true(doubt <= 12000 + 50000);
		assert_true(error <= 24100);
	}
	assert_never_decreases(&c, 9 * S, 112 * S);
	af_clocks_free(&c);
}

static void a_clock_that_was_set_counts_from_the_nearer_pair(void **state)
{
	struct af_clocks c;

	/* An hour on, two seconds back (the trace's clock advances by ten each time). */
	CLOCKS_OF(&c, {{1000 * S, 10 * S, 50}, {4610 * S, 20 * S, 50}, {4618 * S, 30 * S, 50}});
	assert_int_equal(convert(&c, 1003 * S), 13 * S);
	assert_int_equal(convert(&c, 4609 * S), 19 * S);
	assert_int_equal(convert(&c, 4613 * S), 23 * S);
	assert_int_equal(convert(&c, 4617 * S), 29 * S);
	assert_true(doubt_at(&c, 4609 * S) >= 3590 * S);
	assert_never_decreases(&c, 900 * S, 5000 * S);
	af_clocks_free(&c);
}

static void pairs_that_cannot_be_are_passed_over(void **state)
{
	struct af_clocks c = {0};
	struct af_clock_pair pair = {5 * S, 100 * S, 40};

	/* Nothing stands at 0. */
	clocks_of(&c, (const struct af_clock_pair[]){pair, {0, 101 * S, 0}, {6 * S, 0, 0}}, 3);
	assert_int_equal(convert(&c, 1), 95 * S + 1);
	assert_int_equal(convert(&c, 6 * S), 101 * S);
	af_clocks_free(&c);

	/* A pair of the future: read after it was written. */
	struct af_ev_clock f = {AF_CLOCK_DEVICE, DEVICE, 100 * S, 5 * S, 40};
	struct af_event ev = {.kind = AF_KIND_CLOCK,
	                      .time_ns = 100 * S - 1,
	                      .process = PROCESS,
	                      .payload = (const uint8_t *)&f,
	                      .payload_size = sizeof f};
	af_clocks_event(&c, &ev);
	af_clocks_build(&c);
	assert_null(af_clocks_find(&c, PROCESS, DEVICE));
	ev.time_ns++;
	af_clocks_event(&c, &ev);
	af_clocks_build(&c);
	assert_int_equal(convert(&c, 5 * S), 100 * S);
	af_clocks_free(&c);

	/* Clocks of the host are no device's. */
	f.clock = AF_CLOCK_REALTIME;
	af_clocks_event(&c, &ev);
	af_clocks_build(&c);
	assert_null(af_clocks_find(&c, PROCESS, DEVICE));
	af_clocks_free(&c);
}

static void of_pairs_that_contradict_the_narrower_is_believed(void **state)
{
	struct af_clocks c;

	CLOCKS_OF(&c, {{5 * S, 100 * S, 40}, {7 * S, 99 * S, 90}, {9 * S, 104 * S, 40}});
	assert_int_equal(convert(&c, 7 * S), 102 * S);
	af_clocks_free(&c);
	CLOCKS_OF(&c, {{5 * S, 100 * S, 90}, {7 * S, 99 * S, 40}});
	assert_int_equal(convert(&c, 5 * S), 97 * S);
	af_clocks_free(&c);
	CLOCKS_OF(&c, {{5 * S, 100 * S, 40}, {5 * S, 300 * S, 39}});
	assert_int_equal(convert(&c, 5 * S), 300 * S);
	af_clocks_free(&c);
}

static void huge_numbers_spoil_nothing_but_themselves(void **state)
{
	struct af_clocks c;

	CLOCKS_OF(&c, {{5 * S, 100 * S, 40},
	               {6 * S, 101 * S, 40},
	               {UINT64_MAX, 102 * S, 0},
	               {1ull << 63, 103 * S, UINT64_MAX}});
	assert_int_equal(convert(&c, 5 * S + S / 2), 100 * S + S / 2);
	assert_int_equal(convert(&c, 6 * S + S / 4), 101 * S + S / 4);
	assert_int_equal(convert(&c, 0), 95 * S);
	assert_int_equal(convert(&c, UINT64_MAX), 102 * S);
	assert_never_decreases(&c, 0, UINT64_MAX);
	af_clocks_free(&c);

	/* Times before the boot and past the end of time stay there. */
	CLOCKS_OF(&c, {{500 * S, 100 * S, 40}});
	assert_int_equal(convert(&c, 399 * S), 0);
	af_clocks_free(&c);
	CLOCKS_OF(&c, {{5, UINT64_MAX - 2000, UINT64_MAX}});
	assert_int_equal(convert(&c, UINT64_MAX), UINT64_MAX);
	assert_int_equal(doubt_at(&c, UINT64_MAX), UINT64_MAX);
	af_clocks_free(&c);
}

static void rubbish_never_runs_backwards(void **state)
{
	struct af_clock_pair pairs[200];
	struct af_clocks c;

	srand(3);
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 200; i++)
			pairs[i] = (struct af_clock_pair){(uint64_t)rand() * 60 + 1,
			                                  (uint64_t)rand() * 60 + 1,
			                                  (uint64_t)rand() % 100000};
		clocks_of(&c, pairs, 200);
		assert_never_decreases(&c, 0, 150 * S);
		af_clocks_free(&c);
	}
}

static void put_device(struct af_stream *s, uint32_t device, uint32_t parent)
{
	struct af_ev_device fixed = {.device = device, .parent = parent};
	struct af_tail none[3] = {{"", 0, 0}, {"", 0, 0}, {"", 0, 0}};

	assert_true(af_stream_put_tail(s, AF_KIND_DEVICE, 1, &fixed, sizeof fixed, none, 3));
}

static void a_device_without_pairs_has_the_clock_of_the_whole(void **state)
{
	struct af_clocks c = {0};
	struct made made;
	struct af_stream s;
	struct af_trace *t;
	struct af_event ev;

	maker_open(&made, &s, 0);
	put_device(&s, 1, 0);
	put_device(&s, 2, 1);
	put_device(&s, 3, 2);
	put_device(&s, 4, 1);
	put_device(&s, 5, 5);
	af_stream_put(&s, clock, 90, AF_CLOCK_DEVICE, 1, 50, 60, 1);
	af_stream_put(&s, clock, 90, AF_CLOCK_DEVICE, 4, 50, 70, 1);
	maker_close(&made, &s);
	af_trace_open_memory(&t, &(struct af_stream_bytes){made.data, made.size}, 1, 0);
	while (af_trace_next(t, &ev))
		af_clocks_event(&c, &ev);
	af_trace_close(t);
	af_clocks_build(&c);

	assert_int_equal(af_clocks_find(&c, PROCESS, 1)->device, 1);
	assert_int_equal(af_clocks_find(&c, PROCESS, 3)->device, 1);
	assert_int_equal(af_clocks_find(&c, PROCESS, 4)->device, 4);
	assert_null(af_clocks_find(&c, PROCESS, 5));
	assert_null(af_clocks_find(&c, PROCESS, 6));
	assert_null(af_clocks_find(&c, PROCESS + 1, 1));
	af_clocks_free(&c);
	free(made.data);
}

/* Two pieces of work in a world whose device is 200 s behind and 100 ppm slow. */
static void place_works(const struct made *made, struct af_work works[2], bool placed[2])
{
	struct af_world world = {0};
	struct af_trace *t;
	struct af_event ev;
	unsigned nr = 0;

	for (int pass = 0; pass < 2; pass++) {
		af_trace_open_memory(&t, &(struct af_stream_bytes){made->data, made->size}, 1, 0);
		while (af_trace_next(t, &ev)) {
			if (!pass) {
				af_clocks_event(&world.clocks, &ev);
				continue;
			}
			af_world_event(&world, &ev);
			if (af_work_read(&world, &ev, &works[nr])) {
				placed[nr] = af_work_place(&world, &works[nr], NULL);
				nr++;
			}
		}
		af_trace_close(t);
		af_clocks_build(&world.clocks);
	}
	assert_int_equal(nr, 2);
	af_world_close(&world);
}

static void work_is_placed_and_stays_as_long_as_it_was(void **state)
{
	struct af_work works[2];
	bool placed[2];
	struct made made;
	struct af_stream s;

	maker_open(&made, &s, 0);
	af_stream_put(&s, clock, 210 * S, AF_CLOCK_DEVICE, DEVICE, 210 * S, 10 * S, 50);
	af_stream_put(&s, queue, 210 * S, .queue = 3, .device = DEVICE);
	af_stream_put(&s, descriptor, 210 * S, .descriptor = 9, .op = AF_OP_KERNEL, .queue = 3);
	af_stream_put(&s, work, 219 * S, 9, 1, 12 * S, 0, 2 * S, 1000000001);
	af_stream_put(&s, work_long, 219 * S, 9, 2, 12 * S, 0, 0, 0, -5);
	af_stream_put(&s, clock, 220 * S + 1000000, AF_CLOCK_DEVICE, DEVICE, 220 * S + 1000000,
	              20 * S, 50);
	maker_close(&made, &s);
	place_works(&made, works, placed);

	assert_true(placed[0]);
	assert_int_equal(works[0].queued_ns, 212 * S + 200000);
	assert_int_equal(works[0].submit_ns, 212 * S + 200000);
	assert_int_equal(works[0].start_ns, 214 * S + 400000);
	assert_int_equal(works[0].end_ns, works[0].start_ns + 1000000001);
	assert_int_equal(af_work_busy_ns(&works[0]), 1000000001);

	/* Stamps that were not given stay so. */
	assert_true(placed[1]);
	assert_int_equal(works[1].queued_ns, 212 * S + 200000);
	assert_int_equal(works[1].start_ns, 0);
	assert_int_equal(works[1].end_ns, 0);
	free(made.data);
}

static void work_without_a_clock_stays_on_its_own(void **state)
{
	struct af_work works[2];
	bool placed[2];
	struct made made;
	struct af_stream s;

	maker_open(&made, &s, 0);
	af_stream_put(&s, clock, 210 * S, AF_CLOCK_DEVICE, DEVICE + 1, 210 * S, 10 * S, 50);
	af_stream_put(&s, queue, 210 * S, .queue = 3, .device = DEVICE);
	af_stream_put(&s, descriptor, 210 * S, .descriptor = 9, .op = AF_OP_KERNEL, .queue = 3);
	af_stream_put(&s, work, 219 * S, 9, 1, 12 * S, 0, 7, 8);
	af_stream_put(&s, work, 219 * S, 10, 1, 12 * S, 0, 7, 8); /* no such descriptor */
	maker_close(&made, &s);
	place_works(&made, works, placed);
	assert_false(placed[0]);
	assert_int_equal(works[0].queued_ns, 12 * S);
	assert_int_equal(works[0].end_ns, 12 * S + 15);
	assert_false(placed[1]);
	free(made.data);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(one_pair_is_an_offset_to_both_sides),
	    T(drift_between_pairs_is_followed),
	    T(wide_pairs_yield_to_narrow_ones_nearby),
	    T(noise_of_the_pairs_bounds_the_error),
	    T(a_clock_that_was_set_counts_from_the_nearer_pair),
	    T(pairs_that_cannot_be_are_passed_over),
	    T(of_pairs_that_contradict_the_narrower_is_believed),
	    T(huge_numbers_spoil_nothing_but_themselves),
	    T(rubbish_never_runs_backwards),
	    T(a_device_without_pairs_has_the_clock_of_the_whole),
	    T(work_is_placed_and_stays_as_long_as_it_was),
	    T(work_without_a_clock_stays_on_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
