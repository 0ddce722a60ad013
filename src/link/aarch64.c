/*
 * aarch64: the relocations of "ELF for the Arm 64-bit Architecture", chapter 5.7. A field is a word
 * of data, or the immediate of an instruction, whose place follows from its kind.
 */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

#define A64(name, needs, width) [R_AARCH64_##name] = {"R_AARCH64_" #name, needs, width}

static const struct link_type types[] = {
    A64(ABS64, LINK_KNOWN, 8),
    A64(ABS32, LINK_KNOWN, 4),
    A64(ABS16, LINK_KNOWN, 2),
    A64(PREL64, LINK_KNOWN, 8),
    A64(PREL32, LINK_NEAR, 4),
    A64(PREL16, LINK_KNOWN, 2),
    A64(MOVW_UABS_G0, LINK_KNOWN, 4),
    A64(MOVW_UABS_G0_NC, LINK_KNOWN, 4),
    A64(MOVW_UABS_G1, LINK_KNOWN, 4),
    A64(MOVW_UABS_G1_NC, LINK_KNOWN, 4),
    A64(MOVW_UABS_G2, LINK_KNOWN, 4),
    A64(MOVW_UABS_G2_NC, LINK_KNOWN, 4),
    A64(MOVW_UABS_G3, LINK_KNOWN, 4),
    A64(LD_PREL_LO19, LINK_KNOWN, 4),
    A64(ADR_PREL_LO21, LINK_KNOWN, 4),
    A64(ADR_PREL_PG_HI21, LINK_KNOWN, 4),
    A64(ADR_PREL_PG_HI21_NC, LINK_KNOWN, 4),
    A64(ADD_ABS_LO12_NC, LINK_KNOWN, 4),
    A64(LDST8_ABS_LO12_NC, LINK_KNOWN, 4),
    A64(LDST16_ABS_LO12_NC, LINK_KNOWN, 4),
    A64(LDST32_ABS_LO12_NC, LINK_KNOWN, 4),
    A64(LDST64_ABS_LO12_NC, LINK_KNOWN, 4),
    A64(LDST128_ABS_LO12_NC, LINK_KNOWN, 4),
    A64(TSTBR14, LINK_KNOWN, 4),
    A64(CONDBR19, LINK_STUB, 4),
    A64(JUMP26, LINK_STUB, 4),
    A64(CALL26, LINK_STUB, 4),
    A64(ADR_GOT_PAGE, LINK_SLOT, 4),
    A64(LD64_GOT_LO12_NC, LINK_SLOT, 4),
    A64(TLSIE_ADR_GOTTPREL_PAGE21, LINK_SLOT_TP, 4),
    A64(TLSIE_LD64_GOTTPREL_LO12_NC, LINK_SLOT_TP, 4),
    A64(TLSLE_ADD_TPREL_HI12, LINK_THREAD, 4),
    A64(TLSLE_ADD_TPREL_LO12, LINK_THREAD, 4),
    A64(TLSLE_ADD_TPREL_LO12_NC, LINK_THREAD, 4),
    A64(TLSDESC_ADR_PAGE21, LINK_THREAD, 4),
    A64(TLSDESC_LD64_LO12, LINK_THREAD, 4),
    A64(TLSDESC_ADD_LO12, LINK_THREAD, 4),
    A64(TLSDESC_CALL, LINK_THREAD, 4),
};

enum {
	A64_NOP = 0xd503201fu,
	A64_MOVZ_X0_HIGH = 0xd2a00000u, /* movz x0, #imm16, lsl #16 */
	A64_MOVK_X0 = 0xf2800000u,      /* movk x0, #imm16 */
	A64_PAGE = 0xfff,
};

/* Set @bits bits from @low on in the instruction to those of @v. */
static void put_bits(uint8_t *at, unsigned low, unsigned bits, uint64_t v)
{
	uint32_t mask = ((UINT32_C(1) << bits) - 1) << low, word;

	memcpy(&word, at, 4);
	word = (word & ~mask) | ((uint32_t)(v << low) & mask);
	memcpy(at, &word, 4);
}

static bool fits(int64_t v, unsigned bits)
{
	return v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1);
}

