#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/python/code.h"
#include "inject/python/layout.h"
#include "inject/python/python.h"
#include "inject/walk/guard.h"

/*
 * Objects as CPython 3.12 lays them out, as far as the copier looks. The test's "interpreter" is
 * this memory.
 */
struct fake_type {
	uint64_t head[3];
	const char *name;
};

struct fake_str {
	uint64_t refs;
	const struct fake_type *type;
	uint64_t length, hash;
	uint32_t state, pad;
	union {
		char ascii[64];
		struct {
			uint64_t utf8_length, utf8;
			char data[64];
		} compact;
	};
};

struct fake_bytes {
	uint64_t refs;
	const struct fake_type *type;
	uint64_t size, hash;
	uint8_t data[16];
};

struct fake_code {
	uint64_t refs;
	const struct fake_type *type;
	char before_line[52];
	int32_t first_line;
	char before_version[20];
	uint32_t version;
	uint64_t names, kinds;
	const struct fake_str *file, *name, *qualname;
	const struct fake_bytes *lines;
};

_Static_assert(offsetof(struct fake_code, first_line) == 68, "3.12");
_Static_assert(offsetof(struct fake_code, version) == 92, "3.12");
_Static_assert(offsetof(struct fake_code, lines) == 136, "3.12");

static const struct fake_type code_type = {.name = "code"}, str_type = {.name = "str"},
			      bytes_type = {.name = "bytes"}, int_type = {.name = "int"};
static struct fake_bytes lines = {.type = &bytes_type, .size = 3, .data = {0x80, 0, 0x88}};

enum { KIND_1 = 1 << 2, KIND_2 = 2 << 2, KIND_4 = 4 << 2, COMPACT = 1 << 5, ASCII = 1 << 6 };

static struct fake_str ascii(const char *text)
{
	struct fake_str s = {
	    .type = &str_type, .length = strlen(text), .state = KIND_1 | COMPACT | ASCII};

	memcpy(s.ascii, text, s.length + 1);
	return s;
}

static struct fake_str wide(const void *data, uint64_t length, unsigned kind)
{
	struct fake_str s = {.type = &str_type, .length = length, .state = kind << 2 | COMPACT};

	memcpy(s.compact.data, data, length * kind);
	return s;
}

static struct fake_code code(uint32_t version, int32_t first_line, const struct fake_str *name,
                             const struct fake_str *file)
{
	return (struct fake_code){.type = &code_type,
	                          .first_line = first_line,
	                          .version = version,
	                          .file = file,
	                          .qualname = name,
	                          .lines = &lines};
}

static uint32_t index_of(const struct fake_code *c)
{
	return af_py_code_index(af_py_layout(0x30c), (uint64_t)c);
}

static uint32_t next_version = 1;

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

static void code_is_copied_when_first_seen(void **state)
{
	struct fake_str name = ascii("Class.method"), file = ascii("/a/b.py");
	struct fake_code c = code(next_version++, 17, &name, &file);

	uint32_t i = index_of(&c);
	const struct af_py_code_copy *copy = af_python_code(i);
	assert_non_null(copy);
	memset(&name, 0, sizeof name);
	memset(&file, 0, sizeof file);
	assert_int_equal(copy->index, i);
	assert_int_equal(copy->version, 0x30c);
	assert_int_equal(copy->first_line, 17);
	assert_string_equal(copy->name, "Class.method");
	assert_string_equal(copy->file, "/a/b.py");
	assert_int_equal(copy->lines_len, 3);
	assert_memory_equal(copy->lines, lines.data, 3);
	assert_int_equal(index_of(&c), i);
}

static void another_code_at_the_same_address_is_another(void **state)
{
	struct fake_str name = ascii("first"), file = ascii("/a/b.py"), other = ascii("second");
	struct fake_code c = code(next_version++, 1, &name, &file);

	uint32_t i = index_of(&c);
	c = code(next_version++, 2, &other, &file);
	uint32_t j = index_of(&c);
	assert_int_not_equal(i, j);
	assert_string_equal(af_python_code(i)->name, "first");
	assert_string_equal(af_python_code(j)->name, "second");
	/* The file's name is kept once. */
	assert_ptr_equal(af_python_code(i)->file, af_python_code(j)->file);
}

