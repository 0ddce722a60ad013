#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "sym/elf/symtab.h"
#include "sym/sym.h"

/*
 * A file by hand, loaded at 0: text at TEXT_AT, the table at TABLE_AT, a note that Go made it; no
 * section headers. Two functions of 0x20 and 0x30 bytes.
 */
enum { TEXT_AT = 0x400, TABLE_AT = 0x800, NOTE_AT = 0x200, SIZE = 0xc00, NAMES_AT = 0x100 };
enum { FUNCTIONS_AT = 0x180, KNOWN = 0x40 };

static void put(uint8_t *at, unsigned bytes, uint64_t value)
{
	memcpy(at, &value, bytes);
}

static void put_headers(uint8_t image[SIZE])
{
	Elf64_Ehdr h = {.e_type = ET_EXEC,
	                .e_machine = EM_X86_64,
	                .e_phoff = sizeof h,
	                .e_phentsize = sizeof(Elf64_Phdr),
	                .e_phnum = 4};
	Elf64_Phdr p[] = {
	    {.p_type = PT_NOTE, .p_offset = NOTE_AT, .p_vaddr = NOTE_AT, .p_filesz = 16},
	    {.p_type = PT_LOAD, .p_filesz = TEXT_AT, .p_memsz = TEXT_AT, .p_flags = PF_R},
	    {.p_type = PT_LOAD, .p_offset = TEXT_AT, .p_vaddr = TEXT_AT, .p_flags = PF_R | PF_X},
	    {.p_type = PT_LOAD, .p_offset = TABLE_AT, .p_vaddr = TABLE_AT, .p_flags = PF_R},
	};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	p[2].p_filesz = p[2].p_memsz = TABLE_AT - TEXT_AT;
	p[3].p_filesz = p[3].p_memsz = SIZE - TABLE_AT;
	memcpy(image, &h, sizeof h);
	memcpy(image + sizeof h, p, sizeof p);
	memcpy(image + NOTE_AT, "\4\0\0\0\0\0\0\0\4\0\0\0Go\0\0", 16);
}

/* The table in the form of @magic; @word: bytes of a program counter. */
static void put_table(uint8_t image[SIZE], uint32_t magic, unsigned word)
{
	bool relative = magic == 0xfffffff0 || magic == 0xfffffff1, old = magic == 0xfffffffb;
	unsigned field = relative ? 4 : word, entry = relative ? 4 : word;
	static const uint32_t starts[] = {0, 0x20, 0x50};
	uint8_t *t = image + TABLE_AT, *words = t + 8;
	uint8_t *functions = old ? words + word : t + FUNCTIONS_AT;
	uint64_t base = relative ? 0 : TEXT_AT;

	put(t, 4, magic);
	t[6] = 1, t[7] = (uint8_t)word;
	put(words, word, 2);
	if (relative)
		put(words + 2 * word, word, TEXT_AT);
	if (!old) {
		put(words + (relative ? 3 : 2) * word, word, NAMES_AT);
		put(words + (relative ? 7 : 6) * word, word, FUNCTIONS_AT);
	}
	strcpy((char *)t + NAMES_AT, "main.first");
	strcpy((char *)t + NAMES_AT + 16, "main.(*T).second");
	for (unsigned i = 0; i < 3; i++) {
		uint64_t known = (old ? FUNCTIONS_AT : 0) + KNOWN + i * 0x10;

		put(functions + i * 2 * field, field, base + starts[i]);
		if (i == 2)
			break;
		put(functions + (i * 2 + 1) * field, field, known);
		put(t + (old ? 0 : FUNCTIONS_AT) + known, entry, base + starts[i]);
		put(t + (old ? 0 : FUNCTIONS_AT) + known + entry, 4, (old ? NAMES_AT : 0) + i * 16);
	}
}

static void table_of(struct af_symtab *t, const uint8_t *image, size_t size)
{
	struct af_elf e;

	*t = (struct af_symtab){0};
	assert_int_equal(af_elf_parse(&e, image, size), 0);
	af_go_add(t, &e);
	af_symtab_build(t);
}

static void assert_name(const struct af_symtab *t, uint64_t vaddr, const char *name)
{
	const struct af_symtab_entry *s = af_symtab_find(t, vaddr);

	if (!name) {
		assert_null(s);
		return;
	}
	assert_non_null(s);
	assert_string_equal(s->name, name);
	assert_int_equal(s->source, AF_SYMBOL_GO);
}

