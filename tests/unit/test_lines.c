/* Looks this very program up: its lines are known to the compiler that wrote the DWARF. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/write.h"
#include "sym/lines/lines.h"
#include "sym/sym.h"
#include "unwind/elf_file.h"

#if defined(__x86_64__)
#define HERE(pc) __asm__ volatile("lea 1f(%%rip), %0\n1:" : "=r"(pc))
#elif defined(__aarch64__)
#define HERE(pc) __asm__ volatile("adr %0, 1f\n1:" : "=r"(pc))
#elif defined(__riscv)
#define HERE(pc) __asm__ volatile("lla %0, 1f\n1:" : "=r"(pc))
#endif

enum { LINE_INNER = __LINE__ + 6, LINE_MIDDLE = __LINE__ + 12, LINE_OUTER = __LINE__ + 17 };

static inline __attribute__((always_inline)) uint64_t place_inner(void)
{
	uint64_t pc;

	HERE(pc);
	return pc;
}

static inline __attribute__((always_inline)) uint64_t place_middle(void)
{
	return place_inner();
}

static __attribute__((noinline)) uint64_t place_outer(void)
{
	return place_middle();
}

static int lines_first_module(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static uint64_t lines_bias(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(lines_first_module, &bias);
	return bias;
}

static uint64_t place_vaddr(void)
{
	/* One back from the label: inside the instruction that reads it. */
	return place_outer() - lines_bias() - 1;
}

static bool lines_built_in(void)
{
	struct af_file f;
	struct af_elf e;
	Elf64_Shdr s;
	bool have = !af_file_map(&f, "/proc/self/exe", NULL) && !af_elf_parse(&e, f.data, f.size) &&
	            af_elf_named(&e, ".debug_line", &s);

	af_file_unmap(&f);
	return have;
}

static void inlined_calls_come_innermost_first(void **state)
{
	struct af_sym_module *m = af_sym_module_open("/proc/self/exe", NULL, 0, NULL);
	struct af_sym_answer a;

	if (!lines_built_in()) {
		af_sym_module_close(m);
		skip(); /* built without -g */
	}
	af_sym_lookup(m, place_vaddr(), &a);
	assert_int_equal(a.source, AF_SYMBOL_DWARF);
	assert_int_equal(a.nr, 3);
	assert_string_equal(a.frames[0].function, "place_inner");
	assert_string_equal(a.frames[1].function, "place_middle");
	assert_string_equal(a.frames[2].function, "place_outer");
	assert_int_equal(a.frames[0].line, LINE_INNER);
	assert_int_equal(a.frames[1].line, LINE_MIDDLE);
	assert_int_equal(a.frames[2].line, LINE_OUTER);
	assert_int_equal(a.frames[0].source_line, LINE_INNER - 4);
	assert_int_equal(a.frames[1].source_line, LINE_MIDDLE - 2);
	assert_int_equal(a.frames[2].source_line, LINE_OUTER - 2);
	assert_true(a.symbol_known);
	assert_int_equal(place_vaddr() - a.symbol_offset, (uintptr_t)place_outer - lines_bias());
	for (int i = 0; i < 3; i++) {
		const char *name = strrchr(a.frames[i].file, '/');

		assert_string_equal(a.frames[i].source, a.frames[i].file);

		assert_string_equal(name ? name + 1 : a.frames[i].file, "test_lines.c");
		assert_int_equal(a.frames[i].file[0], '/');
		assert_null(strstr(a.frames[i].file, "/../"));
		assert_null(strstr(a.frames[i].file, "/./"));
	}
	assert_in_range(a.symbol_offset, 0, 200);
	af_sym_module_close(m);
}

#ifndef __clang__ /* has no nested functions */
static __attribute__((noinline)) uint64_t place_around(void)
{
	inline __attribute__((always_inline)) uint64_t nested(void)
	{
		uint64_t pc;

		HERE(pc);
		return pc - 1; /* not the body of place_inner(), or the two would be merged */
	}
	return nested();
}

