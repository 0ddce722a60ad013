/*
 * Errors of energy rows, against a curve of power that is known at any time: what a row truly took
 * lies within its error, whatever its works are, and the error is no more than the formula has.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/energy/private.h"
#include "base/arena.h"

enum { MS = 1000000, PERIOD_MS = 10, READINGS = 60, ROWS = 5, WORKS = 200 };

/* Power goes from one corner to the next, in any shape; there is a reading at each. */
static double corner(uint64_t i)
{
	static const double watts[] = {100, 180, 400, 390, 250, 60, 60, 700};

	return watts[i % (sizeof watts / sizeof *watts)];
}

static double watt(double ms, double bend)
{
	uint64_t i = (uint64_t)(ms / PERIOD_MS);
	double part = ms / PERIOD_MS - (double)i;

	return corner(i) + (corner(i + 1) - corner(i)) * pow(part, bend);
}

/* From @from_ms to @to_ms, in steps of 10 us, as all works begin and end at whole ms. */
static double taken(uint64_t from_ms, uint64_t to_ms, double bend)
{
	double joule = 0;

	for (uint64_t i = from_ms * 100; i < to_ms * 100; i++)
		joule += watt(((double)i + 0.5) / 100, bend) / 1e5;
	return joule;
}

/* A reading of power at each corner, each of which holds until the next. */
static struct energy_meter levels(double of)
{
	struct energy_meter m = {.is_power = true, .readings = READINGS + 1};

	for (uint64_t i = 0; i < READINGS; i++)
		af_curve_add(&m.joule, i * PERIOD_MS * MS, (i + 1) * PERIOD_MS * MS,
		             of * corner(i) * PERIOD_MS / 1e3);
	m.last_ns = (uint64_t)READINGS * PERIOD_MS * MS;
	m.was_watt = of * corner(READINGS);
	return m;
}

static struct energy_meter amounts(double bend)
{
	struct energy_meter m = {.is_of_spans = true, .readings = READINGS};

	for (uint64_t i = 0; i < READINGS; i++)
		af_curve_add(&m.joule, i * PERIOD_MS * MS, (i + 1) * PERIOD_MS * MS,
		             taken(i * PERIOD_MS, (i + 1) * PERIOD_MS, bend));
	m.last_ns = (uint64_t)READINGS * PERIOD_MS * MS;
	return m;
}

static void works_open(struct energy *e)
{
	*e = (struct energy){.nr_rows = ROWS};
	e->rows = af_xcalloc(ROWS, sizeof *e->rows);
	e->works = af_xcalloc(WORKS, sizeof *e->works);
}

static void work_add(struct energy *e, uint64_t from_ms, uint64_t to_ms, uint32_t row)
{
	e->works[e->nr_works++] = (struct energy_work){from_ms * MS, to_ms * MS, row};
}

static void works_close(struct energy *e, struct energy_meter *a, struct energy_meter *b)
{
	af_curve_free(&a->joule);
	if (b)
		af_curve_free(&b->joule);
	free(e->rows);
	free(e->works);
}

/* Works of 1 to 23 ms, of which up to three run at once: *@truth of each row, and of idle time. */
static void works_make(struct energy *e, double bend, double truth[ROWS + 1])
{
	uint8_t running[READINGS * PERIOD_MS][ROWS] = {{0}};
	uint32_t dice = 12345;

	works_open(e);
	for (int i = 0; i < ROWS + 1; i++)
		truth[i] = 0;
	while (e->nr_works < 60) {
		dice = dice * 1664525 + 1013904223;
		uint64_t from_ms = (dice >> 8) % (READINGS * PERIOD_MS - 25);
		uint64_t to_ms = from_ms + 1 + (dice >> 20) % 23;
		uint32_t row = (dice >> 4) % ROWS;
		work_add(e, from_ms, to_ms, row);
		for (uint64_t ms = from_ms; ms < to_ms; ms++)
			running[ms][row]++;
	}
	for (uint64_t ms = 0; ms < READINGS * PERIOD_MS; ms++) {
		double nr = 0, joule = taken(ms, ms + 1, bend);
		for (int i = 0; i < ROWS; i++)
			nr += running[ms][i];
		for (int i = 0; i < ROWS && nr > 0; i++)
			truth[i] += joule * running[ms][i] / nr;
		truth[ROWS] += nr > 0 ? 0 : joule;
	}
}

static const bool of_all[ROWS] = {true, true, true, true, true};
static const struct af_time_range always;

/* Every row, and idle time, is as near to the truth as its error says. */
static void expect_bounds(const struct energy *e, const struct energy_sums *sums,
                          const double truth[ROWS + 1])
{
	double errors = sums->idle_error;

	for (int i = 0; i < ROWS; i++) {
		const struct energy_row *r = &e->rows[i];
		if (!(fabs(r->joule - truth[i]) <= r->error_joule + 1e-6))
			fail_msg("row %d: %g J, truly %g, but +- %g", i, r->joule, truth[i],
			         r->error_joule);
		errors += r->error_joule;
	}
	if (!(fabs(sums->idle - truth[ROWS]) <= sums->idle_error + 1e-6))
		fail_msg("idle: %g J, truly %g, but +- %g", sums->idle, truth[ROWS],
		         sums->idle_error);
	assert_true(errors > 0 && errors < sums->busy + sums->idle);
}

