#include "base/buf.h"
#include "sym/elf/bounds_name.h"
#include "sym/elf/fde.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/elf/part.h"
#include "sym/sym.h"

/*
 * A file by hand: loaded at LOAD_AT from its beginning, a .eh_frame_hdr of three functions, their
 * FDEs. The first has 0x100 bytes, the second 0x40 and then a gap, the third an FDE in an encoding
 * that is not read.
 */
enum { LOAD_AT = 0x10000, TABLE = 0x200, CIE = 0x280, FDES = 0x300, SIZE = 0x400, FUNCTIONS = 3 };

static const uint32_t starts[FUNCTIONS] = {0x11000, 0x11100, 0x11200};
static const uint32_t lengths[FUNCTIONS] = {0x100, 0x40, 0x30};

static void put(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof value);
}

/* Loaded as a whole, its table for @nr functions. */
static void make_headers(uint8_t *file, size_t size, uint32_t nr)
{
	Elf64_Ehdr h = {.e_machine = EM_X86_64,
	                .e_type = ET_DYN,
	                .e_phoff = sizeof h,
	                .e_phnum = 2,
	                .e_phentsize = sizeof(Elf64_Phdr)};
	Elf64_Phdr p[2] = {
	    {.p_type = PT_LOAD, .p_offset = 0, .p_vaddr = LOAD_AT, .p_filesz = size},
	    {.p_type = PT_GNU_EH_FRAME, .p_offset = TABLE, .p_vaddr = LOAD_AT + TABLE}};

	memset(file, 0, size);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(file, &h, sizeof h);
	memcpy(file + sizeof h, p, sizeof p);
	memcpy(file + TABLE, "\x01\x1b\x03\x3b", 4);
	put(file + TABLE + 8, nr);
	put(file + CIE, 0x14);
	/* Version 1, addresses of 32 bits from where they stand; alignments, the return address. */
	memcpy(file + CIE + 8, "\x01zR\0\x01\x78\x10\x01\x1b", 9);
}

static void make_file(uint8_t file[SIZE])
{
	make_headers(file, SIZE, FUNCTIONS);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint32_t fde = FDES + i * 0x20;
		put(file + TABLE + 12 + i * 8, starts[i] - (LOAD_AT + TABLE));
		put(file + TABLE + 16 + i * 8, fde - TABLE);
		put(file + fde, 0x1c);
		put(file + fde + 4, fde + 4 - CIE);
		put(file + fde + 8, i < 2 ? starts[i] - (LOAD_AT + fde + 8) : starts[i]);
		put(file + fde + 12, lengths[i]);
	}
}

/* The start that is found for @vaddr, 0 for none. */
static uint64_t found(const uint8_t *file, size_t size, uint64_t vaddr)
{
	/* Exactly this size, so that a read past the end is seen. */
	uint8_t *copy = malloc(size);
	struct af_cfi t;
	struct af_elf e;
	uint64_t start;

	memcpy(copy, file, size);
	assert_int_equal(af_elf_parse(&e, copy, size), 0);
	af_cfi_open(&t, &e, AF_CFI_INDEX_MAX, NULL);
	bool is = af_fde_find(&t, vaddr, &start);
	af_cfi_close(&t);
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
	static const uint8_t other[4][2] = {{0, 2}, {1, 0xff}, {2, 0x04}, {3, 0x01}};
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
	/* The table is there, and what it leads to is not. */
	assert_int_equal(found(file, TABLE + 12 + FUNCTIONS * 8, 0x11910), 0x11200);
	assert_int_equal(found(file, TABLE + 12 + FUNCTIONS * 8 - 1, 0x11910), 0);
	put(file + TABLE + 8, UINT32_MAX);
	assert_int_equal(found(file, SIZE, 0x11110), 0);
	put(file + TABLE + 8, 0);
	assert_int_equal(found(file, SIZE, 0x11110), 0);

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

/*
 * A file with code: a function, a part, and another function. The first instruction in the FDE of
 * the part says where its stack frame is; in those of functions the code goes on first.
 */
enum { WHOLE = 0x10400, PART = 0x10440, OTHER = 0x10460, PARTS_SIZE = 0x480 };
enum { CFA_ADVANCE = 0x41, CFA_DEF_CFA_OFFSET = 0x0e };

static const uint32_t pieces[4] = {WHOLE, PART, OTHER, LOAD_AT + PARTS_SIZE};

static void make_parts(uint8_t file[PARTS_SIZE])
{
	make_headers(file, PARTS_SIZE, 3);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t fde = FDES + i * 0x20;
		put(file + TABLE + 12 + i * 8, pieces[i] - (LOAD_AT + TABLE));
		put(file + TABLE + 16 + i * 8, fde - TABLE);
		put(file + fde, 0x1c);
		put(file + fde + 4, fde + 4 - CIE);
		put(file + fde + 8, pieces[i] - (LOAD_AT + fde + 8));
		put(file + fde + 12, pieces[i + 1] - pieces[i]);
		file[fde + 17] = pieces[i] == PART ? CFA_DEF_CFA_OFFSET : CFA_ADVANCE;
	}
}

