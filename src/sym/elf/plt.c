/*
 * Names the stubs of procedure linkage tables after the functions whose addresses they jump
 * through.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "sym/elf/symtab.h"

enum {
	PLT_IFUNC_MOST = 256, /* indirect functions that are looked for by address */
	PLT_STUBS_MOST = 1 << 20,
};

/* Which function's address the dynamic linker writes into which word of the global offset table. */
struct plt_got {
	struct af_map names; /* address of the word → const char * */
	uint32_t nr_ifuncs;
};

/* The symbol that starts at @address; only asked for the few indirect functions. */
static const char *plt_name_at(const struct af_symtab *t, uint64_t address)
{
	for (uint32_t i = 0; i < t->nr; i++)
		if (t->entries[i].start == address && t->entries[i].source != AF_SYMBOL_PLT)
			return t->entries[i].name;
	return NULL;
}

static const char *plt_symbol_name(const struct af_elf *e, const Elf64_Shdr *table, uint64_t i)
{
	Elf64_Shdr strings;
	Elf64_Sym s;

	if (i >= table->sh_size / sizeof s || !af_elf_section(e, table->sh_link, &strings))
		return NULL;
	memcpy(&s, af_elf_bytes(e, table) + i * sizeof s, sizeof s);
	return af_elf_string(e, &strings, s.st_name);
}

static void plt_read_relocations(struct plt_got *got, const struct af_symtab *t,
                                 const struct af_elf *e, const Elf64_Shdr *rela)
{
	Elf64_Shdr table = {0};
	bool symbols = af_elf_section(e, rela->sh_link, &table) && table.sh_type == SHT_DYNSYM;
	const uint8_t *p = af_elf_bytes(e, rela);

	for (uint64_t n = rela->sh_size / sizeof(Elf64_Rela); n; n--, p += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		const char *name = NULL;

		memcpy(&r, p, sizeof r);
		unsigned type = ELF64_R_TYPE(r.r_info);
		if (symbols && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT))
			name = plt_symbol_name(e, &table, ELF64_R_SYM(r.r_info));
		else if (type == R_X86_64_IRELATIVE && got->nr_ifuncs++ < PLT_IFUNC_MOST)
			name = plt_name_at(t, (uint64_t)r.r_addend);
		if (name && *name)
			*af_map_at(&got->names, r.r_offset, NULL) = (uintptr_t)name;
	}
}

/* The word that a stub jumps through: it is in `jmp *disp(%rip)`, whatever comes before that. */
static const char *plt_stub_target(const struct plt_got *got, const uint8_t *code, uint64_t size,
                                   uint64_t vaddr)
{
	for (uint64_t i = 0; i + 6 <= size; i++) {
		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		int32_t disp;
		memcpy(&disp, code + i + 2, sizeof disp);
		uint64_t *name = af_map_get(&got->names, vaddr + i + 6 + (uint64_t)(int64_t)disp);
		return name ? (const char *)(uintptr_t)*name : NULL;
	}
	return NULL;
}

static void plt_read_stubs(struct af_symtab *t, const struct plt_got *got, const struct af_elf *e,
                           const Elf64_Shdr *s)
{
	uint64_t each = s->sh_entsize == 8 ? 8 : 16;
	const uint8_t *code = af_elf_bytes(e, s);

	for (uint64_t at = 0; at + each <= s->sh_size && at / each < PLT_STUBS_MOST; at += each) {
		const char *target = plt_stub_target(got, code + at, each, s->sh_addr + at);

		if (!target)
			continue;
		size_t len = strcspn(target, "@");
		char *name = af_arena_alloc(&t->strings, len + sizeof "@plt");
		memcpy(name, target, len);
		memcpy(name + len, "@plt", sizeof "@plt");
		af_symtab_put(t, &(struct af_symtab_entry){
				     .start = s->sh_addr + at,
				     .size = each,
				     .limit = s->sh_addr + s->sh_size,
				     .name = name,
				     .source = AF_SYMBOL_PLT,
				 });
	}
}

void af_plt_add(struct af_symtab *t, const struct af_elf *e)
{
	struct plt_got got = {0};
	Elf64_Shdr s, names;

	if (e->machine != EM_X86_64 || e->is_32 || e->type == ET_REL ||
	    !af_elf_section(e, e->names, &names))
		return;
	for (uint32_t i = 1; i < e->nr_sections; i++)
		if (af_elf_section(e, i, &s) && s.sh_type == SHT_RELA && (s.sh_flags & SHF_ALLOC))
			plt_read_relocations(&got, t, e, &s);
	for (uint32_t i = 1; got.names.nr && i < e->nr_sections; i++) {
		if (!af_elf_section(e, i, &s) || s.sh_type != SHT_PROGBITS ||
		    !(s.sh_flags & SHF_EXECINSTR) || s.sh_addr + s.sh_size < s.sh_addr)
			continue;
		const char *name = af_elf_string(e, &names, s.sh_name);
		if (name && !strncmp(name, ".plt", 4))
			plt_read_stubs(t, &got, e, &s);
	}
	af_map_free(&got.names);
}
