#include "analyse/table/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct af_column columns[] = {{"function", AF_CELL_TEXT, .key = "function"},
                                           {"self", AF_CELL_NS, .key = "self_ns"}};

static void rows_survive_growth(void **state)
{
	struct af_tables f = {0};
	struct af_table *t = af_tables_table(&f, "top", "Where time went", columns, 2);

	for (uint64_t i = 0; i < 1000; i++) {
		struct af_cell *row = af_table_row(&f, t);
		assert_null(row[0].text);
		assert_int_equal(row[1].value, 0);
		row[0].text = af_tables_text(&f, "f%u", (unsigned)i);
		row[1].value = i;
	}
	assert_int_equal(t->nr_rows, 1000);
	assert_string_equal(t->cells[2 * 123].text, "f123");
	assert_int_equal(t->cells[2 * 999 + 1].value, 999);
	af_tables_free(&f);
}

static void tables_keep_their_order(void **state)
{
	struct af_tables f = {0};
	struct af_table *a = af_tables_table(&f, "a", "A", columns, 1);
	struct af_table *b = af_tables_table(&f, "b", "B", columns, 2);

	assert_ptr_equal(f.first, a);
	assert_ptr_equal(a->next, b);
	assert_null(b->next);
	assert_string_equal(b->columns[1].title, "self");
	af_tables_free(&f);
	assert_null(f.first);
	af_tables_free(&f);
}

static void text_of_any_length_is_kept_whole(void **state)
{
	struct af_tables f = {0};
	char big[3000];

	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = 0;
	assert_string_equal(af_tables_text(&f, "%s", ""), "");
	assert_int_equal(strlen(af_tables_text(&f, "%s%s", big, big)), 2 * strlen(big));
	af_tables_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_survive_growth),
	    cmocka_unit_test(tables_keep_their_order),
	    cmocka_unit_test(text_of_any_length_is_kept_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