static void levels_bound_what_was_taken(void **state)
{
	static const double bends[] = {0.05, 0.5, 1, 3, 40};

	(void)state;
	for (size_t i = 0; i < sizeof bends / sizeof *bends; i++) {
		double truth[ROWS + 1];
		struct energy e;
		struct energy_meter m = levels(1);
		works_make(&e, bends[i], truth);
		struct energy_sums sums = energy_share(&e, &m, NULL, &always, of_all);
		assert_true(sums.is_bounded);
		expect_bounds(&e, &sums, truth);
		works_close(&e, &m, NULL);
	}
}

/* Power that goes to that of the next reading at once is as far off as the error allows. */
static void errors_are_no_larger_than_they_may_be(void **state)
{
	const double bend = 0.01;
	struct energy e;
	struct energy_meter m = levels(1);

	(void)state;
	works_open(&e);
	work_add(&e, 11, 19, 0);
	work_add(&e, 32, 37, 1);
	energy_share(&e, &m, NULL, &always, of_all);
	double up = taken(11, 19, bend) - e.rows[0].joule;
	double down = e.rows[1].joule - taken(32, 37, bend);
	assert_true(up > 0.95 * e.rows[0].error_joule && up <= e.rows[0].error_joule);
	assert_true(down > 0.95 * e.rows[1].error_joule && down <= e.rows[1].error_joule);
	works_close(&e, &m, NULL);
}

static void so_do_amounts(void **state)
{
	double truth[ROWS + 1];
	struct energy e;
	struct energy_meter m = amounts(1);

	(void)state;
	works_make(&e, 1, truth);
	struct energy_sums sums = energy_share(&e, NULL, &m, &always, of_all);
	assert_true(sums.is_bounded);
	expect_bounds(&e, &sums, truth);
	works_close(&e, &m, NULL);
}

/* A meter of power that shows 7 % too little is set right by the counter, and says by how much. */
static void scaled_levels_are_bound_too(void **state)
{
	double truth[ROWS + 1];
	struct energy e;
	struct energy_meter power = levels(0.93), counter = amounts(1);

	(void)state;
	works_make(&e, 1, truth);
	struct energy_sums sums = energy_share(&e, &power, &counter, &always, of_all);
	assert_true(sums.scaled && sums.scale > 1.01);
	expect_bounds(&e, &sums, truth);
	works_close(&e, &power, &counter);
}

static void expect_about(double is, double wanted)
{
	if (!(fabs(is - wanted) <= 1e-9))
		fail_msg("%.17g, not %.17g", is, wanted);
}

/* The formula: 5 ms between 100 and 180 W are 0.4 J, shared by two; 10 ms up to 400 W are 2.2 J. */
static void errors_are_those_of_the_formula(void **state)
{
	struct energy e;
	struct energy_meter m = levels(1), counter = {.is_of_spans = true};

	(void)state;
	works_open(&e);
	work_add(&e, 2, 7, 0);
	work_add(&e, 2, 7, 1);
	work_add(&e, 10, 20, 2);
	energy_share(&e, &m, NULL, &always, of_all);
	expect_about(e.rows[0].error_joule, 0.2);
	expect_about(e.rows[1].error_joule, 0.2);
	expect_about(e.rows[2].error_joule, 2.2);
	expect_about(e.rows[0].joule, 0.25);
	expect_about(e.rows[2].joule, 1.8);
	expect_about(e.rows[3].error_joule, 0);
	/* Twice as much by the counter: errors double, and half of the new energy was added. */
	for (int i = 0; i < ROWS; i++)
		e.rows[i] = (struct energy_row){0};
	af_curve_add(&counter.joule, 0, m.last_ns, 2 * m.joule.sum);
	counter.last_ns = m.last_ns;
	energy_share(&e, &m, &counter, &always, of_all);
	expect_about(e.rows[2].joule, 3.6);
	expect_about(e.rows[2].error_joule, 2 * 2.2 + 1.8);
	works_close(&e, &m, &counter);
}

/* A row that alone ran between two readings of a counter took what it counted. */
static void what_a_counter_knows_has_no_error(void **state)
{
	struct energy e;
	struct energy_meter m = amounts(1), one = {.is_of_spans = true};

	(void)state;
	works_open(&e);
	work_add(&e, 20, 40, 0);
	work_add(&e, 43, 44, 1);
	struct energy_sums sums = energy_share(&e, NULL, &m, &always, of_all);
	expect_about(e.rows[0].error_joule, 0);
	assert_true(e.rows[0].joule > 1 && e.rows[1].error_joule > 0 && sums.idle_error > 0);
	/* Nothing bounds a row of the only interval. */
	af_curve_add(&one.joule, 0, MS, 5);
	assert_false(energy_share(&e, NULL, &one, &always, of_all).is_bounded);
	works_close(&e, &m, &one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(levels_bound_what_was_taken),
	    cmocka_unit_test(errors_are_no_larger_than_they_may_be),
	    cmocka_unit_test(so_do_amounts),
	    cmocka_unit_test(scaled_levels_are_bound_too),
	    cmocka_unit_test(errors_are_those_of_the_formula),
	    cmocka_unit_test(what_a_counter_knows_has_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
