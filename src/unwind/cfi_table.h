/*
 * Entries of .eh_frame and .debug_frame: CIE and FDE, and the search for the FDE of an address.
 * Private to src/unwind.
 */
#ifndef AF_UNWIND_CFI_TABLE_H
#define AF_UNWIND_CFI_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/dwarf.h"

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t fde_encoding;
	bool has_size; /* augmentation z */
	bool is_signal;
	struct af_dwarf_cursor insns;
};

struct cfi_fde {
	uint64_t start, size;
	struct cfi_cie cie;
	struct af_dwarf_cursor insns;
};

struct af_cfi_entry {
	uint64_t start, at; /* start of the code; offset of the FDE in the image */
};

/* The content of .eh_frame_hdr. */
struct cfi_header {
	struct af_dwarf_cursor table; /* bad: there is none that can be searched */
	uint64_t nr, data;
	uint64_t eh_frame; /* its offset in the image */
	uint8_t encoding;
};

/* Read the header. 0 or -EINVAL. */
int cfi_header(const struct af_cfi *c, struct cfi_header *h);

/*
 * The body of the entry at offset @at of the image: the bytes after its length. Bad when it is not
 * in the image; empty at the terminator of .eh_frame.
 */
struct cfi_entry {
	struct af_dwarf_cursor body;
	bool is_wide; /* of 64-bit DWARF */
};
struct cfi_entry cfi_entry(const struct af_cfi *c, uint64_t at);

/* The offset of the CIE of the FDE @e, whose id is skipped. False: @e is a CIE, or damaged. */
bool cfi_entry_cie(const struct af_cfi *c, struct cfi_entry *e, uint64_t *cie);

/* The CIE at offset @at of the image, versions 1, 3 and 4. 0 or -EINVAL. */
int cfi_cie(const struct af_cfi *c, uint64_t at, struct cfi_cie *cie);

/* Read the rest of @fde, whose cie is filled in. 0 or -EINVAL. */
int cfi_fde_rest(struct cfi_fde *fde, struct cfi_entry e);

/* Read the whole FDE at @at. 0 or -EINVAL. */
int cfi_fde(const struct af_cfi *c, uint64_t at, struct cfi_fde *fde);

/*
 * The last FDE that starts at or before @pc, by its entry in a sorted table: 0, -ENOENT, -EINVAL;
 * -ENOTSUP: there is no such table.
 */
int cfi_search(const struct af_cfi *c, uint64_t pc, struct af_cfi_entry *e);

/* The FDE that covers @pc. 0, -ENOENT, -EINVAL. */
int cfi_find(const struct af_cfi *c, uint64_t pc, struct cfi_fde *fde);

#endif
