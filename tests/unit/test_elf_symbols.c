#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "sym/elf/ranges.h"
#include "sym/elf/symtab.h"
#include "sym/sym.h"
#include "unwind/elf_file.h"

/* An ELF file in the making: sections are laid one after the other, headers come last. */
enum { IMAGE_SECTIONS = 12, TEXT = 1, TEXT_AT = 0x1000, TEXT_SIZE = 0x1000, GOT_AT = 0x4000 };

struct image {
	struct af_buf bytes, symbols, dynamic, strings, names;
	Elf64_Shdr sections[IMAGE_SECTIONS];
	uint16_t nr;
};

static uint32_t image_string(struct af_buf *b, const char *s)
{
	uint32_t at = (uint32_t)b->len;

	af_buf_add(b, s, strlen(s) + 1);
	return at;
}

static uint16_t image_section(struct image *i, const char *name, Elf64_Shdr s, const void *data,
                              size_t size)
{
	while (i->bytes.len % 8)
		af_buf_char(&i->bytes, 0);
	s.sh_name = image_string(&i->names, name);
	s.sh_offset = i->bytes.len;
	s.sh_size = size;
	if (data)
		af_buf_add(&i->bytes, data, size);
	i->sections[i->nr] = s;
	return i->nr++;
}

static void image_open(struct image *i)
{
	static const uint8_t code[TEXT_SIZE];

	*i = (struct image){0};
	af_buf_add(&i->bytes, &(Elf64_Ehdr){0}, sizeof(Elf64_Ehdr));
	af_buf_add(&i->symbols, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
	af_buf_add(&i->dynamic, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
	image_string(&i->strings, "");
	image_string(&i->names, "");
	i->nr = 1;
	image_section(i, ".text",
	              (Elf64_Shdr){.sh_type = SHT_PROGBITS,
	                           .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                           .sh_addr = TEXT_AT},
	              code, TEXT_SIZE);
}

static void image_symbol_in(struct image *i, struct af_buf *table, const char *name, uint64_t value,
                            uint64_t size, unsigned binding, unsigned type, uint16_t section)
{
	Elf64_Sym s = {.st_name = image_string(&i->strings, name),
	               .st_info = (uint8_t)ELF64_ST_INFO(binding, type),
	               .st_shndx = section,
	               .st_value = value,
	               .st_size = size};

	af_buf_add(table, &s, sizeof s);
}

static void image_symbol(struct image *i, const char *name, uint64_t value, uint64_t size,
                         unsigned binding, unsigned type)
{
	image_symbol_in(i, &i->symbols, name, value, size, binding, type, TEXT);
}

static void image_build_id(struct image *i, const char *id)
{
	struct {
		Elf64_Nhdr header;
		char name[4], id[20];
	} note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", ""};

	memcpy(note.id, id, 20);
	image_section(i, ".note.gnu.build-id",
	              (Elf64_Shdr){.sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC}, &note, sizeof note);
}

/* Write the tables that have something in them, then the headers. */
static void image_finish(struct image *i)
{
	uint16_t strings = image_section(i, ".strtab", (Elf64_Shdr){.sh_type = SHT_STRTAB},
	                                 i->strings.data, i->strings.len);
	Elf64_Shdr table = {
	    .sh_type = SHT_SYMTAB, .sh_link = strings, .sh_entsize = sizeof(Elf64_Sym)};

	if (i->symbols.len > sizeof(Elf64_Sym))
		image_section(i, ".symtab", table, i->symbols.data, i->symbols.len);
	table.sh_type = SHT_DYNSYM;
	if (i->dynamic.len > sizeof(Elf64_Sym))
		image_section(i, ".dynsym", table, i->dynamic.data, i->dynamic.len);
	image_string(&i->names, ".shstrtab");
	uint16_t names = image_section(i, ".names", (Elf64_Shdr){.sh_type = SHT_STRTAB}, NULL, 0);
	i->sections[names].sh_size = i->names.len;
	af_buf_add(&i->bytes, i->names.data, i->names.len);

	Elf64_Ehdr h = {.e_type = ET_DYN,
	                .e_machine = EM_X86_64,
	                .e_shoff = i->bytes.len,
	                .e_ehsize = sizeof h,
	                .e_shentsize = sizeof(Elf64_Shdr),
	                .e_shnum = i->nr,
	                .e_shstrndx = names};
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(i->bytes.data, &h, sizeof h);
	af_buf_add(&i->bytes, i->sections, i->nr * sizeof(Elf64_Shdr));
}

static void image_close(struct image *i)
{
	af_buf_free(&i->bytes);
	af_buf_free(&i->symbols);
	af_buf_free(&i->dynamic);
	af_buf_free(&i->strings);
	af_buf_free(&i->names);
}

/* The table of an image; false when the bytes are no ELF file. */
static bool table_open(struct af_symtab *t, const void *data, size_t size)
{
	struct af_elf e;

	*t = (struct af_symtab){0};
	if (af_elf_parse(&e, data, size))
		return false;
	af_symtab_add(t, &e);
	af_plt_add(t, &e);
	af_symtab_build(t);
	return true;
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
}

static void an_address_outside_every_symbol_has_no_name(void **state)
{
	struct image i;
	struct af_symtab t;

	image_open(&i);
	image_symbol(&i, "one", 0x1100, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "two", 0x1200, 0x10, STB_LOCAL, STT_FUNC);
	image_symbol(&i, "data", 0x1300, 0x10, STB_GLOBAL, STT_OBJECT);
	image_symbol(&i, "elsewhere", 0x9000, 0x10, STB_GLOBAL, STT_FUNC);
	image_finish(&i);
	assert_true(table_open(&t, i.bytes.data, i.bytes.len));
	assert_name(&t, 0x10ff, NULL);
	assert_name(&t, 0x1100, "one");
	assert_name(&t, 0x110f, "one");
	assert_name(&t, 0x1110, NULL);
	assert_name(&t, 0x120f, "two");
	assert_name(&t, 0x1210, NULL);
	assert_name(&t, 0x1305, NULL);
	assert_name(&t, 0x9005, NULL);
	assert_name(&t, 0, NULL);
	assert_name(&t, UINT64_MAX, NULL);
	af_symtab_free(&t);
	image_close(&i);
}

/* A file of 32 bits: code, symbols and their names. */
static void a_file_of_32_bits_has_its_symbols(void **state)
{
	struct {
		Elf32_Ehdr h;
		Elf32_Shdr s[4];
		Elf32_Sym symbols[2];
		char names[8];
	} f = {
	    .h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB},
	          .e_type = ET_DYN,
	          .e_machine = EM_386,
	          .e_shoff = sizeof f.h,
	          .e_shentsize = sizeof f.s[0],
	          .e_shnum = 4},
	    .s = {{0},
	          {.sh_type = SHT_NOBITS,
	           .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	           .sh_addr = TEXT_AT,
	           .sh_size = TEXT_SIZE},
	          {.sh_type = SHT_SYMTAB,
	           .sh_link = 3,
	           .sh_size = sizeof f.symbols,
	           .sh_entsize = sizeof f.symbols[0]},
	          {.sh_type = SHT_STRTAB, .sh_size = sizeof f.names}},
	    .symbols = {{0},
	                {.st_name = 1,
	                 .st_value = 0x1100,
	                 .st_size = 0x10,
	                 .st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC),
	                 .st_shndx = 1}},
	    .names = "\0work",
	};
	struct af_symtab t;

	f.s[2].sh_offset = (uint32_t)((char *)f.symbols - (char *)&f);
	f.s[3].sh_offset = (uint32_t)(f.names - (char *)&f);
	assert_true(table_open(&t, &f, sizeof f));
	assert_name(&t, 0x110f, "work");
	assert_name(&t, 0x1110, NULL);
	af_symtab_free(&t);
	/* A symbol of which the last byte is missing is none. */
	assert_true(table_open(&t, &f, f.s[2].sh_offset + sizeof f.symbols - 1));
	assert_int_equal(t.nr, 0);
	af_symtab_free(&t);
}