/* Put a jump to @target at @offset in the part: JMP, or JE when @is_je. Returns what follows. */
static uint32_t put_jump(uint8_t *file, uint32_t offset, bool is_je, uint32_t target)
{
	uint8_t *code = file + PART - LOAD_AT + offset;
	uint32_t len = is_je ? 2 : 1;

	memcpy(code, is_je ? "\x0f\x84" : "\xe9", len);
	put(code + len, target - (PART + offset + len + 4));
	return offset + len + 4;
}

/* The function that what starts at @start is a part of, 0 for none. */
static uint64_t whole_of(const uint8_t *file, size_t size, uint64_t start)
{
	uint8_t *copy = malloc(size);
	struct af_cfi t;
	struct af_elf e;
	uint64_t whole;

	memcpy(copy, file, size);
	assert_int_equal(af_elf_parse(&e, copy, size), 0);
	af_cfi_open(&t, &e, AF_CFI_INDEX_MAX, NULL);
	bool is = af_part_whole(&t, &e, start, &whole);
	af_cfi_close(&t);
	free(copy);
	return is ? whole : 0;
}

static void a_part_belongs_to_the_function_it_jumps_back_into(void **state)
{
	for (int is_je = 0; is_je < 2; is_je++) {
		uint8_t file[PARTS_SIZE];

		make_parts(file);
		assert_int_equal(whole_of(file, sizeof file, PART), 0);
		/* Where a call may go says nothing, nor does a loop. */
		uint32_t at = put_jump(file, 1, is_je, OTHER);
		at = put_jump(file, at, is_je, PART + 1);
		assert_int_equal(whole_of(file, sizeof file, PART), 0);
		at = put_jump(file, at, is_je, WHOLE + 8);
		assert_int_equal(whole_of(file, sizeof file, PART), WHOLE);
		/* A false jump is outvoted, but only when it is. */
		at = put_jump(file, at, is_je, OTHER + 4);
		assert_int_equal(whole_of(file, sizeof file, PART), 0);
		put_jump(file, at, is_je, WHOLE + 9);
		assert_int_equal(whole_of(file, sizeof file, PART), WHOLE);
	}
}

static void a_function_is_no_part(void **state)
{
	uint8_t file[PARTS_SIZE];

	make_parts(file);
	put_jump(file, 1, false, WHOLE + 8);
	file[FDES + 0x20 + 17] = CFA_ADVANCE;
	assert_int_equal(whole_of(file, sizeof file, PART), 0);
	assert_int_equal(whole_of(file, sizeof file, WHOLE), 0);
	/* Nor is what does not start there, or has no length of its augmentation. */
	make_parts(file);
	put_jump(file, 1, false, WHOLE + 8);
	assert_int_equal(whole_of(file, sizeof file, PART + 1), 0);
	file[CIE + 9] = 'R';
	assert_int_equal(whole_of(file, sizeof file, PART), 0);
}

static void damaged_parts_are_read_inside_their_bounds(void **state)
{
	uint8_t file[PARTS_SIZE], damaged[PARTS_SIZE];

	make_parts(file);
	put_jump(file, 0x20 - 5, false, WHOLE + 8);
	for (size_t size = sizeof(Elf64_Ehdr); size < PARTS_SIZE; size++)
		assert_int_equal(whole_of(file, size, PART), size < OTHER - LOAD_AT ? 0 : WHOLE);

	srand(6);
	for (int round = 0; round < 20000; round++) {
		memcpy(damaged, file, sizeof file);
		for (int i = 0; i < 4; i++)
			damaged[sizeof(Elf64_Ehdr) +
			        (size_t)rand() % (PARTS_SIZE - sizeof(Elf64_Ehdr))] =
			    (uint8_t)rand();
		whole_of(damaged, PARTS_SIZE, PART);
	}
}

/* A function with a part elsewhere, as gcc writes it. */
__asm__(".pushsection .text\n"
        ".type part_owner, @function\n"
        "part_owner:\n"
        ".cfi_startproc\n"
        "	sub $8, %rsp\n"
        ".cfi_def_cfa_offset 16\n"
        "	jmp 1f\n"
        "2:	add $8, %rsp\n"
        ".cfi_def_cfa_offset 8\n"
        "	ret\n"
        ".cfi_endproc\n"
        ".size part_owner, . - part_owner\n"
        ".section .text.unlikely, \"ax\", @progbits\n"
        "part_elsewhere:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa_offset 16\n"
        "1:	nop\n"
        "	jmp 2b\n"
        ".cfi_endproc\n"
        ".popsection\n");
