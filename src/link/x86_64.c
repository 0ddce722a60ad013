/* x86-64: the relocations of its psABI, chapter 4.4. */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

static const struct link_type types[] = {
    [R_X86_64_64] = {"R_X86_64_64", LINK_KNOWN, 8},
    [R_X86_64_PC32] = {"R_X86_64_PC32", LINK_NEAR, 4},
    [R_X86_64_GOT32] = {"R_X86_64_GOT32", LINK_SLOT, 4},
    [R_X86_64_PLT32] = {"R_X86_64_PLT32", LINK_STUB, 4},
    [R_X86_64_GOTPCREL] = {"R_X86_64_GOTPCREL", LINK_SLOT, 4},
    [R_X86_64_32] = {"R_X86_64_32", LINK_LOW | LINK_NEAR, 4},
    [R_X86_64_32S] = {"R_X86_64_32S", LINK_LOW | LINK_NEAR, 4},
    [R_X86_64_16] = {"R_X86_64_16", LINK_KNOWN, 2},
    [R_X86_64_PC16] = {"R_X86_64_PC16", LINK_KNOWN, 2},
    [R_X86_64_8] = {"R_X86_64_8", LINK_KNOWN, 1},
    [R_X86_64_PC8] = {"R_X86_64_PC8", LINK_KNOWN, 1},
    [R_X86_64_DTPOFF64] = {"R_X86_64_DTPOFF64", LINK_THREAD, 8},
    [R_X86_64_TPOFF64] = {"R_X86_64_TPOFF64", LINK_THREAD, 8},
    [R_X86_64_TLSGD] = {"R_X86_64_TLSGD", LINK_SLOT_GD, 4},
    [R_X86_64_TLSLD] = {"R_X86_64_TLSLD", LINK_SLOT_LD, 4},
    [R_X86_64_DTPOFF32] = {"R_X86_64_DTPOFF32", LINK_THREAD, 4},
    [R_X86_64_GOTTPOFF] = {"R_X86_64_GOTTPOFF", LINK_SLOT_TP, 4},
    [R_X86_64_TPOFF32] = {"R_X86_64_TPOFF32", LINK_THREAD, 4},
    [R_X86_64_PC64] = {"R_X86_64_PC64", LINK_KNOWN, 8},
    [R_X86_64_GOTOFF64] = {"R_X86_64_GOTOFF64", LINK_KNOWN, 8},
    [R_X86_64_GOTPC32] = {"R_X86_64_GOTPC32", LINK_KNOWN, 4},
    [R_X86_64_GOT64] = {"R_X86_64_GOT64", LINK_SLOT, 8},
    [R_X86_64_GOTPCREL64] = {"R_X86_64_GOTPCREL64", LINK_SLOT, 8},
    [R_X86_64_GOTPC64] = {"R_X86_64_GOTPC64", LINK_KNOWN, 8},
    [R_X86_64_PLTOFF64] = {"R_X86_64_PLTOFF64", LINK_STUB, 8},
    [R_X86_64_SIZE32] = {"R_X86_64_SIZE32", LINK_KNOWN, 4},
    [R_X86_64_SIZE64] = {"R_X86_64_SIZE64", LINK_KNOWN, 8},
    [R_X86_64_GOTPCRELX] = {"R_X86_64_GOTPCRELX", LINK_SLOT, 4},
    [R_X86_64_REX_GOTPCRELX] = {"R_X86_64_REX_GOTPCRELX", LINK_SLOT, 4},
};

/* Store a signed value that must fit. */
static int put_signed(uint8_t *at, int64_t v, unsigned width)
{
	if (width < 8 &&
	    (v < -(INT64_C(1) << (8 * width - 1)) || v >= INT64_C(1) << (8 * width - 1)))
		return -ERANGE;
	memcpy(at, &v, width);
	return 0;
}

static int put_unsigned(uint8_t *at, uint64_t v, unsigned width)
{
	if (width < 8 && v >> (8 * width))
		return -ERANGE;
	memcpy(at, &v, width);
	return 0;
}

/* Where the symbol is out of reach, its stub. */
static int put_near(const struct link_reloc *r, bool relative)
{
	uint64_t from = relative ? r->place : 0, value = r->value + (uint64_t)r->addend - from;
	bool is_unsigned = r->type == R_X86_64_32;

	if (!(is_unsigned ? put_unsigned(r->at, value, 4) : put_signed(r->at, (int64_t)value, 4)))
		return 0;
	if (!r->stub)
		return -ERANGE;
	value = r->stub + (uint64_t)r->addend - from;
	return is_unsigned ? put_unsigned(r->at, value, 4) : put_signed(r->at, (int64_t)value, 4);
}

