/* The results of many members as those of one: sums, distributions, order, lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/passes/rows.h"
#include "analyse/set/merge.h"
#include "analyse/table/group_by.h"
#include "base/buf.h"
#include "render/text/tables.h"

enum { MEMBERS = 200, KERNELS = 7 };

/* Numbers that differ from member to member, the same in each run of the test. */
static uint64_t number(uint32_t member, uint32_t what)
{
	uint64_t x =
	    (member + 1) * UINT64_C(0x9e3779b97f4a7c15) + what * UINT64_C(0xbf58476d1ce4e5b9);

	x ^= x >> 31;
	return x * UINT64_C(0x94d049bb133111eb) >> 24;
}

static const char *const groups[] = {"even", "odd"};

static struct af_member member_of(uint32_t i, char label[32], struct af_member_group *group)
{
	snprintf(label, 32, "rank %u", i);
	*group = (struct af_member_group){"side", groups[i % 2]};
	return (struct af_member){.label = label,
	                          .host = i < MEMBERS / 2 ? "north" : "south",
	                          .why = "",
	                          .rank = i,
	                          .groups = group,
	                          .nr_groups = 1};
}

/* Member @i has kernel @k in two rows, unless i is a multiple of k + 2. */
static void kernels_make(struct af_tables *f, uint32_t i)
{
	static const struct af_column columns[] = {AF_KERNEL_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "kernels", "Kernels", columns);

	for (uint32_t k = 0; k < KERNELS; k++)
		for (uint32_t part = 0; part < 2 && i % (k + 2); part++) {
			struct af_kernel_row *c = af_table_row(f, t);
			c->kernel.text = af_tables_text(f, "kernel_%u", k);
			c->time_ns.value = number(i, k * 2 + part);
			c->calls.value = 1 + number(i, k) % 100;
			c->min_ns.value = c->max_ns.value = c->time_ns.value;
			c->queued_ns.value = number(i, k + 50) % 1000;
			c->registers.value = k == 3 ? i : 32;
			c->process.text = af_tables_text(f, "app [%u]", i);
			c->device.text = "GPU #1";
			c->grid.text = c->block.text = c->stall.text = "";
			t->whole += c->time_ns.value;
		}
}

static void steps_make(struct af_tables *f, uint32_t i)
{
	static const struct af_column columns[] = {AF_SLOW_STEP_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "slow_steps", "Slowest steps", columns);

	for (uint32_t s = 0; s < 20; s++) {
		struct af_slow_step_row *c = af_table_row(f, t);
		c->step.value = s;
		c->length_ns.value = number(i, 1000 + s) % 500; /* many are equal */
	}
}

static void results_make(struct af_results *r, const struct af_query *query, uint32_t i)
{
	struct af_tree *t;

	af_results_open(r, query);
	t = &r->trees[AF_VIEW_CPU];
	uint32_t process = af_tree_child(t, 0, af_tree_name(t, "app", 3, AF_FRAME_PROCESS, 1));
	for (uint32_t k = 0; k < KERNELS; k++) {
		char name[16];
		snprintf(name, sizeof name, "f%u", k);
		uint32_t node = af_tree_child(
		    t, process, af_tree_name(t, name, strlen(name), AF_FRAME_NATIVE, 0));
		af_tree_add(t, node, AF_WEIGHT_TIME, number(i, k + 90));
	}
	r->has[AF_VIEW_CPU] = 1 << AF_WEIGHT_TIME;
	kernels_make(&r->tables, i);
	steps_make(&r->tables, i);
	r->shown_ns = 1000 + i;
	r->lost[AF_LOST_RING_FULL] = i;
}

static const struct af_query query = {.answers = AF_ANSWER_TABLES};

static struct af_merge *merged(enum af_merge_by by, uint32_t from, uint32_t to)
{
	const struct af_merge_how how = {.query = query, .by = by, .group = "side"};
	struct af_merge *m = af_merge_open(&how);

	for (uint32_t i = from; i < to; i++) {
		char label[32];
		struct af_member_group group;
		struct af_member who = member_of(i, label, &group);
		struct af_results r;
		if (i % 50 == 49) {
			af_merge_missing(m, &who, "it is gone");
			continue;
		}
		results_make(&r, &query, i);
		af_merge_add(m, &who, &r);
		af_results_close(&r);
	}
	return m;
}

/* Everything that a reader could see of @m, which is closed. */
static void text_of(struct af_merge *m, struct af_buf *b)
{
	struct af_results r;

	af_merge_about(m, b);
	af_merge_end(m, &r);
	af_tables_json(b, &(struct af_document){.report = "set"}, &r.tables, 0);
	const struct af_tree *t = &r.trees[AF_VIEW_CPU];
	uint32_t depth = 0;
	for (uint32_t n = 0; (n = af_tree_next(t, n, false, &depth));) {
		size_t len;
		const char *name = af_tree_text(t, t->nodes[n].name, &len);
		af_buf_fmt(b, "%u %.*s %llu\n", depth, (int)len, name,
		           (unsigned long long)t->total[AF_WEIGHT_TIME][n]);
	}
	af_buf_fmt(b, "%llu %llu", (unsigned long long)r.shown_ns,
	           (unsigned long long)r.lost[AF_LOST_RING_FULL]);
	af_results_close(&r);
	af_merge_close(m);
}

