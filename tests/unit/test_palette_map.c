/* Files of remembered colours: good, bad, shared and unwritable ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "render/svg/palette_map.h"

static int enter_folder(void **state)
{
	char name[] = "/tmp/palette-XXXXXX";

	*state = strdup(mkdtemp(name) ? name : "");
	return chdir(*state);
}

static int leave_folder(void **state)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
	free(*state);
	return chdir("/") || system(command);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static void assert_file(const char *path, const char *text)
{
	char got[4096] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	got[fread(got, 1, sizeof got - 1, f)] = 0;
	fclose(f);
	assert_string_equal(got, text);
}

static uint32_t keep(struct af_palette_map *m, const char *name, uint32_t rgb)
{
	return af_palette_map_keep(m, name, strlen(name), AF_FRAME_NATIVE, rgb);
}

static void a_name_keeps_its_first_color(void **state)
{
	struct af_palette_map m;

	assert_int_equal(af_palette_map_open(&m, "map", NULL), 0);
	assert_int_equal(keep(&m, "a", 0x010203), 0x010203);
	assert_int_equal(keep(&m, "a", 0x040506), 0x010203);
	assert_int_equal(keep(&m, "", 0xffffff), 0xffffff);
	assert_int_equal(af_palette_map_save(&m, NULL), 0);
	af_palette_map_close(&m);
	assert_file("map", "a->rgb(1,2,3)\n->rgb(255,255,255)\n");

	assert_int_equal(af_palette_map_open(&m, "map", NULL), 0);
	assert_int_equal(keep(&m, "a", 7), 0x010203);
	assert_int_equal(keep(&m, "b", 0), 0);
	assert_int_equal(af_palette_map_save(&m, NULL), 0);
	af_palette_map_close(&m);
	assert_file("map", "a->rgb(1,2,3)\n->rgb(255,255,255)\nb->rgb(0,0,0)\n");
}

static void kinds_are_names_of_their_own(void **state)
{
	struct af_palette_map m;

	assert_int_equal(af_palette_map_open(&m, "map", NULL), 0);
	assert_int_equal(af_palette_map_keep(&m, "read", 4, AF_FRAME_KERNEL, 1), 1);
	assert_int_equal(keep(&m, "read", 2), 2);
	assert_int_equal(keep(&m, "read_[k]", 3), 1);
	af_palette_map_close(&m);
}

static void what_flamegraph_pl_and_people_write_is_read(void **state)
{
	struct af_palette_map m;
	struct af_err err = {0};

	put("map",
	    "f(int)->rgb(255,0,16)\r\n\n\r\ng->#AbCdEf\nop->->rgb( 1 , 2,3 ) \ntwice->rgb(1,1,1)"
	    "\ntwice->rgb(2,2,2)\n->rgb(9,9,9)\nlast->rgb(4,5,6)");
	assert_int_equal(af_palette_map_open(&m, "map", &err), 0);
	assert_int_equal(keep(&m, "f<int>", 0), 0xff0010);
	assert_int_equal(keep(&m, "g", 0), 0xabcdef);
	assert_int_equal(keep(&m, "op->", 0), 0x010203);
	assert_int_equal(keep(&m, "twice", 0), 0x020202);
	assert_int_equal(keep(&m, "", 0), 0x090909);
	assert_int_equal(keep(&m, "last", 0), 0x040506);
	assert_int_equal(keep(&m, "new;\n", 0x0a0b0c), 0x0a0b0c);
	assert_int_equal(af_palette_map_save(&m, &err), 0);
	af_palette_map_close(&m);
	assert_int_equal(af_palette_map_open(&m, "map", &err), 0);
	assert_int_equal(keep(&m, "last", 0), 0x040506);
	assert_int_equal(keep(&m, "new;\n", 0), 0x0a0b0c);
	assert_int_equal(keep(&m, "new: ", 0), 0x0a0b0c);
	assert_int_equal(m.nr_added, 0);
	af_palette_map_close(&m);
	assert_int_equal(err.code, 0);
}

static void a_file_that_is_no_palette_is_left_alone(void **state)
{
	static const char *const bad[] = {
	    "junk",          "a->red",          "a->rgb(1,2,256)", "a->rgb(1,2)", "a->rgb(-1,2,3)",
	    "a->#12345",     "a->#12345g",      "a->rgb(1,2,3)x",  "a->",         "->",
	    "a->rgb(1,2,3,", "a->rgb(1,2,3)\\", "a->#+12345",      "-",           ">",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct af_palette_map m;
		struct af_err err = {0};
		char text[64];

		snprintf(text, sizeof text, "ok->rgb(1,2,3)\n\n%s\nok->rgb(1,2,3)\n", bad[i]);
		put("map", text);
		if (af_palette_map_open(&m, "map", &err) != -EINVAL)
			fail_msg("%s is taken for a colour", bad[i]);
		assert_memory_equal(err.msg, "map:3: ", 7);
		af_palette_map_close(&m);
		assert_file("map", text);
	}
	struct af_palette_map m;
	struct af_err err = {0};
	put("map", "\x1b[31m");
	assert_int_equal(af_palette_map_open(&m, "map", &err), -EINVAL);
	assert_null(strchr(err.msg, 0x1b));
	af_palette_map_close(&m);
}

static void what_is_no_file_is_refused(void **state)
{
	struct af_palette_map m;
	struct af_err err = {0};

	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(af_palette_map_open(&m, "folder", &err), -EISDIR);
	assert_int_equal(af_palette_map_open(&m, "pipe", &err), -EINVAL);
	assert_int_equal(af_palette_map_open(&m, "no/such/map", &err), 0);
	keep(&m, "a", 1);
	assert_int_equal(af_palette_map_save(&m, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no/such/map"));
	af_palette_map_close(&m);
}

static void a_link_is_followed_to_a_file_and_to_nothing_else(void **state)
{
	struct af_palette_map m;
	struct af_err err = {0};
	struct stat st;

	put("real", "a->rgb(1,2,3)\n");
	assert_int_equal(symlink("real", "good"), 0);
	assert_int_equal(symlink("nothing", "bad"), 0);
	assert_int_equal(af_palette_map_open(&m, "good", &err), 0);
	keep(&m, "b", 1);
	assert_int_equal(af_palette_map_save(&m, &err), 0);
	af_palette_map_close(&m);
	assert_int_equal(lstat("good", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_file("real", "a->rgb(1,2,3)\nb->rgb(0,0,1)\n");

	assert_int_equal(af_palette_map_open(&m, "bad", &err), 0);
	keep(&m, "b", 1);
	assert_int_equal(af_palette_map_save(&m, &err), -ENOENT);
	assert_int_equal(access("nothing", F_OK), -1);
	af_palette_map_close(&m);
}

/* 0: as expected; in a child, as it gives its rights up. */
static int read_only_child(void)
{
	struct af_palette_map m;

	if (geteuid() == 0 && seteuid(65534))
		return 2;
	if (af_palette_map_open(&m, "map", NULL) || keep(&m, "a", 0) != 0x010203)
		return 3;
	if (af_palette_map_save(&m, NULL)) /* nothing to add, nothing to fail */
		return 4;
	keep(&m, "b", 0);
	if (af_palette_map_save(&m, NULL) != -EACCES)
		return 5;
	af_palette_map_close(&m);
	return 0;
}