/* A distance of @bits bits, in words of 4 bytes, from bit @low on. */
static int put_branch(uint8_t *at, int64_t distance, unsigned low, unsigned bits)
{
	if (distance & 3 || !fits(distance, bits + 2))
		return -ERANGE;
	put_bits(at, low, bits, (uint64_t)distance >> 2);
	return 0;
}

/* ADR and ADRP: the two low bits stand apart. */
static int put_adr(uint8_t *at, int64_t v)
{
	if (!fits(v, 21))
		return -ERANGE;
	put_bits(at, 29, 2, (uint64_t)v);
	put_bits(at, 5, 19, (uint64_t)v >> 2);
	return 0;
}

static int put_page(const struct link_reloc *r, uint64_t to)
{
	int64_t distance = (int64_t)((to & ~(uint64_t)A64_PAGE) - (r->place & ~(uint64_t)A64_PAGE));

	return put_adr(r->at, distance >> 12);
}

/* The low 12 bits, in units of 1 << @shift bytes. */
static int put_low(const struct link_reloc *r, uint64_t to, unsigned shift)
{
	if (to & ((1u << shift) - 1))
		return -ERANGE;
	put_bits(r->at, 10, 12, (to & A64_PAGE) >> shift);
	return 0;
}

static int put_data(uint8_t *at, int64_t v, unsigned width)
{
	/* A signed or an unsigned value, as the ABI has it. */
	if (width < 8 && !fits(v, 8 * width) && (uint64_t)v >> (8 * width))
		return -ERANGE;
	memcpy(at, &v, width);
	return 0;
}

static int put_movw(const struct link_reloc *r, uint64_t v, unsigned group, bool checked)
{
	if (checked && group < 3 && v >> (16 * (group + 1)))
		return -ERANGE;
	put_bits(r->at, 5, 16, v >> (16 * group));
	return 0;
}

/*
 * A variable by its descriptor (adrp, ldr, add, blr) has a known offset here: the four instructions
 * load it into x0, as linkers of static programs have it (TLS descriptors to local exec).
 */
static int put_descriptor(const struct link_reloc *r)
{
	uint64_t offset = r->tp + (uint64_t)r->addend;
	uint32_t word = A64_NOP;

	if (offset >> 32)
		return -ERANGE;
	if (r->type == R_AARCH64_TLSDESC_ADR_PAGE21)
		word = A64_MOVZ_X0_HIGH | (uint32_t)(offset >> 16) << 5;
	else if (r->type == R_AARCH64_TLSDESC_LD64_LO12)
		word = A64_MOVK_X0 | (uint32_t)(offset & 0xffff) << 5;
	memcpy(r->at, &word, 4);
	return 0;
}

static int apply_thread(const struct link_reloc *r)
{
	uint64_t offset = r->tp + (uint64_t)r->addend;

	switch (r->type) {
	case R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21:
		return put_page(r, r->slot);
	case R_AARCH64_TLSIE_LD64_GOTTPREL_LO12_NC:
		return put_low(r, r->slot, 3);
	case R_AARCH64_TLSLE_ADD_TPREL_HI12:
		put_bits(r->at, 10, 12, offset >> 12);
		return offset >> 24 ? -ERANGE : 0;
	case R_AARCH64_TLSLE_ADD_TPREL_LO12:
		put_bits(r->at, 10, 12, offset);
		return offset >> 12 ? -ERANGE : 0;
	case R_AARCH64_TLSLE_ADD_TPREL_LO12_NC:
		put_bits(r->at, 10, 12, offset);
		return 0;
	default:
		return put_descriptor(r);
	}
}

static int apply_movw(const struct link_reloc *r, uint64_t value)
{
	switch (r->type) {
	case R_AARCH64_MOVW_UABS_G0:
		return put_movw(r, value, 0, true);
	case R_AARCH64_MOVW_UABS_G0_NC:
		return put_movw(r, value, 0, false);
	case R_AARCH64_MOVW_UABS_G1:
		return put_movw(r, value, 1, true);
	case R_AARCH64_MOVW_UABS_G1_NC:
		return put_movw(r, value, 1, false);
	case R_AARCH64_MOVW_UABS_G2:
		return put_movw(r, value, 2, true);
	case R_AARCH64_MOVW_UABS_G2_NC:
		return put_movw(r, value, 2, false);
	case R_AARCH64_MOVW_UABS_G3:
		return put_movw(r, value, 3, false);
	}
	return apply_thread(r);
}