static const struct af_kernel_row *kernel_row(const struct af_table *t, const char *name,
                                              uint32_t *row)
{
	for (*row = 0; t && *row < t->nr_rows; (*row)++) {
		const struct af_kernel_row *c = AF_ROW_AT(struct af_kernel_row, t, *row);
		if (!strcmp(c->kernel.text, name))
			return c;
	}
	return NULL;
}

static const struct af_cell *cell(const struct af_table *t, uint32_t row, const char *key)
{
	int c = af_table_column(t, key);

	assert_true(c >= 0);
	return &t->cells[(size_t)row * t->nr_columns + (uint32_t)c];
}

static void sums_are_exact_and_shares_are_of_the_whole(void **state)
{
	struct af_merge *m = merged(AF_BY_NOTHING, 0, MEMBERS);
	struct af_results r;
	uint64_t whole = 0;

	(void)state;
	af_merge_end(m, &r);
	const struct af_table *t = af_tables_find(&r.tables, "kernels");
	assert_int_equal(t->nr_rows, KERNELS);
	assert_int_equal(r.members, MEMBERS - MEMBERS / 50);
	for (uint32_t k = 0; k < KERNELS; k++)
		for (uint32_t i = 0; i < MEMBERS; i++)
			if (i % 50 != 49 && i % (k + 2))
				whole += number(i, k * 2) + number(i, k * 2 + 1);
	assert_int_equal(t->whole, whole);
	for (uint32_t k = 0; k < KERNELS; k++) {
		uint64_t ns = 0, calls = 0, most = 0, most_of = 0, least = UINT64_MAX,
			 row_least = UINT64_MAX;
		unsigned __int128 queued = 0;
		char name[32], who[32];
		uint32_t row;
		for (uint32_t i = 0; i < MEMBERS; i++) {
			if (i % 50 == 49)
				continue;
			uint64_t mine = 0, nr = 1 + number(i, k) % 100;
			for (uint32_t part = 0; part < 2 && i % (k + 2); part++) {
				uint64_t is = number(i, k * 2 + part);
				mine += is;
				calls += nr;
				queued += (unsigned __int128)(number(i, k + 50) % 1000) * nr;
				row_least = is < row_least ? is : row_least;
			}
			ns += mine;
			least = mine < least ? mine : least;
			most_of = mine > most ? i : most_of;
			most = mine > most ? mine : most;
		}
		snprintf(name, sizeof name, "kernel_%u", k);
		snprintf(who, sizeof who, "rank %u", (unsigned)most_of);
		const struct af_kernel_row *c = kernel_row(t, name, &row);
		assert_non_null(c);
		assert_int_equal(c->time_ns.value, ns);
		assert_int_equal(c->calls.value, calls);
		assert_int_equal(c->mean_ns.value, af_tables_ratio(ns, calls, 1));
		assert_int_equal(c->queued_ns.value, (uint64_t)((queued + calls / 2) / calls));
		assert_int_equal(c->share.value, af_tables_ratio(ns, whole, 1e4));
		assert_int_equal(c->min_ns.value, row_least);
		assert_string_equal(c->device.text, "GPU #1");
		assert_string_equal(c->process.text, "");
		assert_int_equal(c->registers.unknown, k == 3);
		assert_int_equal(cell(t, row, "min_ranks")->value, least); /* 0: some have none */
		assert_int_equal(cell(t, row, "max_ranks")->value, most);
		assert_string_equal(cell(t, row, "max_rank")->text, who);
		assert_int_equal(cell(t, row, "imbalance")->value,
		                 af_tables_ratio(most, ns, 1e4 * (double)r.members));
	}
	af_results_close(&r);
	af_merge_close(m);
}

