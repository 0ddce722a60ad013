/*
 * The ELF file around the sections: headers, segments, section headers, symbols, the build-id. Its
 * addresses are those that it runs at, so its bias is 0 and readers add nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "link/link_private.h"

/* The tables that are behind the sections. */
enum { IMAGE_SYMBOLS, IMAGE_STRINGS, IMAGE_NAMES, IMAGE_TABLES };
static const char *const table_names[IMAGE_TABLES] = {".symtab", ".strtab", ".shstrtab"};

/* Symbols that are counted, or, with somewhere to write them, written. */
struct image_symbols {
	uint8_t *symbols, *strings; /* NULL: only counted */
	uint64_t nr, used;
};

static bool out_is_kept(const struct link_out *o)
{
	return o->size && o->place != LINK_TBSS;
}

/* Section number of output section @out in the file. */
static uint16_t section_number(const struct af_link *l, uint32_t out)
{
	uint32_t n = 1;

	if (!out_is_kept(&l->outs[out]))
		return SHN_ABS;
	for (uint32_t i = 0; i < out; i++)
		n += out_is_kept(&l->outs[i]);
	return (uint16_t)(n < SHN_LORESERVE ? n : SHN_ABS);
}

static void symbol_put(struct image_symbols *to, const char *name, Elf64_Sym s)
{
	size_t size = strlen(name) + 1;

	if (to->symbols) {
		s.st_name = (uint32_t)to->used;
		memcpy(to->symbols + to->nr * sizeof s, &s, sizeof s);
		memcpy(to->strings + to->used, name, size);
	}
	to->nr++;
	to->used += size;
}

/* Symbol @s of object @number, which is in a section of the file. */
static void symbol_of(const struct af_link *l, uint32_t number, uint64_t i, Elf64_Sym s,
                      struct image_symbols *to)
{
	const struct link_object *o = &l->objects[number];
	const char *name = link_symbol_name(o, &s);
	struct link_value v;

	if (!link_value(l, number, i, &v) || v.is_discarded || !*name)
		return;
	if (to->symbols) {
		s.st_shndx = s.st_shndx == SHN_COMMON ? section_number(l, l->out_bss)
		             : s.st_shndx == SHN_ABS
		                 ? SHN_ABS
		                 : section_number(l, o->sections[s.st_shndx].out - 1);
		s.st_value = v.address;
	}
	symbol_put(to, name, s);
}

static void symbols_local(const struct af_link *l, uint32_t number, struct image_symbols *to)
{
	const struct link_object *o = &l->objects[number];
	Elf64_Sym s;

	for (uint64_t i = 1; i < o->first_global; i++) {
		if (!link_symbol_read(o, i, &s))
			return;
		const char *name = link_symbol_name(o, &s);
		if (ELF64_ST_TYPE(s.st_info) == STT_FILE)
			symbol_put(to, name,
			           (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FILE),
			                       .st_shndx = SHN_ABS});
		else if (ELF64_ST_TYPE(s.st_info) != STT_SECTION && *name != '$' && *name != '.')
			symbol_of(l, number, i, s, to);
	}
}

/* All symbols, the local ones first. Returns the number of these. */
static uint64_t symbols_all(const struct af_link *l, struct image_symbols *to)
{
	symbol_put(to, "", (Elf64_Sym){0});
	for (uint32_t n = 0; n < l->nr_objects; n++)
		symbols_local(l, n, to);
	uint64_t local = to->nr;
	for (uint32_t i = 0; i < l->nr_globals; i++) {
		const struct link_global *g = &l->globals[i];
		Elf64_Sym s;

		if (g->state < LINK_WEAK || g->state > LINK_STRONG ||
		    !link_symbol_read(&l->objects[g->object], g->symbol, &s))
			continue;
		if (g->state == LINK_COMMON)
			s.st_size = g->size;
		symbol_of(l, g->object, g->symbol, s, to);
	}
	return local;
}

/* Names of sections, one behind the other; those of tables come last. */
static uint64_t names_put(const struct af_link *l, char *to)
{
	uint64_t used = 1;

	for (uint32_t i = 0; i < l->nr_outs + IMAGE_TABLES; i++) {
		const char *name = i < l->nr_outs ? l->outs[i].name : table_names[i - l->nr_outs];

		if (i < l->nr_outs && !out_is_kept(&l->outs[i]))
			continue;
		if (to)
			memcpy(to + used, name, strlen(name) + 1);
		used += strlen(name) + 1;
	}
	return used;
}

static uint32_t sections_nr(const struct af_link *l)
{
	uint32_t nr = 1 + IMAGE_TABLES;

	for (uint32_t i = 0; i < l->nr_outs; i++)
		nr += out_is_kept(&l->outs[i]);
	return nr;
}

void link_image_plan(struct af_link *l)
{
	struct image_symbols count = {0};

	l->nr_local = symbols_all(l, &count);
	l->nr_symbols = count.nr;
	l->symbols_at = link_align(l->file_size, 8);
	l->strings_at = l->symbols_at + count.nr * sizeof(Elf64_Sym);
	l->strings_size = count.used;
	l->names_at = l->strings_at + l->strings_size;
	l->names_size = names_put(l, NULL);
	l->headers_at = link_align(l->names_at + l->names_size, 8);
	l->file_size = l->headers_at + sections_nr(l) * sizeof(Elf64_Shdr);
}

