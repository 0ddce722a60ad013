#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "sym/module/cache.h"

enum { KEY = 77 };

static char dir[64];
static const uint8_t id[] = {0xab, 0xcd, 0xef, 0x01, 0x23};

static const char file_path[] = "aflame/symbols-3/abcdef0123-000000000000004d";

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/aflame-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	return af_remove_tree(dir);
}

/* Answers for @nr addresses from @first on, every @step; named after them. */
struct series {
	uint64_t first, step;
	uint32_t nr, at;
	char name[32];
};

static bool series_next(void *arg, uint64_t *vaddr, struct af_sym_answer *a)
{
	struct series *s = arg;

	if (s->at == s->nr)
		return false;
	*vaddr = s->first + s->at++ * s->step;
	snprintf(s->name, sizeof s->name, "f%llx", (unsigned long long)*vaddr);
	*a = (struct af_sym_answer){.source = AF_SYMBOL_DWARF, .nr = 2};
	a->frames[0] = (struct af_sym_frame){"inlined", "/src/a.c", (uint32_t)*vaddr};
	a->frames[1] = (struct af_sym_frame){s->name, NULL, 0, "/src/a.h", (uint32_t)*vaddr + 1};
	a->symbol_known = *vaddr % 3 != 0;
	a->symbol_offset = *vaddr % 3 == 1 ? *vaddr : UINT64_C(1) << 33; /* too large to keep */
	if (*vaddr % 5 == 0)
		*a = (struct af_sym_answer){.source = AF_SYMBOL_NO_SYMBOL};
	return true;
}

static void save(uint64_t key, struct series s)
{
	struct af_cache c;
	struct af_cache_names n;

	af_cache_open(&c, dir);
	assert_true(c.dirfd >= 0);
	af_cache_load(&c, &n, id, sizeof id, key);
	af_cache_save(&c, &n, series_next, &s);
	af_cache_unload(&n);
	af_cache_close(&c);
}

/* How many of @s are there, each as it was saved. */
static uint32_t count(uint64_t key, struct series s)
{
	struct af_cache c;
	struct af_cache_names n;
	struct af_sym_answer a, want;
	uint64_t vaddr;
	uint32_t nr = 0;

	af_cache_open(&c, dir);
	af_cache_load(&c, &n, id, sizeof id, key);
	while (series_next(&s, &vaddr, &want)) {
		if (!af_cache_find(&n, vaddr, &a))
			continue;
		nr++;
		assert_int_equal(a.source, want.source);
		assert_int_equal(a.nr, want.nr);
		assert_int_equal(a.symbol_known, want.nr && vaddr % 3 == 1);
		assert_int_equal(a.symbol_offset, a.symbol_known ? want.symbol_offset : 0);
		for (uint32_t i = 0; i < a.nr; i++) {
			assert_int_equal(a.frames[i].source_line, want.frames[i].source_line);
			if (i == 1)
				assert_string_equal(a.frames[i].source, want.frames[i].source);
			else
				assert_null(a.frames[i].source);
			assert_string_equal(a.frames[i].function, want.frames[i].function);
			assert_int_equal(a.frames[i].line, want.frames[i].line);
			if (want.frames[i].file)
				assert_string_equal(a.frames[i].file, want.frames[i].file);
			else
				assert_null(a.frames[i].file);
		}
	}
	af_cache_unload(&n);
	af_cache_close(&c);
	return nr;
}

static void what_is_kept_is_found_again(void **state)
{
	struct series s = {0x1000, 3, 1000, 0, ""}, other = {0x1001, 3, 1000, 0, ""};

	assert_int_equal(count(KEY, s), 0);
	save(KEY, s);
	assert_int_equal(count(KEY, s), 1000);
	assert_int_equal(count(KEY, other), 0);
	assert_int_equal(count(KEY + 1, s), 0);
}

static void what_is_new_joins_what_was_known(void **state)
{
	struct series odd = {0x1001, 2, 500, 0, ""}, even = {0x1000, 2, 500, 0, ""};
	struct series late = {0x5000, 1, 10, 0, ""}, again = {0x1200, 1, 50, 0, ""};

	save(KEY, odd);
	save(KEY, even);
	save(KEY, late);
	save(KEY, again);
	assert_int_equal(count(KEY, odd), 500);
	assert_int_equal(count(KEY, even), 500);
	assert_int_equal(count(KEY, late), 10);
	/* Names of another key are not joined, and do not take their place. */
	save(KEY + 1, late);
	assert_int_equal(count(KEY + 1, late), 10);
	assert_int_equal(count(KEY + 1, even), 0);
	assert_int_equal(count(KEY, even), 500);
}