static void the_better_of_several_names_wins(void **state)
{
	struct image i;
	struct af_symtab t;

	image_open(&i);
	image_symbol(&i, "a", 0x1100, 0x10, STB_LOCAL, STT_FUNC);
	image_symbol(&i, "visible", 0x1100, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "__write", 0x1200, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "write", 0x1200, 0x10, STB_WEAK, STT_FUNC);
	image_symbol(&i, "_IO_puts", 0x1300, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "puts", 0x1300, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "longer", 0x1400, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "brief", 0x1400, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "brieg", 0x1400, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "typed", 0x1500, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "bare", 0x1500, 0x10, STB_GLOBAL, STT_NOTYPE);
	image_symbol(&i, "_Z3runv", 0x1600, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "_a", 0x1600, 0x10, STB_GLOBAL, STT_FUNC);
	image_finish(&i);
	assert_true(table_open(&t, i.bytes.data, i.bytes.len));
	assert_name(&t, 0x1105, "visible");
	assert_name(&t, 0x1205, "write");
	assert_name(&t, 0x1305, "puts");
	assert_name(&t, 0x1405, "brief");
	assert_name(&t, 0x1505, "typed");
	assert_name(&t, 0x1605, "_Z3runv");
	af_symtab_free(&t);
	image_close(&i);
}