static Elf64_Shdr section_header(const struct af_link *l, const struct link_out *o)
{
	static const uint64_t flags[LINK_PLACES] = {[LINK_CONST] = SHF_ALLOC,
	                                            [LINK_TEXT] = SHF_ALLOC | SHF_EXECINSTR,
	                                            [LINK_DATA] = SHF_ALLOC | SHF_WRITE,
	                                            [LINK_BSS] = SHF_ALLOC | SHF_WRITE};

	return (Elf64_Shdr){.sh_type = o->type,
	                    .sh_flags = flags[o->place],
	                    .sh_addr = o->place == LINK_DEBUG ? 0 : l->base + o->address,
	                    .sh_offset = o->offset,
	                    .sh_size = o->size,
	                    .sh_addralign = o->align};
}

static void image_sections(const struct af_link *l, uint8_t *out)
{
	uint32_t n = 1, nr = sections_nr(l);
	uint8_t *to = out + l->headers_at;
	uint64_t name = 1;
	Elf64_Shdr tables[IMAGE_TABLES] = {{.sh_type = SHT_SYMTAB,
	                                    .sh_offset = l->symbols_at,
	                                    .sh_size = l->nr_symbols * sizeof(Elf64_Sym),
	                                    .sh_link = nr - IMAGE_TABLES + IMAGE_STRINGS,
	                                    .sh_info = (uint32_t)l->nr_local,
	                                    .sh_addralign = 8,
	                                    .sh_entsize = sizeof(Elf64_Sym)},
	                                   {.sh_type = SHT_STRTAB,
	                                    .sh_offset = l->strings_at,
	                                    .sh_size = l->strings_size,
	                                    .sh_addralign = 1},
	                                   {.sh_type = SHT_STRTAB,
	                                    .sh_offset = l->names_at,
	                                    .sh_size = l->names_size,
	                                    .sh_addralign = 1}};

	for (uint32_t i = 0; i < l->nr_outs + IMAGE_TABLES; i++) {
		bool is_table = i >= l->nr_outs;
		Elf64_Shdr h = is_table ? tables[i - l->nr_outs] : section_header(l, &l->outs[i]);

		if (!is_table && !out_is_kept(&l->outs[i]))
			continue;
		h.sh_name = (uint32_t)name;
		name += strlen(is_table ? table_names[i - l->nr_outs] : l->outs[i].name) + 1;
		memcpy(to + n++ * sizeof h, &h, sizeof h);
	}
}

static Elf64_Phdr segment(const struct af_link *l, enum link_place place, enum link_place end,
                          uint32_t flags)
{
	uint64_t start = l->place_start[place];

	return (Elf64_Phdr){.p_type = PT_LOAD,
	                    .p_flags = flags,
	                    .p_offset = l->place_offset[place],
	                    .p_vaddr = l->base + start,
	                    .p_paddr = l->base + start,
	                    .p_filesz = l->place_end[place] - start,
	                    .p_memsz = l->place_end[end] - start,
	                    .p_align = l->machine->page};
}

/* A segment of one output section. */
static Elf64_Phdr segment_of(const struct af_link *l, uint32_t out, uint32_t type)
{
	const struct link_out *o = &l->outs[out];

	return (Elf64_Phdr){.p_type = type,
	                    .p_flags = PF_R,
	                    .p_offset = o->offset,
	                    .p_vaddr = l->base + o->address,
	                    .p_paddr = l->base + o->address,
	                    .p_filesz = o->size,
	                    .p_memsz = o->size,
	                    .p_align = 4};
}

static void image_headers(const struct af_link *l, uint8_t *out)
{
	Elf64_Ehdr h = {.e_type = ET_DYN,
	                .e_machine = l->host.machine,
	                .e_version = EV_CURRENT,
	                .e_phoff = sizeof h,
	                .e_shoff = l->headers_at,
	                .e_ehsize = sizeof h,
	                .e_phentsize = sizeof(Elf64_Phdr),
	                .e_phnum = 5,
	                .e_shentsize = sizeof(Elf64_Shdr),
	                .e_shnum = (uint16_t)sections_nr(l),
	                .e_shstrndx = (uint16_t)(sections_nr(l) - 1)};
	Elf64_Phdr p[5] = {
	    segment(l, LINK_CONST, LINK_CONST, PF_R), segment(l, LINK_TEXT, LINK_TEXT, PF_R | PF_X),
	    segment(l, LINK_DATA, LINK_BSS, PF_R | PF_W),
	    segment_of(l, l->out_header, PT_GNU_EH_FRAME), segment_of(l, l->out_note, PT_NOTE)};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	if (l->nr_objects) /* the ABI of floating point, of riscv64 */
		memcpy(&h.e_flags, l->objects[0].elf.data + offsetof(Elf64_Ehdr, e_flags), 4);
	memcpy(out, &h, sizeof h);
	memcpy(out + sizeof h, p, sizeof p);
}

/* The digest of the file as it is without its digest: equal images have equal ids. */
static void image_note(const struct af_link *l, uint8_t *out)
{
	uint8_t digest[AF_SHA256_BYTES], *note = out + l->outs[l->out_note].offset;
	const uint32_t head[] = {sizeof ELF_NOTE_GNU, LINK_BUILD_ID_SIZE, NT_GNU_BUILD_ID};

	memcpy(note, head, sizeof head);
	memcpy(note + sizeof head, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU);
	af_sha256(out, l->file_size, digest);
	memcpy(note + sizeof head + sizeof ELF_NOTE_GNU, digest, LINK_BUILD_ID_SIZE);
}

void link_image_write(struct af_link *l, uint8_t *out)
{
	struct image_symbols to = {out + l->symbols_at, out + l->strings_at, 0, 0};

	symbols_all(l, &to);
	names_put(l, (char *)out + l->names_at);
	image_sections(l, out);
	image_headers(l, out);
	image_note(l, out);
}
