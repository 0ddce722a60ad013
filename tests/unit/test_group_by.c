/* Tables made smaller, and in another order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/table/group_by.h"

static const struct af_column columns[] = {
    {"Kernel", AF_CELL_TEXT, .key = "kernel"},
    {"Time", AF_CELL_NS, .key = "time_ns"},
    {"Calls", AF_CELL_COUNT, .key = "calls"},
    {"Mean", AF_CELL_NS, .key = "mean_ns"},
    {"Min", AF_CELL_NS, .key = "min_ns"},
    {"Max", AF_CELL_NS, .key = "max_ns"},
    {"Queued", AF_CELL_NS, .key = "queued_ns"},
    {"Registers", AF_CELL_COUNT, .key = "registers", .merge = AF_MERGE_SAME},
    {"Device", AF_CELL_TEXT, .key = "device"},
    {"Process", AF_CELL_TEXT, AF_SHOW_NEVER, .key = "process"},
};
enum { KERNEL, TIME, CALLS, MEAN, MIN, MAX, QUEUED, REGISTERS, DEVICE, PROCESS, COLUMNS };

static void row(struct af_tables *f, struct af_table *t, const char *kernel, uint64_t time,
                uint64_t calls, uint64_t queued, const char *process)
{
	struct af_cell *c = af_table_row(f, t);

	c[KERNEL].text = kernel;
	c[TIME].value = time;
	c[CALLS].value = calls;
	c[MEAN].value = c[MIN].value = c[MAX].value = time / calls;
	c[QUEUED].value = queued;
	c[REGISTERS].value = calls;
	c[DEVICE].text = "GPU";
	c[PROCESS].text = process;
}

static struct af_table *made(struct af_tables *f)
{
	struct af_table *t = af_tables_table(f, "kernels", "Kernels", columns, COLUMNS);

	row(f, t, "gemm", 100, 1, 10, "a");
	row(f, t, "gemm", 60, 3, 50, "b");
	row(f, t, "add", 30, 3, 0, "a");
	return t;
}

static const struct af_cell *at(const struct af_table *t, uint32_t r, uint32_t c)
{
	return &t->cells[r * t->nr_columns + c];
}

static const char *const by_kernel[] = {"kernel", NULL};
static const char *const by_both[] = {"kernel", "process", "no_such_column", NULL};
static const char *const drop[] = {"device", "process", NULL};

static void the_total_is_all_rows_as_one(void **state)
{
	struct af_tables f = {0};
	struct af_table *t = made(&f);

	af_table_sum_up(&f, t);
	assert_int_equal(t->nr_rows, 3);
	assert_string_equal(t->total[KERNEL].text, "Total");
	assert_int_equal(t->total[TIME].value, 190);
	assert_int_equal(t->total[CALLS].value, 7);
	assert_int_equal(t->total[MEAN].value, 27);
	assert_int_equal(t->total[MIN].value, 10);
	assert_int_equal(t->total[MAX].value, 100);
	assert_int_equal(t->total[QUEUED].value, 23); /* (10 + 3 * 50) / 7 */
	assert_true(t->total[REGISTERS].unknown);
	assert_string_equal(t->total[DEVICE].text, "");
	af_tables_free(&f);
}

static void rows_of_one_key_become_one(void **state)
{
	struct af_tables f = {0};
	const struct af_table *t = af_table_group_by(&f, made(&f), by_kernel, drop);

	(void)state;
	assert_int_equal(t->nr_rows, 2);
	assert_int_equal(at(t, 0, TIME)->value, 160);
	assert_int_equal(at(t, 0, CALLS)->value, 4);
	assert_int_equal(at(t, 0, MEAN)->value, 40);
	assert_int_equal(at(t, 0, MIN)->value, 20);
	assert_int_equal(at(t, 0, MAX)->value, 100);
	af_tables_free(&f);
}

static void a_mean_that_is_not_of_the_time_goes_by_the_calls(void **state)
{
	struct af_tables f = {0};
	const struct af_table *t = af_table_group_by(&f, made(&f), by_kernel, drop);

	(void)state;
	assert_int_equal(at(t, 0, QUEUED)->value, 40);
	assert_int_equal(at(t, 1, QUEUED)->value, 0);
	af_tables_free(&f);
}

