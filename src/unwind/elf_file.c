#include "unwind/elf_file.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/system/elf32.h"
#include "unwind/notes.h"

enum { ELF_VDSO_MAX = 64 << 10 };

/* Whether @nr things of @each bytes at @offset lie inside the file. */
static bool elf_inside(const struct af_elf *e, uint64_t offset, uint64_t nr, uint64_t each)
{
	return offset <= e->size && nr <= (e->size - offset) / each;
}

static uint64_t elf_section_size(const struct af_elf *e)
{
	return e->is_32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

static uint64_t elf_segment_size(const struct af_elf *e)
{
	return e->is_32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
}

static void elf_load_section(const struct af_elf *e, uint64_t at, Elf64_Shdr *s)
{
	Elf32_Shdr h32;

	if (!e->is_32) {
		memcpy(s, e->data + at, sizeof *s);
		return;
	}
	memcpy(&h32, e->data + at, sizeof h32);
	*s = af_elf32_section(&h32);
}

/*
 * With more than 0xff00 sections, or program headers, the numbers are in section header 0
 * (gABI, "ELF Header", e_shnum, e_shstrndx and e_phnum).
 */
static void elf_tables(struct af_elf *e, const Elf64_Ehdr *h)
{
	uint64_t each = elf_section_size(e);
	Elf64_Shdr first = {0};

	if (h->e_shoff && h->e_shentsize == each && elf_inside(e, h->e_shoff, 1, each)) {
		elf_load_section(e, h->e_shoff, &first);
		uint64_t nr = h->e_shnum ? h->e_shnum : first.sh_size;
		uint64_t most = (e->size - h->e_shoff) / each;

		e->sections_at = h->e_shoff;
		e->nr_sections = (uint32_t)(nr < most ? nr : most < UINT32_MAX ? most : UINT32_MAX);
		e->names = h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx;
	}
	each = elf_segment_size(e);
	if (h->e_phoff && h->e_phentsize == each && h->e_phoff <= e->size) {
		uint64_t nr = h->e_phnum == PN_XNUM ? first.sh_info : h->e_phnum;
		uint64_t most = (e->size - h->e_phoff) / each;

		e->segments_at = h->e_phoff;
		e->nr_segments = (uint32_t)(nr < most ? nr : most);
	}
}

/* The header, in the form of 64 bits; false when there is none. */
static bool elf_load_header(struct af_elf *e, Elf64_Ehdr *h)
{
	Elf32_Ehdr h32;

	if (e->size < EI_NIDENT || memcmp(e->data, ELFMAG, SELFMAG) ||
	    e->data[EI_DATA] != ELFDATA2LSB)
		return false;
	e->is_32 = e->data[EI_CLASS] == ELFCLASS32;
	if (e->size < (e->is_32 ? sizeof h32 : sizeof *h) ||
	    (!e->is_32 && e->data[EI_CLASS] != ELFCLASS64))
		return false;
	if (!e->is_32) {
		memcpy(h, e->data, sizeof *h);
		return true;
	}
	memcpy(&h32, e->data, sizeof h32);
	*h = af_elf32_header(&h32);
	return true;
}

int af_elf_parse(struct af_elf *e, const uint8_t *data, size_t size)
{
	Elf64_Ehdr h;

	*e = (struct af_elf){.data = data, .size = size};
	if (!elf_load_header(e, &h))
		return -ENOEXEC;
	e->type = h.e_type;
	e->machine = h.e_machine;
	elf_tables(e, &h);
	return 0;
}

int af_elf_vdso(struct af_elf *e)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr h;

	if (!image)
		return -ENOENT;
	memcpy(&h, image, sizeof h);
	size_t size = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
	return size > ELF_VDSO_MAX ? -ENOENT : af_elf_parse(e, image, size);
}

bool af_elf_section(const struct af_elf *e, uint32_t i, Elf64_Shdr *s)
{
	if (!i || i >= e->nr_sections)
		return false;
	elf_load_section(e, e->sections_at + i * elf_section_size(e), s);
	return s->sh_type == SHT_NOBITS || elf_inside(e, s->sh_offset, s->sh_size, 1);
}

bool af_elf_segment(const struct af_elf *e, uint32_t i, Elf64_Phdr *p)
{
	if (i >= e->nr_segments)
		return false;
	const uint8_t *at = e->data + e->segments_at + i * elf_segment_size(e);
	Elf32_Phdr h32;

	if (!e->is_32) {
		memcpy(p, at, sizeof *p);
		return true;
	}
	memcpy(&h32, at, sizeof h32);
	*p = af_elf32_segment(&h32);
	return true;
}