static void names_of_every_kind_become_utf8(void **state)
{
	static const uint16_t ucs2[] = {0x540d, 0x524d, 'a'}, lone[] = {'x', 0xdc80, 'y'};
	static const uint32_t ucs4[] = {0x20000, 0xe9};
	struct fake_str file = ascii("f");
	struct {
		struct fake_str name;
		const char *utf8;
	} kinds[] = {
	    {ascii(""), ""},
	    {wide("caf\xe9", 4, 1), "caf\u00e9"},
	    {wide(ucs2, 3, 2), "\u540d\u524da"},
	    {wide(lone, 3, 2), "x\ufffdy"},
	    {wide(ucs4, 2, 4), "\U00020000\u00e9"},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct fake_code c = code(next_version++, 1, &kinds[i].name, &file);
		assert_string_equal(af_python_code(index_of(&c))->name, kinds[i].utf8);
	}
}

static void long_name_is_cut_at_a_character(void **state)
{
	enum { CHARS = 3000 };
	struct fake_str *name = calloc(1, sizeof *name + 2 * CHARS);
	struct fake_str file = ascii("f");

	*name = wide("", 0, 2);
	name->length = CHARS;
	for (int i = 0; i < CHARS; i++)
		((uint16_t *)name->compact.data)[i] = 0x540d;
	struct fake_code c = code(next_version++, 1, name, &file);
	const char *copy = af_python_code(index_of(&c))->name;
	assert_int_equal(strlen(copy), (AF_PY_NAME_MAX - 1) / 3 * 3);
	assert_string_equal(copy + strlen(copy) - 3, "\u540d");
	free(name);
}

static void string_that_is_not_compact_is_a_question_mark(void **state)
{
	struct fake_str name = ascii("legacy"), file = ascii("f");

	name.state = KIND_1 | ASCII;
	struct fake_code c = code(next_version++, 1, &name, &file);
	assert_string_equal(af_python_code(index_of(&c))->name, "?");
}

static void line_table_too_large_or_unreadable_is_empty(void **state)
{
	struct fake_str name = ascii("n"), file = ascii("f");
	guard_start();
	struct fake_bytes huge = {.type = &bytes_type, .size = AF_PY_LINES_MAX + 1};
	struct fake_code c = code(next_version++, 1, &name, &file);

	c.lines = &huge;
	assert_int_equal(af_python_code(index_of(&c))->lines_len, 0);
	c = code(next_version++, 1, &name, &file);
	c.lines = (void *)8;
	assert_int_equal(af_python_code(index_of(&c))->lines_len, 0);
}

static void what_is_no_code_object_has_no_index(void **state)
{
	struct fake_str name = ascii("n"), file = ascii("f");
	struct fake_code c = code(next_version++, 1, &name, &file);
	uint32_t before = af_python_nr_codes();

	guard_start();
	assert_int_equal(index_of(NULL), AF_PY_NO_CODE);
	assert_int_equal(index_of((void *)0x123456789000), AF_PY_NO_CODE);
	c.type = &int_type;
	assert_int_equal(index_of(&c), AF_PY_NO_CODE);
	c.type = NULL;
	assert_int_equal(index_of(&c), AF_PY_NO_CODE);
	/* A layout that is wrong shows in names that are no strings. */
	c.type = &code_type;
	c.qualname = c.file = (const void *)&lines;
	assert_int_equal(index_of(&c), AF_PY_NO_CODE);
	assert_int_equal(af_python_nr_codes(), before);
}

/* Threads and a handler that interrupts them meet the same code objects at once. */
enum { SHARED = 4000, THREADS = 4 };
static struct fake_code shared[SHARED];
static _Atomic uint32_t wrong, handled;