/* It makes no difference who read which members, and in which blocks. */
static void joins_of_members_in_a_row_are_the_same_as_one_merge(void **state)
{
	static const enum af_merge_by bys[] = {AF_BY_NOTHING, AF_BY_HOST,    AF_BY_RANK,
	                                       AF_BY_DEVICE,  AF_BY_PROCESS, AF_BY_GROUP};

	(void)state;
	for (unsigned b = 0; b < sizeof bys / sizeof *bys; b++) {
		struct af_buf one = {0}, left = {0}, right = {0};
		text_of(merged(bys[b], 0, MEMBERS), &one);

		struct af_merge *m = merged(bys[b], 0, 3), *x = merged(bys[b], 3, 120),
				*y = merged(bys[b], 120, MEMBERS);
		af_merge_join(m, x); /* (m x) y */
		af_merge_join(m, y);
		af_merge_close(x);
		af_merge_close(y);
		text_of(m, &left);

		m = merged(bys[b], 0, 90);
		x = merged(bys[b], 90, 91);
		y = merged(bys[b], 91, MEMBERS);
		af_merge_join(x, y); /* m (x y) */
		af_merge_join(m, x);
		af_merge_close(x);
		af_merge_close(y);
		text_of(m, &right);

		assert_string_equal(one.data, left.data);
		assert_string_equal(one.data, right.data);
		af_buf_free(&one);
		af_buf_free(&left);
		af_buf_free(&right);
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t median_of(uint32_t members, uint32_t k, uint64_t *shown)
{
	struct af_merge *m = merged(AF_BY_NOTHING, 0, members);
	uint64_t values[MEMBERS];
	struct af_results r;
	uint32_t nr = 0, row;
	char name[32];

	for (uint32_t i = 0; i < members; i++)
		if (i % 50 != 49)
			values[nr++] = i % (k + 2) ? number(i, k * 2) + number(i, k * 2 + 1) : 0;
	qsort(values, nr, sizeof *values, by_value);
	snprintf(name, sizeof name, "kernel_%u", k);
	af_merge_end(m, &r);
	const struct af_table *t = af_tables_find(&r.tables, "kernels");
	assert_non_null(kernel_row(t, name, &row));
	*shown = cell(t, row, "median_ranks")->value;
	af_results_close(&r);
	af_merge_close(m);
	return values[(nr - 1) / 2];
}

static void a_median_is_exact_of_few_and_within_a_percent_of_many(void **state)
{
	uint64_t shown;

	(void)state;
	for (uint32_t k = 0; k < KERNELS; k++) {
		uint64_t exact = median_of(49, k, &shown);
		assert_int_equal(shown, exact);
		exact = median_of(MEMBERS, k, &shown);
		uint64_t off = shown > exact ? shown - exact : exact - shown;
		assert_true(off <= exact / 100);
	}
}

static void a_list_keeps_the_heaviest_rows_and_counts_the_others(void **state)
{
	struct af_merge *m = merged(AF_BY_NOTHING, 0, MEMBERS);
	struct af_results r;
	uint64_t all = 0, sum = 0, least = UINT64_MAX, heavier = 0;

	(void)state;
	af_merge_end(m, &r);
	const struct af_table *t = af_tables_find(&r.tables, "slow_steps");
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		uint64_t ns = cell(t, i, "length_ns")->value;
		sum += ns;
		least = ns < least ? ns : least;
		assert_memory_equal(cell(t, i, "of_rank")->text, "rank ", 5);
	}
	for (uint32_t i = 0; i < MEMBERS; i++)
		for (uint32_t s = 0; s < 20 && i % 50 != 49; s++) {
			uint64_t ns = number(i, 1000 + s) % 500;
			all += ns;
			heavier += ns > least;
		}
	assert_int_equal(t->nr_rows, 1000);
	assert_int_equal(t->nr_rows + t->left_out, r.members * 20);
	assert_int_equal(sum + t->left_weight, all);
	assert_true(heavier <= t->nr_rows);
	af_results_close(&r);
	af_merge_close(m);
}

static void members_are_kept_apart_by_the_word(void **state)
{
	static const struct {
		enum af_merge_by by;
		uint32_t rows;
		const char *frame;
	} words[] = {{AF_BY_HOST, 2 * KERNELS, "[host north]"},
	             {AF_BY_GROUP, 2 * KERNELS - 1, "[side even]"}, /* kernel_0 is of odd ones */
	             {AF_BY_RANK, 0, "[rank 0]"}};

	(void)state;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		struct af_merge *m = merged(words[i].by, 0, MEMBERS);
		struct af_results r;
		af_merge_end(m, &r);
		const struct af_table *t = af_tables_find(&r.tables, "kernels");
		if (words[i].rows)
			assert_int_equal(t->nr_rows, words[i].rows);
		assert_true(af_table_column(t, "by") >= 0);
		const struct af_tree *tree = &r.trees[AF_VIEW_CPU];
		uint32_t app = tree->nodes[0].first_child;
		size_t len;
		const char *name =
		    af_tree_text(tree, tree->nodes[tree->nodes[app].first_child].name, &len);
		assert_int_equal(len, strlen(words[i].frame));
		assert_memory_equal(name, words[i].frame, len);
		af_results_close(&r);
		af_merge_close(m);
	}
}

static void missing_members_are_named_and_counted(void **state)
{
	struct af_merge *m = merged(AF_BY_NOTHING, 0, MEMBERS);
	struct af_buf b = {0};

	(void)state;
	af_merge_about(m, &b);
	assert_string_equal(b.data, "196 of 200 ranks; rank 49 is missing: it is gone; "
	                            "rank 99 is missing: it is gone; rank 149 is missing: it is "
	                            "gone; rank 199 is missing: it is gone");
	af_buf_free(&b);
	af_merge_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_are_exact_and_shares_are_of_the_whole),
	    cmocka_unit_test(joins_of_members_in_a_row_are_the_same_as_one_merge),
	    cmocka_unit_test(a_median_is_exact_of_few_and_within_a_percent_of_many),
	    cmocka_unit_test(a_list_keeps_the_heaviest_rows_and_counts_the_others),
	    cmocka_unit_test(members_are_kept_apart_by_the_word),
	    cmocka_unit_test(missing_members_are_named_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