extern const char part_elsewhere[];

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
	snprintf(command, sizeof command, "strip -K part_owner -o %s /proc/%d/exe 2>/dev/null",
	         path, getpid());
	return system(command);
}

static void functions_of_a_stripped_program_are_reported_apart(void **state)
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
		snprintf(want, sizeof want, "%s!fn_%llx", strrchr(path, '/') + 1,
		         (unsigned long long)vaddr);
		assert_string_equal(unnamed.frames[0].function, want);
	}
	/* A part has the name of its function, and a place of its own. */
	af_sym_lookup(stripped, (uint64_t)(part_elsewhere - __executable_start) + 1, &unnamed);
	assert_int_equal(unnamed.source, AF_SYMBOL_SYMTAB);
	assert_string_equal(unnamed.frames[0].function, "part_owner");
	assert_int_equal(unnamed.symbol_offset, 1);
	/* The headers are no function. */
	af_sym_lookup(stripped, 8, &unnamed);
	assert_int_equal(unnamed.source, AF_SYMBOL_NO_SYMBOL);
	af_sym_module_close(whole);
	af_sym_module_close(stripped);
	unlink(path);
}

/* Each FDE that readelf finds in the static program, in the middle: how many there are. */
static unsigned check_fdes(const char *path, struct af_sym_module *m)
{
	char command[128], line[512];
	unsigned nr = 0, wrong = 0;

	snprintf(command, sizeof command, "readelf -W --debug-dump=frames %s 2>/dev/null", path);
	FILE *frames = popen(command, "r");
	while (fgets(line, sizeof line, frames)) {
		const char *pc = strstr(line, "FDE") ? strstr(line, " pc=") : NULL;
		uint64_t start, end;
		struct af_sym_answer a;

		if (!pc || sscanf(pc, " pc=%lx..%lx", &start, &end) != 2)
			continue;
		nr++;
		af_sym_lookup(m, start + (end - start) / 2, &a);
		wrong += a.source != AF_SYMBOL_FDE || a.symbol_offset != (end - start) / 2;
	}
	pclose(frames);
	/* The table of stubs is one FDE, and each stub a function. */
	assert_true(wrong <= 2);
	return nr;
}

static void functions_are_reported_apart_without_a_table_of_them(void **state)
{
	char path[] = "/tmp/af_test_fde.XXXXXX", command[256];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof command,
	         "echo 'int main(void) { return 0; }' | gcc -static -s -Wl,--no-eh-frame-hdr -x c "
	         "-o %s - 2>/dev/null && readelf -SW %s | grep -q eh_frame",
	         path, path);
	if (system(command)) {
		unlink(path);
		skip(); /* no compiler, or no static library here */
	}
	snprintf(command, sizeof command, "readelf -lW %s | grep -q GNU_EH_FRAME", path);
	assert_int_not_equal(system(command), 0);
	struct af_sym_module *m = af_sym_module_open(path, NULL, 0, NULL);
	assert_true(check_fdes(path, m) > 300);
	af_sym_module_close(m);
	unlink(path);
}

static size_t module_in(const char *text)
{
	return af_bounds_name_module(text, strlen(text));
}

static void a_name_by_bounds_is_reported_from_a_name(void **state)
{
	struct af_buf b = {0};

	af_bounds_name(&b, "liblzma.so.5", 0x1a30);
	assert_string_equal(b.data, "liblzma.so.5!fn_1a30");
	assert_int_equal(module_in(b.data), strlen("liblzma.so.5"));
	/* The text need not end in a NUL, nor where the name does. */
	assert_int_equal(af_bounds_name_module(b.data, b.len - 2), strlen("liblzma.so.5"));
	assert_int_equal(af_bounds_name_module(b.data, b.len - 4), 0);
	af_buf_free(&b);
	assert_int_equal(module_in("a!fn_1!fn_2"), strlen("a!fn_1"));
	assert_int_equal(module_in("libx.so!fn_open"), 0);
	assert_int_equal(module_in("libx.so!fn_"), 0);
	assert_int_equal(module_in("!fn_1a30"), 0);
	assert_int_equal(module_in("fn_1a30"), 0);
	assert_int_equal(module_in("deadbeef"), 0);
	assert_int_equal(module_in(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_address_belongs_to_the_function_that_covers_it),
	    cmocka_unit_test(a_table_in_a_form_that_is_not_read_finds_nothing),
	    cmocka_unit_test(damaged_tables_are_read_inside_their_bounds),
	    cmocka_unit_test(a_part_belongs_to_the_function_it_jumps_back_into),
	    cmocka_unit_test(a_function_is_no_part),
	    cmocka_unit_test(damaged_parts_are_read_inside_their_bounds),
	    cmocka_unit_test(functions_of_a_stripped_program_are_reported_apart),
	    cmocka_unit_test(functions_are_reported_apart_without_a_table_of_them),
	    cmocka_unit_test(a_name_by_bounds_is_reported_from_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
