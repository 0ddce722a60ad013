#include "sym/fde.h"

#include <stdlib.h>
#include <string.h>

/* What DW_EH_PE_* the header of the table may name (LSB 10.5.1). */
enum { PE_FORMAT = 0x0f, PE_UDATA4 = 0x03, PE_DATAREL_SDATA4 = 0x3b, PE_OMIT = 0xff };

enum {
	FDE_HEADER = 4,
	FDE_ENTRY = 8,
	FDE_FIXED = 16, /* of an FDE, to the length of its augmentation */
};

/* Instructions that say where the frame or a register is (DWARF 5, 7.24). */
enum { CFA_DEF_CFA = 0x0c, CFA_EXPRESSION = 0x10, CFA_OFFSET = 0x80 };

static int32_t load_i32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

const uint8_t *af_fde_bytes(const struct af_elf *e, uint64_t vaddr, uint64_t *left)
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

/* Bytes of the pointer to .eh_frame, which is not needed here; 0 when that cannot be told. */
static unsigned fde_pointer_size(uint8_t encoding)
{
	static const uint8_t sizes[16] = {
	    [0x0] = 8, [0x2] = 2, [0x3] = 4, [0x4] = 8, [0xa] = 2, [0xb] = 4, [0xc] = 8};

	return encoding == PE_OMIT ? 0 : sizes[encoding & PE_FORMAT];
}

void af_fde_open(struct af_fde_table *t, const struct af_elf *elf)
{
	Elf64_Phdr p;
	uint32_t i = 0;

	*t = (struct af_fde_table){.elf = elf};
	while (af_elf_segment(elf, i, &p) && p.p_type != PT_GNU_EH_FRAME)
		i++;
	if (!af_elf_segment(elf, i, &p)) {
		af_fde_scan(t, elf);
		return;
	}

	uint64_t left = 0;
	const uint8_t *at = af_fde_bytes(elf, p.p_vaddr, &left);
	if (!at || left < FDE_HEADER || at[0] != 1 || at[2] != PE_UDATA4 ||
	    at[3] != PE_DATAREL_SDATA4)
		return;
	uint64_t skip = FDE_HEADER + fde_pointer_size(at[1]);
	if (skip == FDE_HEADER || left < skip + 4)
		return;
	uint64_t most = (left - skip - 4) / FDE_ENTRY;
	uint32_t nr = load_u32(at + skip);
	t->entries = at + skip + 4;
	t->nr = nr < most ? nr : (uint32_t)most;
	t->base = p.p_vaddr;
}

void af_fde_close(struct af_fde_table *t)
{
	free(t->made);
	*t = (struct af_fde_table){0};
}

static uint64_t fde_start(const struct af_fde_table *t, uint32_t i)
{
	return t->base + (uint64_t)(int64_t)load_i32(t->entries + (uint64_t)i * FDE_ENTRY);
}

/*
 * The FDE of entry @i, which says that its function starts at @start: after its length and the
 * pointer to its CIE come the start, mostly 32 bits relative to where it stands, and the length of
 * the code. NULL for one where the start is not that: it is in another encoding.
 */
static const uint8_t *fde_of(const struct af_fde_table *t, uint32_t i, uint64_t start,
                             uint64_t *fde, uint64_t *left)
{
	int32_t relative = load_i32(t->entries + (uint64_t)i * FDE_ENTRY + 4);

	*fde = t->base + (uint64_t)(int64_t)relative;
	const uint8_t *at = af_fde_bytes(t->elf, *fde, left);
	if (!at || *left < FDE_FIXED || *fde + 8 + (uint64_t)(int64_t)load_i32(at + 8) != start)
		return NULL;
	return at;
}

/* Whether @vaddr is behind the end of it; the function of an FDE not read reaches to the next. */
static bool fde_ends_before(const struct af_fde_table *t, uint32_t i, uint64_t start,
                            uint64_t vaddr)
{
	uint64_t fde, left;
	const uint8_t *at = fde_of(t, i, start, &fde, &left);

	return at && vaddr - start >= load_u32(at + 12);
}

/* The entry that starts last of those not after @vaddr. */
static bool fde_entry(const struct af_fde_table *t, uint64_t vaddr, uint32_t *i)
{
	uint32_t low = 0, high = t->nr;

	/* The first entry that starts after @vaddr. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (fde_start(t, middle) <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	*i = low - 1;
	return low != 0;
}

bool af_fde_find(const struct af_fde_table *t, uint64_t vaddr, uint64_t *start)
{
	uint32_t i;

	if (!fde_entry(t, vaddr, &i))
		return false;
	*start = fde_start(t, i);
	return *start <= vaddr && !fde_ends_before(t, i, *start, vaddr);
}

/* Whether the augmentation of the CIE that the FDE names begins with z: then it has a length. */
static bool fde_has_augmentation(const struct af_fde_table *t, const uint8_t *at, uint64_t fde)
{
	uint64_t left;
	const uint8_t *cie = af_fde_bytes(t->elf, fde + 4 - load_u32(at + 4), &left);

	return cie && left >= 10 && cie[9] == 'z';
}

uint32_t af_fde_part_len(const struct af_fde_table *t, uint64_t start)
{
	uint64_t fde, left;
	uint32_t i;

	if (!fde_entry(t, start, &i) || fde_start(t, i) != start)
		return 0;
	const uint8_t *at = fde_of(t, i, start, &fde, &left);
	if (!at || left == FDE_FIXED || !fde_has_augmentation(t, at, fde))
		return 0;

	/* A length of 128 or more, which takes another byte, is in no FDE with 32-bit pointers. */
	uint64_t program = FDE_FIXED + 1 + (uint64_t)at[FDE_FIXED];
	uint64_t end = 4 + (uint64_t)load_u32(at);
	if (at[FDE_FIXED] >= 0x80 || program >= end || program >= left)
		return 0;

	/* A function begins with its return address on top: rows come after an instruction. */
	uint8_t first = at[program];
	bool moved = first >= CFA_OFFSET || (first >= CFA_DEF_CFA && first <= CFA_EXPRESSION);
	return moved ? load_u32(at + 12) : 0;
}
