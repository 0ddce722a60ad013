/* Scaling studies of made-up sets: exponents, losses, and what stops first. */
#include "analyse/scale/scale.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "same_tables.h"

#define MS UINT64_C(1000000)

static uint32_t node_at(struct af_tree *t, const char *path)
{
	uint32_t node = 0;

	for (const char *at = path; *at;) {
		size_t len = strcspn(at, ";");
		enum af_frame frame = at == path ? AF_FRAME_PROCESS : AF_FRAME_NATIVE;
		node = af_tree_child(t, node, af_tree_name(t, at, len, frame, 0));
		at += len + (at[len] == ';');
	}
	return node;
}

/* Device work, which is measured, so that sums are exact and there is no noise. */
static void device_add(struct af_tree *t, const char *path, uint64_t ns)
{
	uint32_t node = node_at(t, path);

	af_tree_add(t, node, AF_WEIGHT_TIME, ns);
	af_tree_add(t, node, AF_WEIGHT_COUNT, 1);
}

static void call_add(struct af_tally *calls, const char *function, uint64_t ns)
{
	AF_GROW(calls->rows, calls->nr, calls->cap);
	calls->rows[calls->nr++] = (struct af_tally_row){
	    .function = function, .api = "MPI", .level = AF_TALLY_MPI, .stats = {.time_ns = ns}};
}

/*
 * On n ranks: `good` is shared out, `flat` is done by each rank in full, `serial` by rank 0 alone,
 * and each pair of ranks costs 1 ms of `pairs`.
 */
static void members_add(struct af_scale *s, uint32_t ranks, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct af_results r = {0};
		struct af_scale_rank rank = {.wall_ns = 1000 * MS};
		struct af_tree *t = &r.trees[AF_VIEW_GPU];
		af_tree_open(t, af_weights, AF_WEIGHTS);
		device_add(t, "app;main;good", 640 * MS / ranks);
		device_add(t, "app;main;flat", 100 * MS);
		if (!i)
			device_add(t, "app;main;serial", 200 * MS);
		call_add(&rank.calls, i % 2 ? "MPI_Send" : "MPI_Recv", ranks * MS);
		device_add(t, "app;main;pairs", ranks * MS);
		af_tree_finish(t);
		af_scale_add(s, &r, &rank);
		af_tree_close(t);
		af_tally_free(&rank.calls);
	}
}

static void set_add(struct af_scale *s, uint32_t ranks)
{
	char name[32];

	snprintf(name, sizeof name, "run%u", ranks);
	af_scale_begin(s, name);
	members_add(s, ranks, 0, ranks);
}

/* The row of @table called @what, which has to be there. */
static const struct af_scale_part_row *row_of(const struct af_tables *f, const char *table,
                                              const char *what)
{
	const struct af_table *t = af_tables_find(f, table);

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct af_scale_part_row *row = AF_ROW_AT(struct af_scale_part_row, t, i);
		if (row && !strcmp(row->name.text, what))
			return row;
	}
	return NULL;
}

static void expect_row(const struct af_tables *f, const char *what, const char *exponent,
                       uint64_t lost_ns, uint64_t efficiency, uint32_t stops_at)
{
	const struct af_scale_part_row *row = row_of(f, "scale_functions", what);

	assert_non_null(row);
	assert_string_equal(row->exponent.text, exponent);
	assert_int_equal(row->lost_ns.value, lost_ns);
	assert_int_equal(row->efficiency.value, efficiency);
	assert_int_equal(row->stops_at.value, stops_at);
	assert_int_equal(row->stops_at.unknown, !stops_at);
}

static void test_strong(void **state)
{
	struct af_scale *s = af_scale_open(false);
	struct af_tables f = {0};

	(void)state;
	/* In any order. */
	set_add(s, 8);
	set_add(s, 1);
	set_add(s, 4);
	set_add(s, 2);
	af_scale_tables(s, 0, &f);
	expect_row(&f, "good", "0.00", 0, 10000, 0);
	expect_row(&f, "flat", "1.00", 100 * MS - 100 * MS / 8, 1250, 2);
	expect_row(&f, "pairs", "2.00", 8 * MS - MS / 8, 156, 8);
	/* All ranks together do not take more: the mean does not show it, the slowest rank does. */
	expect_row(&f, "serial", "0.00", 0, 10000, 0);
	const struct af_scale_part_row *serial = row_of(&f, "scale_paths", "main > serial");
	assert_non_null(serial);
	assert_int_equal(serial->stops_at.value, 2);
	assert_int_equal(serial->lost_ns.value, 200 * MS - 200 * MS / 8);
	assert_null(row_of(&f, "scale_paths", "main > good"));
	const struct af_table *t = af_tables_find(&f, "scale_paths");
	assert_ptr_equal(AF_ROW_AT(struct af_scale_part_row, t, 0)->name.text, serial->name.text);
	t = af_tables_find(&f, "scale");
	assert_int_equal(t->nr_rows, 4);
	const struct af_scale_row *last = AF_ROW_AT(struct af_scale_row, t, 3);
	assert_int_equal(last->ranks.value, 8);
	assert_int_equal(last->efficiency.value, 1250);
	assert_non_null(strstr(t->note, "main > serial stops scaling first, at 2 ranks"));
	af_tables_free(&f);
	af_scale_close(s);
}

