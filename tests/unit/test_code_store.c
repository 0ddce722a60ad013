/* The code objects of a trace: by name, once each, and why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "sym/device/code_store.h"
#include "trace/write/objects.h"

struct store_fixture {
	char dir[32], elf[AF_SHA256_HEX], other[AF_SHA256_HEX], empty[AF_SHA256_HEX];
};

/* A trace that holds this program, what is no object, and nothing. */
static int store_setup(void **state)
{
	struct store_fixture *f = calloc(1, sizeof *f);
	struct af_file self;

	strcpy(f->dir, "/tmp/aflame-store-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	int fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(af_file_map(&self, "/proc/self/exe", NULL), 0);
	assert_int_equal(af_object_put(fd, self.data, self.size, f->elf), 0);
	assert_int_equal(af_object_put(fd, "text", 4, f->other), 0);
	assert_int_equal(af_object_put(fd, "", 0, f->empty), 0);
	af_file_unmap(&self);
	close(fd);
	*state = f;
	return 0;
}

static int store_teardown(void **state)
{
	struct store_fixture *f = *state;

	af_remove_tree(f->dir);
	free(f);
	return 0;
}

static void each_object_once(void **state)
{
	const struct store_fixture *f = *state;
	struct af_err err = {0};
	struct af_code_store *s;

	assert_int_equal(af_code_store_open(&s, f->dir, &err), 0);
	struct af_code *c = af_code_store_get(s, f->elf);
	assert_non_null(c);
	assert_ptr_equal(af_code_store_get(s, f->elf), c);
	assert_string_equal(af_code_store_reason(s, f->elf), "");
	assert_true(af_code_find(c, "main", 0) >= 0);
	af_code_store_close(s);
}

static void why_there_is_none(void **state)
{
	const struct store_fixture *f = *state;
	char absent[AF_SHA256_HEX];
	struct af_err err = {0};
	struct af_code_store *s;

	assert_int_equal(af_code_store_open(&s, f->dir, &err), 0);
	af_sha256_hex("x", 1, absent);
	assert_null(af_code_store_get(s, f->other));
	assert_string_equal(af_code_store_reason(s, f->other), "not an ELF file of 64 bits");
	assert_null(af_code_store_get(s, f->empty));
	assert_true(strlen(af_code_store_reason(s, f->empty)) > 0);
	assert_null(af_code_store_get(s, absent));
	assert_non_null(strstr(af_code_store_reason(s, absent), "No such file"));
	assert_null(af_code_store_get(s, "../../etc/passwd"));
	assert_string_equal(af_code_store_reason(s, "../../etc/passwd"),
	                    "that is no name of an object");
	assert_null(af_code_store_get(s, ""));
	assert_string_equal(af_code_store_reason(s, ""), "it was not kept");
	af_code_store_close(s);

	assert_int_equal(af_code_store_open(&s, "/nowhere/at/all", &err), -2);
	assert_null(s);
	af_code_store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(each_object_once, store_setup, store_teardown),
	    cmocka_unit_test_setup_teardown(why_there_is_none, store_setup, store_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