static void what_differs_is_not_known(void **state)
{
	struct af_tables f = {0};
	const struct af_table *t = af_table_group_by(&f, made(&f), by_kernel, drop);

	(void)state;
	assert_true(at(t, 0, REGISTERS)->unknown);
	assert_false(at(t, 1, REGISTERS)->unknown);
	assert_string_equal(at(t, 0, DEVICE)->text, "GPU");
	assert_string_equal(at(t, 0, PROCESS)->text, "");
	af_tables_free(&f);
}

static void keys_are_shown_and_what_is_dropped_is_not(void **state)
{
	struct af_tables f = {0};
	const struct af_table *t = af_table_group_by(&f, made(&f), by_both, drop);

	(void)state;
	assert_int_equal(t->nr_rows, 3);
	assert_false(af_table_hides(t, PROCESS));
	assert_true(af_table_hides(t, DEVICE));
	t = af_table_group_by(&f, made(&f), by_kernel, drop);
	assert_true(af_table_hides(t, PROCESS));
	af_tables_free(&f);
}

static void sums_stay_at_the_largest_number(void **state)
{
	struct af_tables f = {0};
	struct af_table *t = made(&f);

	(void)state;
	t->cells[TIME].value = UINT64_MAX;
	const struct af_table *folded = af_table_group_by(&f, t, by_kernel, drop);
	assert_int_equal(at(folded, 0, TIME)->value, UINT64_MAX);
	af_tables_free(&f);
}

static void an_unknown_value_gives_way_to_a_known_one(void **state)
{
	struct af_tables f = {0};
	struct af_table *t = made(&f);

	(void)state;
	t->cells[TIME].unknown = true;
	const struct af_table *folded = af_table_group_by(&f, t, by_kernel, drop);
	assert_false(at(folded, 0, TIME)->unknown);
	assert_int_equal(at(folded, 0, TIME)->value, 60);
	af_tables_free(&f);
}

static void rows_are_ordered_by_number_and_by_name(void **state)
{
	struct af_tables f = {0};
	struct af_table *t = made(&f);

	(void)state;
	af_table_sort(t, QUEUED);
	assert_string_equal(at(t, 0, PROCESS)->text, "b");
	af_table_sort(t, KERNEL);
	assert_string_equal(at(t, 0, KERNEL)->text, "add");
	assert_string_equal(at(t, 1, PROCESS)->text, "b");
	assert_string_equal(at(t, 2, PROCESS)->text, "a");
	af_table_sort(t, COLUMNS);
	assert_string_equal(at(t, 0, KERNEL)->text, "add");
	af_tables_free(&f);
}

static void what_is_not_known_comes_last(void **state)
{
	struct af_tables f = {0};
	struct af_table *t = made(&f);

	(void)state;
	t->cells[TIME].unknown = true;
	af_table_sort(t, TIME);
	assert_int_equal(at(t, 0, TIME)->value, 60);
	assert_true(at(t, 2, TIME)->unknown);
	af_tables_free(&f);
}

static void an_empty_table_stays_empty(void **state)
{
	struct af_tables f = {0};
	struct af_table *t = af_tables_table(&f, "none", "None", columns, COLUMNS);

	(void)state;
	af_table_sort(t, TIME);
	assert_int_equal(af_table_group_by(&f, t, by_kernel, drop)->nr_rows, 0);
	assert_int_equal(af_table_column(t, "No such column"), -1);
	af_tables_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_total_is_all_rows_as_one),
	    cmocka_unit_test(rows_of_one_key_become_one),
	    cmocka_unit_test(a_mean_that_is_not_of_the_time_goes_by_the_calls),
	    cmocka_unit_test(what_differs_is_not_known),
	    cmocka_unit_test(keys_are_shown_and_what_is_dropped_is_not),
	    cmocka_unit_test(sums_stay_at_the_largest_number),
	    cmocka_unit_test(an_unknown_value_gives_way_to_a_known_one),
	    cmocka_unit_test(rows_are_ordered_by_number_and_by_name),
	    cmocka_unit_test(what_is_not_known_comes_last),
	    cmocka_unit_test(an_empty_table_stays_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
