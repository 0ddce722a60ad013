/* Two lists of tables that must be the same, cell by cell. */
#ifndef AF_TESTS_UNIT_SAME_TABLES_H
#define AF_TESTS_UNIT_SAME_TABLES_H

#include <string.h>

#include "analyse/table/table.h"

static void assert_same_tables(const struct af_tables *a, const struct af_tables *b)
{
	const struct af_table *t = a->first, *u = b->first;

	assert_non_null(t);
	for (; t && u; t = t->next, u = u->next) {
		assert_string_equal(t->name, u->name);
		assert_int_equal(t->nr_rows, u->nr_rows);
		assert_int_equal(t->nr_columns, u->nr_columns);
		for (uint32_t i = 0; i < t->nr_rows * t->nr_columns; i++) {
			assert_int_equal(t->cells[i].value, u->cells[i].value);
			assert_int_equal(t->cells[i].unknown, u->cells[i].unknown);
			if (t->cells[i].text)
				assert_string_equal(t->cells[i].text, u->cells[i].text);
		}
	}
	assert_true(!t && !u);
}

#endif
