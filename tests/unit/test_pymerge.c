#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analyse/frames/pymerge.h"
#include "trace/layout.h"

enum { MAX = 64 };

/*
 * Stacks as text, leaf first. Native: E eval, S step, T trampoline, g glue, a letter of its own for
 * anything else. Python: digits, '|' a border. Merged: native frames as they were, Python frames as
 * digits; glue as it was. '~' stands for left-out native frames, '+' for Python's.
 */
static void expect(const char *native, bool native_complete, const char *python,
                   bool python_complete, const char *merged)
{
	uint8_t kinds[MAX];
	uint64_t entries[MAX];
	struct af_py_merged out[2 * MAX];
	char text[2 * MAX + 1];
	uint32_t nr_native = (uint32_t)strlen(native), nr_python = (uint32_t)strlen(python);

	for (uint32_t i = 0; i < nr_native; i++)
		kinds[i] = native[i] == 'E'   ? AF_PY_NATIVE_EVAL
		           : native[i] == 'S' ? AF_PY_NATIVE_STEP
		           : native[i] == 'T' ? AF_PY_NATIVE_TRAMPOLINE
		           : native[i] == 'g' ? AF_PY_NATIVE_GLUE
		           : native[i] == '~' ? AF_PY_NATIVE_LEFT_OUT
		                              : AF_PY_NATIVE_OTHER;
	for (uint32_t i = 0; i < nr_python; i++)
		entries[i] = python[i] == '|'   ? AF_PY_BORDER
		             : python[i] == '+' ? AF_LEFT_OUT | 7
		                                : (uint64_t)python[i] << 32;

	uint32_t nr = af_py_merge(kinds, nr_native, native_complete, entries, nr_python,
	                          python_complete, out);
	assert_true(nr <= nr_native + nr_python);
	for (uint32_t i = 0; i < nr; i++) {
		bool is_python = out[i].kind == AF_PY_MERGED_PYTHON;
		assert_true(out[i].index < (is_python ? nr_python : nr_native));
		text[i] = is_python ? python[out[i].index] : native[out[i].index];
		assert_int_equal(out[i].kind == AF_PY_MERGED_GLUE, !is_python && text[i] == 'g');
	}
	text[nr] = '\0';
	assert_string_equal(text, merged);
}

static void python_frames_take_the_place_of_their_eval_call(void **state)
{
	/* 3.10: a call each. */
	expect("cEgEgEm", true, "1|2|3|", true, "c1g2g3m");
	/* 3.11 and later: many frames in one call. */
	expect("cEgEm", true, "12|345|", true, "c12g345m");
	/* A thread of its own, the leaf in the loop itself. */
	expect("EgEts", true, "12|3|", true, "12g3ts");
}

static void call_without_a_frame_yet_stays_visible(void **state)
{
	expect("EgEgEm", true, "2|3|", true, "Eg2g3m");
	expect("EEm", true, "", true, "EEm");
}

static void call_with_an_empty_group_stays_visible(void **state)
{
	expect("cEgEm", true, "|34|", true, "cEg34m");
}

static void loose_group_comes_inside_the_innermost_call(void **state)
{
	expect("cxEm", true, "1|2|", true, "cx12m");
	expect("cxEgEm", true, "12|3|4|", true, "cx123g4m");
}

static void without_eval_calls_python_comes_outermost(void **state)
{
	expect("cxm", true, "12|3|", true, "cxm123");
	expect("", true, "12|3|", true, "123");
}

static void cut_native_stack_is_matched_from_the_leaf(void **state)
{
	expect("cEgE", false, "1|2|3|4|", true, "c1g234");
	expect("cEgEx", false, "1|2|3|", true, "c1g2x3");
}

static void cut_python_stack_is_matched_from_the_leaf(void **state)
{
	expect("cEgEgEm", true, "1|2|", false, "c1g2gEm");
	/* Cut within a group. */
	expect("cEgEgEm", true, "1|23", false, "c1g23gEm");
}

static void steps_are_part_of_the_call_next_to_them(void **state)
{
	expect("cSEgSEm", true, "1|2|", true, "c1g2m");
	expect("SEgSEm", true, "2|", true, "SEg2m");
	/* A step whose loop was not found is a call. */
	expect("cSgEm", true, "1|2|", true, "c1g2m");
}

static void trampolines_are_part_of_the_call_they_make(void **state)
{
	expect("cETgETEm", true, "1|2|3|", true, "c1g23m");
	expect("SETgETm", true, "2|", true, "SETg2m");
	/* The call was not made yet, or has returned. */
	expect("TgETm", true, "2|", true, "Tg2m");
}

static void ends_of_cut_stacks_are_matched_by_themselves(void **state)
{
	/* Many Python frames in one call, 3.11 and later. */
	expect("cEgm", true, "12+89|", true, "c12+89gm");
	/* One of several calls is cut; what follows are its callers. */
	expect("cEaEbEm", true, "1|2+8|9|", true, "c1a2+8b9m");
	/* Calls are left out with their frames. */
	expect("cEaEbEdEm", true, "1|2+|9|", true, "c1a2bE+d9m");
	expect("cEaEbEdEm", true, "1|2+8|9|", true, "c1a2+b8d9m");
	/* A call each (3.10), both cut. */
	expect("cEgE~gEgEm", true, "1|2+|8|9|", true, "c1g2+~g8g9m");
	expect("cEgE~gEgEm", true, "1|2|3+|7|8|9|", true, "c1g23~+g78g9m");
	/* C recurses above Python's frames, or below them. */
	expect("cc~ccEgm", true, "12+89|", true, "cc~cc12+89gm");
	expect("cc~ccEgm", true, "12|", true, "cc~cc12gm");
	expect("cEx~xxm", true, "12|", true, "c12x~xxm");
	expect("cEx~xxEm", true, "1|2|3|", true, "c1x2~xx3m");
}