static void a_symbol_without_size_reaches_to_the_next(void **state)
{
	struct image i;
	struct af_symtab t;

	image_open(&i);
	image_symbol(&i, "asm_entry", 0x1100, 0, STB_GLOBAL, STT_NOTYPE);
	image_symbol(&i, "local_label", 0x1180, 0, STB_LOCAL, STT_NOTYPE);
	image_symbol(&i, "next", 0x1200, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "label", 0x1208, 0, STB_GLOBAL, STT_NOTYPE);
	image_symbol(&i, "last", 0x1f00, 0, STB_GLOBAL, STT_FUNC);
	image_finish(&i);
	assert_true(table_open(&t, i.bytes.data, i.bytes.len));
	assert_name(&t, 0x11ff, "asm_entry");
	assert_name(&t, 0x120c, "next");
	assert_name(&t, 0x1210, NULL);
	assert_name(&t, 0x1fff, "last");
	assert_name(&t, 0x2000, NULL);
	af_symtab_free(&t);
	image_close(&i);
}

static void a_function_inside_another_has_its_own_addresses(void **state)
{
	struct image i;
	struct af_symtab t;

	image_open(&i);
	image_symbol(&i, "outer", 0x1100, 0x100, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "inner", 0x1140, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(&i, "prologue", 0x1100, 0x8, STB_LOCAL, STT_FUNC);
	image_symbol(&i, "huge", 0x1300, UINT64_MAX, STB_GLOBAL, STT_FUNC);
	image_finish(&i);
	assert_true(table_open(&t, i.bytes.data, i.bytes.len));
	assert_name(&t, 0x1104, "outer");
	assert_name(&t, 0x113f, "outer");
	assert_name(&t, 0x1148, "inner");
	assert_name(&t, 0x1150, "outer");
	assert_name(&t, 0x1200, NULL);
	assert_name(&t, 0x1fff, "huge");
	assert_name(&t, 0x2000, NULL);
	af_symtab_free(&t);
	image_close(&i);
}

static void a_linkage_table_stub_is_named_after_its_function(void **state)
{
	/* Stub 0 jumps to the dynamic linker, stub 1 through word 3 of the table, which is
	 * malloc's. */
	uint8_t stubs[32] = {0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25};
	int32_t disp = GOT_AT + 24 - (0x3000 + 16 + 4 + 6);
	Elf64_Rela rela = {.r_offset = GOT_AT + 24, .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT)};
	struct image i;
	struct af_symtab t;

	memcpy(stubs + 16, "\xf3\x0f\x1e\xfa\xff\x25", 6);
	memcpy(stubs + 22, &disp, 4);
	image_open(&i);
	image_symbol_in(&i, &i.dynamic, "malloc@GLIBC_2.2.5", 0, 0, STB_GLOBAL, STT_FUNC,
	                SHN_UNDEF);
	image_section(&i, ".rela.plt",
	              (Elf64_Shdr){.sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_link = 5}, &rela,
	              sizeof rela);
	image_section(&i, ".plt",
	              (Elf64_Shdr){.sh_type = SHT_PROGBITS,
	                           .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                           .sh_addr = 0x3000,
	                           .sh_entsize = 16},
	              stubs, sizeof stubs);
	image_finish(&i);
	assert_true(table_open(&t, i.bytes.data, i.bytes.len));
	assert_name(&t, 0x3000, NULL);
	assert_name(&t, 0x3010, "malloc@plt");
	assert_name(&t, 0x301f, "malloc@plt");
	assert_int_equal(af_symtab_find(&t, 0x3010)->source, AF_SYMBOL_PLT);
	af_symtab_free(&t);
	image_close(&i);
}

