/*
 * Interpreters that are not installed: this program exports what the library looks for, and says
 * that it is whatever version a test needs. The frames of 3.14 are here as its headers lay them
 * out, because no 3.14 may be there to run walk.py on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "inject/python/python.h"
#include "inject/walk/modules.h"

#define EXPORT __attribute__((visibility("default")))

struct fake_object {
	uint64_t refs;
	const void *type;
};

struct fake_type {
	struct fake_object head;
	uint64_t size;
	const char *name;
};

struct fake_str {
	struct fake_object head;
	uint64_t length, hash, state;
	char ascii[24];
};

struct fake_bytes {
	struct fake_object head;
	uint64_t size, hash;
	uint8_t data[8];
};

struct fake_code {
	struct fake_object head;
	char before_line[52];
	int32_t first_line;
	char before_version[20];
	uint32_t version;
	const void *names, *kinds;
	const struct fake_str *file, *name, *qualname;
	const struct fake_bytes *lines;
	char before_code[64];
	uint16_t code[32];
};

struct fake_frame {
	uint64_t executable;
	struct fake_frame *previous;
	void *unused[5];
	const uint16_t *instr;
	void *stackpointer;
	uint16_t return_offset;
	uint8_t owner, visited;
};

struct fake_tstate {
	char before_frame[72];
	struct fake_frame *frame;
};

_Static_assert(offsetof(struct fake_code, first_line) == 68, "3.14");
_Static_assert(offsetof(struct fake_code, version) == 92, "3.14");
_Static_assert(offsetof(struct fake_code, file) == 112, "3.14");
_Static_assert(offsetof(struct fake_code, code) == 208, "3.14");
_Static_assert(offsetof(struct fake_frame, instr) == 56, "3.14");
_Static_assert(offsetof(struct fake_frame, owner) == 74, "3.14");

/* The symbols that the library looks up. */
EXPORT extern unsigned long Py_Version;
EXPORT extern uint64_t _PyRuntime[128];
EXPORT extern const struct fake_type PyCode_Type, PyUnicode_Type, PyBytes_Type;
EXPORT void *PyGILState_GetThisThreadState(void);

unsigned long Py_Version;
uint64_t _PyRuntime[128];
const struct fake_type PyCode_Type = {.name = "code"}, PyUnicode_Type = {.name = "str"},
		       PyBytes_Type = {.name = "bytes"};

static struct fake_tstate tstate, *tstate_now;

void *PyGILState_GetThisThreadState(void)
{
	return tstate_now;
}

/* The interpreter is another one from here on. */
static void interpreter_is(unsigned long version)
{
	Py_Version = version;
	memset(_PyRuntime, 0, sizeof _PyRuntime);
	memcpy(_PyRuntime, "xdebugpy", 8);
	_PyRuntime[1] = version;
	tstate_now = &tstate;
	tstate.frame = NULL;
}

struct fake_word {
	uint16_t at, offset;
};