static void meet(uint32_t at)
{
	uint32_t i = index_of(&shared[at]);
	const struct af_py_code_copy *c = NULL;

	/* A code another thread is handing out holds back the ones after it for a moment. */
	for (int tries = 0; !c && tries < 100000000; tries++)
		c = af_python_code(i);
	wrong += !c || c->first_line != (int32_t)at || c->name[0] != 's';
}

static void on_tick(int signo)
{
	static _Atomic uint32_t at;
	uint32_t i = index_of(&shared[at++ % SHARED]);

	wrong += i == AF_PY_NO_CODE || i == 0;
	handled++;
}

static void *meet_all(void *arg)
{
	for (uint32_t i = 0; i < SHARED; i++)
		meet((uintptr_t)arg % 2 ? SHARED - 1 - i : i);
	return NULL;
}

static void threads_and_handlers_share_the_table(void **state)
{
	struct fake_str name = ascii("shared"), file = ascii("f");
	struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 500}, {0, 500}}, off = {0};
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < SHARED; i++)
		shared[i] = code(next_version++, (int32_t)i, &name, &file);
	sigaction(SIGALRM, &tick, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, meet_all, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (!handled)
		sched_yield();
	setitimer(ITIMER_REAL, &off, NULL);
	assert_int_equal(wrong, 0);
}

/* A fork stops every other thread where it is, perhaps with an index in hand. */
static _Atomic bool adding;
static struct fake_str forked_name, forked_file;

static void *add_until_reported(void *arg)
{
	struct fake_code c = code(0, 1, &forked_name, &forked_file);

	for (uint32_t version = 0x80000000u; adding && version < 0x80000000u + 20000; version++) {
		c.version = version;
		index_of(&c);
	}
	return NULL;
}

static int child_adds_a_code(void)
{
	struct fake_code c = code(0x70000000, 5, &forked_name, &forked_file);

	af_python_after_fork();
	const struct af_py_code_copy *copy = af_python_code(index_of(&c));
	return copy && copy->first_line == 5 ? 0 : 1;
}

static void forked_child_waits_for_no_thread_of_its_parent(void **state)
{
	pthread_t thread;
	int status;

	forked_name = ascii("forked");
	forked_file = ascii("f");
	adding = true;
	pthread_create(&thread, NULL, add_until_reported, NULL);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		if (!pid)
			_exit(child_adds_a_code());
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
	}
	adding = false;
	pthread_join(thread, NULL);
}

/* Last: nothing fits afterwards. */
static void code_objects_beyond_the_table_are_code_0(void **state)
{
	struct fake_str name = ascii("many"), file = ascii("f");
	struct fake_code c = code(0, 1, &name, &file), known;
	uint32_t i = 1, first = 0;

	known = code(next_version++, 1, &name, &file);
	first = index_of(&known);
	for (uint32_t n = 0; i && n < 1 << 20; n++) {
		c.version = next_version++;
		i = index_of(&c);
	}
	assert_int_equal(i, 0);
	assert_true(af_python_nr_codes() > 100000);
	assert_true(af_python_lost() >= 1);
	assert_string_equal(af_python_code(0)->file, "?");
	assert_int_equal(index_of(&known), first);
	assert_null(af_python_code(af_python_nr_codes()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(code_is_copied_when_first_seen),
	    cmocka_unit_test(another_code_at_the_same_address_is_another),
	    cmocka_unit_test(names_of_every_kind_become_utf8),
	    cmocka_unit_test(long_name_is_cut_at_a_character),
	    cmocka_unit_test(string_that_is_not_compact_is_a_question_mark),
	    cmocka_unit_test(line_table_too_large_or_unreadable_is_empty),
	    cmocka_unit_test(what_is_no_code_object_has_no_index),
	    cmocka_unit_test(threads_and_handlers_share_the_table),
	    cmocka_unit_test(forked_child_waits_for_no_thread_of_its_parent),
	    cmocka_unit_test(code_objects_beyond_the_table_are_code_0),
	};

	if (af_py_codes_open())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