static void all_forms_of_the_table_are_read(void **state)
{
	static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};

	for (unsigned i = 0; i < 8; i++) {
		uint8_t image[SIZE] = {0};
		struct af_symtab t;

		put_headers(image);
		put_table(image, magics[i / 2], i % 2 ? 4 : 8);
		table_of(&t, image, sizeof image);
		assert_name(&t, TEXT_AT - 1, NULL);
		assert_name(&t, TEXT_AT, "main.first");
		assert_name(&t, TEXT_AT + 0x1f, "main.first");
		assert_name(&t, TEXT_AT + 0x20, "main.(*T).second");
		assert_name(&t, TEXT_AT + 0x4f, "main.(*T).second");
		assert_name(&t, TEXT_AT + 0x50, NULL);
		assert_int_equal(t.nr, 2);
		af_symtab_free(&t);
	}
}

/* Any byte of it may be anything, and it may end anywhere: read under the sanitizers of `fuzz`. */
static void a_damaged_table_names_nothing_outside_of_the_code(void **state)
{
	for (unsigned at = TABLE_AT; at < TABLE_AT + 0x200; at++) {
		uint8_t image[SIZE] = {0};
		struct af_symtab t;

		put_headers(image);
		put_table(image, at % 2 ? 0xfffffff1 : 0xfffffffb, 8);
		image[at] ^= 0xff;
		table_of(&t, image, sizeof image);
		assert_true(t.nr <= 2);
		for (uint32_t i = 0; i < t.nr; i++) {
			assert_true(t.entries[i].start >= TEXT_AT);
			assert_true(t.entries[i].start + t.entries[i].size <= TABLE_AT);
		}
		af_symtab_free(&t);
		table_of(&t, image, at);
		assert_true(t.nr <= 2);
		af_symtab_free(&t);
	}
}

/* Go 1.26 has where the text begins in runtime.moduledata only, in a section of its own. */
static void the_text_is_found_by_the_module(void **state)
{
	enum { SECTIONS_AT = 0x240, STRINGS_AT = 0x380, MODULE_AT = 0xb00, TEXT_WORD = 22 };
	Elf64_Shdr sections[] = {
	    {0},
	    {.sh_type = SHT_STRTAB, .sh_offset = STRINGS_AT, .sh_size = 0x40},
	    {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = MODULE_AT, .sh_size = 0x100},
	    {.sh_name = 12, .sh_type = SHT_PROGBITS, .sh_addr = TEXT_AT + 0x100},
	};
	uint8_t image[SIZE] = {0};
	struct af_symtab t;
	Elf64_Ehdr h;

	put_headers(image);
	put_table(image, 0xfffffff1, 8);
	put(image + TABLE_AT + 8 + 2 * 8, 8, 0);
	put(image + MODULE_AT + TEXT_WORD * 8, 8, TEXT_AT);
	memcpy(&h, image, sizeof h);
	h.e_shoff = SECTIONS_AT, h.e_shentsize = sizeof *sections, h.e_shstrndx = 1;
	h.e_shnum = sizeof sections / sizeof *sections;
	memcpy(image, &h, sizeof h);
	memcpy(image + SECTIONS_AT, sections, sizeof sections);
	memcpy(image + STRINGS_AT, "\0.go.module\0.text", 18);
	table_of(&t, image, sizeof image);
	assert_name(&t, TEXT_AT + 0x20, "main.(*T).second");
	assert_name(&t, TEXT_AT + 0x100, NULL);
	af_symtab_free(&t);
	/* Without it the text is taken for the section of that name. */
	put(image + MODULE_AT + TEXT_WORD * 8, 8, 0);
	table_of(&t, image, sizeof image);
	assert_name(&t, TEXT_AT + 0x120, "main.(*T).second");
	af_symtab_free(&t);
}

static void what_go_did_not_make_is_not_searched(void **state)
{
	uint8_t image[SIZE] = {0};
	struct af_symtab t;

	put_headers(image);
	put_table(image, 0xfffffff1, 8);
	image[NOTE_AT + 12] = 'g';
	table_of(&t, image, sizeof image);
	assert_int_equal(t.nr, 0);
	af_symtab_free(&t);
}

/* --- a program that this machine's Go makes, before and after strip */

static const char go_source[] =
    "package main\n"
    "import (\"fmt\"; \"sort\"; \"strings\")\n"
    "type T struct{ n int }\n"
    "//go:noinline\n"
    "func (t *T) add(n int) { t.n += n }\n"
    "//go:noinline\n"
    "func each(of []string, do func(string)) { for _, s := range of { do(s) } }\n"
    "func main() {\n"
    "	t := &T{}\n"
    "	words := strings.Fields(\"a b c\")\n"
    "	sort.Strings(words)\n"
    "	each(words, func(s string) { t.add(len(s)) })\n"
    "	fmt.Println(t.n)\n"
    "}\n";

