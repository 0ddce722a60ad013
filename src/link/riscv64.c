/*
 * riscv64: the relocations of its psABI. Code is linked as it is, without relaxation: differences
 * of labels are added up as ADD and SUB have them, and padding for alignment stays. The low part of
 * an address by PC names the instruction that has the high part, so these are applied first.
 */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

#ifndef R_RISCV_GOT32_PCREL /* of newer psABIs */
#define R_RISCV_PLT32 59
#endif

#define RV(name, needs, width) [R_RISCV_##name] = {"R_RISCV_" #name, needs, width}

static const struct link_type types[] = {
    RV(32, LINK_KNOWN, 4),
    RV(64, LINK_KNOWN, 8),
    RV(BRANCH, LINK_KNOWN, 4),
    RV(JAL, LINK_STUB, 4),
    RV(CALL, LINK_STUB, 8),
    RV(CALL_PLT, LINK_STUB, 8),
    RV(GOT_HI20, LINK_SLOT, 4),
    RV(TLS_GOT_HI20, LINK_SLOT_TP, 4),
    RV(TLS_GD_HI20, LINK_SLOT_GD, 4),
    RV(PCREL_HI20, LINK_NEAR, 4),
    RV(PCREL_LO12_I, LINK_LATE, 4),
    RV(PCREL_LO12_S, LINK_LATE, 4),
    RV(HI20, LINK_LOW, 4),
    RV(LO12_I, LINK_KNOWN, 4),
    RV(LO12_S, LINK_KNOWN, 4),
    RV(TLS_DTPREL32, LINK_THREAD, 4),
    RV(TLS_DTPREL64, LINK_THREAD, 8),
    RV(TPREL_HI20, LINK_THREAD, 4),
    RV(TPREL_LO12_I, LINK_THREAD, 4),
    RV(TPREL_LO12_S, LINK_THREAD, 4),
    RV(TPREL_ADD, LINK_KNOWN, 0),
    RV(ADD8, LINK_KNOWN, 1),
    RV(ADD16, LINK_KNOWN, 2),
    RV(ADD32, LINK_KNOWN, 4),
    RV(ADD64, LINK_KNOWN, 8),
    RV(SUB8, LINK_KNOWN, 1),
    RV(SUB16, LINK_KNOWN, 2),
    RV(SUB32, LINK_KNOWN, 4),
    RV(SUB64, LINK_KNOWN, 8),
    RV(ALIGN, LINK_KNOWN, 0),
    RV(RVC_BRANCH, LINK_KNOWN, 2),
    RV(RVC_JUMP, LINK_KNOWN, 2),
    RV(RELAX, LINK_KNOWN, 0),
    RV(SUB6, LINK_KNOWN, 1),
    RV(SET6, LINK_KNOWN, 1),
    RV(SET8, LINK_KNOWN, 1),
    RV(SET16, LINK_KNOWN, 2),
    RV(SET32, LINK_KNOWN, 4),
    RV(32_PCREL, LINK_NEAR, 4),
    RV(PLT32, LINK_STUB, 4),
};

static bool fits(int64_t v, unsigned bits)
{
	return v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1);
}

/* Can two instructions hold it? The low part is signed. */
static bool fits_pair(uint64_t v)
{
	return fits((int64_t)(v + 0x800), 32);
}

/* Bits @high to @low of @v, moved to bit @to. */
static uint32_t bits(uint64_t v, unsigned high, unsigned low, unsigned to)
{
	return (uint32_t)((v >> low & ((UINT64_C(1) << (high - low + 1)) - 1)) << to);
}

/* Replace the bits of @mask in the instruction of @width bytes. */
static void put_masked(uint8_t *at, unsigned width, uint32_t mask, uint32_t value)
{
	uint32_t word = 0;

	memcpy(&word, at, width);
	word = (word & ~mask) | (value & mask);
	memcpy(at, &word, width);
}

/* The high 20 bits so that the low 12, which are signed, add up to @v. */
static int put_high(uint8_t *at, int64_t v)
{
	if (!fits_pair((uint64_t)v))
		return -ERANGE;
	put_masked(at, 4, 0xfffff000u, (uint32_t)v + 0x800);
	return 0;
}

