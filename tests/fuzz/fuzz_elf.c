/*
 * The ELF reader on hostile bytes: sections, symbol tables, linkage tables, unwind tables,
 * build-id, and the names found through the demangler. Checked on the way: an answer covers the
 * address it was asked for, and every name ends inside the input. The last byte asks for headers
 * that are mostly right, of 64 or 32 bits, so that what is behind them is reached without seeds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf/fde.h"
#include "sym/elf/part.h"
#include "sym/elf/symtab.h"
#include "sym/sym.h"
#include "unwind/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const struct af_symtab *t, uint64_t vaddr)
{
	const struct af_symtab_entry *s = af_symtab_find(t, vaddr);

	if (!s)
		return;
	if (vaddr < s->start || vaddr >= s->limit || (s->size && vaddr - s->start >= s->size))
		abort();
	if (!*s->name)
		abort();
}

static void check_name(const char *symbol)
{
	char *name = af_function_name(symbol);
	size_t len;

	if (strlen(name) >= AF_SYM_NAME_MAX)
		abort();
	af_sym_kernel_name(symbol, &len);
	free(name);
}

static void check_fdes(const struct af_elf *e)
{
	struct af_cfi t;
	uint64_t start, whole;

	af_cfi_open(&t, e, AF_CFI_INDEX_MAX, NULL);
	for (uint64_t vaddr = 0; vaddr < 0x10000; vaddr += 31) {
		if (!af_fde_find(&t, vaddr, &start))
			continue;
		if (start > vaddr || (af_part_whole(&t, e, start, &whole) && whole == start))
			abort();
	}
	af_fde_find(&t, UINT64_MAX, &start);
	af_cfi_close(&t);
}

/* A section whose bytes are in the file, of one of the types that are read. */
static void mend_section(uint8_t *at, size_t size)
{
	static const uint32_t types[] = {SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA,
	                                 SHT_DYNSYM,   SHT_NOTE,   SHT_NOBITS, SHT_PROGBITS};
	Elf64_Shdr s;

	memcpy(&s, at, sizeof s);
	s.sh_type = types[s.sh_type % 8];
	s.sh_offset %= size;
	s.sh_size %= size - s.sh_offset + 1;
	s.sh_link %= 8;
	s.sh_addr &= 0xffff;
	if (s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM)
		s.sh_entsize = sizeof(Elf64_Sym);
	memcpy(at, &s, sizeof s);
}

/* The whole file is loaded at 0, and somewhere in it an unwind table begins. */
static void mend_segments(uint8_t *data, size_t size, size_t at)
{
	Elf64_Phdr p[2];

	if (size < at + sizeof p)
		return;
	memcpy(p, data + at, sizeof p);
	p[0].p_type = PT_LOAD;
	p[0].p_offset = p[0].p_vaddr = 0;
	p[0].p_filesz = size;
	p[1].p_type = PT_GNU_EH_FRAME;
	p[1].p_vaddr %= size;
	memcpy(data + at, p, sizeof p);
	if (p[1].p_vaddr >= at + sizeof p && size - p[1].p_vaddr >= 4)
		memcpy(data + p[1].p_vaddr, "\x01\x1b\x03\x3b", 4);
}

/* The first section is called .eh_frame, and there is no table of what is in it. */
static void mend_unwind(uint8_t *data, size_t size, const Elf64_Ehdr *h)
{
	static const char names[] = "\0.eh_frame";
	size_t first = h->e_shoff + h->e_shentsize, last = h->e_shoff + 7 * h->e_shentsize;
	size_t segment = h->e_phoff + h->e_phentsize, at = size - sizeof names - 1;
	Elf64_Shdr s;

	if (at < segment + h->e_phentsize || at > size)
		return;
	memcpy(data + at, names, sizeof names);
	s = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof names};
	memcpy(data + last, &s, sizeof s);
	memcpy(&s, data + first, sizeof s);
	s.sh_name = 1;
	s.sh_type = SHT_PROGBITS;
	memcpy(data + first, &s, sizeof s);
	memset(data + segment, 0, 4);
}

