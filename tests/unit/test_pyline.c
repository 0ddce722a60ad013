#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pyline_case.h"

/* Made by tests/live/python_frames/lines_dump.py golden, with each Python. */
static const char *golden[] = {
#include "pyline_golden.inc"
};

static void lines_are_those_that_each_python_tells(void **state)
{
	unsigned seen[16] = {0};
	char why[128];

	for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
		if (pyline_check(golden[i], why, sizeof why) <= 0)
			fail_msg("%s", why);
		seen[strtoul(golden[i], NULL, 16) & 15]++;
	}
	for (unsigned minor = 8; minor <= 13; minor++)
		assert_true(seen[minor] >= 8);
}

static void frame_that_has_not_begun_is_at_the_first_line(void **state)
{
	static const uint8_t none[] = {0xf8}; /* the only entry has no line */

	for (uint32_t version = 0x308; version <= 0x30f; version++) {
		assert_int_equal(af_py_line(version, none, sizeof none, 7, (uint32_t)-2), 7);
		assert_int_equal(af_py_line(version, NULL, 0, 7, (uint32_t)-1), 7);
	}
}

static void empty_table_has_no_line_from_3_10_on(void **state)
{
	/* To 3.9 it says that all of the code is on the first line. */
	assert_int_equal(af_py_line(0x309, NULL, 0, 7, 4), 7);
	assert_int_equal(af_py_line(0x30a, NULL, 0, 7, 4), -1);
	assert_int_equal(af_py_line(0x30b, NULL, 0, 7, 4), -1);
}

static void instruction_after_the_table_has_no_line(void **state)
{
	static const uint8_t ranges[] = {4, 1};
	static const uint8_t locations[] = {0x80, 0};

	assert_int_equal(af_py_line(0x30a, ranges, sizeof ranges, 1, 2), 2);
	assert_int_equal(af_py_line(0x30a, ranges, sizeof ranges, 1, 4), -1);
	assert_int_equal(af_py_line(0x30c, locations, sizeof locations, 1, 0), 1);
	assert_int_equal(af_py_line(0x30c, locations, sizeof locations, 1, 2), -1);
}

static void table_cut_anywhere_is_read_no_further(void **state)
{
	for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
		static uint8_t table[PYLINE_TABLE_MAX];
		const char *end;
		uint32_t version = (uint32_t)strtoul(golden[i], NULL, 16);
		long len = pyline_hex(strchr(strchr(golden[i], ' ') + 1, ' ') + 1, table, &end);

		/* In memory of exactly its size, so that the address sanitizer sees a step over. */
		for (long cut = 0; cut <= len; cut++) {
			uint8_t *exact = malloc((size_t)cut + 1);
			memcpy(exact, table, (size_t)cut);
			exact = realloc(exact, (size_t)cut ? (size_t)cut : 1);
			assert_true(af_py_line(version, exact, (size_t)cut, 1, 1 << 20) >= -1);
			free(exact);
		}
	}
}

static void any_bytes_give_a_line_or_none(void **state)
{
	uint8_t bytes[64];
	uint64_t random = 88172645463325252ull;

	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof bytes; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[i] = (uint8_t)(random >> 32);
		}
		for (uint32_t version = 0x308; version <= 0x30f; version++)
			assert_true(af_py_line(version, bytes, sizeof bytes, (int32_t)random,
			                       (uint32_t)(random >> 40)) >= -1);
	}
}

static void varint_longer_than_32_bits_is_refused(void **state)
{
	/* Kind 13, then a signed integer that never ends. */
	static const uint8_t endless[] = {0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f};

	assert_int_equal(af_py_line(0x30b, endless, sizeof endless, 1, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_those_that_each_python_tells),
	    cmocka_unit_test(frame_that_has_not_begun_is_at_the_first_line),
	    cmocka_unit_test(empty_table_has_no_line_from_3_10_on),
	    cmocka_unit_test(instruction_after_the_table_has_no_line),
	    cmocka_unit_test(table_cut_anywhere_is_read_no_further),
	    cmocka_unit_test(any_bytes_give_a_line_or_none),
	    cmocka_unit_test(varint_longer_than_32_bits_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