static void offsets_of_314(void)
{
	static const struct fake_word words[] = {
	    {208, 72},  {256, 8},   {264, 0},  {272, 56},  {288, 74}, {320, 112},
	    {336, 128}, {344, 136}, {352, 68}, {384, 208}, {640, 40}, {408, 8},
	    {424, 24},  {600, 16},  {608, 32}, {624, 32},  {632, 16},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		_PyRuntime[words[i].at / 8] = words[i].offset;
}

static void offsets_of_315(void)
{
	static const struct fake_word words[] = {
	    {208, 72},  {320, 8},   {328, 0},  {336, 56},  {352, 74}, {384, 112},
	    {400, 128}, {408, 136}, {416, 68}, {448, 208}, {736, 40}, {472, 8},
	    {488, 24},  {696, 16},  {704, 32}, {720, 32},  {728, 16},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		_PyRuntime[words[i].at / 8] = words[i].offset;
}

static bool meet(void)
{
	af_modules_forget();
	assert_false(af_python_ready());
	af_module_find((uint64_t)PyGILState_GetThisThreadState);
	return af_python_ready();
}

static void on_fault(int signo, siginfo_t *info, void *ucontext)
{
	if (!af_guard_fault(ucontext))
		abort();
}

/* In each test that reads where nothing is: the test runner puts its own handlers back. */
static void guard_start(void)
{
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSEGV, &fault, NULL);
	af_guard_arm(true);
}

static int start(void **state)
{
	af_modules_init();
	af_modules_watch(af_python_meet);
	interpreter_is(0x030e02f0);
	offsets_of_314();
	return 0;
}

static void unknown_version_says_so(void **state)
{
	interpreter_is(0x031000f0);
	assert_false(meet());
	assert_non_null(strstr(af_python_status(), "3.16.0"));
	assert_non_null(strstr(af_python_status(), "not known"));
	interpreter_is(0x030700f0);
	assert_false(meet());
	assert_non_null(strstr(af_python_status(), "3.7"));
}

static void free_threaded_interpreter_says_so(void **state)
{
	_PyRuntime[2] = 1;
	assert_false(meet());
	assert_non_null(strstr(af_python_status(), "free-threaded"));
}

static void interpreter_that_contradicts_the_table_says_where(void **state)
{
	_PyRuntime[288 / 8] = 78;
	assert_false(meet());
	assert_non_null(strstr(af_python_status(), "interpreter_frame.owner"));
}

static void version_is_the_status_of_one_that_can_be_read(void **state)
{
	assert_true(meet());
	assert_string_equal(af_python_status(), "3.14.2");
}

/* A code object whose instruction i is on line first_line + i. */
static struct fake_code code(uint32_t version, int32_t first_line, const struct fake_str *name)
{
	static const struct fake_str file = {.head.type = &PyUnicode_Type,
	                                     .length = 4,
	                                     .state = 1 << 2 | 1 << 5 | 1 << 6,
	                                     .ascii = "f.py"};
	static const struct fake_bytes lines = {
	    .head.type = &PyBytes_Type, .size = 6, .data = {0x80, 0, 0xd8, 0, 0, 0xd8}};

	return (struct fake_code){.head.type = &PyCode_Type,
	                          .first_line = first_line,
	                          .version = version,
	                          .file = &file,
	                          .name = name,
	                          .qualname = name,
	                          .lines = &lines};
}

static const struct fake_str name_a = {
    .head.type = &PyUnicode_Type, .length = 1, .state = 1 << 2 | 1 << 5 | 1 << 6, .ascii = "a"};

static struct fake_frame frame(const struct fake_code *c, int instr, struct fake_frame *previous,
                               uint8_t owner, unsigned tag)
{
	return (struct fake_frame){.executable = (uint64_t)c | tag,
	                           .previous = previous,
	                           .instr = c ? c->code + instr : NULL,
	                           .owner = owner};
}

static void frames_of_3_14_are_read_through_their_tags(void **state)
{
	struct fake_code outer = code(1001, 10, &name_a), inner = code(1002, 20, &name_a),
			 gen = code(1003, 30, &name_a);
	struct fake_frame root = frame(NULL, 0, NULL, 3, 1);
	struct fake_frame f3 = frame(&outer, 4, &root, 0, 1);
	struct fake_frame shim = frame(NULL, 0, &f3, 4, 0);
	struct fake_frame f2 = frame(&gen, 0, &shim, 1, 0);
	struct fake_frame f1 = frame(&inner, 2, &f2, 0, 1);
	uint64_t entries[16];
	enum af_stop stop;

	assert_true(meet());
	tstate.frame = &f1;
	assert_int_equal(af_python_frames(entries, 16, &stop), 5);
	assert_int_equal(stop, AF_STOP_COMPLETE);
	assert_int_equal(af_python_code(entries[0] >> 32)->first_line, 20);
	assert_int_equal((uint32_t)entries[0], 4);
	assert_int_equal(af_python_code(entries[1] >> 32)->first_line, 30);
	assert_int_equal((uint32_t)entries[1], 0);
	assert_true(entries[2] == AF_PY_BORDER);
	assert_int_equal(af_python_code(entries[3] >> 32)->first_line, 10);
	assert_int_equal((uint32_t)entries[3], 8);
	assert_true(entries[4] == AF_PY_BORDER);
	assert_int_equal(af_python_code(entries[0] >> 32)->version, 0x30e);

	/* An instruction that lies outside the code: the frame has not begun. */
	f1.instr = (const uint16_t *)((uintptr_t)inner.code - sizeof *inner.code);
	af_python_frames(entries, 16, &stop);
	assert_true((int32_t)entries[0] < 0);
	assert_true(entries[0] != AF_PY_BORDER);
}

/* The thread's own shim at the end is no border: no native call of the eval loop made it. */
static void chain_of_3_15_ends_in_the_base_of_the_thread(void **state)
{
	struct fake_code c = code(1005, 10, &name_a);
	struct fake_frame base = frame(NULL, 0, NULL, 3, 1);
	struct fake_frame shim = frame(NULL, 0, &base, 3, 1);
	struct fake_frame leaf = frame(&c, 3, &shim, 0, 1);
	uint64_t entries[16];
	enum af_stop stop;

	interpreter_is(0x030f02f0);
	offsets_of_315();
	assert_true(meet());
	tstate.frame = &leaf;
	assert_int_equal(af_python_frames(entries, 16, &stop), 2);
	assert_int_equal(stop, AF_STOP_COMPLETE);
	assert_int_equal((uint32_t)entries[0], 6);
	assert_int_equal(af_python_code(entries[0] >> 32)->version, 0x30f);
	assert_true(entries[1] == AF_PY_BORDER);

	/* A thread that runs no Python now. */
	tstate.frame = &base;
	assert_int_equal(af_python_frames(entries, 16, &stop), 0);
	assert_int_equal(stop, AF_STOP_COMPLETE);
}

static void thread_without_python_has_no_frames(void **state)
{
	uint64_t entries[4];
	enum af_stop stop = AF_STOP_BAD_FRAME;

	guard_start();
	assert_true(meet());
	assert_int_equal(af_python_frames(entries, 4, &stop), 0);
	assert_int_equal(stop, AF_STOP_COMPLETE);
	tstate_now = NULL;
	assert_int_equal(af_python_frames(entries, 4, &stop), 0);
	assert_int_equal(stop, AF_STOP_COMPLETE);
	tstate_now = (void *)0x10;
	assert_int_equal(af_python_frames(entries, 4, &stop), 0);
	assert_int_equal(stop, AF_STOP_UNREADABLE);
}

static void broken_chain_ends_with_its_reason(void **state)
{
	struct fake_code c = code(1004, 10, &name_a);
	struct fake_frame outer = frame(&c, 1, NULL, 0, 0);
	struct fake_frame leaf = frame(&c, 1, &outer, 0, 0);
	uint64_t entries[8];
	enum af_stop stop;

	guard_start();
	assert_true(meet());
	tstate.frame = &leaf;
	outer.executable = (uint64_t)&name_a;
	assert_int_equal(af_python_frames(entries, 8, &stop), 1);
	assert_int_equal(stop, AF_STOP_BAD_FRAME);
#ifndef AF_SANITIZED /* which has its shadow there */
	leaf.previous = (void *)0x100000000000;
	assert_int_equal(af_python_frames(entries, 8, &stop), 1);
	assert_int_equal(stop, AF_STOP_UNREADABLE);
#endif
	leaf.previous = &leaf;
	assert_in_range(af_python_frames(entries, 8, &stop), 7, 8);
	assert_int_equal(stop, AF_STOP_TOO_DEEP);
	assert_true(af_python_ready());
}

static void frames_that_never_make_sense_refuse_the_interpreter(void **state)
{
	struct fake_frame leaf = {.executable = (uint64_t)&name_a};
	uint64_t entries[8];
	enum af_stop stop;

	assert_true(meet());
	tstate.frame = &leaf;
	for (int i = 0; i < 1000 && af_python_ready(); i++)
		af_python_frames(entries, 8, &stop);
	assert_false(af_python_ready());
	assert_non_null(strstr(af_python_status(), "3.14.2"));
	assert_non_null(strstr(af_python_status(), "cannot be read"));
	assert_int_equal(af_python_frames(entries, 8, &stop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(unknown_version_says_so, start),
	    cmocka_unit_test_setup(free_threaded_interpreter_says_so, start),
	    cmocka_unit_test_setup(interpreter_that_contradicts_the_table_says_where, start),
	    cmocka_unit_test_setup(version_is_the_status_of_one_that_can_be_read, start),
	    cmocka_unit_test_setup(frames_of_3_14_are_read_through_their_tags, start),
	    cmocka_unit_test_setup(chain_of_3_15_ends_in_the_base_of_the_thread, start),
	    cmocka_unit_test_setup(thread_without_python_has_no_frames, start),
	    cmocka_unit_test_setup(broken_chain_ends_with_its_reason, start),
	    cmocka_unit_test_setup(frames_that_never_make_sense_refuse_the_interpreter, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