static int put_low(uint8_t *at, uint64_t v, bool is_store)
{
	if (is_store)
		put_masked(at, 4, 0xfe000f80u, bits(v, 11, 5, 25) | bits(v, 4, 0, 7));
	else
		put_masked(at, 4, 0xfff00000u, bits(v, 11, 0, 20));
	return 0;
}

static int put_branch(uint8_t *at, uint64_t v, unsigned width)
{
	if (v & 1 || !fits((int64_t)v, width == 4 ? 13 : 9))
		return -ERANGE;
	if (width == 4)
		put_masked(at, 4, 0xfe000f80u,
		           bits(v, 12, 12, 31) | bits(v, 10, 5, 25) | bits(v, 4, 1, 8) |
		               bits(v, 11, 11, 7));
	else
		put_masked(at, 2, 0x1c7c,
		           bits(v, 8, 8, 12) | bits(v, 4, 3, 10) | bits(v, 7, 6, 5) |
		               bits(v, 2, 1, 3) | bits(v, 5, 5, 2));
	return 0;
}

static int put_jump(uint8_t *at, uint64_t v, unsigned width)
{
	if (v & 1 || !fits((int64_t)v, width == 4 ? 21 : 12))
		return -ERANGE;
	if (width == 4)
		put_masked(at, 4, 0xfffff000u,
		           bits(v, 20, 20, 31) | bits(v, 10, 1, 21) | bits(v, 11, 11, 20) |
		               bits(v, 19, 12, 12));
	else
		put_masked(at, 2, 0x1ffc,
		           bits(v, 11, 11, 12) | bits(v, 4, 4, 11) | bits(v, 9, 8, 9) |
		               bits(v, 10, 10, 8) | bits(v, 6, 6, 7) | bits(v, 7, 7, 6) |
		               bits(v, 3, 1, 3) | bits(v, 5, 5, 2));
	return 0;
}

/* auipc and jalr, to the symbol or else to its stub. */
static int put_call(const struct link_reloc *r)
{
	int64_t v = (int64_t)(r->value + (uint64_t)r->addend - r->place);

	if (!fits_pair((uint64_t)v) && r->stub)
		v = (int64_t)(r->stub + (uint64_t)r->addend - r->place);
	int rc = put_high(r->at, v);
	return rc ? rc : put_low(r->at + 4, (uint64_t)v, false);
}

/* A high part by PC, which the low parts that name its place need again. */
static int put_high_pc(const struct link_reloc *r, uint64_t to)
{
	uint64_t v = to - r->place;

	*af_map_at(r->high, r->place, NULL) = v;
	return put_high(r->at, (int64_t)v);
}

static int put_near(const struct link_reloc *r)
{
	uint64_t to = r->value + (uint64_t)r->addend;

	if (!fits_pair(to - r->place) && r->stub)
		to = r->stub + (uint64_t)r->addend;
	return put_high_pc(r, to);
}

static int put_low_pc(const struct link_reloc *r)
{
	const uint64_t *v = af_map_get(r->high, r->value);

	return v ? put_low(r->at, *v, r->type == R_RISCV_PCREL_LO12_S) : -ENOTSUP;
}

/* Sums in data: ADD and SUB change what is there, SET replaces it. */
static int apply_sum(const struct link_reloc *r, uint64_t value)
{
	static const struct {
		uint8_t type, width;
		int8_t sign; /* 0: set */
	} all[] = {{R_RISCV_ADD8, 1, 1},   {R_RISCV_ADD16, 2, 1},  {R_RISCV_ADD32, 4, 1},
	           {R_RISCV_ADD64, 8, 1},  {R_RISCV_SUB8, 1, -1},  {R_RISCV_SUB16, 2, -1},
	           {R_RISCV_SUB32, 4, -1}, {R_RISCV_SUB64, 8, -1}, {R_RISCV_SET8, 1, 0},
	           {R_RISCV_SET16, 2, 0},  {R_RISCV_SET32, 4, 0},  {R_RISCV_32, 4, 0},
	           {R_RISCV_64, 8, 0}};
	uint64_t had = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i].type != r->type)
			continue;
		if (all[i].sign)
			memcpy(&had, r->at, all[i].width);
		had = all[i].sign < 0 ? had - value : had + value;
		memcpy(r->at, &had, all[i].width);
		return 0;
	}
	return -ENOTSUP;
}

static int apply_six(const struct link_reloc *r, uint64_t value)
{
	uint8_t had = *r->at;

	if (r->type == R_RISCV_SUB6)
		value = (had & 63) - value;
	*r->at = (uint8_t)((had & 0xc0) | (value & 63));
	return 0;
}

