#include "link_objects.h"

#include <string.h>

static const char names[] = "\0.text\0.symtab\0.strtab\0.rela.text\0.shstrtab\0.tdata\0.group";
static const uint32_t name_at[OBJECT_SECTIONS] = {0, 1, 7, 15, 23, 34, 44, 51};

struct writer {
	uint8_t *to;
	uint64_t at;
	Elf64_Shdr h[OBJECT_SECTIONS];
};

/* The bytes of section @n, and its header. */
static void put(struct writer *w, unsigned n, uint32_t type, uint64_t flags, const void *bytes,
                uint64_t size)
{
	w->at = (w->at + 15) & ~UINT64_C(15);
	memcpy(w->to + w->at, bytes, size);
	w->h[n].sh_name = name_at[n];
	w->h[n].sh_type = type;
	w->h[n].sh_flags = flags;
	w->h[n].sh_offset = w->at;
	w->h[n].sh_size = size;
	w->h[n].sh_addralign = n == OBJECT_TEXT ? 16 : 8;
	w->at += size;
}

static void put_symbols(struct writer *w, const struct object *o)
{
	Elf64_Sym all[OBJECT_MOST + 1] = {{0}};
	char strings[256] = "";
	uint32_t nr = 1, local = 1;
	uint64_t used = 1;

	for (const struct object_symbol *s = o->symbols; s < o->symbols + OBJECT_MOST && s->name;
	     s++) {
		all[nr++] = (Elf64_Sym){.st_name = (uint32_t)used,
		                        .st_info = ELF64_ST_INFO(s->bind, s->type),
		                        .st_shndx = (uint16_t)s->section,
		                        .st_value = s->value,
		                        .st_size = s->size};
		strcpy(strings + used, s->name);
		used += strlen(s->name) + 1;
		local += s->bind == STB_LOCAL;
	}
	put(w, OBJECT_SYMBOLS, SHT_SYMTAB, 0, all, nr * sizeof *all);
	w->h[OBJECT_SYMBOLS].sh_link = OBJECT_STRINGS;
	w->h[OBJECT_SYMBOLS].sh_info = local;
	w->h[OBJECT_SYMBOLS].sh_entsize = sizeof *all;
	put(w, OBJECT_STRINGS, SHT_STRTAB, 0, strings, used);
}

static void put_relas(struct writer *w, const struct object *o)
{
	Elf64_Rela all[OBJECT_MOST];
	uint32_t nr = 0;

	for (const struct object_rela *r = o->relas; r < o->relas + OBJECT_MOST && r->type; r++)
		all[nr++] = (Elf64_Rela){.r_offset = r->offset,
		                         .r_info = ELF64_R_INFO((uint64_t)r->symbol, r->type),
		                         .r_addend = r->addend};
	put(w, OBJECT_RELA, SHT_RELA, 0, all, nr * sizeof *all);
	w->h[OBJECT_RELA].sh_link = OBJECT_SYMBOLS;
	w->h[OBJECT_RELA].sh_info = OBJECT_TEXT;
}

size_t object_write(const struct object *o, uint8_t *to)
{
	struct writer w = {.to = to, .at = sizeof(Elf64_Ehdr)};
	const uint32_t group[] = {GRP_COMDAT, OBJECT_TEXT};
	static const uint8_t tdata[64] = {1, 2, 3, 4, 5, 6, 7, 8};

	put(&w, OBJECT_TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, o->text, o->text_size);
	put_symbols(&w, o);
	put_relas(&w, o);
	put(&w, OBJECT_NAMES, SHT_STRTAB, 0, names, sizeof names);
	put(&w, OBJECT_TDATA, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, tdata, o->tdata_size);
	put(&w, OBJECT_GROUP, o->group ? SHT_GROUP : SHT_NULL, 0, group, sizeof group);
	w.h[OBJECT_GROUP].sh_link = OBJECT_SYMBOLS;
	w.h[OBJECT_GROUP].sh_info = o->group;
	w.at = (w.at + 15) & ~UINT64_C(15);
	memcpy(to + w.at, w.h, sizeof w.h);
	Elf64_Ehdr e = {.e_type = ET_REL,
	                .e_machine = o->machine,
	                .e_version = EV_CURRENT,
	                .e_shoff = w.at,
	                .e_ehsize = sizeof e,
	                .e_shentsize = sizeof *w.h,
	                .e_shnum = OBJECT_SECTIONS,
	                .e_shstrndx = OBJECT_NAMES};
	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	e.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(to, &e, sizeof e);
	return w.at + sizeof w.h;
}