static void image_with_everything(struct image *i)
{
	Elf64_Rela rela = {.r_offset = GOT_AT, .r_info = ELF64_R_INFO(1, R_X86_64_GLOB_DAT)};
	uint8_t stub[8] = {0xff, 0x25, 0xfa, 0x0f, 0, 0, 0x66, 0x90};

	image_open(i);
	image_symbol(i, "one", 0x1100, 0x10, STB_GLOBAL, STT_FUNC);
	image_symbol(i, "two", 0x1200, 0, STB_GLOBAL, STT_FUNC);
	image_symbol_in(i, &i->dynamic, "calloc", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF);
	image_symbol_in(i, &i->dynamic, "three", 0x1300, 0x20, STB_GLOBAL, STT_FUNC, TEXT);
	image_build_id(i, "twenty bytes of name");
	image_section(i, ".rela.dyn",
	              (Elf64_Shdr){.sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_link = 7}, &rela,
	              sizeof rela);
	image_section(i, ".plt.got",
	              (Elf64_Shdr){.sh_type = SHT_PROGBITS,
	                           .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                           .sh_addr = 0x3000,
	                           .sh_entsize = 8},
	              stub, sizeof stub);
	image_finish(i);
}

/*
 * Every answer about damaged bytes must be read inside them: a page that ends at unreadable memory.
 */
static void table_probe(const uint8_t *bytes, size_t size)
{
	size_t pages = (size + 4095) & ~(size_t)4095;
	uint8_t *map = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0),
		id[AF_ELF_BUILD_ID_MAX];
	struct af_symtab t;
	struct af_elf e;

	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + pages, 4096, PROT_NONE), 0);
	memcpy(map + pages - size, bytes, size);
	if (table_open(&t, map + pages - size, size)) {
		for (uint64_t a = 0x1000; a < 0x3010; a += 8) {
			const struct af_symtab_entry *s = af_symtab_find(&t, a);
			assert_true(!s || strlen(s->name) > 0);
		}
		assert_int_equal(af_elf_parse(&e, map + pages - size, size), 0);
		assert_true(af_elf_build_id(&e, id) <= sizeof id);
	}
	af_symtab_free(&t);
	munmap(map, pages + 4096);
}

static void damaged_files_are_read_inside_their_bounds(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct image i;

	image_with_everything(&i);
	for (size_t size = 0; size < i.bytes.len; size += size < 200 ? 1 : 13)
		table_probe((uint8_t *)i.bytes.data, size);
	for (size_t at = 0; at < i.bytes.len; at++) {
		uint8_t *byte = (uint8_t *)i.bytes.data + at, was = *byte;

		if (at > sizeof(Elf64_Ehdr) + 8 && at < sizeof(Elf64_Ehdr) + TEXT_SIZE)
			continue; /* nobody reads the code */
		for (size_t k = 0; k < sizeof values; k++) {
			*byte = values[k];
			table_probe((uint8_t *)i.bytes.data, i.bytes.len);
		}
		*byte = was;
	}
	image_close(&i);
}

