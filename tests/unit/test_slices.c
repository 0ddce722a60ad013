/* Rows of slices: order, lanes and what a sink may rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/time/slices.h"
#include "base/arena.h"

enum { TAKEN = 8192, TRACKS = 128, HELD = 1024 };

struct taken {
	struct af_slice slices[TAKEN];
	struct af_track tracks[TRACKS + 1];
	uint32_t nr, nr_tracks, nr_points;
	int rc;
};

static int take_track(void *arg, const struct af_track *t)
{
	struct taken *taken = arg;

	assert_true(t->id <= TRACKS);
	assert_int_equal(t->id, ++taken->nr_tracks);
	taken->tracks[t->id] = *t;
	return 0;
}

static int take_slice(void *arg, const struct af_slice *s)
{
	struct taken *taken = arg;

	assert_true(s->track && s->track <= taken->nr_tracks);
	assert_true(taken->nr < TAKEN);
	taken->slices[taken->nr++] = *s;
	return taken->rc;
}

static int take_point(void *arg, const struct af_point *p)
{
	struct taken *taken = arg;

	assert_true(p->track <= taken->nr_tracks);
	taken->nr_points++;
	return 0;
}

struct bench {
	struct taken *taken;
	struct af_slices_sink sink;
	struct af_rows rows;
	uint32_t row, nr_put;
};

static void bench_open(struct bench *b, bool nests)
{
	struct af_track like = {.kind = AF_TRACK_ROW, .name = "row"};

	b->taken = af_xcalloc(1, sizeof *b->taken);
	b->sink = (struct af_slices_sink){b->taken, take_track, take_slice, take_point};
	b->rows = (struct af_rows){.sink = &b->sink};
	b->row = af_rows_add(&b->rows, &like, 0, HELD, nests);
}

static void put(struct bench *b, uint64_t start_ns, uint64_t end_ns)
{
	struct af_slice s = {.start_ns = start_ns, .end_ns = end_ns, .name = b->nr_put++};

	af_rows_put(&b->rows, b->row, &s);
}

/* The promises of slices.h for each track. */
static void check(const struct taken *t)
{
	uint64_t ends[TRACKS + 1][AF_ROWS_DEPTH + 1];
	uint32_t depth[TRACKS + 1] = {0};
	uint64_t starts[TRACKS + 1] = {0}, lasts[TRACKS + 1] = {0};

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct af_slice *s = &t->slices[i];
		uint32_t k = s->track;
		assert_true(s->start_ns >= starts[k]);
		if (s->start_ns == starts[k] && lasts[k] > s->start_ns)
			assert_true(s->end_ns <= lasts[k]);
		while (depth[k] && ends[k][depth[k] - 1] <= s->start_ns)
			depth[k]--;
		if (depth[k])
			assert_true(s->end_ns <= ends[k][depth[k] - 1]);
		assert_true(depth[k] < AF_ROWS_DEPTH);
		ends[k][depth[k]++] = s->end_ns;
		starts[k] = s->start_ns;
		lasts[k] = s->end_ns;
	}
}

static void bench_close(struct bench *b)
{
	af_rows_free(&b->rows);
	free(b->taken);
}

static void what_ends_first_and_lies_within_comes_after_its_outer_one(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, true);
	put(&b, 20, 30);
	put(&b, 10, 20);
	put(&b, 10, 40);
	put(&b, 40, 50);
	assert_int_equal(b.taken->nr, 0); /* held back */
	assert_int_equal(af_rows_flush(&b.rows), 0);
	check(b.taken);
	assert_int_equal(b.taken->nr, 4);
	assert_int_equal(b.taken->nr_tracks, 1);
	assert_int_equal(b.taken->slices[0].end_ns, 40);
	assert_int_equal(b.taken->slices[1].end_ns, 20);
	assert_int_equal(b.taken->slices[2].start_ns, 20);
	bench_close(&b);
}

static void what_crosses_gets_a_lane_of_its_own(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, true);
	put(&b, 10, 30);
	put(&b, 20, 40);
	put(&b, 30, 50); /* beside the first again */
	af_rows_flush(&b.rows);
	check(b.taken);
	assert_int_equal(b.taken->nr_tracks, 2);
	assert_int_equal(b.taken->slices[0].track, b.taken->slices[2].track);
	assert_int_equal(b.taken->tracks[2].lane, 1);
	bench_close(&b);
}

static void a_row_that_does_not_nest_puts_what_lies_within_beside(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, false);
	put(&b, 10, 40);
	put(&b, 20, 30);
	put(&b, 40, 40); /* the end of one may be the start of the next */
	af_rows_flush(&b.rows);
	check(b.taken);
	assert_int_equal(b.taken->nr_tracks, 2);
	assert_int_equal(b.taken->slices[2].track, 1);
	bench_close(&b);
}

static void the_first_lane_may_be_a_track_that_is_there(void **state)
{
	struct af_track thread = {.kind = AF_TRACK_THREAD, .name = "main", .tid = 7};
	struct af_track like = {.kind = AF_TRACK_ROW, .name = "calls"};
	struct bench b;

	(void)state;
	bench_open(&b, true);
	like.parent = af_rows_track(&b.rows, &thread);
	b.row = af_rows_add(&b.rows, &like, like.parent, HELD, true);
	put(&b, 10, 30);
	put(&b, 20, 40);
	af_rows_flush(&b.rows);
	assert_int_equal(b.taken->nr_tracks, 2);
	assert_int_equal(b.taken->slices[0].track, 1);
	assert_int_equal(b.taken->tracks[1].kind, AF_TRACK_THREAD);
	assert_int_equal(b.taken->tracks[2].parent, 1);
	bench_close(&b);
}

