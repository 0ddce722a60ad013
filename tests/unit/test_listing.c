/* Code objects that are text: what is in them is found, and what is damaged is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/err.h"
#include "sym/device/code.h"

static struct af_code *open_text(const char *text)
{
	struct af_code *code = NULL;
	struct af_err err = {0};

	assert_int_equal(af_code_open(&code, text, strlen(text), &err), 0);
	return code;
}

static void functions_are_found_by_name_and_number(void **state)
{
	struct af_code *c = open_text("aflame listing 1\n"
	                              "f\t7\tgemm\t/src/gemm.cl\n"
	                              "i\t10\tsend.ugm (1|M0)\n"
	                              "i\t20\tdpas.8x8\t42\n"
	                              "f\t9\tgemm\t\n"
	                              "i\t10\tmov\n");

	(void)state;
	assert_int_equal(af_code_nr_functions(c), 2);
	int first = af_code_find(c, "gemm", 7), second = af_code_find(c, "gemm", 9);
	assert_int_not_equal(first, second);
	assert_int_equal(af_code_find(c, "softmax", 7), -1);
	assert_string_equal(af_code_text(c, (uint32_t)first, 0x10), "send.ugm (1|M0)");
	assert_string_equal(af_code_text(c, (uint32_t)second, 0x10), "mov");
	assert_null(af_code_text(c, (uint32_t)first, 0x18));
	assert_int_equal(af_code_function(c, (uint32_t)first)->size, 0x21);
	af_code_close(c);
}

static void files_and_lines_stand_for_frames(void **state)
{
	struct af_code *c = open_text("aflame listing 1\n"
	                              "f\t1\tgemm\t/src/gemm.cl\n"
	                              "i\t10\tmov\n"
	                              "i\t20\t\t42\n"
	                              "f\t2\tsoftmax\t\n"
	                              "i\t0\tmov\t3\n");
	struct af_code_frame frames[2];
	uint32_t gemm = (uint32_t)af_code_find(c, "gemm", 0);

	(void)state;
	assert_int_equal(af_code_frames(c, gemm, 0x10, frames, 2), 1);
	assert_string_equal(frames[0].function, "gemm");
	assert_string_equal(frames[0].file, "/src/gemm.cl");
	assert_int_equal(frames[0].line, 0);
	assert_int_equal(af_code_frames(c, gemm, 0x20, frames, 2), 1);
	assert_int_equal(frames[0].line, 42);
	assert_null(af_code_text(c, gemm, 0x20));
	/* A line without a file says nothing. */
	assert_int_equal(af_code_frames(c, (uint32_t)af_code_find(c, "softmax", 0), 0, frames, 2),
	                 0);
	af_code_close(c);
}

static void what_is_damaged_is_not_there(void **state)
{
	struct af_code *c = open_text("aflame listing 1\n"
	                              "i\t10\tof no function\n"
	                              "f\tx\tnumber\tfile\n"
	                              "f\t1\ttwo fields\n"
	                              "nonsense\n"
	                              "f\t1\tgood\tfile\n"
	                              "i\t20\tmov\n"
	                              "i\t10\tnot in order\n"
	                              "i\t123456789\ttoo far\n"
	                              "i\t30\tcut");
	uint32_t good = (uint32_t)af_code_find(c, "good", 1);

	(void)state;
	assert_int_equal(af_code_nr_functions(c), 1);
	assert_string_equal(af_code_text(c, good, 0x20), "mov");
	assert_null(af_code_text(c, good, 0x10));
	assert_string_equal(af_code_text(c, good, 0x30), "cut");
	assert_int_equal(af_code_function(c, good)->size, 0x31);
	af_code_close(c);
	af_code_close(open_text("aflame listing 1\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_are_found_by_name_and_number),
	    cmocka_unit_test(files_and_lines_stand_for_frames),
	    cmocka_unit_test(what_is_damaged_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
