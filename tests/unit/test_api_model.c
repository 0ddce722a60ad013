/* Models of APIs as text: what is read is written the same; errors name the line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aflame/error.h"
#include "api/model/model.h"
#include "base/buf.h"

static const char good[] = "api cuda 0x1000 CUDA driver API\n"
			   "source cuda.h 13000\n"
			   "source cuda_more.h\n"
			   "type cl_int i32\n"
			   "type cl_mem handle\n"
			   "type cl_union bytes24\n"
			   "type cl_bool enum u32\n"
			   "\t0 CL_FALSE\n"
			   "\t-1 CL_NONE\n"
			   "type cl_device_type flags u64\n"
			   "\t2 CL_DEVICE_TYPE_CPU\n"
			   "type cl_inner struct 8 4\n"
			   "\t0 order cl_int\n"
			   "\t4 four u8 4\n"
			   "type cl_outer struct 56 8\n"
			   "\t0 inner cl_inner 2\n"
			   "\t16 any bytes13\n"
			   "\t32 of cl_union\n"
			   "fn 0 clFirst void\n"
			   "fn 7 clGetPlatformIDs cl_int\n"
			   "\tnum_entries cl_int\n"
			   "\tplatforms out cl_mem\n"
			   "\tanything in void\n"
			   "\twhole cl_outer\n";

/* Reads @text by way of a file; its name, in err->msg, is always this one. */
static int read_text(struct af_model *m, const char *text, size_t len, struct af_err *err)
{
	char path[] = "/tmp/aflame_model_XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
	int rc = af_model_read(m, path, err);
	unlink(path);
	return rc;
}

static void a_model_is_written_as_it_was_read(void **state)
{
	struct af_model m = {0};
	struct af_buf b = {0};
	struct af_err err = {0};
	(void)state;

	if (read_text(&m, good, strlen(good), &err))
		fail_msg("%s", err.msg);
	af_model_write(&m, &b);
	assert_string_equal(b.data, good);
	af_buf_free(&b);
	af_model_free(&m);
}

static void types_have_sizes_and_bases(void **state)
{
	struct af_model m = {0};
	struct af_err err = {0};
	(void)state;

	assert_int_equal(read_text(&m, good, strlen(good), &err), 0);
	assert_int_equal(af_model_type(&m, "cl_int")->size, 4);
	assert_int_equal(af_model_type(&m, "cl_device_type")->align, 8);
	assert_string_equal(af_model_type(&m, "cl_bool")->base, "u32");
	assert_int_equal(af_model_type(&m, "cl_union")->size, 24);
	assert_int_equal(af_model_type(&m, "bytes13")->size, 13);
	assert_int_equal(af_model_type(&m, "cl_outer")->size, 56);
	assert_null(af_model_type(&m, "cl_outer")->base);
	assert_string_equal(af_model_type(&m, "pointer")->base, "pointer");
	assert_null(af_model_type(&m, "bytes14"));
	assert_null(af_model_type(&m, "cl_nothing"));
	assert_int_equal(af_model_function(&m, "clGetPlatformIDs")->params[1].points, AF_MODEL_OUT);
	assert_int_equal(af_model_function(&m, "clGetPlatformIDs")->number, 7);
	assert_null(af_model_function(&m, "clNothing"));
	af_model_free(&m);
}

static void functions_are_kept_by_number(void **state)
{
	struct af_model m = {0};
	(void)state;

	af_model_add_function(&m, 3, "three", "i32");
	af_model_add_function(&m, 1, "one", "void");
	af_model_add_param(&m, af_model_add_function(&m, 2, "two", "i32"), "p", AF_MODEL_IN, "u8");
	assert_string_equal(m.functions[0].name, "one");
	assert_string_equal(m.functions[1].params[0].type, "u8");
	assert_string_equal(m.functions[2].name, "three");
	af_model_free(&m);
}

struct bad {
	const char *text;
	const char *message;
};

#define HEAD "api a 0x1000 A\n"

