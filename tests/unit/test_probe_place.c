/* The place of a probe at a function's entry, for the entries that libcuda and compilers have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/bpf/probe_place.h"

#define PLACE(...)                                                                                 \
	af_probe_place((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

#define ENDBR64 0xf3, 0x0f, 0x1e, 0xfa
#define COMPARE_LONG 0x81, 0x3d, 1, 2, 3, 4, 0x00, 0xba, 0x1c, 0x32
#define COMPARE_BYTE 0x80, 0x3d, 1, 2, 3, 4, 0
#define COMPARE_SHORT 0x83, 0x3d, 1, 2, 3, 4, 0

static void a_push_is_probed_where_it_is(void **state)
{
	(void)state;
	assert_int_equal(PLACE(0x55, 0x48, 0x89, 0xe5), 0);
	assert_int_equal(PLACE(0x41, 0x57, 0x41, 0x56), 0);
}

static void what_marks_the_target_of_a_jump_is_skipped(void **state)
{
	(void)state;
	assert_int_equal(PLACE(ENDBR64, 0x55, 0x48), 4);
	assert_int_equal(PLACE(ENDBR64), 4);
	assert_int_equal(PLACE(ENDBR64, 0x48, 0x83, 0xec, 0x18), 4);
}

static void a_comparison_is_skipped_up_to_its_jump(void **state)
{
	(void)state;
	assert_int_equal(PLACE(COMPARE_LONG, 0x74, 0x10), 10);
	assert_int_equal(PLACE(COMPARE_LONG, 0x0f, 0x84, 1, 2, 3, 4), 10);
	assert_int_equal(PLACE(COMPARE_BYTE, 0x75, 0x10), 7);
	assert_int_equal(PLACE(COMPARE_SHORT, 0x0f, 0x85, 1, 2, 3, 4), 7);
	assert_int_equal(PLACE(ENDBR64, COMPARE_LONG, 0x74, 0x10), 14);
}

static void a_comparison_without_a_jump_stays(void **state)
{
	(void)state;
	assert_int_equal(PLACE(COMPARE_LONG, 0x55, 0x90), 0);
	assert_int_equal(PLACE(COMPARE_LONG, 0x0f, 0x1f), 0);
	/* cmpl $1, 8(%rdi): its length is another */
	assert_int_equal(PLACE(0x83, 0x7f, 8, 1, 0x74, 0x10, 0x74, 0x10, 0x74, 0x10), 0);
}

static void what_is_cut_off_is_not_read(void **state)
{
	(void)state;
	assert_int_equal(PLACE(COMPARE_LONG), 0);
	assert_int_equal(PLACE(COMPARE_LONG, 0x74), 0);
	assert_int_equal(PLACE(0x41), 0);
	assert_int_equal(af_probe_place(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_push_is_probed_where_it_is),
	    cmocka_unit_test(what_marks_the_target_of_a_jump_is_skipped),
	    cmocka_unit_test(a_comparison_is_skipped_up_to_its_jump),
	    cmocka_unit_test(a_comparison_without_a_jump_stays),
	    cmocka_unit_test(what_is_cut_off_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
