/*
 * Functions of a cubin: ELF for EM_CUDA, a section `.text.KERNEL` for each kernel, and in it what
 * was not inlined into it, as local symbols `$KERNEL$FUNCTION`.
 */
#include <stdio.h>
#include <string.h>

#include "sym/device/code_object.h"

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

static void cubin_symbol(struct af_code *c, const Elf64_Sym *s, uint32_t number, const char *name)
{
	Elf64_Shdr text;

	if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !name || !*name ||
	    !code_section(c, s->st_shndx, &text) || s->st_value >= text.sh_size)
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
	cubin_arch(c);
	code_each_symbol(c, cubin_symbol);
}
