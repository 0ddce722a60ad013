#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "inject/python/layout.h"

/* Members of _Py_DebugOffsets in order, as CPython's pycore_debug_offsets.h has them. */
#define OFFSETS_HEAD                                                                               \
	char cookie[8];                                                                            \
	uint64_t version, free_threaded;                                                           \
	uint64_t runtime_size, runtime_finalizing, runtime_interpreters_head;
#define OFFSETS_THREAD                                                                             \
	uint64_t thread_size, thread_prev, thread_next, thread_interp, thread_current_frame,       \
	    thread_id, thread_native_id, thread_datastack, thread_status;
#define OFFSETS_FRAME                                                                              \
	uint64_t frame_size, frame_previous, frame_executable, frame_instr_ptr, frame_localsplus,  \
	    frame_owner;
#define OFFSETS_CODE                                                                               \
	uint64_t code_size, code_filename, code_name, code_qualname, code_linetable,               \
	    code_firstlineno, code_argcount, code_localsplusnames, code_localspluskinds,           \
	    code_adaptive;
#define OFFSETS_OBJECTS                                                                            \
	uint64_t object_size, object_type;                                                         \
	uint64_t type_size, type_name, type_repr, type_flags;                                      \
	uint64_t tuple_size, tuple_item, tuple_ob_size;                                            \
	uint64_t list_size, list_item, list_ob_size;
#define OFFSETS_REST                                                                               \
	uint64_t dict_size, dict_keys, dict_values;                                                \
	uint64_t float_size, float_value;                                                          \
	uint64_t long_size, long_tag, long_digit;                                                  \
	uint64_t bytes_size, bytes_ob_size, bytes_sval;                                            \
	uint64_t unicode_size, unicode_state, unicode_length, unicode_asciiobject_size;            \
	uint64_t gc_size, gc_collecting;

struct offsets_313 {
	OFFSETS_HEAD
	uint64_t interpreter[13];
	OFFSETS_THREAD
	OFFSETS_FRAME
	OFFSETS_CODE
	OFFSETS_OBJECTS
	OFFSETS_REST
};

struct offsets_314 {
	OFFSETS_HEAD
	uint64_t interpreter[16];
	OFFSETS_THREAD
	OFFSETS_FRAME
	uint64_t frame_stackpointer, frame_tlbc_index;
	OFFSETS_CODE
	uint64_t code_tlbc;
	OFFSETS_OBJECTS
	uint64_t set_object[4];
	OFFSETS_REST
	uint64_t gen_object[4], llist_node[2], debugger_support[6];
};

struct offsets_315 {
	OFFSETS_HEAD
	uint64_t interpreter[16];
	OFFSETS_THREAD
	uint64_t thread_more[8];
	OFFSETS_FRAME
	uint64_t frame_stackpointer, frame_tlbc_index;
	OFFSETS_CODE
	uint64_t code_tlbc;
	uint64_t object_size, object_type;
	uint64_t type_size, type_name, type_repr, type_flags, type_more[2];
	uint64_t heap_type[2], tuple[3], list[3], set[4];
	OFFSETS_REST
	uint64_t more[16];
};

_Static_assert(sizeof(struct offsets_315) == 888, "3.15.2");

#define FILL(o, hex, owner, adaptive)                                                              \
	do {                                                                                       \
		memset(&(o), 0xee, sizeof(o));                                                     \
		memcpy((o).cookie, "xdebugpy", 8);                                                 \
		(o).version = (hex);                                                               \
		(o).free_threaded = 0;                                                             \
		(o).thread_current_frame = 72;                                                     \
		(o).frame_previous = 8;                                                            \
		(o).frame_executable = 0;                                                          \
		(o).frame_instr_ptr = 56;                                                          \
		(o).frame_owner = (owner);                                                         \
		(o).code_filename = 112;                                                           \
		(o).code_qualname = 128;                                                           \
		(o).code_linetable = 136;                                                          \
		(o).code_firstlineno = 68;                                                         \
		(o).code_adaptive = (adaptive);                                                    \
		(o).object_type = 8;                                                               \
		(o).type_name = 24;                                                                \
		(o).bytes_ob_size = 16;                                                            \
		(o).bytes_sval = 32;                                                               \
		(o).unicode_state = 32;                                                            \
		(o).unicode_length = 16;                                                           \
		(o).unicode_asciiobject_size = 40;                                                 \
	} while (0)

static void each_known_version_has_a_layout(void **state)
{
	for (uint32_t version = 0x308; version <= 0x30f; version++) {
		const struct af_py_layout *l = af_py_layout(version);
		assert_non_null(l);
		assert_int_equal(l->version, version);
		assert_int_equal(l->frame_code % 8 | l->frame_back % 8 | l->frame_instr % 8, 0);
		assert_true(!l->code_key == (version < 0x30c));
	}
	assert_null(af_py_layout(0x307));
	assert_null(af_py_layout(0x310));
	assert_null(af_py_layout(0));
}

static void offsets_of_each_version_agree_with_the_table(void **state)
{
	struct offsets_313 o313;
	struct offsets_314 o314;
	struct offsets_315 o315;
	struct af_err err = {0};

	FILL(o313, 0x030d00f0, 70, 200);
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30d), &o313, sizeof o313, &err), 0);
	FILL(o314, 0x030e02f0, 74, 208);
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30e), &o314, sizeof o314, &err), 0);
	FILL(o315, 0x030f02f0, 74, 208);
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30f), &o315, sizeof o315, &err), 0);
	assert_int_equal(err.code, 0);
}

static void free_threaded_build_is_refused_by_name(void **state)
{
	struct offsets_314 o;
	struct af_err err = {0};

	FILL(o, 0x030e02f0, 78, 232);
	o.free_threaded = 1;
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30e), &o, sizeof o, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "free-threaded"));
}

static void offset_that_differs_is_named(void **state)
{
	struct offsets_313 o;
	struct af_err err = {0};

	FILL(o, 0x030d01f0, 70, 200);
	o.code_filename = 120;
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30d), &o, sizeof o, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "code_object.filename"));
	assert_non_null(strstr(err.msg, "120"));
}

/* Each word that is compared matters, and no other does. */
static void every_offset_that_is_used_is_compared(void **state)
{
	struct offsets_314 o;
	unsigned refused = 0;

	for (size_t at = 0; at < sizeof o; at += 8) {
		FILL(o, 0x030e02f0, 74, 208);
		*(uint64_t *)((char *)&o + at) += 0x1000000;
		refused += af_py_layout_verify(af_py_layout(0x30e), &o, sizeof o, NULL) != 0;
	}
	assert_int_equal(refused, 3 + 11 + 6);
}

static void offsets_of_another_version_or_none_are_refused(void **state)
{
	struct offsets_314 o;
	struct af_err err = {0};

	FILL(o, 0x030e02f0, 74, 208);
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30d), &o, sizeof o, &err), -ENOTSUP);
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30e), &o, 100, &err), -ENOTSUP);
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30e), "", 0, &err), -ENOTSUP);
	o.cookie[0] = 'y';
	assert_int_equal(af_py_layout_verify(af_py_layout(0x30e), &o, sizeof o, &err), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_known_version_has_a_layout),
	    cmocka_unit_test(offsets_of_each_version_agree_with_the_table),
	    cmocka_unit_test(free_threaded_build_is_refused_by_name),
	    cmocka_unit_test(offset_that_differs_is_named),
	    cmocka_unit_test(every_offset_that_is_used_is_compared),
	    cmocka_unit_test(offsets_of_another_version_or_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
