#include "sym/lines/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/fs.h"

static char root[] = "/tmp/aflame-source-XXXXXX";

static const char *path(const char *name)
{
	static char text[4][512];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(text[turn], sizeof text[turn], "%s/%s", root, name);
	return text[turn];
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(path(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	if (!mkdtemp(root))
		return -1;
	mkdir(path("a"), 0700);
	mkdir(path("a/b"), 0700);
	put("a/b/c.cu", "one\r\ntwo\n\nfour");
	put("a/x.h", "header\n");
	put("secret", "key\n");
	put("secret.pem", "key\n");
	put("empty.py", "");
	return 0;
}

static int teardown(void **state)
{
	return af_remove_tree(root);
}

static void expect_line(struct af_source *s, const char *file, uint32_t line, const char *text)
{
	size_t len = 0;
	const char *found = af_source_line(s, file, line, &len);

	if (!text) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(found, text, len);
}

static void lines_are_those_of_the_file(void **state)
{
	struct af_source *s;

	af_source_open(&s, NULL, true);
	expect_line(s, path("a/b/c.cu"), 0, NULL);
	expect_line(s, path("a/b/c.cu"), 1, "one");
	expect_line(s, path("a/b/c.cu"), 2, "two");
	expect_line(s, path("a/b/c.cu"), 3, "");
	expect_line(s, path("a/b/c.cu"), 4, "four");
	expect_line(s, path("a/b/c.cu"), 5, NULL);
	expect_line(s, path("a/b/c.cu"), UINT32_MAX, NULL);
	expect_line(s, path("empty.py"), 1, NULL);
	assert_non_null(af_source_where(s, path("empty.py")));
	assert_null(af_source_where(s, path("a/b/none.cu")));
	assert_null(af_source_where(s, ""));
	af_source_close(s);
	af_source_close(NULL);
}

static void moved_files_are_found_by_the_end_of_their_path(void **state)
{
	struct af_source *s;
	char dirs[1200];

	snprintf(dirs, sizeof dirs, ":/nonexistent:%s:%s:", path("a"), root);
	af_source_open(&s, dirs, true);
	assert_string_equal(af_source_where(s, "/build/b/c.cu"), path("a/b/c.cu"));
	assert_string_equal(af_source_where(s, "b/c.cu"), path("a/b/c.cu"));
	assert_string_equal(af_source_where(s, "/elsewhere/x.h"), path("a/x.h"));
	assert_string_equal(af_source_where(s, "/build/a/x.h"), path("a/x.h"));
	assert_string_equal(af_source_where(s, "../../x.h"), path("a/x.h"));
	assert_null(af_source_where(s, "/build/c.cu"));
	af_source_close(s);
}

/* A trace could name any file, and a report is handed on. */
static void only_sources_are_read(void **state)
{
	struct af_source *s;

	af_source_open(&s, root, true);
	assert_null(af_source_where(s, path("secret")));
	assert_null(af_source_where(s, path("secret.pem")));
	assert_null(af_source_where(s, path("a.cu/secret")));
	assert_null(af_source_where(s, root));
	symlink("/dev/zero", path("zero.c"));
	mkfifo(path("fifo.c"), 0600);
	mkdir(path("dir.c"), 0700);
	assert_null(af_source_where(s, path("zero.c")));
	assert_null(af_source_where(s, path("fifo.c")));
	assert_null(af_source_where(s, path("dir.c")));
	int fd = creat(path("large.c"), 0600);
	assert_int_equal(ftruncate(fd, AF_SOURCE_MOST + 1), 0);
	close(fd);
	assert_null(af_source_where(s, path("large.c")));
	af_source_close(s);
}

/* Links among sources lead to sources; below a directory that was named, none leads out of it. */
static void links_lead_to_sources_alone(void **state)
{
	struct af_source *s;

	assert_int_equal(symlink(path("secret"), path("a/steals.cu")), 0);
	assert_int_equal(symlink(path("a/x.h"), path("a/leads.h")), 0);
	assert_int_equal(symlink("..", path("a/up")), 0);
	af_source_open(&s, NULL, true);
	assert_null(af_source_where(s, path("a/steals.cu")));
	expect_line(s, path("a/leads.h"), 1, "header");
	af_source_close(s);

	put("beside.h", "beside\n");
	af_source_open(&s, path("a"), false);
	expect_line(s, "/build/b/c.cu", 1, "one");
	assert_null(af_source_where(s, "/build/up/beside.h"));
	assert_null(af_source_where(s, "/build/../beside.h"));
	assert_null(af_source_where(s, path("beside.h")));
	af_source_close(s);
}

static void a_trace_from_elsewhere_names_no_file_here(void **state)
{
	struct af_source *s;

	af_source_open(&s, NULL, false);
	assert_null(af_source_where(s, path("a/b/c.cu")));
	assert_true(af_source_is_withheld(s, path("a/b/c.cu")));
	assert_false(af_source_is_withheld(s, path("secret")));
	af_source_close(s);
	af_source_open(&s, root, false);
	expect_line(s, path("a/b/c.cu"), 1, "one");
	assert_false(af_source_is_withheld(s, path("none.cu")));
	af_source_close(s);
}

/* A copy stands for a file only where that is gone. */
static void a_copy_stands_for_a_file_that_is_gone(void **state)
{
	struct af_source *s;
	struct af_file text;

	af_source_open(&s, NULL, true);
	assert_int_equal(af_file_map(&text, path("secret"), NULL), 0);
	af_source_bind(s, "/gone/tempfile_x.cl", &text);
	expect_line(s, "/gone/tempfile_x.cl", 1, "key");
	assert_int_equal(af_file_map(&text, path("secret"), NULL), 0);
	af_source_bind(s, path("a/x.h"), &text);
	expect_line(s, path("a/x.h"), 1, "header");
	af_source_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_those_of_the_file),
	    cmocka_unit_test(moved_files_are_found_by_the_end_of_their_path),
	    cmocka_unit_test(only_sources_are_read),
	    cmocka_unit_test(links_lead_to_sources_alone),
	    cmocka_unit_test(a_trace_from_elsewhere_names_no_file_here),
	    cmocka_unit_test(a_copy_stands_for_a_file_that_is_gone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
