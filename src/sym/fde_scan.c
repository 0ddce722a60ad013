/*
 * The table of functions of a file that has .eh_frame without .eh_frame_hdr, as static programs of
 * glibc 2.36 have it: made by reading through the section (Linux Standard Base 5.0 core generic,
 * 10.6.1), in the form that the header would have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "sym/fde.h"

enum {
	SCAN_FIXED = 16,    /* of an FDE, to the length of its code */
	SCAN_PCREL4 = 0x1b, /* how a start is written that is read: 32 bits from where it stands */
	SCAN_NO_CIE = UINT32_MAX,
};

struct scan {
	const uint8_t *data;
	uint64_t size, vaddr;
	uint64_t cie; /* offset of the CIE that was looked at last */
	bool pcrel4;
};

struct scan_entry {
	int32_t start, fde; /* from the section's address on */
};

static int32_t scan_i32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* Past a LEB128 number that ends before @end; @end when none does. */
static const uint8_t *scan_leb(const uint8_t *p, const uint8_t *end)
{
	while (p < end && *p & 0x80)
		p++;
	return p < end ? p + 1 : end;
}

/* Bytes of a pointer of the encoding @pe, without those that have a length of their own: 0. */
static unsigned scan_pointer_size(uint8_t pe)
{
	static const uint8_t sizes[16] = {
	    [0x0] = 8, [0x2] = 2, [0x3] = 4, [0x4] = 8, [0xa] = 2, [0xb] = 4, [0xc] = 8};

	return sizes[pe & 0x0f];
}

/* Whether the CIE in @p to @end says SCAN_PCREL4. */
static bool scan_cie(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *letters = p + 9, *at;

	if (end - p < 10 || !(at = memchr(letters, 0, (size_t)(end - letters))) || *letters != 'z')
		return false;
	at = scan_leb(scan_leb(at + 1, end), end); /* alignment of code and of data */
	at = p[8] == 1 ? at + 1 : scan_leb(at, end);
	at = at < end ? scan_leb(at, end) : end; /* bytes of what the letters tell */
	for (letters++; *letters && at < end; letters++) {
		if (*letters == 'R')
			return *at == SCAN_PCREL4;
		if (*letters == 'L')
			at++;
		else if (*letters == 'P' && scan_pointer_size(*at))
			at += 1 + scan_pointer_size(*at);
		else if (*letters != 'S' && *letters != 'B')
			return false;
	}
	return false;
}

/* Does the FDE at @at, whose CIE is @back bytes before its fifth byte, give its start like that? */
static bool scan_is_read(struct scan *s, uint64_t at, uint32_t back)
{
	uint64_t cie = at + 4 - back;
	uint32_t len;

	if (back > at + 4 || s->size - cie < 12)
		return false;
	if (cie == s->cie)
		return s->pcrel4;
	s->cie = cie;
	memcpy(&len, s->data + cie, sizeof len);
	s->pcrel4 = len >= 8 && len <= s->size - cie - 4 && !scan_i32(s->data + cie + 4) &&
	            scan_cie(s->data + cie, s->data + cie + 4 + len);
	return s->pcrel4;
}

static int scan_order(const void *a, const void *b)
{
	const struct scan_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void af_fde_scan(struct af_fde_table *t, const struct af_elf *elf)
{
	struct scan_entry *entries = NULL;
	uint32_t nr = 0, cap = 0, len;
	Elf64_Shdr section;

	/* Addresses of a relocatable file are not yet addresses. */
	if (elf->type == ET_REL || !af_elf_named(elf, ".eh_frame", &section) ||
	    section.sh_type == SHT_NOBITS || section.sh_size > INT32_MAX)
		return;
	struct scan s = {af_elf_bytes(elf, &section), section.sh_size, section.sh_addr, SCAN_NO_CIE,
	                 false};
	for (uint64_t at = 0; s.size - at >= SCAN_FIXED; at += 4 + (uint64_t)len) {
		memcpy(&len, s.data + at, sizeof len);
		if (!len || len > s.size - at - 4)
			break;
		uint32_t back = (uint32_t)scan_i32(s.data + at + 4);
		int64_t start = (int64_t)at + 8 + scan_i32(s.data + at + 8);
		if (!back || len < SCAN_FIXED - 4 || !scan_is_read(&s, at, back) ||
		    start != (int32_t)start)
			continue;
		AF_GROW(entries, nr, cap);
		entries[nr++] = (struct scan_entry){(int32_t)start, (int32_t)at};
	}
	if (!nr)
		return;
	qsort(entries, nr, sizeof *entries, scan_order);
	t->made = entries;
	t->entries = (const uint8_t *)entries;
	t->nr = nr;
	t->base = s.vaddr;
}