static void nearly_any_order_becomes_tracks_that_do_not_cross(void **state)
{
	uint64_t seed = 1;
	struct bench b;

	(void)state;
	bench_open(&b, true);
	for (uint64_t i = 0; i < 7000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		uint64_t start_ns = 1000 * (i + (seed >> 33) % 1500);
		put(&b, start_ns, start_ns + (seed >> 50) % 3000);
	}
	af_rows_flush(&b.rows);
	check(b.taken);
	assert_int_equal(b.taken->nr + b.rows.crossing, 7000);
	assert_int_equal(b.rows.nr_slices, b.taken->nr);
	assert_int_equal(b.rows.crossing, 0);
	assert_true(b.taken->nr_tracks > 1);
	bench_close(&b);
}

/* In blocks of a window, each backwards, forwards or by chance; and many at one time. */
static void what_comes_within_the_window_is_handed_over_in_order(void **state)
{
	uint64_t seed = 7;
	struct bench b;

	(void)state;
	bench_open(&b, true);
	for (uint64_t i = 0; i < 7 * HELD; i++) {
		uint64_t block = i / HELD, at = i % HELD;
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		at = block % 3 == 0 ? HELD - at : block % 3 == 1 ? at : (seed >> 33) % HELD;
		put(&b, 10 * (HELD * block + at / 8), 10 * (HELD * block + at / 8) + at % 3 * 4);
	}
	af_rows_flush(&b.rows);
	check(b.taken);
	assert_int_equal(b.taken->nr, 7 * HELD);
	for (uint32_t i = 1; i < b.taken->nr; i++) {
		const struct af_slice *one = &b.taken->slices[i - 1], *next = one + 1;
		assert_true(one->start_ns <= next->start_ns);
		if (one->start_ns == next->start_ns)
			assert_true(one->end_ns >= next->end_ns);
		if (one->start_ns == next->start_ns && one->end_ns == next->end_ns)
			assert_true(one->name < next->name);
	}
	bench_close(&b);
}

static void no_more_is_held_back_than_asked_for(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, true);
	for (uint64_t i = 0; i < HELD; i++)
		put(&b, 10 * i, 10 * i + 5);
	assert_int_equal(b.taken->nr, 0);
	put(&b, 10 * HELD, 10 * HELD + 5);
	assert_int_equal(b.taken->nr, 1);
	put(&b, 0, 1000000); /* too late to be around those that are out */
	af_rows_flush(&b.rows);
	check(b.taken);
	assert_int_equal(b.taken->nr_tracks, 2);
	bench_close(&b);
}

static void more_than_all_lanes_can_take_is_left_out_and_counted(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, false);
	for (uint64_t i = 0; i < AF_ROWS_LANES + 5; i++)
		put(&b, 10 + i, 10000);
	af_rows_flush(&b.rows);
	check(b.taken);
	assert_int_equal(b.rows.crossing, 5);
	assert_int_equal(b.taken->nr, AF_ROWS_LANES);
	bench_close(&b);
}

static void a_deep_nest_goes_on_beside(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, true);
	for (uint64_t i = 0; i < AF_ROWS_DEPTH + 3; i++)
		put(&b, 10 + i, 10000 - i);
	af_rows_flush(&b.rows);
	check(b.taken);
	assert_int_equal(b.taken->nr_tracks, 2);
	bench_close(&b);
}

static void an_end_before_the_start_is_an_instant(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, true);
	put(&b, 10, 3);
	af_rows_flush(&b.rows);
	assert_int_equal(b.taken->slices[0].end_ns, 10);
	bench_close(&b);
}

static void a_sink_that_fails_gets_no_more(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, true);
	b.taken->rc = -5;
	put(&b, 10, 20);
	put(&b, 20, 30);
	assert_int_equal(af_rows_flush(&b.rows), -5);
	af_rows_point(&b.rows, &(struct af_point){0});
	assert_int_equal(b.taken->nr, 1);
	assert_int_equal(b.taken->nr_points, 0);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_ends_first_and_lies_within_comes_after_its_outer_one),
	    cmocka_unit_test(what_crosses_gets_a_lane_of_its_own),
	    cmocka_unit_test(a_row_that_does_not_nest_puts_what_lies_within_beside),
	    cmocka_unit_test(the_first_lane_may_be_a_track_that_is_there),
	    cmocka_unit_test(nearly_any_order_becomes_tracks_that_do_not_cross),
	    cmocka_unit_test(what_comes_within_the_window_is_handed_over_in_order),
	    cmocka_unit_test(no_more_is_held_back_than_asked_for),
	    cmocka_unit_test(more_than_all_lanes_can_take_is_left_out_and_counted),
	    cmocka_unit_test(a_deep_nest_goes_on_beside),
	    cmocka_unit_test(an_end_before_the_start_is_an_instant),
	    cmocka_unit_test(a_sink_that_fails_gets_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
