/*
 * A checked view of an ELF file in memory (System V gABI, chapters 4 and 5): little-endian, of 64
 * or 32 bits; 32-bit headers are returned in the form of 64-bit ones. Nothing is copied, and every
 * byte is hostile: a section whose bytes are not all in the file is treated as missing, and the
 * rest is still used.
 */
#ifndef AF_UNWIND_ELF_FILE_H
#define AF_UNWIND_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	AF_ELF_BUILD_ID_MAX = 64,
	AF_ELF_STRING_MAX = 64 << 10, /* a longer string counts as damage */
};

struct af_elf {
	const uint8_t *data;
	size_t size;
	uint16_t type, machine;
	bool is_32;                        /* of 32 bits */
	uint64_t sections_at, segments_at; /* file offsets of the tables, 0 when there is none */
	uint32_t nr_sections, nr_segments;
	uint32_t names; /* section that holds the sections' names, 0 for none */
};

/* 0, or -ENOEXEC when it is not an ELF file of this kind. @data stays the caller's. */
int af_elf_parse(struct af_elf *e, const uint8_t *data, size_t size);

/* The vDSO, the code that the kernel maps into this process, as a file; -ENOENT: there is none. */
int af_elf_vdso(struct af_elf *e);

/*
 * Header of section or segment @i; false when there is no such one or its bytes are not in the
 * file.
 */
bool af_elf_section(const struct af_elf *e, uint32_t i, Elf64_Shdr *s);
bool af_elf_segment(const struct af_elf *e, uint32_t i, Elf64_Phdr *p);

/*
 * The bytes of the file at the address @vaddr, and their number in *@left; NULL when the file has
 * none there.
 */
const uint8_t *af_elf_at(const struct af_elf *e, uint64_t vaddr, uint64_t *left);

/* The section called @name, by its number and by its header; 0, or false, when there is none. */
uint32_t af_elf_number(const struct af_elf *e, const char *name);
bool af_elf_named(const struct af_elf *e, const char *name, Elf64_Shdr *s);

/* The size of an entry of a symbol table. */
static inline size_t af_elf_symbol_size(const struct af_elf *e)
{
	return e->is_32 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
}

/* Entry @i of the symbol table @table, a section that has so many. */
void af_elf_symbol(const struct af_elf *e, const Elf64_Shdr *table, uint64_t i, Elf64_Sym *s);

/* The string at @offset of string table @strings; NULL when it does not end in the table. */
const char *af_elf_string(const struct af_elf *e, const Elf64_Shdr *strings, uint64_t offset);

/* NT_GNU_BUILD_ID into @id: its length, 0 for none. */
uint32_t af_elf_build_id(const struct af_elf *e, uint8_t id[AF_ELF_BUILD_ID_MAX]);

struct af_elf_relocation {
	uint64_t offset; /* in the section that is relocated */
	uint32_t type;
	uint32_t section; /* of the symbol */
	uint64_t value;   /* of the symbol, with the addend unless that is in place */
	bool in_place;    /* the addend stands in the section (SHT_REL) */
};

/* Call @each for every relocation of section @number (gABI, "Relocation"), of 64-bit files. */
void af_elf_relocations(const struct af_elf *e, uint32_t number,
                        void (*each)(void *arg, const struct af_elf_relocation *r), void *arg);

/* The bytes of a section that af_elf_section() accepted. */
static inline const uint8_t *af_elf_bytes(const struct af_elf *e, const Elf64_Shdr *s)
{
	return e->data + s->sh_offset;
}

#endif