static void a_name_that_is_local_comes_with_its_scope(void **state)
{
	struct af_sym_module *m = af_sym_module_open("/proc/self/exe", NULL, 0, NULL);
	struct af_sym_answer a;

	if (!lines_built_in()) {
		af_sym_module_close(m);
		skip(); /* built without -g */
	}
	af_sym_lookup(m, place_around() - lines_bias(), &a);
	assert_int_equal(a.nr, 2);
	assert_string_equal(a.frames[0].function, "place_around::nested");
	assert_string_equal(a.frames[1].function, "place_around");
	af_sym_module_close(m);
}
#endif

static void the_same_address_gives_the_same_answer_again(void **state)
{
	struct af_sym_module *m = af_sym_module_open("/proc/self/exe", NULL, 0, NULL);
	struct af_sym_answer a, b;

	af_sym_lookup(m, place_vaddr(), &a);
	af_sym_lookup(m, place_vaddr(), &b);
	assert_int_equal(a.nr, b.nr);
	assert_true(a.nr > 0);
	for (uint32_t i = 0; i < a.nr; i++) {
		assert_ptr_equal(a.frames[i].function, b.frames[i].function);
		assert_ptr_equal(a.frames[i].file, b.frames[i].file);
	}
	af_sym_module_close(m);
}

static void more_frames_than_fit_keep_the_function(void **state)
{
	struct af_file f;
	struct af_lines l;
	struct af_lines_frame frames[2];

	if (!lines_built_in())
		skip(); /* built without -g */
	assert_int_equal(af_file_map(&f, "/proc/self/exe", NULL), 0);
	assert_int_equal(af_lines_open(&l, &(struct af_lines_image){f.data, f.size}, NULL), 0);
	assert_int_equal(af_lines_find(&l, place_vaddr(), frames, 2), 2);
	assert_string_equal(frames[0].name, "place_inner");
	assert_string_equal(frames[1].name, "place_outer");
	assert_int_equal(af_lines_find(&l, 1, frames, 2), 0);
	af_lines_close(&l);
	af_file_unmap(&f);
}

/* Wherever it is cut, before or after its lines were first looked at. */
static void a_file_that_is_cut_while_it_is_read_loses_names(void **state)
{
	static const char path[] = "/tmp/aflame-test-lines-cut";
	struct af_sym_answer a;
	struct af_file f;

	assert_int_equal(af_file_map(&f, "/proc/self/exe", NULL), 0);
	for (int i = 0; i < 20; i++) {
		int fd = af_create_private(AT_FDCWD, path);
		assert_true(fd >= 0);
		assert_int_equal(af_write_all(fd, f.data, f.size), 0);
		struct af_sym_module *m = af_sym_module_open(path, NULL, 0, NULL);
		if (i & 1) {
			af_sym_lookup(m, place_vaddr(), &a);
			assert_string_equal(a.frames[a.nr - 1].function, "place_outer");
		}
		assert_int_equal(ftruncate(fd, (off_t)f.size / 20 * i), 0);
		for (uint64_t vaddr = 0; vaddr < 0x10000; vaddr += 8) {
			af_sym_lookup(m, vaddr, &a);
			assert_true(a.nr <= AF_SYM_INLINES);
		}
		af_sym_module_close(m);
		close(fd);
	}
	assert_string_equal(af_file_cut(), path);
	af_file_unmap(&f);
	unlink(path);
}

static void what_is_no_elf_file_has_no_lines(void **state)
{
	struct af_lines l;
	struct af_lines_frame frame;
	static const uint8_t bytes[100] = "not an ELF file";

	assert_true(af_lines_open(&l, &(struct af_lines_image){bytes, sizeof bytes}, NULL) < 0);
	assert_int_equal(af_lines_find(&l, 0x1000, &frame, 1), 0);
	af_lines_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    /* The first: cmocka takes SIGBUS' handler away at the end of a test. */
	    cmocka_unit_test(a_file_that_is_cut_while_it_is_read_loses_names),
	    cmocka_unit_test(inlined_calls_come_innermost_first),
#ifndef __clang__
	    cmocka_unit_test(a_name_that_is_local_comes_with_its_scope),
#endif
	    cmocka_unit_test(the_same_address_gives_the_same_answer_again),
	    cmocka_unit_test(more_frames_than_fit_keep_the_function),
	    cmocka_unit_test(what_is_no_elf_file_has_no_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
