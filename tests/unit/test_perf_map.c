/* The text that run-time compilers write about a process: /tmp/perf-PID.map. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"
#include "sym/jit/jit.h"
#include "sym/resolve/task.h"
#include "sym/sym.h"
#include "trace/metadata.h"
#include "trace/read/reader.h"
#include "trace/write/stream.h"

static char dir[64];

static int dir_make(void **state)
{
	strcpy(dir, "/tmp/aflame-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int dir_drop(void **state)
{
	return af_remove_tree(dir);
}

/* The map of process 77 in the test's directory. */
static void write_map(const char *text)
{
	char path[128];

	snprintf(path, sizeof path, "%s/perf-77.map", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int open_map(struct af_jit *j, const char *path, const struct af_jit_trust *trust)
{
	*j = (struct af_jit){0};
	scope_close int fd = af_jit_open_path(path);
	return fd < 0 ? fd : af_jit_open(j, fd, trust);
}

static void jit_code_is_named_by_the_last_line_for_it(void **state)
{
	struct af_jit j;
	char path[128];
	struct af_jit_trust trust = {.owners = {geteuid()}, .nr_owners = 1};

	write_map("1000 100 first one\n"
	          "not a line\n"
	          "-1 10 negative\n"
	          "2000 0 nothing\n"
	          "10000000000000000 1 too large\n"
	          "1080 10 py::second:/a b.py\n"
	          "ffffffffffffff00 fff end of memory\n"
	          "3000 10 no newline");
	snprintf(path, sizeof path, "%s/perf-77.map", dir);
	assert_int_equal(open_map(&j, path, &trust), 0);
	assert_int_equal(j.nr, 5);
	assert_string_equal(af_jit_find(&j, 0x1000)->name, "first one");
	assert_string_equal(af_jit_find(&j, 0x1085)->name, "py::second:/a b.py");
	assert_string_equal(af_jit_find(&j, 0x10ff)->name, "first one");
	assert_null(af_jit_find(&j, 0x1100));
	assert_null(af_jit_find(&j, 0x2000));
	assert_string_equal(af_jit_find(&j, 0x3005)->name, "no newline");
	assert_string_equal(af_jit_find(&j, UINT64_MAX - 1)->name, "end of memory");
	af_jit_close(&j);
}

static void a_jit_map_of_another_is_not_believed(void **state)
{
	struct af_jit j;
	char path[128], other[128];
	struct stat st;

	write_map("1000 100 name\n");
	snprintf(path, sizeof path, "%s/perf-77.map", dir);
	snprintf(other, sizeof other, "%s/link", dir);
	assert_int_equal(stat(path, &st), 0);

	struct af_jit_trust stranger = {.owners = {st.st_uid + 1}, .nr_owners = 1};
	assert_int_equal(open_map(&j, path, &stranger), -EPERM);
	struct af_jit_trust later = {.owners = {st.st_uid},
	                             .nr_owners = 1,
	                             .not_before_ns = ((uint64_t)st.st_mtime + 2) * 1000000000u};
	assert_int_equal(open_map(&j, path, &later), -ESTALE);
	later.not_before_ns = 0;
	assert_int_equal(symlink(path, other), 0);
	assert_int_equal(open_map(&j, other, &later), -ELOOP);
	assert_null(af_jit_find(&j, 0x1000));
	assert_int_equal(open_map(&j, path, &later), 0);
	assert_non_null(af_jit_find(&j, 0x1000));
	af_jit_close(&j);
}

/* The newest lines count, and what they cost does not depend on who wrote how many. */
static void of_a_map_that_is_too_large_the_end_is_read(void **state)
{
	enum { LINES = (1 << 20) + 5000 };
	const struct af_jit_trust trust = {.owners = {geteuid()}, .nr_owners = 1};
	struct af_jit j;
	char path[128];

	(void)state;
	write_map("");
	snprintf(path, sizeof path, "%s/perf-77.map", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (unsigned i = 0; i < LINES; i++)
		fprintf(f, "%x 10 code_%u%s\n", 0x1000 + i * 16, i, i < 5000 ? "_old" : "");
	fclose(f);
	assert_int_equal(open_map(&j, path, &trust), 0);
	assert_int_equal(j.nr, 1 << 20);
	assert_true(j.left_out > 5000 * 10 && j.left_out < 5000 * 40);
	assert_null(af_jit_find(&j, 0x1008));
	assert_string_equal(af_jit_find(&j, 0x1000 + 5000 * 16)->name, "code_5000");
	assert_string_equal(af_jit_find(&j, 0x1008 + (LINES - 1) * 16)->name, "code_1053575");
	af_jit_close(&j);
}

static void code_outside_all_files_is_looked_up_in_the_jit_map(void **state)
{
	uint64_t pcs[] = {0x1010, 0x9000};
	struct af_sym_task *task = af_sym_task_open();
	struct af_stream stream;
	struct af_search_paths search_paths = {.perf_dir = dir,
	                                       .trust = {.owners = {geteuid()}, .nr_owners = 1}};

	write_map("1000 100 hot loop\n");
	af_sym_task_process(task, 1, 0, 77, 0, "");
	af_sym_task_stack(task, 1, 0, 0, (const uint8_t *)pcs, 2);
	af_sym_task_stack(task, 2, 0, 0, (const uint8_t *)pcs,
	                  2);                       /* another process, without a map */
	af_sym_task_process(task, 3, 1, 78, 0, ""); /* forked, with the code of its parent */
	af_sym_task_stack(task, 3, 0, 0, (const uint8_t *)pcs, 2);
	af_sym_task_run(task, &search_paths, NULL, NULL);
	assert_int_equal(af_sym_task_nr(task), 6);

	/* The stream says process 1, but what counts is in the events. */
	scope_close int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(af_metadata_write(dirfd, 0, 0, NULL, NULL), 0);
	assert_int_equal(af_stream_open_file(&stream, af_create_private(dirfd, "s1-1"), 1, 1), 0);
	af_sym_task_write(task, &stream, 5);
	af_sym_task_close(task);
	assert_int_equal(af_stream_close(&stream), 0);

	struct af_trace *t;
	struct af_event ev;
	struct af_ev_symbol symbol;
	struct af_tail_view tails[AF_TAILS_MAX];
	uint32_t nr = 0, nr_jit = 0;
	assert_int_equal(af_trace_open(&t, dir, 1ull << AF_KIND_SYMBOL, NULL), 0);
	while (af_trace_next(t, &ev)) {
		assert_true(af_event_decode(&ev, &symbol, sizeof symbol, tails));
		bool jit = symbol.process != 2 && symbol.address == 0x1010;
		assert_int_equal(symbol.source, jit ? AF_SYMBOL_JIT : AF_SYMBOL_NO_MODULE);
		assert_int_equal(tails[0].len, jit ? 3 : 0);
		nr_jit += jit;
		nr++;
	}
	af_trace_close(t);
	assert_int_equal(nr, 6);
	assert_int_equal(nr_jit, 2);
}

int main(void)
{
#define map_test(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_drop)
	const struct CMUnitTest tests[] = {
	    map_test(jit_code_is_named_by_the_last_line_for_it),
	    map_test(a_jit_map_of_another_is_not_believed),
	    map_test(of_a_map_that_is_too_large_the_end_is_read),
	    map_test(code_outside_all_files_is_looked_up_in_the_jit_map),
	};
	setenv("XDG_CACHE_HOME", "/dev/null", 1); /* none */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
