/* Functions of a shared object for the host, as PoCL makes them of kernels. */
#include <stdio.h>
#include <string.h>

#include "sym/device/code_object.h"
#include "sym/elf/symtab.h"
#include "sym/sym.h"

static const uint8_t *host_bytes(const struct af_elf *e, uint64_t address, uint64_t size)
{
	Elf64_Shdr s;

	for (uint32_t i = 1; i < e->nr_sections; i++)
		if (af_elf_section(e, i, &s) && s.sh_type == SHT_PROGBITS &&
		    s.sh_flags & SHF_EXECINSTR && address >= s.sh_addr &&
		    address - s.sh_addr <= s.sh_size && size <= s.sh_size - (address - s.sh_addr))
			return af_elf_bytes(e, &s) + (address - s.sh_addr);
	return NULL;
}

void code_read_host(struct af_code *c)
{
	struct af_symtab symbols = {0};

	snprintf(c->arch, sizeof c->arch, "%s",
	         c->elf.machine == EM_X86_64  ? "x86_64"
	         : c->elf.machine == EM_RISCV ? "riscv64"
	                                      : "aarch64");
	af_symtab_add(&symbols, &c->elf);
	af_plt_add(&symbols, &c->elf); /* one kernel function calls the other by a stub */
	af_symtab_build(&symbols);
	for (uint32_t i = 0; i < symbols.nr; i++) {
		const struct af_symtab_entry *s = &symbols.entries[i];
		size_t len;

		/* If an address has several names, the best one answers. */
		if (!s->size || s->size > s->limit - s->start ||
		    af_symtab_find(&symbols, s->start) != s)
			continue;
		/* A stub's name is of the table. */
		const char *name = s->source == AF_SYMBOL_PLT
		                       ? af_arena_strdup(&c->strings, s->name, strlen(s->name))
		                       : s->name;
		code_add(c, 0,
		         &(struct af_code_function){
			     .name = name,
			     .start = s->start,
			     .size = s->size,
			     .bytes = host_bytes(&c->elf, s->start, s->size),
			     .entry = af_sym_kernel_name(name, &len) != NULL,
			 });
	}
	af_symtab_free(&symbols);
}
