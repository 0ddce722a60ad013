/*
 * An ELF file as the loader mapped it, found through its header and read through its program
 * headers (System V gABI, chapters 2 and 5), never through section headers, which are not mapped.
 * Every read is probed and every address is checked to lie in the image, so a damaged or
 * half-unmapped image gives less information but no fault. Handler-safe.
 */
#ifndef AF_INJECT_WALK_ELF_IMAGE_H
#define AF_INJECT_WALK_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	AF_ELF_MAX_PHDRS = 24, /* real files have 9 to 14 */
};

struct af_elf_image {
	uint64_t header; /* run-time address */
	uint64_t bias;
	uint64_t start, end; /* of all its segments */
	unsigned nr_phdrs;
	Elf64_Phdr phdrs[AF_ELF_MAX_PHDRS];
};

/* Read the headers at run-time address @header. 0; -EFAULT, or -ENOEXEC when there is no ELF. */
int af_elf_image_open(struct af_elf_image *image, uint64_t header);

/* The loaded segment that holds @addr, NULL for none. */
const Elf64_Phdr *af_elf_image_segment(const struct af_elf_image *image, uint64_t addr);

/* The first program header of @type, NULL for none. */
const Elf64_Phdr *af_elf_image_phdr(const struct af_elf_image *image, uint32_t type);

/* NT_GNU_BUILD_ID into @id; its length, 0 when there is none or it is longer than @max. */
unsigned af_elf_image_build_id(const struct af_elf_image *image, uint8_t *id, unsigned max);

/* A defined dynamic symbol, by DT_GNU_HASH: its run-time address or 0; @size may be NULL. */
uint64_t af_elf_image_symbol(const struct af_elf_image *image, const char *name, uint64_t *size);

#endif