static void a_damaged_section_leaves_the_others(void **state)
{
	struct image i;
	struct af_symtab t;

	image_with_everything(&i);
	assert_true(table_open(&t, i.bytes.data, i.bytes.len));
	assert_name(&t, 0x1108, "one");
	assert_name(&t, 0x1308, "three");
	assert_name(&t, 0x3000, "calloc@plt");
	af_symtab_free(&t);

	Elf64_Ehdr h;
	memcpy(&h, i.bytes.data, sizeof h);
	for (uint16_t k = 1; k < h.e_shnum; k++) {
		char *at = i.bytes.data + h.e_shoff + k * sizeof(Elf64_Shdr);
		Elf64_Shdr s;

		memcpy(&s, at, sizeof s);
		if (s.sh_type == SHT_SYMTAB)
			s.sh_offset = UINT64_MAX - 8;
		memcpy(at, &s, sizeof s);
	}
	assert_true(table_open(&t, i.bytes.data, i.bytes.len));
	assert_name(&t, 0x1108, NULL);
	assert_name(&t, 0x1308, "three");
	assert_int_equal(af_symtab_find(&t, 0x1308)->source, AF_SYMBOL_DYNSYM);
	af_symtab_free(&t);
	image_close(&i);
}

/* A directory of the test's own, with the image in it as @path below. */
static char root[64];

