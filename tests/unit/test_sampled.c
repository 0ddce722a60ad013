#include "analyse/annotate/sampled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/table/group_by.h"
#include "analyse/table/table.h"

static uint32_t function(struct af_sampled *s, const char *name, const char *shown)
{
	return af_sampled_function(
	    s, &(struct af_sampled_function){.name = name, .shown = shown, .object = "abc"});
}

static void add(struct af_sampled *s, uint32_t fn, uint32_t offset, const char *reason,
                double samples, double time_ns)
{
	const struct af_sampled_at at = {
	    .offset = offset,
	    .reason = af_sampled_reason(s, reason),
	    .samples = samples,
	    .time_ns = time_ns,
	};

	af_sampled_add(s, fn, &at, 0.5);
}

static void samples_are_added_up_by_place_and_reason(void **state)
{
	struct af_sampled s = {0};
	uint32_t one = function(&s, "one", "one"), two = function(&s, "two", "two");

	assert_int_equal(function(&s, "one", "one"), one);
	assert_int_not_equal(one, two);
	add(&s, one, 32, "wait", 1.5, 10);
	add(&s, one, 16, "wait", 1, 10);
	add(&s, one, 32, NULL, 2, 10);
	add(&s, one, 32, "wait", 0.5, 10);
	add(&s, two, 0, "wait", 1, 500);
	af_sampled_finish(&s);
	assert_string_equal(s.functions[0].name, "two");
	const struct af_sampled_function *f = &s.functions[1];
	assert_int_equal(f->nr, 3);
	assert_int_equal(f->at[0].offset, 16);
	assert_int_equal(f->at[1].offset, 32);
	assert_int_equal(f->at[1].reason, 0);
	assert_int_equal(f->at[2].reason, af_sampled_reason(&s, "wait"));
	assert_true(fabs(f->at[2].samples - 2) < 1e-9);
	assert_true(fabs(f->samples - 5) < 1e-9 && fabs(f->exact - 2.5) < 1e-9);
	assert_true(fabs(f->time_ns - 40) < 1e-9);
	af_sampled_free(&s);
	af_sampled_free(&s);
}

static uint32_t match(const struct af_sampled *s, const char *name, const char *first)
{
	uint32_t found[8] = {0}, nr = af_sampled_match(s, name, found, 8);

	if (first)
		assert_string_equal(s->functions[found[0]].name, first);
	return nr;
}

static void names_are_matched_as_people_write_them(void **state)
{
	struct af_sampled s = {0};

	add(&s, function(&s, "_Z4gemmPfS_", "gemm(float*, float*)"), 0, "wait", 1, 900);
	add(&s, function(&s, "_Z9gemm_wide", "gemm_wide()"), 0, "wait", 1, 800);
	add(&s, function(&s, "_Z3addIfEvT_", "void add<float>(float)"), 0, "wait", 1, 700);
	add(&s, function(&s, "_Z3addIdEvT_", "void add<double>(double)"), 0, "wait", 1, 600);
	af_sampled_finish(&s);
	assert_int_equal(match(&s, NULL, "_Z4gemmPfS_"), 1);
	assert_int_equal(match(&s, "gemm", "_Z4gemmPfS_"), 1);
	assert_int_equal(match(&s, "gemm(float*, float*)", "_Z4gemmPfS_"), 1);
	assert_int_equal(match(&s, "_Z9gemm_wide", "_Z9gemm_wide"), 1);
	assert_int_equal(match(&s, "wide", "_Z9gemm_wide"), 1);
	assert_int_equal(match(&s, "add", "_Z3addIfEvT_"), 2);
	assert_int_equal(match(&s, "add<double>", "_Z3addIdEvT_"), 1);
	assert_int_equal(match(&s, "_Z", NULL), 4);
	assert_int_equal(match(&s, "mul", NULL), 0);
	assert_int_equal(af_sampled_match(&s, "_Z", NULL, 0), 4);
	assert_int_equal(match(&s, "gemm@abc", "_Z4gemmPfS_"), 1);
	assert_int_equal(match(&s, "gemm@a", "_Z4gemmPfS_"), 1);
	assert_int_equal(match(&s, "gemm@ab1", NULL), 0);
	assert_int_equal(match(&s, "gemm@", NULL), 0);
	assert_int_equal(match(&s, "@abc", NULL), 4);
	af_sampled_free(&s);
	assert_int_equal(match(&s, NULL, NULL), 0);
}

