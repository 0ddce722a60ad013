/* Code made at run time, by what the recorder saw of it and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "sym/elf/place.h"
#include "sym/jit/timed.h"

/* The name of the code at @address at @time_ns, "" when there is none. */
static const char *name_at(struct af_jit_timed *t, uint64_t address, uint64_t time_ns)
{
	struct af_jitdump_answer a;

	return af_jitdump_find(&t->table, address, time_ns, &a) ? a.name : "";
}

static void add_text(struct af_jit_timed *t, const char *text, uint64_t from_ns)
{
	af_jit_timed_text(t, text, strlen(text), from_ns);
}

static void a_line_of_a_map_holds_from_when_it_was_seen(void **state)
{
	struct af_jit_timed t = {0};

	add_text(&t, "1000 10 one\n2000 10 other\n", 100);
	add_text(&t, "1000 10 two\n", 200);
	add_text(&t, "1008 20 three\n", 300);
	af_jit_timed_end(&t);
	assert_string_equal(name_at(&t, 0x1000, 99), "");
	assert_string_equal(name_at(&t, 0x1000, 100), "one");
	assert_string_equal(name_at(&t, 0x100f, 199), "one");
	assert_string_equal(name_at(&t, 0x1000, 200), "two");
	assert_string_equal(name_at(&t, 0x1008, 299), "two");
	assert_string_equal(name_at(&t, 0x1008, 300), "three");
	assert_string_equal(name_at(&t, 0x1007, 300), "two");
	assert_string_equal(name_at(&t, 0x2000, 1000), "other");
	assert_string_equal(name_at(&t, 0x2010, 1000), "");
	af_jit_timed_close(&t);
}

static void a_map_that_is_written_anew_changes_nothing_that_stays(void **state)
{
	struct af_jit_timed t = {0};

	add_text(&t, "1000 10 one\n2000 10 other\n", 100);
	add_text(&t, "1000 10 one\n2000 10 other\n3000 10 more\n", 200);
	assert_int_equal(t.table.nr, 3);
	af_jit_timed_end(&t);
	assert_string_equal(name_at(&t, 0x1000, 150), "one");
	assert_string_equal(name_at(&t, 0x3000, 150), "");
	assert_string_equal(name_at(&t, 0x3000, 200), "more");
	af_jit_timed_close(&t);
}

static void lines_that_make_no_sense_are_left_out(void **state)
{
	struct af_jit_timed t = {0};

	add_text(&t, "1000 0 empty\nffffffffffffffff 10 wraps\nx\n\n 1 2 3\n1000 10 \n5 5 good", 1);
	assert_int_equal(t.table.nr, 1);
	af_jit_timed_end(&t);
	assert_string_equal(name_at(&t, 6, 1), "good");
	af_jit_timed_close(&t);
}

/* .NET writes numbers with leading zeros and capitals, and a method again when it is optimised. */
static void methods_of_dotnet_are_named_by_their_tier(void **state)
{
	struct af_jit_timed t = {0};

	add_text(&t, "00007FA1B2C3D4E0 1A int32 [app] Loop::Inner(int32)[Tier0]\n", 100);
	add_text(&t, "00007FA1B2C3E000 12 int32 [app] Loop::Inner(int32)[OptimizedTier1]\n", 200);
	af_jit_timed_end(&t);
	assert_string_equal(name_at(&t, 0x7fa1b2c3d4f9, 100),
	                    "int32 [app] Loop::Inner(int32)[Tier0]");
	assert_string_equal(name_at(&t, 0x7fa1b2c3d4fa, 100), "");
	assert_string_equal(name_at(&t, 0x7fa1b2c3e000, 200),
	                    "int32 [app] Loop::Inner(int32)[OptimizedTier1]");
	af_jit_timed_close(&t);
}