static void write_image(const char *path, const struct image *i)
{
	struct af_buf b = {0};

	af_buf_str(&b, root);
	for (const char *p = path; *p; p++) {
		if (*p == '/' && p > path)
			mkdir(b.data, 0700);
		af_buf_char(&b, *p);
	}
	int fd = open(b.data, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(af_write_all(fd, i->bytes.data, i->bytes.len), 0);
	close(fd);
	af_buf_free(&b);
}

static int make_root(void **state)
{
	strcpy(root, "/tmp/aflame-test-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int drop_root(void **state)
{
	return af_remove_tree(root);
}

static void a_file_that_did_not_run_gives_no_names(void **state)
{
	struct af_sym_answer a;
	struct image i;

	image_with_everything(&i);
	write_image("/lib/libone.so", &i);
	image_close(&i);

	const uint8_t *id = (const uint8_t *)"twenty bytes of name", *other = id + 1;
	struct af_sym_module *m = af_sym_module_open("/lib/libone.so", id, 20, root);
	af_sym_lookup(m, 0x1108, &a);
	assert_int_equal(a.source, AF_SYMBOL_SYMTAB);
	assert_int_equal(a.nr, 1);
	assert_string_equal(a.frames[0].function, "one");
	assert_int_equal(a.symbol_offset, 8);
	assert_null(a.frames[0].file);
	af_sym_lookup(m, 0x1000, &a);
	assert_int_equal(a.source, AF_SYMBOL_NO_SYMBOL);
	assert_int_equal(a.nr, 0);
	af_sym_module_close(m);

	m = af_sym_module_open("/lib/libone.so", other, 19, root);
	af_sym_lookup(m, 0x1108, &a);
	assert_int_equal(a.source, AF_SYMBOL_BUILD_ID);
	assert_int_equal(a.nr, 0);
	af_sym_module_close(m);

	m = af_sym_module_open("/lib/libnone.so", id, 20, root);
	af_sym_lookup(m, 0x1108, &a);
	assert_int_equal(a.source, AF_SYMBOL_NO_FILE);
	assert_int_equal(a.nr, 0);
	af_sym_module_close(m);
}

static void names_come_from_the_debug_file_of_the_same_build(void **state)
{
	struct af_sym_answer a;
	struct image i;

	image_open(&i);
	image_build_id(&i, "build id of 20 bytes");
	image_section(&i, ".gnu_debuglink", (Elf64_Shdr){.sh_type = SHT_PROGBITS},
	              "libtwo.debug\0\0\0\0\0\0\0", 20);
	image_finish(&i);
	write_image("/lib/libtwo.so", &i);
	image_close(&i);

	image_open(&i);
	image_build_id(&i, "a build id of others");
	image_symbol(&i, "wrong", 0x1100, 0x10, STB_LOCAL, STT_FUNC);
	image_finish(&i);
	write_image("/lib/libtwo.debug", &i);
	image_close(&i);

	struct af_sym_module *m = af_sym_module_open("/lib/libtwo.so", NULL, 0, root);
	af_sym_lookup(m, 0x1108, &a);
	assert_int_equal(a.source, AF_SYMBOL_NO_SYMBOL);
	af_sym_module_close(m);

	image_open(&i);
	image_build_id(&i, "build id of 20 bytes");
	image_symbol(&i, "right", 0x1100, 0x10, STB_LOCAL, STT_FUNC);
	image_finish(&i);
	write_image("/usr/lib/debug/lib/libtwo.debug", &i);
	m = af_sym_module_open("/lib/libtwo.so", NULL, 0, root);
	af_sym_lookup(m, 0x1108, &a);
	assert_int_equal(a.source, AF_SYMBOL_SYMTAB);
	assert_string_equal(a.frames[0].function, "right");
	af_sym_module_close(m);
	image_close(&i);
}

static void this_machines_vdso_has_names(void **state)
{
	struct af_sym_module *m = af_sym_module_open("[vdso]", NULL, 0, NULL);
	struct af_sym_answer a;
	bool found = false;

	af_sym_lookup(m, 0x1000, &a);
	if (a.source == AF_SYMBOL_NO_FILE) {
		af_sym_module_close(m);
		skip(); /* a kernel without one */
	}
	for (uint64_t vaddr = 0; vaddr < 0x4000 && !found; vaddr += 16) {
		af_sym_lookup(m, vaddr, &a);
		found = a.nr && strstr(a.frames[0].function, "clock_gettime");
	}
	assert_true(found);
	af_sym_module_close(m);
}

static void the_greatest_priority_covers_an_address(void **state)
{
	struct af_ranges r = {0};

	assert_int_equal(af_ranges_find(&r, 5), AF_RANGES_NONE);
	af_ranges_add(&r, 100, 200, 5, 1);
	af_ranges_add(&r, 10, 300, 1, 2);
	af_ranges_add(&r, 150, 180, 3, 3); /* hidden */
	af_ranges_add(&r, 190, 250, 7, 4);
	af_ranges_add(&r, 400, 400, 9, 5); /* empty */
	af_ranges_add(&r, 10, 20, 1, 6);   /* the same priority, added later */
	for (uint64_t k = 0; k < 1000; k++)
		af_ranges_add(&r, 1000 + k * 10, 1005 + k * 10, 0, 100 + (uint32_t)k);
	af_ranges_build(&r);
	assert_int_equal(af_ranges_find(&r, 9), AF_RANGES_NONE);
	assert_int_equal(af_ranges_find(&r, 10), 6);
	assert_int_equal(af_ranges_find(&r, 20), 2);
	assert_int_equal(af_ranges_find(&r, 160), 1);
	assert_int_equal(af_ranges_find(&r, 190), 4);
	assert_int_equal(af_ranges_find(&r, 249), 4);
	assert_int_equal(af_ranges_find(&r, 250), 2);
	assert_int_equal(af_ranges_find(&r, 300), AF_RANGES_NONE);
	for (uint64_t k = 0; k < 1000; k++) {
		assert_int_equal(af_ranges_find(&r, 1004 + k * 10), 100 + k);
		assert_int_equal(af_ranges_find(&r, 1005 + k * 10), AF_RANGES_NONE);
	}
	assert_int_equal(af_ranges_find(&r, UINT64_MAX), AF_RANGES_NONE);
	af_ranges_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_greatest_priority_covers_an_address),
	    cmocka_unit_test(an_address_outside_every_symbol_has_no_name),
	    cmocka_unit_test(a_file_of_32_bits_has_its_symbols),
	    cmocka_unit_test(the_better_of_several_names_wins),
	    cmocka_unit_test(a_symbol_without_size_reaches_to_the_next),
	    cmocka_unit_test(a_function_inside_another_has_its_own_addresses),
	    cmocka_unit_test(a_linkage_table_stub_is_named_after_its_function),
	    cmocka_unit_test(damaged_files_are_read_inside_their_bounds),
	    cmocka_unit_test(a_damaged_section_leaves_the_others),
	    cmocka_unit_test(a_file_that_did_not_run_gives_no_names),
	    cmocka_unit_test(names_come_from_the_debug_file_of_the_same_build),
	    cmocka_unit_test(this_machines_vdso_has_names),
	};
	return cmocka_run_group_tests(tests, make_root, drop_root);
}
