#include "sym/elf/place.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "unwind/elf_file.h"

enum { PLACE_SYMBOLS = 1 << 20 }; /* of one table */

/* While one section of DWARF is relocated. */
struct placing {
	const struct af_elf *e;
	uint8_t *bytes; /* of the section */
	uint64_t size;
	bool unknown; /* some relocation was */
};

/* Bytes of the field of an absolute relocation; 0: of another one. */
static unsigned place_width(uint16_t machine, uint32_t type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_64                           ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
		                                                     : 0;
	case EM_AARCH64:
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	case EM_RISCV:
		return type == R_RISCV_64 ? 8 : type == R_RISCV_32 ? 4 : 0;
	}
	return 0;
}

/* The address of section @number; those of DWARF are not loaded and count from 0. */
static uint64_t place_base(const struct af_elf *e, uint32_t number)
{
	Elf64_Shdr s;

	if (!number || number >= SHN_LORESERVE || !af_elf_section(e, number, &s))
		return 0;
	return s.sh_flags & SHF_ALLOC ? s.sh_addr : 0;
}

static void place_one(void *arg, const struct af_elf_relocation *r)
{
	struct placing *p = arg;
	unsigned width = place_width(p->e->machine, r->type);
	uint64_t value = r->value + place_base(p->e, r->section);

	if (!r->type) /* R_*_NONE */
		return;
	p->unknown |= !width || r->in_place;
	if (width && !r->in_place && r->offset <= p->size && width <= p->size - r->offset)
		memcpy(p->bytes + r->offset, &value, width);
}

static bool place_is_dwarf(const struct af_elf *e, const Elf64_Shdr *names, const Elf64_Shdr *s)
{
	const char *name = af_elf_string(e, names, s->sh_name);

	return s->sh_type == SHT_PROGBITS && !(s->sh_flags & (SHF_ALLOC | SHF_COMPRESSED)) &&
	       name && !strncmp(name, ".debug_", 7);
}

/* False when some relocation is not known. */
static bool place_dwarf(const struct af_elf *e, uint8_t *bytes)
{
	Elf64_Shdr names, s;
	bool known = true;

	for (uint32_t i = 1; known && i < e->nr_sections; i++) {
		if (!af_elf_section(e, e->names, &names) || names.sh_type == SHT_NOBITS ||
		    !af_elf_section(e, i, &s) || !place_is_dwarf(e, &names, &s))
			continue;
		struct placing p = {e, bytes + s.sh_offset, s.sh_size, false};
		af_elf_relocations(e, i, place_one, &p);
		known = !p.unknown;
	}
	return known;
}

/* Symbols count from their sections in a relocatable file (gABI, "Symbol Values"). */
static void place_symbols(const struct af_elf *e, uint8_t *bytes)
{
	Elf64_Shdr table;
	Elf64_Sym s;

	for (uint32_t i = 1; i < e->nr_sections; i++) {
		if (!af_elf_section(e, i, &table) || table.sh_type != SHT_SYMTAB)
			continue;
		uint64_t nr = table.sh_size / sizeof s;
		for (uint64_t k = 1; k < nr && k < PLACE_SYMBOLS; k++) {
			uint8_t *at = bytes + table.sh_offset + k * sizeof s;
			memcpy(&s, at, sizeof s);
			s.st_value += place_base(e, s.st_shndx);
			memcpy(at, &s, sizeof s);
		}
		return;
	}
}

/* Section headers say that nothing is there. */
static void place_hide_dwarf(const struct af_elf *e, uint8_t *bytes)
{
	Elf64_Shdr names, s;
	const uint32_t none = SHT_NULL;

	for (uint32_t i = 1; i < e->nr_sections; i++)
		if (af_elf_section(e, e->names, &names) && names.sh_type != SHT_NOBITS &&
		    af_elf_section(e, i, &s) && place_is_dwarf(e, &names, &s))
			memcpy(bytes + e->sections_at + i * sizeof s +
			           offsetof(Elf64_Shdr, sh_type),
			       &none, sizeof none);
}

int af_elf_place(uint8_t *bytes, size_t size)
{
	const uint16_t laid_out = ET_EXEC;
	struct af_elf e;

	if (af_elf_parse(&e, bytes, size) || e.is_32)
		return -ENOEXEC;
	if (e.type != ET_REL)
		return 0;
	/* Relocations want symbols as they were. */
	bool known = place_dwarf(&e, bytes);
	place_symbols(&e, bytes);
	memcpy(bytes + offsetof(Elf64_Ehdr, e_type), &laid_out, sizeof laid_out);
	if (!known)
		place_hide_dwarf(&e, bytes);
	return known ? 0 : -ENOTSUP;
}