static void the_times_of_an_address_are_those_of_its_code(void **state)
{
	struct af_jit_timed t = {0};
	uint64_t times[8];

	add_text(&t, "1000 10 one\n2000 10 other\n", 100);
	add_text(&t, "1000 10 two\n", 200);
	add_text(&t, "1000 10 three\n", 300);
	af_jit_timed_end(&t);
	assert_int_equal(af_jitdump_times(&t.table, 0x1004, 0, times, 8), 3);
	assert_int_equal(af_jitdump_times(&t.table, 0x1004, 100, times, 8), 2);
	assert_int_equal(times[0] + times[1], 500);
	assert_int_equal(af_jitdump_times(&t.table, 0x1004, 0, times, 1), 1);
	assert_int_equal(af_jitdump_times(&t.table, 0x2004, 100, times, 8), 0);
	assert_int_equal(af_jitdump_times(&t.table, 0x3000, 0, times, 8), 0);
	af_jit_timed_close(&t);
}

/*
 * A file with one section of code and two functions, the second of which has no size; its DWARF is
 * an address in the code, and a place in itself.
 */
struct image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[6];
	Elf64_Sym symbols[5];
	char names[32];
	uint8_t dwarf[12];
	Elf64_Rela places[2];
};

static void image_make(struct image *f, uint16_t type)
{
	const uint64_t base = type == ET_REL ? 0 : 0x5000;

	*f = (struct image){
	    .header = {.e_type = type,
	               .e_machine = EM_X86_64,
	               .e_version = EV_CURRENT,
	               .e_ehsize = sizeof f->header,
	               .e_shoff = offsetof(struct image, sections),
	               .e_shentsize = sizeof *f->sections,
	               .e_shnum = 6,
	               .e_shstrndx = 3},
	    .sections = {{0},
	                 {.sh_type = SHT_PROGBITS,
	                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                  .sh_addr = 0x5000,
	                  .sh_size = 0x40},
	                 {.sh_type = SHT_SYMTAB,
	                  .sh_offset = offsetof(struct image, symbols),
	                  .sh_size = sizeof f->symbols,
	                  .sh_link = 3,
	                  .sh_entsize = sizeof *f->symbols},
	                 {.sh_type = SHT_STRTAB,
	                  .sh_offset = offsetof(struct image, names),
	                  .sh_size = sizeof f->names},
	                 {.sh_name = 14,
	                  .sh_type = SHT_PROGBITS,
	                  .sh_offset = offsetof(struct image, dwarf),
	                  .sh_size = sizeof f->dwarf},
	                 {.sh_type = SHT_RELA,
	                  .sh_offset = offsetof(struct image, places),
	                  .sh_size = sizeof f->places,
	                  .sh_link = 2,
	                  .sh_info = 4,
	                  .sh_entsize = sizeof *f->places}},
	    .symbols = {{0},
	                {.st_name = 1,
	                 .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
	                 .st_shndx = 1,
	                 .st_value = base,
	                 .st_size = 0x10},
	                {.st_name = 7,
	                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	                 .st_shndx = 1,
	                 .st_value = base + 0x20},
	                {.st_name = 1, /* outside of its section */
	                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	                 .st_shndx = 1,
	                 .st_value = base + 0x40,
	                 .st_size = 0x10},
	                {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = 4}},
	    .names = "\0first\0second\0.debug_x",
	    .places = {{0, ELF64_R_INFO(2, R_X86_64_64), 4}, {8, ELF64_R_INFO(4, R_X86_64_32), 3}},
	};
	memcpy(f->header.e_ident, ELFMAG, SELFMAG);
	f->header.e_ident[EI_CLASS] = ELFCLASS64;
	f->header.e_ident[EI_DATA] = ELFDATA2LSB;
	f->header.e_ident[EI_VERSION] = EV_CURRENT;
}

static void functions_of_an_image_are_there_as_long_as_it_is(void **state)
{
	static const uint16_t types[] = {ET_REL, ET_DYN};
	struct image f;

	for (int i = 0; i < 2; i++) {
		struct af_jit_timed t = {0};

		image_make(&f, types[i]);
		assert_int_equal(af_jit_timed_image(
				     &t, &(struct af_jit_image){(void *)&f, sizeof f, 1, 100, 200}),
		                 0);
		assert_int_equal(t.table.nr, 2);
		af_jit_timed_end(&t);
		assert_string_equal(name_at(&t, 0x5000, 100), "first");
		assert_string_equal(name_at(&t, 0x5010, 100), "");
		assert_string_equal(name_at(&t, 0x503f, 199), "second");
		assert_string_equal(name_at(&t, 0x5040, 199), "");
		assert_string_equal(name_at(&t, 0x5000, 99), "");
		assert_string_equal(name_at(&t, 0x5000, 200), "");
		af_jit_timed_close(&t);
	}
}