static const struct bad bads[] = {
    {"", "no line \"api\""},
    {"# nothing\n", "no line \"api\""},
    {"type a i32\n", ":1: the first line must be"},
    {"api a 0x1000\n", ":1: expected \"api"},
    {"api a 0x10000 A\n", ":1: \"0x10000\" is no number"},
    {"api a b c d e f g\n", ":1: \"b\" is no number"},
    {HEAD HEAD, ":2: a second line"},
    {HEAD "\tx i32\n", ":2: nothing above"},
    {HEAD "\n# comment\nwhat\n", ":4: \"what\" begins no line"},
    {HEAD "source\n", ":2: expected \"source"},
    {HEAD "source a b c\n", ":2: expected \"source"},
    {HEAD "type a\n", ":2: expected \"type"},
    {HEAD "type 1a i32\n", ":2: \"1a\" is no name"},
    {HEAD "type i32 i32\n", ":2: a second type i32"},
    {HEAD "type a i33\n", ":2: i33 is no built-in type"},
    {HEAD "type a void\n", ":2: void is no built-in type"},
    {HEAD "type a bytes0\n", ":2: bytes0 is no built-in type"},
    {HEAD "type a bytes65536\n", ":2: bytes65536 is no built-in type"},
    {HEAD "type a i32\ntype b a\n", ":3: a is no built-in type"},
    {HEAD "type a i32\n\t0 x\n", ":3: nothing above"},
    {HEAD "type a i32\ntype a i32\n", ":3: a second type a"},
    {HEAD "type a enum f32\n", ":2: values of f32"},
    {HEAD "type a union i32 2\n", ":2: \"union\" is no form"},
    {HEAD "type a enum i32\n\tx 0\n", ":3: \"x\" is no value"},
    {HEAD "type a enum i32\n\t0 x y\n", ":3: expected \"VALUE"},
    {HEAD "type a enum i32\n\t99999999999999999999 x\n", ":3: \"9999"},
    {HEAD "type a struct 8 3\n", ":2: 8 bytes aligned to 3"},
    {HEAD "type a struct 8\n", ":2: \"struct\" is no form"},
    {HEAD "type a struct 70000 4\n", ":2: \"70000\" is no number"},
    {HEAD "type a struct 8 4\n\t0 x a\n", ":3: a cannot be a member of itself"},
    {HEAD "type a struct 8 4\n\t0 x b\n", ":3: no type b"},
    {HEAD "type a struct 8 4\n\t0 x void\n", ":3: void has no size"},
    {HEAD "type a struct 8 4\n\t0 x i32 3\n", ":3: x does not lie"},
    {HEAD "type a struct 8 4\n\t0 x i32 0\n", ":3: x does not lie"},
    {HEAD "type a struct 8 4\n\t0 x i64\n\t4 y i32\n", ":4: y does not lie"},
    {HEAD "fn 1 f\n", ":2: expected \"fn"},
    {HEAD "fn x f void\n", ":2: \"x\" is no number"},
    {HEAD "fn 61440 f void\n", ":2: \"61440\" is no number"},
    {HEAD "fn 1 f nothing\n", ":2: no type nothing"},
    {HEAD "fn 1 f void\nfn 1 g void\n", ":3: number 1"},
    {HEAD "fn 1 f void\nfn 2 f void\n", ":3: a second function f"},
    {HEAD "fn 1 f void\n\tp void\n", ":3: void has no size"},
    {HEAD "fn 1 f void\n\tp inout i32\n", ":3: \"inout\" is neither"},
    {HEAD "fn 1 f void\n\tp\n", ":3: expected \"NAME"},
    {HEAD "fn 1 f void\n\tp in out i32 i32 i32 i32 i32\n", ":3: expected \"NAME"},
};

static void wrong_lines_are_named(void **state)
{
	(void)state;

	for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
		struct af_model m = {0};
		struct af_err err = {0};

		if (!read_text(&m, bads[i].text, strlen(bads[i].text), &err))
			fail_msg("read without an error: %s", bads[i].text);
		if (!strstr(err.msg, bads[i].message))
			fail_msg("%s: not \"%s\"", err.msg, bads[i].message);
		af_model_free(&m);
	}
}

static void a_nul_byte_and_a_missing_file_are_errors(void **state)
{
	struct af_model m = {0};
	struct af_err err = {0};
	(void)state;

	assert_int_equal(read_text(&m, HEAD "type\0a i32\n", sizeof HEAD + 10, &err), -22);
	assert_non_null(strstr(err.msg, ":2: a NUL byte"));
	af_model_free(&m);
	assert_int_equal(af_model_read(&m, "/nowhere/a.api", &err), -2);
	af_model_free(&m);
}

/* Whatever a model is cut off at, it is read or refused, and freed. */
static void any_part_of_a_model_is_safe(void **state)
{
	(void)state;

	for (size_t len = 0; len < strlen(good); len += 3) {
		struct af_model m = {0};
		struct af_err err = {0};

		read_text(&m, good, len, &err);
		af_model_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_model_is_written_as_it_was_read),
	    cmocka_unit_test(types_have_sizes_and_bases),
	    cmocka_unit_test(functions_are_kept_by_number),
	    cmocka_unit_test(wrong_lines_are_named),
	    cmocka_unit_test(a_nul_byte_and_a_missing_file_are_errors),
	    cmocka_unit_test(any_part_of_a_model_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
