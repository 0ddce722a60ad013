#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/resolve/kernel.h"

static char path[64];

static int make_path(void **state)
{
	strcpy(path, "/tmp/aflame-test-XXXXXX");
	int fd = mkstemp(path);

	close(fd);
	return fd < 0;
}

static int drop_path(void **state)
{
	return unlink(path);
}

static int open_text(struct af_kernel *k, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return af_kernel_open(k, path);
}

static void assert_symbol(const struct af_kernel *k, uint64_t address, const char *name,
                          const char *module)
{
	const struct af_kernel_symbol *s = af_kernel_find(k, address);

	if (!name) {
		assert_null(s);
		return;
	}
	assert_non_null(s);
	assert_string_equal(s->name, name);
	assert_string_equal(s->module, module);
}

static void an_address_belongs_to_the_symbol_before_it(void **state)
{
	struct af_kernel k;

	assert_int_equal(open_text(&k, "ffffffff81000000 T _stext\n"
	                               "ffffffff81000000 t startup_64\n"
	                               "ffffffff81000100 T do_syscall_64\n"
	                               "ffffffff81000200 D a_table\n"
	                               "ffffffffc0300000 t ext4_readpage\t[ext4]\n"
	                               "ffffffffc0200000 t bpf_prog_0123456789abcdef_probe\t[bpf]\n"
	                               "ffffffff81000300 W weak_one\n"),
	                 0);
	assert_symbol(&k, 0xffffffff80ffffff, NULL, NULL);
	assert_symbol(&k, 0xffffffff81000000, "startup_64", "[kernel]");
	assert_symbol(&k, 0xffffffff810001ff, "do_syscall_64", "[kernel]");
	assert_symbol(&k, 0xffffffff81000200, NULL, NULL);
	assert_symbol(&k, 0xffffffff81000310, "weak_one", "[kernel]");
	assert_symbol(&k, 0xffffffffc0200010, "bpf_prog_0123456789abcdef_probe", "[bpf]");
	assert_symbol(&k, 0xffffffffc0300010, "ext4_readpage", "[ext4]");
	/* Whatever is so far behind the last symbol is not known. */
	assert_symbol(&k, 0xffffffffc0400010, NULL, NULL);
	assert_symbol(&k, 0x1000, NULL, NULL);
	assert_symbol(&k, UINT64_MAX, NULL, NULL);
	af_kernel_close(&k);
}

static void the_plainest_name_of_an_address_wins(void **state)
{
	struct af_kernel k;

	assert_int_equal(open_text(&k, "ffffffff81000100 T __pfx_do_one\n"
	                               "ffffffff81000110 t local_name\n"
	                               "ffffffff81000110 T __do_one\n"
	                               "ffffffff81000110 T do_one\n"
	                               "ffffffff81000110 d some_data\n"),
	                 0);
	assert_symbol(&k, 0xffffffff81000118, "do_one", "[kernel]");
	assert_symbol(&k, 0xffffffff81000108, "__pfx_do_one", "[kernel]");
	af_kernel_close(&k);
}

static void addresses_that_the_kernel_hides_are_a_refusal(void **state)
{
	struct af_kernel k;

	assert_int_equal(open_text(&k, "0000000000000000 T _stext\n0000000000000000 t one\n"),
	                 -EPERM);
	assert_null(af_kernel_find(&k, 0));
	assert_int_equal(open_text(&k, ""), -ENODATA);
	assert_int_equal(af_kernel_open(&k, "/no/such/file"), -ENOENT);
}

static void lines_that_are_none_are_passed_over(void **state)
{
	struct af_kernel k;

	assert_int_equal(open_text(&k, "ffffffff81000100\n"
	                               "ffffffff81000100 T\n"
	                               "10000000000000000 T too_large\n"
	                               "-1 T negative\n"
	                               "ffffffff8100010g T not_hexadecimal\n"
	                               "\n \t \n"
	                               "ffffffff81000200 t good\t[mod]x"),
	                 0);
	assert_int_equal(k.nr, 1);
	assert_symbol(&k, 0xffffffff81000201, "good", "[mod]x");
	af_kernel_close(&k);
}

/* The kernel's own table, as far as this user may see it. */
static void the_running_kernel_has_names(void **state)
{
	struct af_kernel k;
	int rc = af_kernel_open(&k, "/proc/kallsyms");
	uint32_t nr = 0;

	if (rc == -EPERM || rc == -ENOENT)
		skip(); /* not root, or a kernel without the table */
	assert_int_equal(rc, 0);
	for (uint32_t i = 0; i < k.nr; i++) {
		const struct af_kernel_symbol *s = af_kernel_find(&k, k.symbols[i].start);
		assert_true(k.symbols[i].code ? s == &k.symbols[i] : !s);
		nr += k.symbols[i].code && !strcmp(k.symbols[i].name, "vfs_read");
	}
	assert_int_equal(nr, 1);
	af_kernel_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_address_belongs_to_the_symbol_before_it),
	    cmocka_unit_test(the_plainest_name_of_an_address_wins),
	    cmocka_unit_test(addresses_that_the_kernel_hides_are_a_refusal),
	    cmocka_unit_test(lines_that_are_none_are_passed_over),
	    cmocka_unit_test(the_running_kernel_has_names),
	};
	return cmocka_run_group_tests(tests, make_path, drop_path);
}