const uint8_t *af_elf_at(const struct af_elf *e, uint64_t vaddr, uint64_t *left)
{
	Elf64_Phdr p;

	for (uint32_t i = 0; af_elf_segment(e, i, &p); i++) {
		uint64_t in = vaddr - p.p_vaddr;

		if (p.p_type != PT_LOAD || vaddr < p.p_vaddr || in >= p.p_filesz ||
		    p.p_offset > e->size || in >= e->size - p.p_offset)
			continue;
		uint64_t segment = p.p_filesz - in, file = e->size - p.p_offset - in;
		*left = segment < file ? segment : file;
		return e->data + p.p_offset + in;
	}
	return NULL;
}

void af_elf_symbol(const struct af_elf *e, const Elf64_Shdr *table, uint64_t i, Elf64_Sym *s)
{
	const uint8_t *at = af_elf_bytes(e, table) + i * af_elf_symbol_size(e);
	Elf32_Sym h32;

	if (!e->is_32) {
		memcpy(s, at, sizeof *s);
		return;
	}
	memcpy(&h32, at, sizeof h32);
	*s = af_elf32_symbol(&h32);
}

uint32_t af_elf_number(const struct af_elf *e, const char *name)
{
	Elf64_Shdr names, s;

	if (!af_elf_section(e, e->names, &names) || names.sh_type == SHT_NOBITS)
		return 0;
	for (uint32_t i = 1; i < e->nr_sections; i++) {
		if (!af_elf_section(e, i, &s))
			continue;
		const char *is = af_elf_string(e, &names, s.sh_name);
		if (is && !strcmp(is, name))
			return i;
	}
	return 0;
}

bool af_elf_named(const struct af_elf *e, const char *name, Elf64_Shdr *s)
{
	return af_elf_section(e, af_elf_number(e, name), s);
}

static void elf_relocate(const struct af_elf *e, const Elf64_Shdr *table,
                         void (*each)(void *arg, const struct af_elf_relocation *r), void *arg)
{
	bool in_place = table->sh_type == SHT_REL;
	size_t size = in_place ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
	Elf64_Shdr symbols;

	if (!af_elf_section(e, table->sh_link, &symbols) || symbols.sh_type != SHT_SYMTAB)
		return;
	for (uint64_t i = 0; i < table->sh_size / size; i++) {
		Elf64_Rela r = {0};
		Elf64_Sym s;

		memcpy(&r, af_elf_bytes(e, table) + i * size, size);
		if (ELF64_R_SYM(r.r_info) >= symbols.sh_size / sizeof s)
			continue;
		memcpy(&s, af_elf_bytes(e, &symbols) + ELF64_R_SYM(r.r_info) * sizeof s, sizeof s);
		each(arg, &(struct af_elf_relocation){
			      .offset = r.r_offset,
			      .type = ELF64_R_TYPE(r.r_info),
			      .section = s.st_shndx,
			      .value = s.st_value + (uint64_t)r.r_addend,
			      .in_place = in_place,
			  });
	}
}

void af_elf_relocations(const struct af_elf *e, uint32_t number,
                        void (*each)(void *arg, const struct af_elf_relocation *r), void *arg)
{
	Elf64_Shdr s;

	for (uint32_t i = 1; !e->is_32 && i < e->nr_sections; i++)
		if (af_elf_section(e, i, &s) && (s.sh_type == SHT_REL || s.sh_type == SHT_RELA) &&
		    s.sh_info == number)
			elf_relocate(e, &s, each, arg);
}

const char *af_elf_string(const struct af_elf *e, const Elf64_Shdr *strings, uint64_t offset)
{
	if (strings->sh_type == SHT_NOBITS || offset >= strings->sh_size)
		return NULL;
	const char *s = (const char *)e->data + strings->sh_offset + offset;
	uint64_t left = strings->sh_size - offset;
	return memchr(s, 0, left < AF_ELF_STRING_MAX ? left : AF_ELF_STRING_MAX) ? s : NULL;
}

static uint32_t elf_build_id_in(struct af_notes notes, uint8_t *id)
{
	struct af_note n;
	uint32_t len = 0;

	while (!len && af_note_next(&notes, &n))
		len = af_note_build_id(&notes, &n, id, AF_ELF_BUILD_ID_MAX);
	return len;
}

uint32_t af_elf_build_id(const struct af_elf *e, uint8_t id[AF_ELF_BUILD_ID_MAX])
{
	Elf64_Shdr s;
	Elf64_Phdr p;
	uint32_t len = 0;

	for (uint32_t i = 1; i < e->nr_sections && !len; i++)
		if (af_elf_section(e, i, &s) && s.sh_type == SHT_NOTE)
			len = elf_build_id_in(af_notes_in(af_elf_bytes(e, &s), s.sh_size), id);
	for (uint32_t i = 0; i < e->nr_segments && !len; i++)
		if (af_elf_segment(e, i, &p) && p.p_type == PT_NOTE &&
		    elf_inside(e, p.p_offset, p.p_filesz, 1))
			len = elf_build_id_in(af_notes_in(e->data + p.p_offset, p.p_filesz), id);
	return len;
}