/* A distance as data of 32 bits. */
static int put_distance(const struct link_reloc *r, uint64_t value)
{
	int64_t v = (int64_t)(value - r->place);

	if (!fits(v, 32) && r->stub)
		v = (int64_t)(r->stub + (uint64_t)r->addend - r->place);
	if (!fits(v, 32))
		return -ERANGE;
	memcpy(r->at, &v, 4);
	return 0;
}

static int apply_thread(const struct link_reloc *r, uint64_t value)
{
	uint64_t tp = r->tp + (uint64_t)r->addend;
	uint64_t dtp = r->dtp + (uint64_t)r->addend;

	switch (r->type) {
	case R_RISCV_TLS_GOT_HI20:
	case R_RISCV_TLS_GD_HI20:
		return put_high_pc(r, r->slot);
	case R_RISCV_TLS_DTPREL32:
	case R_RISCV_TLS_DTPREL64:
		memcpy(r->at, &dtp, r->type == R_RISCV_TLS_DTPREL32 ? 4 : 8);
		return 0;
	case R_RISCV_TPREL_HI20:
		return put_high(r->at, (int64_t)tp);
	case R_RISCV_TPREL_LO12_I:
	case R_RISCV_TPREL_LO12_S:
		return put_low(r->at, tp, r->type == R_RISCV_TPREL_LO12_S);
	case R_RISCV_SUB6:
	case R_RISCV_SET6:
		return apply_six(r, value);
	}
	return apply_sum(r, value);
}

static int riscv64_apply(const struct link_reloc *r)
{
	uint64_t value = r->value + (uint64_t)r->addend, distance = value - r->place;

	switch (r->type) {
	case R_RISCV_RELAX:
	case R_RISCV_ALIGN:
	case R_RISCV_TPREL_ADD:
		return 0;
	case R_RISCV_BRANCH:
	case R_RISCV_RVC_BRANCH:
		return put_branch(r->at, distance, r->type == R_RISCV_BRANCH ? 4 : 2);
	case R_RISCV_JAL:
		if (!fits((int64_t)distance, 21) && r->stub)
			distance = r->stub + (uint64_t)r->addend - r->place;
		return put_jump(r->at, distance, 4);
	case R_RISCV_RVC_JUMP:
		return put_jump(r->at, distance, 2);
	case R_RISCV_CALL:
	case R_RISCV_CALL_PLT:
		return put_call(r);
	case R_RISCV_GOT_HI20:
		return r->addend ? -ENOTSUP : put_high_pc(r, r->slot);
	case R_RISCV_PCREL_HI20:
		return put_near(r);
	case R_RISCV_PCREL_LO12_I:
	case R_RISCV_PCREL_LO12_S:
		return put_low_pc(r);
	case R_RISCV_HI20:
		return put_high(r->at, (int64_t)value);
	case R_RISCV_LO12_I:
	case R_RISCV_LO12_S:
		return put_low(r->at, value, r->type == R_RISCV_LO12_S);
	case R_RISCV_32_PCREL:
	case R_RISCV_PLT32:
		return put_distance(r, value);
	}
	return apply_thread(r, value);
}

/* auipc t3, SLOT; ld t3, SLOT(t3); jr t3; nop */
static void riscv64_stub(uint8_t *at, uint64_t address, uint64_t slot)
{
	static const uint32_t code[] = {0x00000e17u, 0x000e3e03u, 0x000e0067u, 0x00000013u};

	memcpy(at, code, sizeof code);
	put_high(at, (int64_t)(slot - address));
	put_low(at + 4, slot - address, false);
}

/* Alignments 1 and -8, return address x1; pointers by PC; CFA: sp. */
static const uint8_t cie[] = {1, 0x78, 1, 1, 0x1b, 0x0c, 2, 0};

const struct link_machine link_riscv64 = {.machine = EM_RISCV,
                                          /* qemu-user lists segments as one that touch. */
                                          .page = 64 << 10,
                                          .dtv_offset = 0x800,
                                          .stub_size = 16,
                                          .types = types,
                                          .nr_types = sizeof types / sizeof *types,
                                          .apply = riscv64_apply,
                                          .stub = riscv64_stub,
                                          .cie = cie,
                                          .cie_size = sizeof cie};
