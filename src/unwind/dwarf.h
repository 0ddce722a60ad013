/*
 * A bounded reader of the encodings in .eh_frame: fixed integers, LEB128 (DWARF 5, 7.6) and the
 * pointer encodings DW_EH_PE_* (Linux Standard Base 5.0 core generic, 10.5.1). Reading past the end
 * gives zeros and sets `bad`, which stays set: check it once, at the end.
 */
#ifndef AF_UNWIND_DWARF_H
#define AF_UNWIND_DWARF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/cfi.h"

struct af_dwarf_cursor {
	const struct af_cfi_image *image;
	uint64_t at, end; /* offsets in the image; at <= end <= its length */
	bool bad;
};

enum {
	AF_PE_ABSPTR = 0x00,
	AF_PE_ULEB128 = 0x01,
	AF_PE_UDATA2 = 0x02,
	AF_PE_UDATA4 = 0x03,
	AF_PE_UDATA8 = 0x04,
	AF_PE_SIGNED = 0x08,
	AF_PE_SLEB128 = 0x09,
	AF_PE_SDATA2 = 0x0a,
	AF_PE_SDATA4 = 0x0b,
	AF_PE_SDATA8 = 0x0c,
	AF_PE_FORMAT = 0x0f,
	AF_PE_PCREL = 0x10,
	AF_PE_DATAREL = 0x30,
	AF_PE_ALIGNED = 0x50,
	AF_PE_APPLICATION = 0x70,
	AF_PE_INDIRECT = 0x80,
	AF_PE_OMIT = 0xff,
};

/* A cursor over [@at, @end) of @image; bad when that is not inside. */
struct af_dwarf_cursor af_dwarf_cursor(const struct af_cfi_image *image, uint64_t at, uint64_t end);

/* The next @len bytes, or NULL and the cursor is bad. */
static inline const uint8_t *af_dwarf_take(struct af_dwarf_cursor *c, uint64_t len)
{
	if (len > c->end - c->at) {
		c->at = c->end;
		c->bad = true;
		return NULL;
	}
	c->at += len;
	return c->image->bytes + c->at - len;
}

/*
 * Little-endian integer of @size bytes, 1 to 8. @size should be a constant, so that it is one load.
 */
static inline uint64_t af_dwarf_uint(struct af_dwarf_cursor *c, unsigned size)
{
	const uint8_t *p = af_dwarf_take(c, size);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, size);
	return v;
}

/*
 * Numbers in LEB128 (DWARF 5, 7.6), unsigned and signed. A number whose end is not there gives 0
 * and makes the cursor bad.
 */
uint64_t af_dwarf_uleb(struct af_dwarf_cursor *c);
int64_t af_dwarf_sleb(struct af_dwarf_cursor *c);

/* A cursor of its own over the next @len bytes, which are skipped. */
struct af_dwarf_cursor af_dwarf_block(struct af_dwarf_cursor *c, uint64_t len);

/*
 * A pointer of @encoding; DW_EH_PE_datarel is relative to @data. The bit DW_EH_PE_indirect is not
 * followed. An encoding that cannot be resolved here makes the cursor bad.
 */
uint64_t af_dwarf_pointer(struct af_dwarf_cursor *c, uint8_t encoding, uint64_t data);

#endif