static void damage_costs_the_names_and_nothing_else(void **state)
{
	struct series s = {0x1000, 7, 20, 0, ""};
	char path[128];
	struct af_file f;

	save(KEY, s);
	snprintf(path, sizeof path, "%s/%s", dir, file_path);
	assert_int_equal(af_file_map(&f, path, NULL), 0);
	char *copy = malloc(f.size);
	memcpy(copy, f.data, f.size);
	size_t size = f.size;
	af_file_unmap(&f);
	for (size_t at = 0; at < size; at++) {
		int fd = open(path, O_WRONLY);
		char byte = (char)(copy[at] ^ 0x40);

		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		assert_int_equal(count(KEY, s), 0);
		assert_int_equal(pwrite(fd, &copy[at], 1, (off_t)at), 1);
		close(fd);
	}
	assert_int_equal(count(KEY, s), 20);
	for (size_t len = 0; len < size; len += 11) {
		assert_int_equal(truncate(path, (off_t)len), 0);
		assert_int_equal(count(KEY, s), 0);
	}
	/* And it is made anew. */
	save(KEY, s);
	assert_int_equal(count(KEY, s), 20);
	free(copy);
}

static void a_cache_that_others_can_write_to_is_not_used(void **state)
{
	struct series s = {0x1000, 1, 5, 0, ""};
	struct af_cache c;
	char path[128], target[128];
	struct stat st;

	save(KEY, s);
	snprintf(path, sizeof path, "%s/aflame/symbols-3", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	snprintf(target, sizeof target, "%s/%s", dir, file_path);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(chmod(path, 0777), 0);
	af_cache_open(&c, dir);
	assert_int_equal(c.dirfd, -1);
	assert_int_equal(count(KEY, s), 0);
	assert_int_equal(chmod(path, 0700), 0);

	/* Nor what a link leads to. */
	char moved[128];
	snprintf(moved, sizeof moved, "%s/moved", dir);
	assert_int_equal(rename(target, moved), 0);
	assert_int_equal(symlink(moved, target), 0);
	assert_int_equal(count(KEY, s), 0);
	/* Saving replaces the link and not what it leads to. */
	save(KEY, s);
	assert_int_equal(lstat(target, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(count(KEY, s), 5);
}

static void a_cache_that_cannot_be_is_none(void **state)
{
	struct af_cache c;
	struct af_cache_names n;
	struct series s = {0x1000, 1, 5, 0, ""};

	af_cache_open(&c, "/dev/null");
	assert_int_equal(c.dirfd, -1);
	af_cache_load(&c, &n, id, sizeof id, KEY);
	af_cache_save(&c, &n, series_next, &s);
	af_cache_unload(&n);
	af_cache_close(&c);
}

/* Large files, the older the smaller their number: the oldest go. */
static void the_oldest_names_give_way(void **state)
{
	struct af_cache c;
	char path[160];

	af_cache_open(&c, dir);
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof path, "%s/aflame/symbols-3/%02d", dir, i);
		int fd = open(path, O_WRONLY | O_CREAT, 0600);
		struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};

		assert_int_equal(ftruncate(fd, 100 << 20), 0); /* a hole */
		assert_int_equal(futimens(fd, times), 0);
		close(fd);
	}
	af_cache_close(&c);
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof path, "%s/aflame/symbols-3/%02d", dir, i);
		assert_int_equal(access(path, F_OK) == 0, i >= 3);
	}
}

int main(void)
{
#define cache_test(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)
	const struct CMUnitTest tests[] = {
	    cache_test(what_is_kept_is_found_again),
	    cache_test(what_is_new_joins_what_was_known),
	    cache_test(damage_costs_the_names_and_nothing_else),
	    cache_test(a_cache_that_others_can_write_to_is_not_used),
	    cache_test(a_cache_that_cannot_be_is_none),
	    cache_test(the_oldest_names_give_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