static void a_damaged_image_gives_no_names_and_does_no_harm(void **state)
{
	struct image f;

	for (size_t size = 0; size < sizeof f; size++) {
		struct af_jit_timed t = {0};
		uint8_t bytes[sizeof f];

		image_make(&f, ET_REL);
		memcpy(bytes, &f, size);
		af_jit_timed_image(&t, &(struct af_jit_image){bytes, size, 1, 100, 200});
		af_jit_timed_end(&t);
		assert_true(t.table.nr <= 2);
		af_jit_timed_close(&t);
	}
}

/* Where the code of @f lies, by its DWARF; and the place in itself. */
static uint64_t dwarf_address(const struct image *f, uint32_t *place)
{
	uint64_t address;

	memcpy(&address, f->dwarf, sizeof address);
	memcpy(place, f->dwarf + sizeof address, sizeof *place);
	return address;
}

static void a_relocatable_image_is_laid_out_where_it_was_loaded(void **state)
{
	struct image f;
	uint32_t place;

	image_make(&f, ET_REL);
	assert_int_equal(af_elf_place((uint8_t *)&f, sizeof f), 0);
	assert_int_equal(f.header.e_type, ET_EXEC);
	assert_int_equal(f.symbols[1].st_value, 0x5000);
	assert_int_equal(f.symbols[2].st_value, 0x5020);
	assert_int_equal(dwarf_address(&f, &place), 0x5024);
	assert_int_equal(place, 3);
	/* Once more changes nothing, and neither does a file that is laid out. */
	assert_int_equal(af_elf_place((uint8_t *)&f, sizeof f), 0);
	assert_int_equal(f.symbols[2].st_value, 0x5020);
	image_make(&f, ET_DYN);
	assert_int_equal(af_elf_place((uint8_t *)&f, sizeof f), 0);
	assert_int_equal(dwarf_address(&f, &place), 0);
}

static void dwarf_with_unknown_relocations_is_not_there(void **state)
{
	struct image f;

	image_make(&f, ET_REL);
	f.places[1].r_info = ELF64_R_INFO(4, R_X86_64_PLT32);
	assert_int_equal(af_elf_place((uint8_t *)&f, sizeof f), -ENOTSUP);
	assert_int_equal(f.sections[4].sh_type, SHT_NULL);
	assert_int_equal(f.symbols[2].st_value, 0x5020);
}

static void relocations_outside_of_their_section_write_nothing(void **state)
{
	struct image f;

	for (uint64_t offset = 5; offset < 16; offset++) {
		image_make(&f, ET_REL);
		f.places[0].r_offset = offset;
		f.places[1].r_offset = UINT64_MAX - offset;
		struct image before = f;
		af_elf_place((uint8_t *)&f, sizeof f);
		assert_memory_equal(f.dwarf, before.dwarf, sizeof f.dwarf);
		assert_memory_equal(f.places, before.places, sizeof f.places);
	}
	for (size_t size = 0; size < sizeof f; size++) {
		image_make(&f, ET_REL);
		af_elf_place((uint8_t *)&f, size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_line_of_a_map_holds_from_when_it_was_seen),
	    cmocka_unit_test(a_map_that_is_written_anew_changes_nothing_that_stays),
	    cmocka_unit_test(lines_that_make_no_sense_are_left_out),
	    cmocka_unit_test(methods_of_dotnet_are_named_by_their_tier),
	    cmocka_unit_test(the_times_of_an_address_are_those_of_its_code),
	    cmocka_unit_test(functions_of_an_image_are_there_as_long_as_it_is),
	    cmocka_unit_test(a_damaged_image_gives_no_names_and_does_no_harm),
	    cmocka_unit_test(a_relocatable_image_is_laid_out_where_it_was_loaded),
	    cmocka_unit_test(dwarf_with_unknown_relocations_is_not_there),
	    cmocka_unit_test(relocations_outside_of_their_section_write_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
