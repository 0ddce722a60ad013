#include "unwind/dwarf.h"

#include "base/leb128.h"

enum {
	DWARF_LEB_MAX = 16, /* bytes of a number; ten make 64 bits, and some tools pad */
};

struct af_dwarf_cursor af_dwarf_cursor(const struct af_cfi_image *image, uint64_t at, uint64_t end)
{
	struct af_dwarf_cursor c = {.image = image, .at = at, .end = end};

	if (at > end || end > image->len) {
		c.at = c.end = 0;
		c.bad = true;
	}
	return c;
}

/* LEB128, of either sort. */
static uint64_t dwarf_leb(struct af_dwarf_cursor *c, bool is_signed)
{
	uint64_t v = 0;
	uint64_t left = c->end - c->at;
	size_t size = af_leb128(c->image->bytes + c->at,
	                        left < DWARF_LEB_MAX ? left : DWARF_LEB_MAX, is_signed, &v);

	c->bad |= !size;
	c->at = size ? c->at + size : c->end;
	return v;
}

uint64_t af_dwarf_uleb(struct af_dwarf_cursor *c)
{
	return dwarf_leb(c, false);
}

int64_t af_dwarf_sleb(struct af_dwarf_cursor *c)
{
	return (int64_t)dwarf_leb(c, true);
}

struct af_dwarf_cursor af_dwarf_block(struct af_dwarf_cursor *c, uint64_t len)
{
	struct af_dwarf_cursor block = *c;

	if (af_dwarf_take(c, len))
		block.end = c->at;
	else
		block.at = block.end;
	block.bad = c->bad;
	return block;
}

static uint64_t dwarf_format(struct af_dwarf_cursor *c, uint8_t format)
{
	switch (format) {
	case AF_PE_ABSPTR:
	case AF_PE_UDATA8:
	case AF_PE_SIGNED:
	case AF_PE_SDATA8:
		return af_dwarf_uint(c, 8);
	case AF_PE_UDATA2:
		return af_dwarf_uint(c, 2);
	case AF_PE_SDATA2:
		return (uint64_t)(int16_t)af_dwarf_uint(c, 2);
	case AF_PE_UDATA4:
		return af_dwarf_uint(c, 4);
	case AF_PE_SDATA4:
		return (uint64_t)(int32_t)af_dwarf_uint(c, 4);
	case AF_PE_ULEB128:
		return af_dwarf_uleb(c);
	case AF_PE_SLEB128:
		return (uint64_t)af_dwarf_sleb(c);
	}
	c->bad = true;
	return 0;
}

uint64_t af_dwarf_pointer(struct af_dwarf_cursor *c, uint8_t encoding, uint64_t data)
{
	if ((encoding & AF_PE_APPLICATION) == AF_PE_ALIGNED) {
		af_dwarf_take(c, -(c->image->address + c->at) & 7);
		return af_dwarf_uint(c, 8);
	}

	uint64_t here = c->image->address + c->at;
	uint64_t v = dwarf_format(c, encoding & AF_PE_FORMAT);
	switch (encoding & AF_PE_APPLICATION) {
	case 0:
		return v;
	case AF_PE_PCREL:
		/* A null pointer stays one, so that a discarded function is not found. */
		return v ? v + here : 0;
	case AF_PE_DATAREL:
		return v + data;
	}
	c->bad = true;
	return 0;
}