/* Each of n ranks waits n × @wait_ns, and one works @serial_ns alone: what stops scaling first. */
static const char *first_of(struct af_tables *f, uint64_t wait_ns, uint64_t serial_ns)
{
	struct af_scale *s = af_scale_open(false);

	for (uint32_t ranks = 1; ranks <= 4; ranks *= 2) {
		af_scale_begin(s, "run");
		for (uint32_t i = 0; i < ranks; i++) {
			struct af_results r = {0};
			struct af_scale_rank rank = {.wall_ns = 1000 * MS};
			struct af_tree *t = &r.trees[AF_VIEW_GPU];
			af_tree_open(t, af_weights, AF_WEIGHTS);
			device_add(t, "app;main;good", 640 * MS / ranks);
			if (!i)
				device_add(t, "app;main;serial", serial_ns);
			call_add(&rank.calls, "MPI_Barrier", ranks * wait_ns);
			af_tree_finish(t);
			af_scale_add(s, &r, &rank);
			af_tree_close(t);
			af_tally_free(&rank.calls);
		}
	}
	af_scale_tables(s, 0, f);
	af_scale_close(s);
	return af_tables_find(f, "scale")->note;
}

static void test_waits_have_causes(void **state)
{
	struct af_tables f = {0};

	(void)state;
	/* The work of one is why the others wait; without it the call is all that is known. */
	assert_non_null(strstr(first_of(&f, 50 * MS, 200 * MS), "main > serial stops scaling"));
	af_tables_free(&f);
	f = (struct af_tables){0};
	assert_non_null(strstr(first_of(&f, 50 * MS, 50 * MS),
	                       "MPI_Barrier stops scaling first, "
	                       "at 2 ranks: on 4 ranks each loses"));
	af_tables_free(&f);
}

static void test_weak(void **state)
{
	struct af_scale *s = af_scale_open(true);
	struct af_tables f = {0};

	(void)state;
	set_add(s, 1);
	set_add(s, 2);
	set_add(s, 8);
	af_scale_tables(s, 0, &f);
	expect_row(&f, "flat", "1.00", 0, 10000, 0);
	expect_row(&f, "pairs", "2.00", 7 * MS, 1250, 8);
	const struct af_table *t = af_tables_find(&f, "scale");
	assert_int_equal(AF_ROW_AT(struct af_scale_row, t, 2)->efficiency.value, 10000);
	af_tables_free(&f);
	af_scale_close(s);
}

/* Sets of as many ranks have no exponent, and a set without anything has nothing to show. */
static void test_nothing_to_fit(void **state)
{
	struct af_scale *s = af_scale_open(false);
	struct af_tables f = {0};

	(void)state;
	af_scale_tables(s, 0, &f);
	assert_null(f.first);
	set_add(s, 2);
	set_add(s, 2);
	af_scale_tables(s, 0, &f);
	const struct af_scale_part_row *row = row_of(&f, "scale_functions", "good");
	assert_non_null(row);
	assert_string_equal(row->exponent.text, "");
	assert_true(row->exponent_percent.unknown);
	af_tables_free(&f);
	af_scale_close(s);
}

/* Add half of a set in a process of its own, and the rest by its bytes. */
static void set_add_halves(struct af_scale *s, uint32_t ranks)
{
	struct af_scale *other = af_scale_open(false);
	struct af_buf bytes = {0};
	struct af_err err;
	char name[32];

	snprintf(name, sizeof name, "run%u", ranks);
	af_scale_begin(other, name);
	members_add(other, ranks, ranks / 2, ranks);
	af_scale_write(other, &bytes);
	af_scale_begin(s, name);
	/* af_scale_empty() forgets these. */
	members_add(s, ranks, 0, ranks);
	af_scale_empty(s);
	members_add(s, ranks, 0, ranks / 2);
	for (size_t len = 0; len < bytes.len; len++) {
		char *part = malloc(len + 1);
		assert_non_null(part);
		memcpy(part, bytes.data, len);
		assert_int_equal(af_scale_read(s, part, len, &err), -EBADMSG);
		free(part);
	}
	assert_int_equal(af_scale_read(s, bytes.data, bytes.len, &err), 0);
	af_buf_free(&bytes);
	af_scale_close(other);
}

/* The tables do not depend on who reads which ranks. */
static void test_processes(void **state)
{
	struct af_scale *one = af_scale_open(false), *more = af_scale_open(false);
	struct af_tables a = {0}, b = {0};

	(void)state;
	for (uint32_t ranks = 1; ranks <= 8; ranks *= 2) {
		set_add(one, ranks);
		set_add_halves(more, ranks);
	}
	af_scale_tables(one, 0, &a);
	af_scale_tables(more, 0, &b);
	assert_same_tables(&a, &b);
	assert_non_null(row_of(&b, "scale_calls", "MPI_Recv"));
	af_tables_free(&a);
	af_tables_free(&b);
	af_scale_close(one);
	af_scale_close(more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_strong),    cmocka_unit_test(test_waits_have_causes),
	    cmocka_unit_test(test_weak),      cmocka_unit_test(test_nothing_to_fit),
	    cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
