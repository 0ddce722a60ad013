/* Numbers in decimal digits and of variable length, and fields whose sizes are known ahead. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/protobuf.h"

/* One before, at and behind each power of two and of ten. */
static uint32_t edges(uint64_t values[256])
{
	uint32_t nr = 0;

	for (int bit = 0; bit < 64; bit++)
		for (int by = -1; by < 2; by++)
			values[nr++] = (UINT64_C(1) << bit) + (uint64_t)by;
	for (uint64_t power = 10; power < UINT64_MAX / 10; power *= 10) {
		values[nr++] = power - 1;
		values[nr++] = power;
	}
	values[nr++] = UINT64_C(10000000000000000000);
	values[nr++] = UINT64_MAX;
	return nr;
}

static void decimal_digits_are_those_of_printf(void **state)
{
	struct af_buf b = {0};
	uint64_t values[256];

	(void)state;
	for (uint32_t nr = edges(values), i = 0; i < nr; i++) {
		char text[32];
		snprintf(text, sizeof text, "%" PRIu64, values[i]);
		b.len = 0;
		af_buf_u64(&b, values[i]);
		assert_string_equal(b.data, text);
	}
	af_buf_free(&b);
}

static void fields_have_the_sizes_that_were_known_ahead(void **state)
{
	static const uint32_t fields[] = {1, 15, 16, 135, 2047, 2048};
	uint64_t values[256];

	(void)state;
	for (uint32_t nr = edges(values), i = 0; i < nr; i++) {
		uint32_t field = fields[i % (sizeof fields / sizeof *fields)];
		uint8_t bytes[2 * AF_PB_MOST], *end = af_pb_put_varint(bytes, field, values[i]);
		assert_int_equal(end - bytes, af_pb_size_varint(field, values[i]));
		size_t one = (size_t)(end - bytes);
		end = af_pb_put_bytes(end, field, "ab", 2);
		assert_int_equal(end - bytes, one + af_pb_size_bytes(field, 2));
		struct af_cursor in = {.at = bytes, .end = end};
		struct af_pb_field f;
		assert_true(af_pb_next(&in, &f));
		assert_int_equal(f.number, field);
		assert_true(f.value == values[i]);
		assert_true(af_pb_next(&in, &f));
		assert_int_equal(f.number, field);
		assert_memory_equal(f.bytes.at, "ab", 2);
		assert_false(af_pb_next(&in, &f));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(decimal_digits_are_those_of_printf),
	    cmocka_unit_test(fields_have_the_sizes_that_were_known_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