static void native_stack_alone_is_unchanged(void **state)
{
	expect("abcgd", true, "", true, "abcgd");
	expect("", true, "", true, "");
}

static void eval_loop_and_trampolines_are_known(void **state)
{
	assert_int_equal(af_py_native("_PyEval_EvalFrameDefault"), AF_PY_NATIVE_EVAL);
	assert_int_equal(af_py_native("_PyEval_EvalFrameDefault.cold"), AF_PY_NATIVE_EVAL);
	assert_int_equal(af_py_native("_PyEval_EvalFrameDefault.part.0"), AF_PY_NATIVE_EVAL);
	assert_int_equal(af_py_native("_PyEval_EvalFrameDefault.lto_priv.0.cold"),
	                 AF_PY_NATIVE_EVAL);
	assert_int_equal(af_py_native("py::main:/srv/a b/x.py"), AF_PY_NATIVE_TRAMPOLINE);
	assert_int_equal(af_py_native("py:main"), AF_PY_NATIVE_OTHER);
	assert_int_equal(af_py_native("_TAIL_CALL_LOAD_FAST"), AF_PY_NATIVE_STEP);
	assert_int_equal(af_py_native("_TAIL_CALL_CALL_PY_GENERAL.llvm.17"), AF_PY_NATIVE_STEP);
}

static void glue_is_what_leads_from_one_function_to_the_next(void **state)
{
	static const char *const glue[] = {
	    "_PyFunction_Vectorcall",
	    "PyObject_Call",
	    "PyObject_CallMethodObjArgs",
	    "_PyObject_CallFunctionVa",
	    "_PyObject_MakeTpCall",
	    "method_vectorcall",
	    "method_vectorcall_O",
	    "cfunction_call",
	    "cfunction_vectorcall_NOARGS",
	    "type_call",
	    "slot_tp_call",
	    "slot_nb_add",
	    "PyEval_EvalCode",
	    "run_mod",
	    "_PyEval_Vector",
	    "PyObject_Vectorcall",
	    "vectorcall_method.constprop.0",
	    "_PyObject_VectorcallTstate.lto_priv.3",
	};
	static const char *const others[] = {
	    "PyObject_Calloc",
	    "_PyObject_Calloc",
	    "list_sort_impl",
	    "PyEval_SaveThread",
	    "cuLaunchKernel",
	    "main",
	    "",
	    "_PyEval_EvalFrameDefaultX",
	    ".cold",
	    "slot_machine",
	};

	for (size_t i = 0; i < sizeof glue / sizeof *glue; i++)
		assert_int_equal(af_py_native(glue[i]), AF_PY_NATIVE_GLUE);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_int_equal(af_py_native(others[i]), AF_PY_NATIVE_OTHER);
	assert_int_equal(af_py_native(NULL), AF_PY_NATIVE_OTHER);
}

/* Whatever the stacks: every Python frame comes once and in order, native frames in order. */
static void no_frame_is_lost_or_moved(void **state)
{
	static const uint8_t kinds[] = {AF_PY_NATIVE_OTHER, AF_PY_NATIVE_EVAL, AF_PY_NATIVE_STEP,
	                                AF_PY_NATIVE_TRAMPOLINE};
	uint64_t random = 88172645463325252ull;

	for (int round = 0; round < 20000; round++) {
		uint8_t native[16];
		uint64_t python[16];
		struct af_py_merged out[32];
		uint32_t nr_native = random % 16, nr_python = random / 16 % 16, frames = 0;

		for (uint32_t i = 0; i < 16; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			native[i] = kinds[random >> 20 & 3];
			python[i] = random >> 30 & 1 ? AF_PY_BORDER : random >> 40;
			frames += i < nr_python && python[i] != AF_PY_BORDER;
		}
		if (random & 4 && nr_native)
			native[random >> 3 & 15] = AF_PY_NATIVE_LEFT_OUT;
		uint32_t at = random >> 8 & 15;
		if (random & 8 && at < nr_python) {
			frames += python[at] == AF_PY_BORDER;
			python[at] = AF_LEFT_OUT | 3;
		}
		uint32_t nr =
		    af_py_merge(native, nr_native, random & 1, python, nr_python, random & 2, out);
		int64_t last_native = -1, last_python = -1;
		for (uint32_t i = 0; i < nr; i++) {
			bool is_python = out[i].kind == AF_PY_MERGED_PYTHON;
			int64_t *last = is_python ? &last_python : &last_native;
			assert_true(out[i].index > *last);
			*last = out[i].index;
			frames -= is_python;
		}
		assert_int_equal(frames, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(python_frames_take_the_place_of_their_eval_call),
	    cmocka_unit_test(call_without_a_frame_yet_stays_visible),
	    cmocka_unit_test(call_with_an_empty_group_stays_visible),
	    cmocka_unit_test(loose_group_comes_inside_the_innermost_call),
	    cmocka_unit_test(without_eval_calls_python_comes_outermost),
	    cmocka_unit_test(cut_native_stack_is_matched_from_the_leaf),
	    cmocka_unit_test(cut_python_stack_is_matched_from_the_leaf),
	    cmocka_unit_test(steps_are_part_of_the_call_next_to_them),
	    cmocka_unit_test(trampolines_are_part_of_the_call_they_make),
	    cmocka_unit_test(ends_of_cut_stacks_are_matched_by_themselves),
	    cmocka_unit_test(native_stack_alone_is_unchanged),
	    cmocka_unit_test(eval_loop_and_trampolines_are_known),
	    cmocka_unit_test(glue_is_what_leads_from_one_function_to_the_next),
	    cmocka_unit_test(no_frame_is_lost_or_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
