#include "render/text/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void text_is_cut_between_characters_and_padded(void **state)
{
	struct af_buf b = {0};

	af_columns_text(&b, "täg", 5, true);
	af_buf_char(&b, '|');
	af_columns_text(&b, "ääää", 3, true);
	af_buf_char(&b, '|');
	af_columns_text(&b, "abc", 3, false);
	af_columns_text(&b, "abc", 0, true);
	af_buf_char(&b, '|');
	af_columns_text(&b, "a\033[2J", 4, true);
	af_columns_right(&b, "12", 4);
	af_columns_right(&b, "12345", 4);
	assert_string_equal(b.data, "täg  |ää…|abc|a\\x…  1212345");
	af_buf_free(&b);
}

static void words_are_wrapped_with_an_indent(void **state)
{
	struct af_buf b = {0};

	af_columns_wrap(&b, "one two three fourfivesix", 4, 12, 2);
	af_columns_wrap(&b, "", 4, 12, 2);
	assert_string_equal(b.data, "one two \n  three \n  fourfivesix\n\n");
	af_columns_trim(&b, 0);
	assert_string_equal(b.data, "one two\n  three\n  fourfivesix\n\n");
	assert_int_equal(b.len, strlen(b.data));
	af_columns_trim(&b, b.len);
	b.len = 0;
	af_buf_str(&b, "a  \nb  \n");
	af_columns_trim(&b, 4);
	assert_string_equal(b.data, "a  \nb\n");
	af_buf_free(&b);
	af_columns_trim(&b, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_is_cut_between_characters_and_padded),
	    cmocka_unit_test(words_are_wrapped_with_an_indent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
