/* Lists of numbers and of words as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"

static void expect(const uint64_t (*ranges)[2], size_t nr, const char *want)
{
	struct af_list l = {0};

	for (size_t i = 0; i < nr; i++)
		af_list_add(&l, NULL, ranges[i][0], ranges[i][1]);
	assert_string_equal(l.text.data, want);
	af_buf_free(&l.text);
}

#define EXPECT(want, ...)                                                                          \
	expect((const uint64_t[][2])__VA_ARGS__,                                                   \
	       sizeof((const uint64_t[][2])__VA_ARGS__) / sizeof(uint64_t[2]), want)

static void numbers(void **state)
{
	(void)state;
	EXPECT("7", {{7, 7}});
	EXPECT("0-2, 4", {{0, 0}, {1, 1}, {2, 2}, {4, 4}});
	EXPECT("0-36, 38-63", {{0, 36}, {38, 40}, {41, 63}});
	/* The same number again, and less than there is. */
	EXPECT("3-5, 9", {{3, 5}, {4, 4}, {5, 5}, {9, 9}, {9, 9}});
	EXPECT("0-18446744073709551615", {{0, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}});
	EXPECT("5, 18446744073709551615", {{5, 5}, {UINT64_MAX, UINT64_MAX}});
}

/* A full list still extends its last range, and leaves later numbers out. */
static void too_long(void **state)
{
	struct af_list l = {0};

	(void)state;
	for (uint64_t i = 10; l.text.len < AF_LIST_BYTES; i += 2)
		af_list_add(&l, NULL, i, i);
	af_list_add(&l, NULL, l.last + 1, 99);
	assert_string_equal(l.text.data + l.text.len - strlen("42, 44, 46-99"), "42, 44, 46-99");
	af_list_add(&l, NULL, 101, 101);
	af_list_add(&l, NULL, 102, 102);
	af_list_add(&l, "after", 0, 0);
	assert_string_equal(l.text.data + l.text.len - strlen("46-99, …"), "46-99, …");
	af_buf_free(&l.text);
}

static void words(void **state)
{
	struct af_list l = {0};

	(void)state;
	assert_null(l.text.data);
	af_list_add(&l, NULL, 3, 3);
	af_list_add(&l, "before", 0, 0);
	af_list_add(&l, NULL, 4, 4);
	af_list_add(&l, "after", 5, 5);
	assert_string_equal(l.text.data, "3, before, 4, after");
	af_buf_free(&l.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(too_long),
	    cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
