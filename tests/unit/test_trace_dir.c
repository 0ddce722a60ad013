#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "trace/read/contents.h"
#include "trace/write/objects.h"
#include "trace/write/session.h"
#include "trace_maker.h"

/* A directory of its own for each test. */
static int make_dir(void **state)
{
	char name[] = "/tmp/aflame-reader-XXXXXX";

	*state = mkdtemp(name) ? strdup(name) : NULL;
	return *state ? 0 : -1;
}

static int remove_dir(void **state)
{
	af_remove_tree(*state);
	free(*state);
	return 0;
}

static void put_file(const char *dir, const char *name, const void *data, size_t size)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(af_write_all(fd, data, size), 0);
	close(fd);
}

static void put_metadata(const char *dir)
{
	struct af_err err = {0};
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(af_metadata_write(fd, 5, 1000, NULL, &err), 0);
	close(fd);
}

static void assert_refused(const char *dir, int rc, const char *why)
{
	struct af_err err = {0};
	struct af_trace *t = NULL;

	assert_int_equal(af_trace_open(&t, dir, 0, &err), rc);
	assert_null(t);
	if (!strstr(err.msg, why))
		fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void directory_is_read_with_natural_order_of_names(void **state)
{
	const char *dir = *state;
	struct af_err err = {0};
	struct af_trace *t;
	struct af_event ev;
	struct made m;
	char path[300];

	put_metadata(dir);
	for (unsigned i = 1; i <= 11; i++) {
		char name[16];
		snprintf(name, sizeof name, "s%u", i);
		maker_samples(&m, i, 2, 3, 1000, 0);
		put_file(dir, name, m.data, m.size);
		free(m.data);
	}
	put_file(dir, ".session", "x", 1);
	put_file(dir, "empty", "", 0);
	snprintf(path, sizeof path, "%s/objects", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/link", dir);
	assert_int_equal(symlink("s1", path), 0);

	assert_int_equal(af_trace_open(&t, dir, 0, &err), 0);
	assert_int_equal(af_trace_nr_streams(t), 12);
	for (unsigned i = 0; i < 66; i++) {
		assert_true(af_trace_next(t, &ev));
		/* "empty" sorts before "s1". */
		assert_int_equal(ev.stream, 1 + i / 6);
		assert_int_equal(ev.process, 2 + i / 6);
	}
	assert_false(af_trace_next(t, &ev));
	assert_string_equal(af_trace_env(t, "tracer_name"), "aflame");
	assert_string_equal(af_trace_env(t, "aflame_version"), AFLAME_VERSION);
	assert_null(af_trace_env(t, "no such key"));
	af_trace_close(t);
}

static void a_stream_that_is_cut_while_it_is_read_costs_its_end(void **state)
{
	struct af_err err = {0};
	struct af_trace *t;
	struct af_event ev;
	struct made m;
	char path[300];
	unsigned nr = 0;

	put_metadata(*state);
	maker_samples(&m, 1, 1, 100000, 1000, 1);
	put_file(*state, "s1", m.data, m.size);
	free(m.data);
	snprintf(path, sizeof path, "%s/s1", (const char *)*state);
	assert_int_equal(af_trace_open(&t, *state, 0, &err), 0);
	for (; nr < 1000; nr++)
		assert_true(af_trace_next(t, &ev));
	assert_int_equal(truncate(path, (off_t)m.size / 2), 0);
	while (af_trace_next(t, &ev)) {
		assert_int_equal(ev.kind, AF_KIND_SAMPLE);
		nr++;
	}
	assert_in_range(nr, 40000, 50000);
	assert_true(af_trace_damage(t)->bytes > 0);
	assert_string_equal(af_file_cut(), path);
	af_trace_close(t);
}

static void objects_are_read_through_the_trace(void **state)
{
	struct af_err err = {0};
	char name[AF_SHA256_HEX];
	struct af_trace *t;
	struct af_file f;
	int fd = open(*state, O_RDONLY | O_DIRECTORY);

	put_metadata(*state);
	assert_int_equal(af_object_put(fd, "code", 4, name), 0);
	close(fd);
	assert_int_equal(af_trace_open(&t, *state, 0, &err), 0);
	assert_int_equal(af_trace_object(t, name, &f, &err), 0);
	assert_int_equal(f.size, 4);
	assert_memory_equal(f.data, "code", 4);
	af_file_unmap(&f);
	assert_int_equal(af_trace_object(t, "../metadata", &f, &err), -EINVAL);
	af_trace_close(t);
}

static void what_is_no_trace_is_refused_with_the_reason(void **state)
{
	const char *dir = *state;
	char path[300];

	snprintf(path, sizeof path, "%s/nothing", dir);
	assert_refused(path, -ENOENT, "run `aflame record -- CMD` first");
	put_file(dir, "file", "x", 1);
	snprintf(path, sizeof path, "%s/file", dir);
	assert_refused(path, -ENOTDIR, "is a file, and a trace is a directory");
	assert_refused(dir, -ENOENT, "has no file named metadata");
	put_file(dir, ".session", "", 0);
	assert_refused(dir, -EBUSY, "is not finished");
	put_file(dir, "metadata", "", 0);
	assert_refused(dir, -EINVAL, "not CTF 1.8 text");
	put_file(dir, "metadata", "\x57\x1d\xd1\x75 packets", 12);
	assert_refused(dir, -EINVAL, "not CTF 1.8 text");
}

static void foreign_and_newer_traces_are_refused(void **state)
{
	static const char foreign[] =
	    "/* CTF 1.8 */ env { hostname = \"env { aflame_trace_version = 1; }\"; };";
	static const char newer[] = "/* CTF 1.8 */\n/* env { x = 1; } */ env{aflame_version="
				    "\"9.1\";aflame_trace_version=99;};";

	put_file(*state, "metadata", foreign, sizeof foreign - 1);
	assert_refused(*state, -EINVAL, "not of aflame: read it with babeltrace2");
	put_file(*state, "metadata", newer, sizeof newer - 1);
	assert_refused(*state, -EPROTONOSUPPORT, "version 99 (written by aflame 9.1)");
	assert_refused(*state, -EPROTONOSUPPORT, "reads up to version 1: upgrade aflame");
}

static void cut_metadata_is_refused_or_read(void **state)
{
	struct af_buf b = {0};
	struct af_env env;

	af_metadata_text(&b, 5, 1000, "ho\"st");
	for (size_t len = 0; len <= b.len; len++) {
		/* A copy that ends where the text does, so that a sanitizer sees an overrun. */
		char *text = malloc(len + !len);
		memcpy(text, b.data, len);
		int rc = af_metadata_read(&env, text, len, "x", NULL);
		if (!rc)
			assert_string_equal(af_env_get(&env, "hostname"), "ho_st");
		assert_true(rc == 0 || rc == -EINVAL);
		af_env_free(&env);
		free(text);
	}
	assert_int_equal(af_metadata_read(&env, b.data, b.len, "x", NULL), 0);
	af_env_free(&env);
	af_buf_free(&b);
}

static const char object[] =
    "objects/5555555555555555555555555555555555555555555555555555555555555555";

/* All that a trace ever holds; what it does not is found by its name, and keeps all of it there. */
static void what_no_trace_holds_is_found_and_kept(void **state)
{
	static const char *const folders[] = {"objects", ".live.7", ".live.tmp", ".live.7/objects"};
	static const char *const files[] = {
	    "metadata",      ".metadata.new", "recorder",     "recovered",  "snapshot",
	    "symbols",       ".segment",      ".symbols.tmp", ".session",   ".session.new",
	    ".watched",      ".origin",       "s0",           "s12-3",      "s12-3.45",
	    "thread-3",      "run-0",         "samples-12",   ".live.7/s0", object,
	    "objects/.12-3",
	};
	static const char *const strays[] = {
	    "s",     "s1-",      "s1.x",      "s1-2.old",      "recorder.txt",    "thread-",
	    "notes", ".origin~", "objects/x", ".live.7/notes", ".live.7/.live.x", ".live.x",
	};
	char stray[AF_STRAY_SIZE], path[300];
	int dir = open(*state, O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		assert_int_equal(mkdirat(dir, folders[i], 0700), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		put_file(*state, files[i], "", 0);
	assert_int_equal(af_trace_stray(dir, stray), 0);
	for (size_t i = 0; i < sizeof strays / sizeof *strays; i++) {
		put_file(*state, strays[i], "", 0);
		assert_int_equal(af_trace_stray(dir, stray), 1);
		assert_string_equal(stray, strays[i]);
		assert_int_equal(af_trace_clear(dir), -ENOTEMPTY);
		assert_int_equal(faccessat(dir, object, F_OK, 0), 0);
		assert_int_equal(unlinkat(dir, strays[i], 0), 0);
	}
	/* Files with the name of a part that are none. */
	assert_int_equal(symlinkat("/", dir, "s7"), 0);
	assert_int_equal(af_trace_stray(dir, stray), 1);
	assert_int_equal(unlinkat(dir, "s7", 0), 0);
	assert_int_equal(mkdirat(dir, "s7", 0700), 0);
	assert_int_equal(af_trace_clear(dir), -ENOTEMPTY);
	assert_int_equal(unlinkat(dir, "s7", AT_REMOVEDIR), 0);
	assert_int_equal(af_trace_clear(dir), 0);
	snprintf(path, sizeof path, "%s", (char *)*state);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	close(dir);
}

static void a_folder_of_ranks_holds_traces_of_ranks_alone(void **state)
{
	static const char *const folders[] = {"rank-0007", "rank-0007.old", "rank-0007.3",
	                                      "rank-0007.3.tmp"};
	static const char *const strays[] = {"rank-0007.bak", "rank-", "rank-x", "metadata", "s0"};
	char stray[AF_STRAY_SIZE];
	int dir = open(*state, O_RDONLY | O_DIRECTORY);

	put_file(*state, AF_JOB_FILE, "aflame job x", 12);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		assert_int_equal(mkdirat(dir, folders[i], 0700), 0);
	put_file(*state, "rank-0007/s0", "", 0);
	assert_int_equal(af_trace_stray(dir, stray), 0);
	for (size_t i = 0; i < sizeof strays / sizeof *strays; i++) {
		assert_int_equal(mkdirat(dir, strays[i], 0700), 0);
		assert_int_equal(af_trace_stray(dir, stray), 1);
		assert_string_equal(stray, strays[i]);
		assert_int_equal(unlinkat(dir, strays[i], AT_REMOVEDIR), 0);
	}
	put_file(*state, "rank-0007.old/mine", "", 0);
	assert_int_equal(af_trace_stray(dir, stray), 1);
	assert_string_equal(stray, "rank-0007.old/mine");
	close(dir);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    /* The first: cmocka takes SIGBUS' handler away at the end of a test. */
	    ON_DISK(a_stream_that_is_cut_while_it_is_read_costs_its_end),
	    ON_DISK(directory_is_read_with_natural_order_of_names),
	    ON_DISK(objects_are_read_through_the_trace),
	    ON_DISK(what_is_no_trace_is_refused_with_the_reason),
	    ON_DISK(foreign_and_newer_traces_are_refused),
	    ON_DISK(what_no_trace_holds_is_found_and_kept),
	    ON_DISK(a_folder_of_ranks_holds_traces_of_ranks_alone),
	    cmocka_unit_test(cut_metadata_is_refused_or_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