static void a_read_only_file_is_used_and_not_written(void **state)
{
	int status;

	put("map", "a->rgb(1,2,3)\n");
	assert_int_equal(chmod("map", 0444), 0);
	assert_int_equal(chmod(".", 0755), 0);
	pid_t child = fork();
	if (!child)
		_exit(read_only_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_file("map", "a->rgb(1,2,3)\n");
}

static void a_file_that_cannot_grow_stays_what_it_was(void **state)
{
	const struct rlimit small = {20, RLIM_INFINITY};
	struct af_palette_map m;
	struct rlimit before;
	struct af_err err = {0};

	put("map", "a->rgb(1,2,3)\n");
	assert_int_equal(af_palette_map_open(&m, "map", NULL), 0);
	keep(&m, "b", 0);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int rc = af_palette_map_save(&m, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -EFBIG);
	af_palette_map_close(&m);
	assert_file("map", "a->rgb(1,2,3)\n");
}

static void pictures_drawn_at_the_same_time_share_a_file(void **state)
{
	struct af_palette_map one, two;

	assert_int_equal(af_palette_map_open(&one, "map", NULL), 0);
	assert_int_equal(af_palette_map_open(&two, "map", NULL), 0);
	keep(&one, "both", 1);
	keep(&one, "first", 2);
	keep(&two, "both", 3);
	keep(&two, "second", 4);
	assert_int_equal(af_palette_map_save(&one, NULL), 0);
	assert_int_equal(af_palette_map_save(&two, NULL), 0);
	af_palette_map_close(&one);
	af_palette_map_close(&two);
	assert_file("map", "both->rgb(0,0,1)\nfirst->rgb(0,0,2)\nsecond->rgb(0,0,4)\n");
}

static void a_file_that_was_spoilt_meanwhile_is_left_alone(void **state)
{
	struct af_palette_map m;
	struct af_err err = {0};

	assert_int_equal(af_palette_map_open(&m, "map", NULL), 0);
	keep(&m, "a", 1);
	put("map", "something else\n");
	assert_int_equal(af_palette_map_save(&m, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "map:1: "));
	af_palette_map_close(&m);
	assert_file("map", "something else\n");
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_A_FOLDER(a_name_keeps_its_first_color),
	    IN_A_FOLDER(kinds_are_names_of_their_own),
	    IN_A_FOLDER(what_flamegraph_pl_and_people_write_is_read),
	    IN_A_FOLDER(a_file_that_is_no_palette_is_left_alone),
	    IN_A_FOLDER(what_is_no_file_is_refused),
	    IN_A_FOLDER(a_link_is_followed_to_a_file_and_to_nothing_else),
	    IN_A_FOLDER(a_read_only_file_is_used_and_not_written),
	    IN_A_FOLDER(a_file_that_cannot_grow_stays_what_it_was),
	    IN_A_FOLDER(pictures_drawn_at_the_same_time_share_a_file),
	    IN_A_FOLDER(a_file_that_was_spoilt_meanwhile_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