/* Go keeps what it compiled in the folder of the test, for the next run. */
static int go_build(const char *dir, const char *options)
{
	char command[1024], source[128];

	snprintf(source, sizeof source, "%s/t.go", dir);
	FILE *f = fopen(source, "w");
	fputs(go_source, f);
	fclose(f);
	snprintf(command, sizeof command,
	         "cd %s && env HOME=$PWD GOCACHE=$PWD/../gocache GO111MODULE=off GOTOOLCHAIN=local "
	         "go build %s -o whole t.go >log 2>&1 && strip -o stripped whole "
	         "&& ! readelf -SW stripped | grep -q '[.]symtab' || { cat log; false; }",
	         dir, options);
	return system(command);
}

/* Go's full names of instances of generic functions are in the symbol table only. */
static bool same_function(const char *symbol, const char *listed)
{
	const char *bracket = strchr(listed, '[');

	if (bracket && !strncmp(bracket, "[...]", 5))
		return !strncmp(symbol, listed, (size_t)(bracket - listed) + 1);
	return !strcmp(symbol, listed);
}

/* Each function that nm finds in the whole program, in the middle: how many there are. */
static unsigned check_functions(const char *dir, struct af_sym_module *stripped, uint64_t first,
                                uint64_t end)
{
	char command[160], line[8 << 10];
	unsigned nr = 0, wrong = 0;

	snprintf(command, sizeof command, "nm -S --defined-only %s/whole", dir);
	FILE *nm = popen(command, "r");
	while (fgets(line, sizeof line, nm)) {
		uint64_t start, size;
		struct af_sym_answer a;
		int name = 0;
		char type;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%lx %lx %c %n", &start, &size, &type, &name) < 3 || !name ||
		    (type != 'T' && type != 't') || !size || start < first || start >= end)
			continue;
		nr++;
		af_sym_lookup(stripped, start + size / 2, &a);
		char *want = af_function_name(line + name);
		bool source = a.source == AF_SYMBOL_GO || a.source == AF_SYMBOL_DYNSYM;
		if (!source || a.symbol_offset != size / 2 || a.nr != 1 ||
		    !same_function(want, a.frames[0].function)) {
			print_message("%s: %s, of %d\n", want,
			              a.nr ? a.frames[0].function : "nothing", a.source);
			wrong++;
		}
		free(want);
	}
	pclose(nm);
	assert_int_equal(wrong, 0);
	return nr;
}

static uint64_t address_of(const char *dir, const char *symbol)
{
	char command[256], line[64] = "";

	snprintf(command, sizeof command, "nm %s/whole | grep -m1 ' %s$'", dir, symbol);
	FILE *nm = popen(command, "r");
	assert_non_null(fgets(line, sizeof line, nm));
	pclose(nm);
	return strtoull(line, NULL, 16);
}

static void check_build(const char *options)
{
	char dir[] = "af_test_go.XXXXXX", here[256], path[512], command[64];

	if (system("command -v go strip nm readelf >/dev/null"))
		skip(); /* no Go here */
	assert_non_null(mkdtemp(dir));
	assert_int_equal(go_build(dir, options), 0);
	assert_non_null(getcwd(here, sizeof here));
	snprintf(path, sizeof path, "%s/%s/stripped", here, dir);
	struct af_sym_module *stripped = af_sym_module_open(path, NULL, 0, NULL);
	unsigned nr = check_functions(dir, stripped, address_of(dir, "runtime.text"),
	                              address_of(dir, "runtime.etext"));
	assert_true(nr > 1000);
	af_sym_module_close(stripped);
	snprintf(command, sizeof command, "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static void a_stripped_program_has_the_names_of_the_whole_one(void **state)
{
	check_build("");
}

static void so_has_one_that_is_position_independent(void **state)
{
	check_build("-buildmode=pie");
}

static void so_has_one_that_the_linker_of_c_linked(void **state)
{
	check_build("-buildmode=pie -ldflags=-linkmode=external");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_forms_of_the_table_are_read),
	    cmocka_unit_test(a_damaged_table_names_nothing_outside_of_the_code),
	    cmocka_unit_test(the_text_is_found_by_the_module),
	    cmocka_unit_test(what_go_did_not_make_is_not_searched),
	    cmocka_unit_test(a_stripped_program_has_the_names_of_the_whole_one),
	    cmocka_unit_test(so_has_one_that_is_position_independent),
	    cmocka_unit_test(so_has_one_that_the_linker_of_c_linked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
