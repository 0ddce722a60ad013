#include "sym/fde.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/sym.h"

/*
 * A file by hand: loaded at LOAD_AT from its beginning, a .eh_frame_hdr of three functions, their
 * FDEs. The first has 0x100 bytes, the second 0x40 and then a gap, the third an FDE in an encoding
 * that is not read.
 */
enum { LOAD_AT = 0x10000, TABLE = 0x200, FDES = 0x300, SIZE = 0x400, FUNCTIONS = 3 };

static const uint32_t starts[FUNCTIONS] = {0x11000, 0x11100, 0x11200};
static const uint32_t lengths[FUNCTIONS] = {0x100, 0x40, 0x30};

static void put(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof value);
}

static void make_file(uint8_t file[SIZE])
{
	Elf64_Ehdr h = {.e_machine = EM_X86_64,
	                .e_type = ET_DYN,
	                .e_phoff = sizeof h,
	                .e_phnum = 2,
	                .e_phentsize = sizeof(Elf64_Phdr)};
	Elf64_Phdr p[2] = {
	    {.p_type = PT_LOAD, .p_offset = 0, .p_vaddr = LOAD_AT, .p_filesz = SIZE},
	    {.p_type = PT_GNU_EH_FRAME, .p_offset = TABLE, .p_vaddr = LOAD_AT + TABLE}};

	memset(file, 0, SIZE);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(file, &h, sizeof h);
	memcpy(file + sizeof h, p, sizeof p);
	memcpy(file + TABLE, "\x01\x1b\x03\x3b", 4);
	put(file + TABLE + 8, FUNCTIONS);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint32_t fde = FDES + i * 0x20;
		put(file + TABLE + 12 + i * 8, starts[i] - (LOAD_AT + TABLE));
		put(file + TABLE + 16 + i * 8, fde - TABLE);
		put(file + fde, 0x1c);
		put(file + fde + 8, i < 2 ? starts[i] - (LOAD_AT + fde + 8) : starts[i]);
		put(file + fde + 12, lengths[i]);
	}
}

/* The start that is found for @vaddr, 0 for none. */
static uint64_t found(const uint8_t *file, size_t size, uint64_t vaddr)
{
	/* Of exactly this size, so that a read past the end is seen. */
	uint8_t *copy = malloc(size);
	struct af_fde_table t;
	struct af_elf e;
	uint64_t start;

	memcpy(copy, file, size);
	assert_int_equal(af_elf_parse(&e, copy, size), 0);
	af_fde_open(&t, &e);
	bool is = af_fde_find(&t, vaddr, &start);
	free(copy);
	return is ? start : 0;
}

static void an_address_belongs_to_the_function_that_covers_it(void **state)
{
	uint8_t file[SIZE];

	make_file(file);
	assert_int_equal(found(file, SIZE, 0x10fff), 0);
	assert_int_equal(found(file, SIZE, 0x11000), 0x11000);
	assert_int_equal(found(file, SIZE, 0x110ff), 0x11000);
	assert_int_equal(found(file, SIZE, 0x11100), 0x11100);
	assert_int_equal(found(file, SIZE, 0x1113f), 0x11100);
	assert_int_equal(found(file, SIZE, 0x11140), 0);
	assert_int_equal(found(file, SIZE, 0x111ff), 0);
	assert_int_equal(found(file, SIZE, 0x11200), 0x11200);
	/* Its length is not known. */
	assert_int_equal(found(file, SIZE, 0x11900), 0x11200);
}

static void a_table_in_a_form_that_is_not_read_finds_nothing(void **state)
{
	static const uint8_t other[4][2] = {{0, 2}, {1, 0xff}, {2, 0x04}, {3, 0x1b}};
	uint8_t file[SIZE];

	for (int i = 0; i < 4; i++) {
		make_file(file);
		file[TABLE + other[i][0]] = other[i][1];
		assert_int_equal(found(file, SIZE, 0x11010), 0);
	}
	/* A pointer of eight bytes before the table is stepped over. */
	make_file(file);
	memmove(file + TABLE + 12, file + TABLE + 8, 4 + FUNCTIONS * 8);
	file[TABLE + 1] = 0x1c;
	assert_int_equal(found(file, SIZE, 0x11110), 0x11100);
}