static int apply_thread(const struct link_reloc *r, uint64_t to_slot)
{
	uint64_t a = (uint64_t)r->addend;

	switch (r->type) {
	case R_X86_64_TPOFF32:
		return put_signed(r->at, (int64_t)(r->tp + a), 4);
	case R_X86_64_TPOFF64:
		return put_signed(r->at, (int64_t)(r->tp + a), 8);
	case R_X86_64_DTPOFF32:
		return put_signed(r->at, (int64_t)(r->dtp + a), 4);
	case R_X86_64_DTPOFF64:
		return put_signed(r->at, (int64_t)(r->dtp + a), 8);
	case R_X86_64_TLSGD:
	case R_X86_64_TLSLD:
	case R_X86_64_GOTTPOFF:
		return put_signed(r->at, (int64_t)to_slot, 4);
	}
	return -ENOTSUP;
}

/* The types that refer to the table of slots. */
static int apply_table(const struct link_reloc *r, uint64_t to_slot)
{
	uint64_t a = (uint64_t)r->addend;

	switch (r->type) {
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		return put_signed(r->at, (int64_t)to_slot, 4);
	case R_X86_64_GOTPCREL64:
		return put_signed(r->at, (int64_t)to_slot, 8);
	case R_X86_64_GOT32:
		return put_unsigned(r->at, r->slot - r->got + a, 4);
	case R_X86_64_GOT64:
		return put_unsigned(r->at, r->slot - r->got + a, 8);
	case R_X86_64_GOTOFF64:
		return put_unsigned(r->at, r->value - r->got + a, 8);
	case R_X86_64_PLTOFF64:
		return put_unsigned(r->at, (r->stub ? r->stub : r->value) - r->got + a, 8);
	case R_X86_64_GOTPC32:
		return put_signed(r->at, (int64_t)(r->got + a - r->place), 4);
	case R_X86_64_GOTPC64:
		return put_unsigned(r->at, r->got + a - r->place, 8);
	}
	return apply_thread(r, to_slot);
}

static int x86_apply(const struct link_reloc *r)
{
	uint64_t value = r->value + (uint64_t)r->addend;

	switch (r->type) {
	case R_X86_64_64:
		return put_unsigned(r->at, value, 8);
	case R_X86_64_32:
	case R_X86_64_32S:
		return put_near(r, false);
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		return put_near(r, true);
	case R_X86_64_PC64:
		return put_unsigned(r->at, value - r->place, 8);
	case R_X86_64_16:
		return put_unsigned(r->at, value, 2);
	case R_X86_64_8:
		return put_unsigned(r->at, value, 1);
	case R_X86_64_PC16:
		return put_signed(r->at, (int64_t)(value - r->place), 2);
	case R_X86_64_PC8:
		return put_signed(r->at, (int64_t)(value - r->place), 1);
	case R_X86_64_SIZE32:
		return put_unsigned(r->at, r->size + (uint64_t)r->addend, 4);
	case R_X86_64_SIZE64:
		return put_unsigned(r->at, r->size + (uint64_t)r->addend, 8);
	}
	return apply_table(r, r->slot + (uint64_t)r->addend - r->place);
}

/* jmp *SLOT(%rip); int3; int3 */
static void x86_stub(uint8_t *at, uint64_t address, uint64_t slot)
{
	uint32_t to = (uint32_t)(slot - (address + 6));

	at[0] = 0xff;
	at[1] = 0x25;
	memcpy(at + 2, &to, 4);
	memset(at + 6, 0xcc, 10);
}

/* Alignments 1 and -8, return address 16; pointers by PC; CFA: rsp + 8; rip at CFA - 8. */
static const uint8_t cie[] = {1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};

const struct link_machine link_x86_64 = {.machine = EM_X86_64,
                                         .page = 4096,
                                         .stub_size = 16,
                                         .types = types,
                                         .nr_types = sizeof types / sizeof *types,
                                         .apply = x86_apply,
                                         .stub = x86_stub,
                                         .cie = cie,
                                         .cie_size = sizeof cie};
