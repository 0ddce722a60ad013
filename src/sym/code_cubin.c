/*
 * Functions of a cubin: ELF for EM_CUDA, a section `.text.KERNEL` for each kernel, and in it what
 * was not inlined into it, as local symbols `$KERNEL$FUNCTION`.
 */
#include <stdio.h>
#include <string.h>

#include "sym/code_object.h"

enum {
	CUBIN_ABI_WIDE = 8, /* EI_ABIVERSION from which the SM is in the second byte of e_flags */
	CUBIN_SYMBOL_ENTRY = 16, /* in st_other: a kernel */
};

static void cubin_arch(struct af_code *c)
{
	Elf64_Ehdr h;

	memcpy(&h, c->elf.data, sizeof h);
	c->sm =
	    h.e_ident[EI_ABIVERSION] >= CUBIN_ABI_WIDE ? h.e_flags >> 8 & 0xff : h.e_flags & 0xff;
	if (c->sm)
		snprintf(c->arch, sizeof c->arch, "sm_%u", c->sm);
}

/* The bytes of section @i, when it holds code. */
static bool cubin_code(const struct af_code *c, uint32_t i, Elf64_Shdr *s)
{
	return af_elf_section(&c->elf, i, s) && s->sh_type == SHT_PROGBITS &&
	       s->sh_flags & SHF_EXECINSTR;
}

static void cubin_symbol(struct af_code *c, const Elf64_Sym *s, uint32_t number, const char *name)
{
	Elf64_Shdr text;

	if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !name || !*name ||
	    !cubin_code(c, s->st_shndx, &text) || s->st_value >= text.sh_size)
		return;
	uint64_t left = text.sh_size - s->st_value;
	code_add(c, s->st_shndx,
	         &(struct af_code_function){
		     .name = name,
		     .start = s->st_value,
		     .size = s->st_size && s->st_size < left ? s->st_size : left,
		     .bytes = af_elf_bytes(&c->elf, &text) + s->st_value,
		     .symbol = number,
		     .entry = s->st_other & CUBIN_SYMBOL_ENTRY,
		 });
}

void code_read_cubin(struct af_code *c)
{
	Elf64_Shdr table, strings;

	cubin_arch(c);
	if (!af_elf_named(&c->elf, ".symtab", &table) || table.sh_type != SHT_SYMTAB ||
	    !af_elf_section(&c->elf, table.sh_link, &strings))
		return;
	const uint8_t *p = af_elf_bytes(&c->elf, &table);
	for (uint32_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;

		memcpy(&s, p + (size_t)i * sizeof s, sizeof s);
		cubin_symbol(c, &s, i, af_elf_string(&c->elf, &strings, s.st_name));
	}
}