static void damaged_tables_are_read_inside_their_bounds(void **state)
{
	uint8_t file[SIZE], damaged[SIZE];

	make_file(file);
	for (size_t size = sizeof(Elf64_Ehdr); size <= SIZE; size++)
		for (uint64_t vaddr = 0x10ff0; vaddr < 0x11300; vaddr += 0x70)
			found(file, size, vaddr);
	put(file + TABLE + 8, UINT32_MAX);
	assert_int_equal(found(file, TABLE + 12 + 16, 0x11110), 0x11100);
	assert_int_equal(found(file, TABLE + 12 + 8, 0x11110), 0x11000);
	assert_int_equal(found(file, TABLE + 12, 0x11110), 0);

	srand(5);
	for (int round = 0; round < 20000; round++) {
		make_file(damaged);
		for (int i = 0; i < 4; i++)
			damaged[sizeof(Elf64_Ehdr) + (size_t)rand() % (SIZE - sizeof(Elf64_Ehdr))] =
			    (uint8_t)rand();
		uint64_t vaddr = 0x11000 + (uint64_t)rand() % 0x300;
		assert_true(found(damaged, SIZE, vaddr) <= vaddr);
	}
}

/* Three functions of this program, to be found again without their names. */
__attribute__((noinline)) static int first(int x)
{
	return printf("%d", x) + 1;
}

__attribute__((noinline)) static int second(int x)
{
	return printf("%d", x) + 2;
}

static int strip_this_program(char path[64])
{
	char command[256];

	strcpy(path, "/tmp/af_test_fde.XXXXXX");
	int fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	snprintf(command, sizeof command, "strip -o %s /proc/%d/exe 2>/dev/null", path, getpid());
	return system(command);
}

static void functions_of_a_stripped_program_are_told_apart(void **state)
{
	int (*const functions[])(int) = {first, second};
	struct af_sym_answer named, unnamed;
	char path[64], self[64], want[128];

	if (strip_this_program(path)) {
		unlink(path);
		skip(); /* no strip here */
	}
	snprintf(self, sizeof self, "/proc/%d/exe", getpid());
	struct af_sym_module *whole = af_sym_module_open(self, NULL, 0, NULL);
	struct af_sym_module *stripped = af_sym_module_open(path, NULL, 0, NULL);
	extern const char __executable_start[];

	for (int i = 0; i < 2; i++) {
		uint64_t vaddr = (uint64_t)((const char *)functions[i] - __executable_start);

		af_sym_lookup(whole, vaddr + 3, &named);
		assert_int_equal(named.symbol_offset, 3);
		assert_string_equal(named.frames[named.nr - 1].function, i ? "second" : "first");
		af_sym_lookup(stripped, vaddr + 3, &unnamed);
		assert_int_equal(unnamed.source, AF_SYMBOL_FDE);
		assert_int_equal(unnamed.symbol_offset, 3);
		assert_int_equal(unnamed.nr, 1);
		assert_null(unnamed.frames[0].file);
		snprintf(want, sizeof want, "%s!0x%llx", strrchr(path, '/') + 1,
		         (unsigned long long)vaddr);
		assert_string_equal(unnamed.frames[0].function, want);
	}
	/* The headers are no function. */
	af_sym_lookup(stripped, 8, &unnamed);
	assert_int_equal(unnamed.source, AF_SYMBOL_NO_SYMBOL);
	af_sym_module_close(whole);
	af_sym_module_close(stripped);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_address_belongs_to_the_function_that_covers_it),
	    cmocka_unit_test(a_table_in_a_form_that_is_not_read_finds_nothing),
	    cmocka_unit_test(damaged_tables_are_read_inside_their_bounds),
	    cmocka_unit_test(functions_of_a_stripped_program_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