static void mend_headers(uint8_t *data, size_t size)
{
	Elf64_Ehdr h;

	memcpy(&h, data, sizeof h);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_machine = EM_X86_64;
	h.e_type = h.e_type % 2 ? ET_DYN : ET_EXEC;
	h.e_shoff = sizeof h;
	h.e_shentsize = sizeof(Elf64_Shdr);
	h.e_shnum = 8;
	h.e_shstrndx %= 8;
	h.e_phoff = h.e_shoff + h.e_shnum * sizeof(Elf64_Shdr);
	h.e_phnum = 2;
	h.e_phentsize = sizeof(Elf64_Phdr);
	memcpy(data, &h, sizeof h);
	for (size_t at = h.e_shoff; at + sizeof(Elf64_Shdr) <= size && at < h.e_shoff + 8 * 64;
	     at += sizeof(Elf64_Shdr))
		mend_section(data + at, size);
	mend_segments(data, size, h.e_phoff);
	if (data[size - 1] & 4) {
		h.e_shstrndx = 7;
		memcpy(data, &h, sizeof h);
		mend_unwind(data, size, &h);
	}
}

/* The same for a file of 32 bits, without segments. */
static void mend_narrow(uint8_t *data, size_t size)
{
	static const uint32_t types[] = {SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE};
	Elf32_Ehdr h;
	Elf32_Shdr s;

	memcpy(&h, data, sizeof h);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS32;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_type = ET_DYN;
	h.e_shoff = sizeof h;
	h.e_shentsize = sizeof s;
	h.e_shnum = 6;
	h.e_shstrndx %= 6;
	memcpy(data, &h, sizeof h);
	for (size_t at = sizeof h; at + sizeof s <= size && at < sizeof h + 6 * sizeof s;
	     at += sizeof s) {
		memcpy(&s, data + at, sizeof s);
		s.sh_type = types[s.sh_type % 4];
		s.sh_offset %= (uint32_t)size;
		s.sh_size %= (uint32_t)size - s.sh_offset + 1;
		s.sh_link %= 6;
		s.sh_addr &= 0xffff;
		s.sh_entsize = sizeof(Elf32_Sym);
		memcpy(data + at, &s, sizeof s);
	}
}

static void read_image(const uint8_t *data, size_t size)
{
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	struct af_symtab t = {0};
	struct af_elf e;
	Elf64_Shdr s;

	if (af_elf_parse(&e, data, size))
		return;
	if (af_elf_build_id(&e, id) > sizeof id)
		abort();
	if (af_elf_named(&e, ".gnu_debuglink", &s)) {
		const char *link = af_elf_string(&e, &s, 0);
		if (link && (const uint8_t *)link + strlen(link) >= data + size)
			abort();
	}
	af_symtab_add(&t, &e);
	af_plt_add(&t, &e);
	af_go_add(&t, &e);
	af_symtab_build(&t);
	for (uint32_t i = 0; i < t.nr; i++) {
		check_address(&t, t.entries[i].start);
		check_address(&t, t.entries[i].start + t.entries[i].size);
		check_address(&t, t.entries[i].start - 1);
		if (i < 64)
			check_name(t.entries[i].name);
	}
	check_address(&t, 0);
	check_address(&t, UINT64_MAX);
	check_fdes(&e);
	af_symtab_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that a read past the end is seen. */
	uint8_t *copy = malloc(size);

	memcpy(copy, data, size);
	if (size > sizeof(Elf64_Ehdr) && data[size - 1] & 1)
		mend_headers(copy, size);
	else if (size > sizeof(Elf64_Ehdr) && data[size - 1] & 2)
		mend_narrow(copy, size);
	read_image(copy, size);
	free(copy);
	return 0;
}
