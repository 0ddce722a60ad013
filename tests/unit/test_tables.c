#include "render/text/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "analyse/table/table.h"

static const struct af_column columns[] = {{"Name", AF_CELL_TEXT, .key = "name"},
                                           {"Calls", AF_CELL_COUNT, .key = "calls"}};

/* A table with one row for each of @names, as text. */
static void print_names(struct af_buf *b, const char *const *names, uint32_t nr, const char *note)
{
	struct af_tables f = {0};
	struct af_table *t = af_tables_table(&f, "t", "T", columns, 2);

	for (uint32_t i = 0; i < nr; i++) {
		struct af_cell *c = af_table_row(&f, t);
		c[0].text = names[i];
		c[1].value = i + 1;
	}
	t->note = note;
	b->len = 0;
	af_table_text(b, t, 0, false, NULL);
	af_tables_free(&f);
}

static void names_cannot_tell_the_terminal_what_to_do(void **state)
{
	static const char *const names[] = {"a\033[2Jb\n", "\302\2332J", "x\xff", "q\xe2\x80\xae",
	                                    "\"plain\\\" äß"};
	struct af_buf b = {0};

	print_names(&b, names, 5, "first damage: s\033]0;\a");
	assert_string_equal(b.data, "T\n"
	                            "  Name           Calls\n"
	                            "  a\\x1b[2Jb\\x0a      1\n"
	                            "  \\xc2\\x9b2J         2\n"
	                            "  x\\xff              3\n"
	                            "  q\\xe2\\x80\\xae      4\n"
	                            "  \"plain\\\" äß        5\n"
	                            "  * first damage: s\\x1b]0;\\x07\n");
	af_buf_free(&b);
}

static void long_names_are_cut_between_characters(void **state)
{
	struct af_buf b = {0};
	char name[300] = "";

	for (int i = 0; i < 60; i++)
		strcat(name, "ä");
	print_names(&b, (const char *const[]){name}, 1, NULL);
	assert_non_null(strstr(b.data, name));

	strcat(name, "z");
	print_names(&b, (const char *const[]){name}, 1, NULL);
	char *at = strstr(b.data, "ä..ä");
	assert_non_null(at);
	assert_int_equal(at - strstr(b.data, "\n  ä") - 3, 28 * strlen("ä"));
	assert_memory_equal(at + strlen("ä..") + 28 * strlen("ä"), "z  ", 3);
	af_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_cannot_tell_the_terminal_what_to_do),
	    cmocka_unit_test(long_names_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
