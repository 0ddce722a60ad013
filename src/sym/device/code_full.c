/*
 * .debug_info of an object for libdw. In a cubin or zebin every function is at address 0 of its
 * section, and relocations say which section is meant: a copy of .debug_info has them applied, as
 * if the sections lay one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "sym/device/code_object.h"
#include "sym/elf/unpack.h"

enum {
	FULL_FIRST = 1 << 20, /* address of the first section; 0 would be code that is not there */
	FULL_ALIGN = 1 << 12,
};

/* Bytes that relocations of a type write, as ptxas and as Intel's compiler number the types. */
static uint64_t full_size(const struct af_code *c, uint32_t type)
{
	bool wide = type == (c->elf.machine == EM_INTELGT ? 1 : 2);

	return type < 1 || type > 2 ? 0 : wide ? 8 : 4;
}

/*
 * The address of each section of code in the copy; returns the only one, 0 when there are several.
 */
static uint32_t full_lay_out(struct af_code *c)
{
	uint32_t nr = 0, only = 0;
	struct code_lines *l = &c->lines;
	uint64_t next = FULL_FIRST;
	Elf64_Shdr s;

	l->bases = af_xcalloc(c->elf.nr_sections, sizeof *l->bases);
	for (uint32_t i = 1; i < c->elf.nr_sections; i++) {
		if (!af_elf_section(&c->elf, i, &s) || !(s.sh_flags & SHF_EXECINSTR))
			continue;
		l->bases[i] = next;
		next += (s.sh_size | (FULL_ALIGN - 1)) + 1;
		only = i;
		nr++;
	}
	return nr == 1 ? only : 0;
}

struct full_target {
	const struct af_code *c;
	uint8_t *bytes; /* of the section in the copy */
	uint64_t size;
	uint32_t only; /* section that has code */
	bool any;      /* there was a relocation */
};

static void full_relocate(void *arg, const struct af_elf_relocation *r)
{
	struct full_target *t = arg;
	const struct af_code *c = t->c;
	uint64_t size = full_size(c, r->type), addend = 0;
	uint32_t section = r->section;
	Elf64_Shdr s;

	if (!size || r->offset > t->size || size > t->size - r->offset)
		return;
	if (r->in_place)
		memcpy(&addend, t->bytes + r->offset, size);
	uint64_t value = r->value + addend;
	/*
	 * Relocations of Intel's compiler name .debug_info as the section of addresses in
	 * .debug_info.
	 */
	if (c->elf.machine == EM_INTELGT && size == 8 && t->only)
		section = t->only;
	if (af_elf_section(&c->elf, section, &s) && s.sh_addr && value >= s.sh_addr)
		value -= s.sh_addr;
	if (section < c->elf.nr_sections)
		value += c->lines.bases[section];
	memcpy(t->bytes + r->offset, &value, size);
	t->any = true;
}

/* Without relocations, addresses are those that the sections have: Intel's driver has done it. */
static void full_placed(struct af_code *c)
{
	Elf64_Shdr s;

	for (uint32_t i = 1; i < c->elf.nr_sections; i++)
		if (af_elf_section(&c->elf, i, &s) && s.sh_flags & SHF_EXECINSTR && s.sh_addr)
			c->lines.bases[i] = s.sh_addr;
}

static void full_place(struct af_code *c)
{
	static const char *const names[] = {".debug_info",       ".debug_line", ".debug_ranges",
	                                    ".debug_rnglists",   ".debug_addr", ".debug_aranges",
	                                    ".debug_str_offsets"};

	uint32_t only = full_lay_out(c);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		uint32_t number = af_elf_number(&c->elf, names[i]);
		Elf64_Shdr s;

		if (!af_elf_section(&c->elf, number, &s) || s.sh_type == SHT_NOBITS)
			continue;
		struct full_target t = {
		    .c = c, .bytes = c->lines.copy + s.sh_offset, .size = s.sh_size, .only = only};
		af_elf_relocations(&c->elf, number, full_relocate, &t);
		if (!i && !t.any)
			full_placed(c);
	}
}

void code_read_full(struct af_code *c)
{
	struct af_lines_image image = {.size = c->elf.size};
	struct code_lines *l = &c->lines;

	if (!af_elf_number(&c->elf, ".debug_info"))
		return;
	if (code_by_section(c) || af_unpack_zstd(&c->elf, &l->copy, &image.size)) {
		l->copy = af_xrealloc(NULL, c->elf.size);
		memcpy(l->copy, c->elf.data, c->elf.size);
	}
	if (code_by_section(c))
		full_place(c);
	image.data = l->copy;
	l->full_open = !af_lines_open(&l->full, &image, NULL);
}
