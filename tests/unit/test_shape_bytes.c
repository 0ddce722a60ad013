/* Results as bytes: what is read is what was written, and bytes that lack their end are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/set/read.h"
#include "analyse/table/bytes.h"
#include "analyse/tally/tally.h"
#include "analyse/tree/bytes.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

static const struct af_tree_weight weights[] = {{"time", "ns"}, {"samples", "samples"}};

static void tree_make(struct af_tree *t)
{
	const struct af_location at = {.function = "work",
	                               .file = "work.c",
	                               .module = "/lib/libwork.so.2",
	                               .line = 7,
	                               .source = "work.h",
	                               .source_line = 3,
	                               .begins = true,
	                               .offset = 300};

	af_tree_open(t, weights, 2);
	af_tree_keep_locations(t);
	uint32_t root = af_tree_child(t, 0, af_tree_name(t, "app", 3, AF_FRAME_PROCESS, 0));
	uint32_t work = af_tree_child(t, root, af_tree_name_at(t, "work", 4, AF_FRAME_NATIVE, &at));
	af_tree_add(t, root, 0, 5);
	af_tree_add(t, work, 0, 1000000000007);
	af_tree_add(t, work, 1, 3);
	af_tree_vary(t, work, 2.5);
}

static void a_tree_is_the_same_again(void **state)
{
	struct af_tree t, again;
	struct af_buf first = {0}, second = {0};

	tree_make(&t);
	af_tree_write(&t, &first);
	af_tree_open(&again, weights, 2);
	af_tree_keep_locations(&again);
	struct af_cursor c = af_buf_cursor(&first);
	assert_int_equal(af_tree_read(&again, &c, NULL), 0);
	af_tree_write(&again, &second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	uint32_t work = again.nodes[2].name;
	assert_string_equal(af_tree_key(&again, work), "libwork.so");
	assert_string_equal(af_tree_module(&again, work), "/lib/libwork.so.2");
	assert_int_equal(af_tree_location(&again, work)->line, 7);
	assert_string_equal(af_tree_location(&again, work)->source, "work.h");
	assert_true(af_tree_location(&again, work)->begins);
	assert_int_equal(af_tree_location(&again, work)->offset, 300);
	assert_string_equal(af_tree_source(&again, work).file, "work.h");
	assert_int_equal(af_tree_source(&again, work).line, 3);
	assert_int_equal(again.self[0][2], 1000000000007);
	assert_true(again.squares[2] > 2.4);
	for (size_t len = 0; len < first.len; len++) {
		struct af_tree part;
		struct af_err err = {0};
		struct af_cursor cut = {(uint8_t *)first.data, (uint8_t *)first.data + len, false};
		af_tree_open(&part, weights, 2);
		assert_int_not_equal(af_tree_read(&part, &cut, &err), 0);
		assert_true(err.msg[0]);
		af_tree_close(&part);
	}
	af_tree_close(&t);
	af_tree_close(&again);
	af_buf_free(&first);
	af_buf_free(&second);
}

static void trees_that_are_read_add_up(void **state)
{
	struct af_tree t, sum;
	struct af_buf b = {0};

	tree_make(&t);
	af_tree_write(&t, &b);
	af_tree_open(&sum, weights, 1); /* one column less */
	for (int i = 0; i < 3; i++) {
		struct af_cursor c = af_buf_cursor(&b);
		assert_int_equal(af_tree_read(&sum, &c, NULL), 0);
	}
	af_tree_finish(&sum);
	assert_int_equal(sum.nr, 3);
	assert_int_equal(sum.total[0][0], 3 * 1000000000012);
	af_tree_close(&t);
	af_tree_close(&sum);
	af_buf_free(&b);
}

