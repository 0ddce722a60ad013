#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/tables/metadata.h"
#include "mock_api.h"

/* A launch: arrays, strings, structs in the order of the parameters. */
static void launch_make(struct af_buf *b)
{
	static const uint8_t config[28] = {0xfe, 0xff, 0,   0,   3,   0, 0, 0, 4,    0,
	                                   0,    0,    'a', 'b', 'c', 0, 0, 0, 0x80, 0x3f};

	mock_head(b, 0x123456789abc, 2, AF_API_CALL_TRUNCATED);
	mock_put(b, 7, 4);
	for (uint64_t param = 0x10; param <= 0x50; param += 0x10)
		mock_put(b, param, 8);
	mock_put(b, 3, 2);
	for (uint64_t n = 1; n <= 3; n++)
		mock_put(b, n * 100, 8);
	af_buf_add(b, "dot product", 12);
	af_buf_add(b, config, sizeof config);
	mock_put(b, 0xabcd, 8);
}

static void a_call_is_taken_apart(void **state)
{
	const struct af_api_function *f = af_api_function(MOCK_LAUNCH);
	struct af_api_call call;
	struct af_buf b = {0};

	launch_make(&b);
	assert_true(af_api_decode(f, (uint8_t *)b.data, b.len, &call));
	assert_false(call.is_cut);
	assert_int_equal(af_u48_value(call.head.duration_ns), 0x123456789abc);
	assert_int_equal(call.head.depth, 2);
	assert_int_equal(call.head.flags, AF_API_CALL_TRUNCATED);
	assert_int_equal(af_api_number(f->result, call.result), 7);
	assert_false(call.has_bytes);
	assert_int_equal(call.nr_args, 5);
	assert_int_equal(af_api_unsigned(f->params[0].type, call.args[0].value), 0x10);
	assert_null(call.args[0].target.data);
	assert_int_equal(call.args[1].target.nr, 3);
	assert_int_equal(af_api_unsigned(f->params[1].target, call.args[1].target.data + 16), 300);
	assert_int_equal(call.args[2].target.nr, 11);
	assert_string_equal((const char *)call.args[2].target.data, "dot product");
	const struct af_api_member *align = &f->params[3].target->members[0];
	assert_int_equal(af_api_signed(align->type, call.args[3].target.data + align->offset), -2);
	assert_int_equal(call.args[4].target.nr, 1);
	assert_int_equal(af_api_unsigned(f->params[4].target, call.args[4].target.data), 0xabcd);
	af_buf_free(&b);
}

/* All lengths up to the whole: never outside of the bytes, which AddressSanitizer would tell. */
static void a_payload_that_is_cut_off_gives_its_beginning(void **state)
{
	const struct af_api_function *f = af_api_function(MOCK_LAUNCH);
	struct af_buf b = {0};

	launch_make(&b);
	for (size_t size = 0; size < b.len; size++) {
		struct af_api_call call;
		uint8_t *bytes = malloc(size ? size : 1);
		memcpy(bytes, b.data, size);
		assert_int_equal(af_api_decode(f, bytes, size, &call), size >= f->fixed);
		if (size >= f->fixed) {
			assert_true(call.is_cut);
			assert_null(call.args[4].target.data);
		}
		free(bytes);
	}
	af_buf_free(&b);
}

static void a_count_beyond_the_payload_is_not_believed(void **state)
{
	const struct af_api_function *f = af_api_function(MOCK_LAUNCH);
	struct af_api_call call;
	struct af_buf b = {0};

	launch_make(&b);
	memcpy(b.data + f->fixed, "\xff\xff", 2);
	assert_true(af_api_decode(f, (uint8_t *)b.data, b.len, &call));
	assert_true(call.is_cut);
	for (uint32_t i = 0; i < call.nr_args; i++)
		assert_int_equal(call.args[i].target.nr, 0);
	af_buf_free(&b);
}

static void bytes_are_a_parameter_or_computed(void **state)
{
	struct af_api_call call;
	struct af_buf b = {0};

	mock_head(&b, 1, 0, 0);
	mock_put(&b, 0, 4);
	mock_put(&b, 0x7000, 8);
	mock_put(&b, 4096, 8);
	mock_put(&b, 0xd0, 8);
	assert_true(af_api_decode(af_api_function(MOCK_ALLOC), (uint8_t *)b.data, b.len, &call));
	assert_true(call.has_bytes);
	assert_int_equal(call.bytes, 4096);

	mock_head(&b, 1, 0, 0);
	mock_put(&b, 0, 4);
	mock_put(&b, 1 << 20, 8);
	for (int i = 0; i < 3; i++)
		mock_put(&b, 5, 8);
	assert_true(af_api_decode(af_api_function(MOCK_COPY), (uint8_t *)b.data, b.len, &call));
	assert_int_equal(call.bytes, 1 << 20);
	af_buf_free(&b);
}

