/*
 * Where functions start in a file that is stripped: the unwind tables stay in it, as exceptions
 * need them. Read from the sorted table of .eh_frame_hdr (Linux Standard Base 5.0 core generic,
 * 10.6), a start for each frame description entry (FDE); in the form that linkers write, 32-bit and
 * relative to the section. Nothing is copied, but where there is no such table one is made.
 */
#ifndef AF_SYM_FDE_H
#define AF_SYM_FDE_H

#include <stdbool.h>
#include <stdint.h>

#include "sym/elf_file.h"

struct af_fde_table {
	const struct af_elf *elf;
	const uint8_t *entries; /* start and FDE, 4 bytes each */
	uint32_t nr;
	uint64_t base; /* address that they are relative to */
	void *made;    /* malloc'd, where the entries are ours */
};

/* Find the table of @elf, which must outlive @t. Without one, @t finds nothing. */
void af_fde_open(struct af_fde_table *t, const struct af_elf *elf);
void af_fde_close(struct af_fde_table *t);

/* Make the entries of @t, which is empty, from .eh_frame itself. For af_fde_open. */
void af_fde_scan(struct af_fde_table *t, const struct af_elf *elf);

/* The start of the function that covers @vaddr; false when none is known to. Tens of ns. */
bool af_fde_find(const struct af_fde_table *t, uint64_t vaddr, uint64_t *start);

/*
 * The length of the code at @start when its FDE says that a stack frame is there before the first
 * instruction: no function begins like that, but a part of one that a compiler has put elsewhere.
 * 0 for everything else.
 */
uint32_t af_fde_part_len(const struct af_fde_table *t, uint64_t start);

/* The bytes of the file at @vaddr and how many there are, NULL when it has none there. */
const uint8_t *af_fde_bytes(const struct af_elf *e, uint64_t vaddr, uint64_t *left);

#endif