static const struct af_cell *cell(const struct af_table *t, uint32_t row, const char *column)
{
	return &t->cells[(size_t)row * t->nr_columns + (size_t)af_table_column(t, column)];
}

static void reasons_have_columns_by_weight(void **state)
{
	struct af_sampled s = {0};
	struct af_tables f = {0};
	uint32_t fn = function(&s, "k", "k"), order[4], nr = 1;

	add(&s, fn, 0, "smsp__pcsamp_warps_issue_stalled_selected", 60, 1);
	add(&s, fn, 0, "smsp__pcsamp_warps_issue_stalled_wait", 30, 1);
	add(&s, fn, 0, "smsp__pcsamp_warps_issue_stalled_odd_one", 10, 1);
	af_sampled_finish(&s);
	af_sampled_tables(&s, NULL, &f);
	const struct af_table *stalls = f.first, *reasons = stalls->next;
	assert_string_equal(stalls->name, "stalls");
	/* A reason that is no stall is never the main stall reason. */
	assert_string_equal(cell(stalls, 0, "top_reason")->text, "fixed latency");
	assert_int_equal(cell(stalls, 0, "stall_issued")->value, 6000);
	assert_int_equal(cell(stalls, 0, "stall_odd_one")->value, 1000);
	assert_int_equal(cell(stalls, 0, "rest")->value, 0);
	assert_int_equal(cell(stalls, 0, "exact_percent")->value, 5000);
	assert_int_equal(reasons->nr_rows, 3);
	assert_string_equal(cell(reasons, 2, "name")->text, "odd one");
	assert_string_equal(cell(reasons, 2, "meaning")->text, "");

	af_sampled_reasons(&s, 0, order, &nr, &f);
	assert_int_equal(nr, 1);
	assert_int_equal(f.last->nr_rows, 1);
	assert_string_equal(cell(f.last, 0, "name")->text, "issued");
	af_tables_free(&f);
	af_sampled_free(&s);
}

/* CPUs that run kernels give none. */
static void without_reasons_there_are_no_columns_of_them(void **state)
{
	struct af_sampled s = {0};
	struct af_tables f = {0};

	af_sampled_tables(&s, NULL, &f);
	assert_null(f.first);
	add(&s, function(&s, "k", "k"), 0, NULL, 60, 1);
	af_sampled_finish(&s);
	af_sampled_tables(&s, NULL, &f);
	assert_int_equal(af_table_column(f.first, "stall_no_reason_given"), -1);
	assert_string_equal(cell(f.first, 0, "top_reason")->text, "");
	assert_null(f.first->next);
	af_tables_free(&f);
	af_sampled_free(&s);
}

/* As many as the table has room for, and no more. */
static void there_may_be_any_number_of_reasons(void **state)
{
	struct af_sampled s = {0};
	struct af_tables f = {0};
	uint32_t fn = function(&s, "k", "k");
	char name[32];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "reason %d", i);
		add(&s, fn, (uint32_t)i, name, 300 - i, 1);
	}
	af_sampled_finish(&s);
	af_sampled_tables(&s, NULL, &f);
	assert_true(f.first->nr_columns <= AF_TABLE_COLUMNS);
	assert_int_equal(cell(f.first, 0, "stall_reason_0")->value, 66);
	assert_true(cell(f.first, 0, "rest")->value > 9000);
	assert_int_equal(f.first->next->nr_rows, 300);
	af_tables_free(&f);
	af_sampled_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(samples_are_added_up_by_place_and_reason),
	    cmocka_unit_test(names_are_matched_as_people_write_them),
	    cmocka_unit_test(reasons_have_columns_by_weight),
	    cmocka_unit_test(without_reasons_there_are_no_columns_of_them),
	    cmocka_unit_test(there_may_be_any_number_of_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