static void inout_is_there_twice_and_pairs_have_their_count(void **state)
{
	const struct af_api_function *f = af_api_function(MOCK_CONVERT);
	struct af_api_call call;
	struct af_buf b = {0};

	mock_head(&b, 1, 0, 0);
	mock_put(&b, 0, 4);
	mock_put(&b, 0x7000, 8);
	for (int i = 0; i < 37; i++)
		mock_put(&b, 'x', 1);
	mock_put(&b, 10, 4);
	mock_put(&b, 20, 4);
	mock_put(&b, 2, 2);
	mock_put(&b, 1, 8);
	mock_put(&b, 9, 8);
	assert_true(af_api_decode(f, (uint8_t *)b.data, b.len, &call));
	assert_false(call.is_cut);
	assert_int_equal(af_api_unsigned(f->params[0].target, call.args[0].before.data), 10);
	assert_int_equal(af_api_unsigned(f->params[0].target, call.args[0].target.data), 20);
	assert_int_equal(call.args[5].target.nr, 2);
	af_buf_free(&b);
}

static void functions_are_found_by_kind_and_values_by_number(void **state)
{
	const struct af_api_table *api = af_api_named("mock");

	assert_null(af_api_named("none"));
	assert_ptr_equal(af_api_of(MOCK_FREE), api);
	assert_null(af_api_of(MOCK_END));
	assert_null(af_api_of(MOCK_KIND - 1));
	assert_null(af_api_function(MOCK_UNUSED));
	assert_string_equal(af_api_function(MOCK_WAIT)->name, "mockWait");
	assert_string_equal(af_api_value_name(api->errors, -5), "MOCK_NO_MEMORY");
	assert_string_equal(af_api_value_name(api->errors, 0), "MOCK_SUCCESS");
	assert_null(af_api_value_name(api->errors, 1));
}

static void has(const struct af_buf *b, const char *text)
{
	if (!strstr(b->data, text))
		fail_msg("the metadata lacks: %s", text);
}

static void metadata_describes_types_and_fields(void **state)
{
	struct af_buf b = {0};

	af_api_metadata(&b, af_api_named("mock"));
	has(&b, "\tname = \"mock:mockLaunch\";\n\tid = 4099;\n");
	has(&b, "\"MOCK_NO_MEMORY\" = -5,\n\t\"MOCK_SUCCESS\" = 0,\n\t\"MOCK_INVALID\" = 7\n");
	has(&b, "\"MOCK_KEY_LAST\" = 9223372036854775810\n");
	has(&b, "struct mock_mock_config {\n\t\tmock_i16 _align;\n\t\tmock_u8 __padding_2[2];\n"
	        "\t\tstruct mock_mock_size _size;\n\t\tmock_char _name[4];\n"
	        "\t\tmock_f32 _scale[2];\n\t\tmock_u8 __padding_24[4];\n};\n");
	has(&b, "\t\tmock_x8 _flags;\n\t\tenum mock_mock_status _result;\n"
	        "\t\tmock_x32 _flags_;\n");
	has(&b, "\t\tmock_u16 _nr_grid_val;\n\t\tmock_u64 _grid_val[_nr_grid_val];\n"
	        "\t\tstring _string_str;\n\t\tstruct mock_mock_config _config_val;\n");
	has(&b, "\t\tmock_u8 _id[16];\n");
	has(&b, "\t\tmock_u32 _value_in;\n\t\tmock_u32 _value_val;\n");
	assert_null(
	    strstr(strstr(b.data, "enum mock_mock_status : ") + 1, "enum mock_mock_status : "));
	af_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_is_taken_apart),
	    cmocka_unit_test(a_payload_that_is_cut_off_gives_its_beginning),
	    cmocka_unit_test(a_count_beyond_the_payload_is_not_believed),
	    cmocka_unit_test(bytes_are_a_parameter_or_computed),
	    cmocka_unit_test(inout_is_there_twice_and_pairs_have_their_count),
	    cmocka_unit_test(functions_are_found_by_kind_and_values_by_number),
	    cmocka_unit_test(metadata_describes_types_and_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