/* Branches, and addresses in two instructions. */
static int apply_code(const struct link_reloc *r, uint64_t value)
{
	int64_t distance = (int64_t)(value - r->place);
	unsigned shift = 0;

	switch (r->type) {
	case R_AARCH64_CALL26:
	case R_AARCH64_JUMP26:
		if (!fits(distance, 28) && r->stub)
			distance = (int64_t)(r->stub + (uint64_t)r->addend - r->place);
		return put_branch(r->at, distance, 0, 26);
	case R_AARCH64_CONDBR19:
		if (!fits(distance, 21) && r->stub)
			distance = (int64_t)(r->stub + (uint64_t)r->addend - r->place);
		return put_branch(r->at, distance, 5, 19);
	case R_AARCH64_LD_PREL_LO19:
		return put_branch(r->at, distance, 5, 19);
	case R_AARCH64_TSTBR14:
		return put_branch(r->at, distance, 5, 14);
	case R_AARCH64_ADR_PREL_LO21:
		return put_adr(r->at, distance);
	case R_AARCH64_ADR_PREL_PG_HI21:
		return put_page(r, value);
	case R_AARCH64_ADR_PREL_PG_HI21_NC:
		put_adr(r->at, (int64_t)(((value >> 12) - (r->place >> 12)) << 43) >> 43);
		return 0;
	case R_AARCH64_ADR_GOT_PAGE:
		return r->addend ? -ENOTSUP : put_page(r, r->slot);
	case R_AARCH64_LD64_GOT_LO12_NC:
		return r->addend ? -ENOTSUP : put_low(r, r->slot, 3);
	case R_AARCH64_LDST128_ABS_LO12_NC:
		shift++;
		/* fall through */
	case R_AARCH64_LDST64_ABS_LO12_NC:
		shift++;
		/* fall through */
	case R_AARCH64_LDST32_ABS_LO12_NC:
		shift++;
		/* fall through */
	case R_AARCH64_LDST16_ABS_LO12_NC:
		shift++;
		/* fall through */
	case R_AARCH64_LDST8_ABS_LO12_NC:
	case R_AARCH64_ADD_ABS_LO12_NC:
		return put_low(r, value, shift);
	}
	return apply_movw(r, value);
}

static int aarch64_apply(const struct link_reloc *r)
{
	uint64_t value = r->value + (uint64_t)r->addend;
	int64_t distance = (int64_t)(value - r->place);

	switch (r->type) {
	case R_AARCH64_ABS64:
		return put_data(r->at, (int64_t)value, 8);
	case R_AARCH64_ABS32:
		return put_data(r->at, (int64_t)value, 4);
	case R_AARCH64_ABS16:
		return put_data(r->at, (int64_t)value, 2);
	case R_AARCH64_PREL64:
		return put_data(r->at, distance, 8);
	case R_AARCH64_PREL32:
		if (!fits(distance, 32) && r->stub)
			distance = (int64_t)(r->stub + (uint64_t)r->addend - r->place);
		return fits(distance, 32) ? put_data(r->at, distance, 4) : -ERANGE;
	case R_AARCH64_PREL16:
		return fits(distance, 16) ? put_data(r->at, distance, 2) : -ERANGE;
	}
	return apply_code(r, value);
}

/* adrp x16, SLOT; ldr x16, [x16, SLOT]; br x16; nop */
static void aarch64_stub(uint8_t *at, uint64_t address, uint64_t slot)
{
	static const uint32_t code[] = {0x90000010u, 0xf9400210u, 0xd61f0200u, A64_NOP};
	struct link_reloc r = {.at = at, .place = address};

	memcpy(at, code, sizeof code);
	put_page(&r, slot);
	r.at += 4;
	put_low(&r, slot, 3);
}

/* Alignments 4 and -8, return address x30; pointers by PC; CFA: sp. */
static const uint8_t cie[] = {4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0};

const struct link_machine link_aarch64 = {.machine = EM_AARCH64,
                                          .page = 64 << 10, /* the largest that kernels have */
                                          .stub_size = 16,
                                          .types = types,
                                          .nr_types = sizeof types / sizeof *types,
                                          .apply = aarch64_apply,
                                          .stub = aarch64_stub,
                                          .cie = cie,
                                          .cie_size = sizeof cie};
