#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sym/sym.h"

static void assert_function(const char *symbol, const char *expected)
{
	char *name = af_function_name(symbol);

	assert_string_equal(name, expected);
	free(name);
}

static void cplusplus_names_come_without_arguments(void **state)
{
	assert_function("_ZN3app3runERSt6vectorIiSaIiEE", "app::run");
	assert_function("_ZNSt6vectorIiSaIiEE9push_backERKi",
	                "std::vector<int, std::allocator<int> >::push_back");
	assert_function("_ZNK4mainUlvE_clEv", "main::{lambda()#1}::operator()");
	assert_function("_ZN33_INTERNAL_0a96884c_9_stalls_cu_k19innermostEf", "innermost");
	assert_function("_ZN1a20_INTERNAL_0a96884c_11bIiE1cEv", "a::b<int>::c");
}

static void rust_names_come_without_their_hash(void **state)
{
	assert_function("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
	                "core::fmt::Formatter::pad");
	assert_function("_RNvCs4fqI2P2rA04_7mycrate3foo", "mycrate::foo");
}

static void plain_names_are_not_demangled(void **state)
{
	assert_null(af_demangle("main"));
	assert_null(af_demangle("_Zzz_no_such_encoding"));
	assert_null(af_demangle(""));
	assert_function("main", "main");
	assert_function("_Zzz_no_such_encoding", "_Zzz_no_such_encoding");
}

static void versions_and_clone_suffixes_are_dropped(void **state)
{
	assert_function("memcpy@@GLIBC_2.14", "memcpy");
	assert_function("memcpy@GLIBC_2.2.5", "memcpy");
	assert_function("_PyEval_EvalFrameDefault.cold", "_PyEval_EvalFrameDefault");
	assert_function("walk.part.0.constprop.1", "walk");
	assert_function("_ZN3app3runERSt6vectorIiSaIiEE.isra.0", "app::run");
	assert_function("runtime.systemstack.abi0", "runtime.systemstack");
	/* The body of an OpenMP region is a function of its own, and Go has dots in names. */
	assert_function("solve._omp_fn.0", "solve._omp_fn.0");
	assert_function("main.main", "main.main");
	assert_function(".part.0", ".part.0");
}

static void linkage_table_stubs_keep_their_mark(void **state)
{
	assert_function("malloc@plt", "malloc@plt");
	assert_function("_ZN3app3runERSt6vectorIiSaIiEE@plt", "app::run@plt");
}

static void a_name_that_grows_without_bound_is_cut(void **state)
{
	/* Each level is a pair of the level before, so its length doubles 36 times. */
	struct af_buf b = {0};
	af_buf_str(&b, "_Z1fISt4pairIiiE");
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	for (int i = 0; i < 36; i++)
		af_buf_fmt(&b, "S_IS%c_S%c_E", digits[i], digits[i]);
	af_buf_str(&b, "EvT_");

	char *name = af_demangle(b.data);
	assert_non_null(name);
	assert_int_equal(strlen(name), AF_SYM_NAME_MAX - 1);
	assert_string_equal(name + strlen(name) - 3, "…");
	free(name);
	af_buf_free(&b);
}

static void a_name_too_long_to_demangle_is_kept_and_cut(void **state)
{
	size_t size = 1 << 20;
	char *long_name = malloc(size);

	memset(long_name, 'x', size);
	memcpy(long_name, "_Z", 2);
	long_name[size - 1] = 0;
	char *name = af_function_name(long_name);
	assert_in_range(strlen(name), AF_SYM_NAME_MAX - 8, AF_SYM_NAME_MAX - 1);
	assert_string_equal(name + strlen(name) - 3, "…");
	free(name);
	free(long_name);
}

static void text_is_cut_between_characters(void **state)
{
	char text[] = "ab\xc3\xa9\xc3\xa9"; /* abéé: 6 bytes */

	assert_int_equal(af_sym_cut(text, 6, 6), 6);
	size_t len = af_sym_cut(text, 6, 5);
	/* The first é would end at byte 4, the ellipsis takes 3 of 5. */
	assert_int_equal(len, 5);
	assert_memory_equal(text, "ab…", 5);
	char odd[] = "a\xc3\xa9\xc3\xa9z";
	len = af_sym_cut(odd, 6, 5);
	assert_int_equal(len, 4);
	assert_memory_equal(odd, "a…", 4);
}

static void assert_kernel(const char *symbol, const char *expected)
{
	size_t len = 0;
	const char *name = af_sym_kernel_name(symbol, &len);

	if (!expected) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(name, expected, len);
}

static void pocl_functions_are_named_after_their_kernel(void **state)
{
	assert_kernel("_pocl_kernel_heavy_workgroup", "heavy");
	assert_kernel("_pocl_kernel_heavy_workgroup_fast", "heavy");
	assert_kernel("_pocl_kernel_heavy", "heavy");
	assert_kernel("_pocl_kernel__workgroup", "_workgroup");
	assert_kernel("_pocl_kernel_heavy@plt", "heavy");
	assert_kernel("_pocl_kernel_heavy_workgroup@plt", "heavy");
	assert_kernel("_pocl_kernel_", NULL);
	assert_kernel("heavy_workgroup", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cplusplus_names_come_without_arguments),
	    cmocka_unit_test(rust_names_come_without_their_hash),
	    cmocka_unit_test(plain_names_are_not_demangled),
	    cmocka_unit_test(versions_and_clone_suffixes_are_dropped),
	    cmocka_unit_test(linkage_table_stubs_keep_their_mark),
	    cmocka_unit_test(a_name_that_grows_without_bound_is_cut),
	    cmocka_unit_test(a_name_too_long_to_demangle_is_kept_and_cut),
	    cmocka_unit_test(text_is_cut_between_characters),
	    cmocka_unit_test(pocl_functions_are_named_after_their_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
