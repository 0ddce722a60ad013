#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyse/names/regions.h"

enum { ROOM = 64 };

static void assert_region(const char *kernel, const char *expected, uint32_t expected_line)
{
	char function[ROOM];
	uint32_t line = 0;

	assert_true(af_region_offloaded(kernel, function, sizeof function, &line));
	assert_string_equal(function, expected);
	assert_int_equal(line, expected_line);
}

static void assert_other(const char *kernel)
{
	char function[ROOM];
	uint32_t line;

	assert_false(af_region_offloaded(kernel, function, sizeof function, &line));
}

static void a_region_has_its_function_and_line(void **state)
{
	assert_region("__omp_offloading_10302_1c8_main_l12", "main", 12);
	assert_region("__omp_offloading_fd00_a01b2c3_scale_all_l7", "scale_all", 7);
	assert_region("__omp_offloading_1_2__ZN3app3runEi_l1234", "_ZN3app3runEi", 1234);
	assert_region("__omp_offloading_1_2__QMmodPfill_l9", "_QMmodPfill", 9);
}

static void the_last_line_counts_and_the_number_on_the_line_does_not(void **state)
{
	assert_region("__omp_offloading_1_2_row_l5_l6", "row_l5", 6);
	assert_region("__omp_offloading_1_2_main_l12_1", "main", 12);
	assert_region("__omp_offloading_1_2_row_l5_6_l7_8", "row_l5_6", 7);
	assert_region("__omp_offloading_1_2__l3_l4", "_l3", 4);
}

static void other_names_are_none(void **state)
{
	assert_other("");
	assert_other("main_l12");
	assert_other("__omp_offloading_");
	assert_other("__omp_offloading_1");
	assert_other("__omp_offloading_1_2_");
	assert_other("__omp_offloading_1_2_main");
	assert_other("__omp_offloading_1_2_main_l");
	assert_other("__omp_offloading_1_2_main_l12_");
	assert_other("__omp_offloading_1_2_main_l12x");
	assert_other("__omp_offloading_1_2_main_l12_debug__");
	assert_other("__omp_offloading_1_2__l3");
	assert_other("__omp_offloading_g_2_main_l12");
	assert_other("__omp_offloading__2_main_l12");
}

static void a_name_that_does_not_fit_is_none(void **state)
{
	char kernel[256], name[ROOM + 1];

	memset(name, 'f', ROOM);
	for (size_t len = ROOM - 1; len <= ROOM; len++) {
		name[len] = 0;
		snprintf(kernel, sizeof kernel, "__omp_offloading_1_2_%s_l3", name);
		if (len < ROOM)
			assert_region(kernel, name, 3);
		else
			assert_other(kernel);
		name[len] = 'f';
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_region_has_its_function_and_line),
	    cmocka_unit_test(the_last_line_counts_and_the_number_on_the_line_does_not),
	    cmocka_unit_test(other_names_are_none),
	    cmocka_unit_test(a_name_that_does_not_fit_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