static void tables_are_the_same_again(void **state)
{
	static const struct af_column columns[] = {
	    {"Function", AF_CELL_TEXT, .key = "function"},
	    {"Time", AF_CELL_NS, AF_SHOW_USED, .key = "time_ns"}};
	struct af_tables f = {0}, again = {0};
	struct af_buf first = {0}, second = {0};

	struct af_table *t = AF_TABLE(&f, "top", "Where time went", columns);
	t->note = "a note";
	for (int i = 0; i < 3; i++) {
		struct af_cell *row = af_table_row(&f, t);
		row[0].text = i ? "work" : NULL;
		row[1] = (struct af_cell){.value = UINT64_MAX - (uint64_t)i, .unknown = i == 2};
	}
	((struct af_cell *)af_table_total(&f, t))[1].value = 77;
	af_tables_write(&f, &first);
	struct af_cursor c = af_buf_cursor(&first);
	assert_int_equal(af_tables_read(&again, &c, NULL), 0);
	af_tables_write(&again, &second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	assert_string_equal(again.first->note, "a note");
	assert_null(again.first->warning);
	assert_int_equal(again.first->total[1].value, 77);
	for (size_t len = 0; len < first.len; len++) {
		struct af_tables part = {0};
		struct af_cursor cut = {(uint8_t *)first.data, (uint8_t *)first.data + len, false};
		assert_int_not_equal(af_tables_read(&part, &cut, NULL), 0);
		af_tables_free(&part);
	}
	af_tables_free(&f);
	af_tables_free(&again);
	af_buf_free(&first);
	af_buf_free(&second);
}

static void tally_add(struct af_tally *t, const char *function, const char *rank, uint64_t ns)
{
	AF_GROW(t->rows, t->nr, t->cap);
	t->rows[t->nr] = (struct af_tally_row){.function = function,
	                                       .driver = "",
	                                       .api = "MPI",
	                                       .category = "send",
	                                       .host = "node",
	                                       .rank = rank,
	                                       .process = "app",
	                                       .thread = "app [1]",
	                                       .level = AF_TALLY_MPI};
	for (uint64_t i = 1; i < 9; i++)
		af_stats_call(&t->rows[t->nr].stats, ns << i);
	af_stats_bytes(&t->rows[t->nr++].stats, 4096);
	t->with_calls = t->threads_with_calls = 1;
	af_keys_at(&t->hosts, AF_KEY_TEXT("node"), NULL);
}

static void tallies_join_over_processes(void **state)
{
	struct af_tally a = {0}, b = {0}, there = {0}, one = {0}, two = {0};
	struct af_buf bytes = {0}, first = {0}, second = {0};

	tally_add(&a, "MPI_Send", "rank 0", 3);
	tally_add(&a, "MPI_Recv", "rank 0", 5);
	tally_add(&b, "MPI_Send", "rank 1", 7);
	af_tally_join(&one, &a, AF_TALLY_BY_FUNCTION);
	af_tally_join(&one, &b, AF_TALLY_BY_FUNCTION);
	af_tally_write(&b, &bytes);
	struct af_cursor c = af_buf_cursor(&bytes);
	assert_int_equal(af_tally_read(&there, &c, NULL), 0);
	af_tally_join(&two, &a, AF_TALLY_BY_FUNCTION);
	af_tally_join(&two, &there, AF_TALLY_BY_FUNCTION);
	af_tally_write(&one, &first);
	af_tally_write(&two, &second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	assert_int_equal(one.nr, 2);
	assert_int_equal(one.rows[0].stats.time_ns, (3 + 7) * 510);
	assert_int_equal(one.rows[0].stats.count, 16);
	assert_string_equal(one.rows[0].rank, "");
	assert_string_equal(one.rows[1].rank, "rank 0");
	assert_int_equal(one.with_calls, 2);
	assert_int_equal(one.hosts.nr, 1);
	for (size_t len = 0; len < bytes.len; len++) {
		struct af_tally part = {0};
		struct af_cursor cut = {(uint8_t *)bytes.data, (uint8_t *)bytes.data + len, false};
		assert_int_not_equal(af_tally_read(&part, &cut, NULL), 0);
		af_tally_free(&part);
	}
	struct af_tally *all[] = {&a, &b, &there, &one, &two};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		af_tally_free(all[i]);
	af_buf_free(&bytes);
	af_buf_free(&first);
	af_buf_free(&second);
}

enum { MEMBERS = 300 };

/* Members that were taken, in their order. */
struct taken {
	uint64_t ranks[MEMBERS];
	uint32_t nr, stop_at;
	_Atomic int now; /* results that are there */
	int most;
};

static void *member_read(void *arg, const struct af_member *who, struct af_err *err)
{
	struct taken *t = arg;

	if (who->rank % 7 == 3) {
		af_fail_plain(err, -5, "no rank %d", (int)who->rank);
		return NULL;
	}
	t->now++;
	uint64_t *rank = malloc(sizeof *rank);
	*rank = who->rank;
	return rank;
}

static int member_take(void *arg, const struct af_member *who, void *result,
                       const struct af_err *why)
{
	struct taken *t = arg;

	t->most = t->now > t->most ? t->now : t->most;
	t->now -= result != NULL;
	assert_true(result ? *(uint64_t *)result == who->rank : why->msg[0] != 0);
	t->ranks[t->nr++] = who->rank;
	free(result);
	return t->nr == t->stop_at ? -7 : 0;
}

static void members_are_taken_in_their_order(void **state)
{
	struct af_member members[MEMBERS] = {0};
	const struct af_set set = {.members = members, .nr = MEMBERS};

	for (uint32_t i = 0; i < MEMBERS; i++)
		members[i].rank = i;
	for (unsigned threads = 1; threads < 9; threads += 3)
		for (uint32_t stop = 0; stop < MEMBERS; stop += 150) {
			struct taken t = {.stop_at = stop};
			const struct af_set_reading how = {.set = &set,
			                                   .first = 10,
			                                   .nr = MEMBERS - 20,
			                                   .threads = threads,
			                                   .read = member_read,
			                                   .take = member_take,
			                                   .drop = free,
			                                   .arg = &t};
			assert_int_equal(af_set_read(&how), stop ? -7 : 0);
			assert_int_equal(t.nr, stop ? stop : MEMBERS - 20);
			assert_true(t.most <= (int)threads * 3);
			for (uint32_t i = 0; i < t.nr; i++)
				assert_int_equal(t.ranks[i], i + 10);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tree_is_the_same_again),
	    cmocka_unit_test(trees_that_are_read_add_up),
	    cmocka_unit_test(tables_are_the_same_again),
	    cmocka_unit_test(tallies_join_over_processes),
	    cmocka_unit_test(members_are_taken_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
