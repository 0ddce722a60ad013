/*
 * Functions of a zebin, Intel's object of device code: ELF for EM_INTELGT, relocatable as the
 * compiler leaves it or of types of Intel's own, with a section `.text.KERNEL` for each kernel.
 */
#include <stdio.h>
#include <string.h>

#include "sym/device/code_object.h"
#include "unwind/notes.h"

enum {
	ZEBIN_NOTE_PRODUCT = 1, /* type of the note that says for which product it is */
	ZEBIN_COMPACTED = 1 << 29,
};

/* The architecture of products, by the numbers that the note has (igfxfmid.h of Intel's). */
static const struct {
	uint16_t first, last;
	const char *name;
} zebin_archs[] = {
    {16, 16, "gen8"},        {18, 23, "gen9"},      {26, 28, "gen11"},      {29, 33, "gen12lp"},
    {1210, 1210, "gen12lp"}, {1250, 1250, "xe-hp"}, {1270, 1270, "xe-hpg"}, {1271, 1271, "xe-hpc"},
    {1272, 1273, "xe-hpg"},  {1274, 1275, "xe2"},   {1300, 1300, "xe3"},    {1340, 1340, "xe3"},
};

static const char *zebin_arch(uint32_t product)
{
	for (size_t i = 0; i < sizeof zebin_archs / sizeof *zebin_archs; i++)
		if (product >= zebin_archs[i].first && product <= zebin_archs[i].last)
			return zebin_archs[i].name;
	return "intel";
}

/* The product that the notes name, 0 for none. */
static uint32_t zebin_product(const struct af_elf *e)
{
	static const char owner[] = "IntelGT";
	uint32_t product;
	struct af_note n;
	Elf64_Shdr s;

	if (!af_elf_named(e, ".note.intelgt.compat", &s) || s.sh_type != SHT_NOTE)
		return 0;
	struct af_notes notes = af_notes_in(af_elf_bytes(e, &s), s.sh_size);
	while (af_note_next(&notes, &n))
		if (af_note_is(&n, ZEBIN_NOTE_PRODUCT, owner, sizeof owner) &&
		    n.len == sizeof product) {
			memcpy(&product, af_elf_bytes(e, &s) + n.at, sizeof product);
			return product;
		}
	return 0;
}

static const char *zebin_section_name(const struct af_code *c, const Elf64_Shdr *s)
{
	Elf64_Shdr names;

	if (!af_elf_section(&c->elf, c->elf.names, &names))
		return NULL;
	return af_elf_string(&c->elf, &names, s->sh_name);
}

static void zebin_symbol(struct af_code *c, const Elf64_Sym *s, uint32_t number, const char *name)
{
	static const char prefix[] = ".text.";
	uint64_t start = s->st_value;
	Elf64_Shdr text;

	/* "_entry" is the start of a kernel whose arguments are loaded already: not a function. */
	if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !name || !*name || !strcmp(name, "_entry") ||
	    !code_section(c, s->st_shndx, &text))
		return;
	/* In a binary from the driver, sections have the addresses at which it put them. */
	if (text.sh_addr && start >= text.sh_addr)
		start -= text.sh_addr;
	if (start >= text.sh_size)
		return;
	const char *section = zebin_section_name(c, &text);
	uint64_t left = text.sh_size - start;
	code_add(c, s->st_shndx,
	         &(struct af_code_function){
		     .name = name,
		     .start = start,
		     .size = s->st_size && s->st_size < left ? s->st_size : left,
		     .bytes = af_elf_bytes(&c->elf, &text) + start,
		     .symbol = number,
		     .entry = section && !strncmp(section, prefix, sizeof prefix - 1) &&
	                      !strcmp(section + sizeof prefix - 1, name),
		 });
}

void code_read_zebin(struct af_code *c)
{
	snprintf(c->arch, sizeof c->arch, "%s", zebin_arch(zebin_product(&c->elf)));
	code_each_symbol(c, zebin_symbol);
}

uint32_t code_zebin_step(const uint8_t *bytes, uint64_t left)
{
	uint32_t first;

	if (left < sizeof first)
		return (uint32_t)left;
	memcpy(&first, bytes, sizeof first);
	return first & ZEBIN_COMPACTED ? 8 : 16;
}
