#include "inject/cfi_program.h"

#include <errno.h>

#include "inject/arch/arch.h"

static struct cfi_saved *cfi_register(struct cfi_run *run, struct cfi_row *row, uint64_t reg)
{
	if (reg == run->cie->ra_register)
		return &row->ra;
	if (reg == AF_ARCH_DWARF_FP)
		return &row->fp;
	if (reg == AF_ARCH_DWARF_BASE)
		return &row->base;
	return &run->ignored;
}

static void cfi_set(struct cfi_run *run, uint64_t reg, int how, int64_t offset)
{
	*cfi_register(run, &run->row, reg) = (struct cfi_saved){.how = how, .offset = offset};
}

static void cfi_restore(struct cfi_run *run, uint64_t reg)
{
	struct cfi_saved *now = cfi_register(run, &run->row, reg);

	if (now != &run->ignored)
		*now = *cfi_register(run, &run->initial, reg);
}

static void cfi_set_cfa(struct cfi_run *run, uint64_t reg, int64_t offset)
{
	run->row.by_expression = false;
	run->row.cfa_register = reg;
	run->row.cfa_offset = offset;
}

/* Offsets are hostile: multiply and add without overflow being undefined. */
static int64_t cfi_factored(const struct cfi_run *run, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)run->cie->data_align);
}

static void cfi_advance(struct cfi_run *run, uint64_t delta)
{
	run->at += delta * run->cie->code_align;
	run->stop = run->at > run->target;
}

/* DW_CFA_* of DWARF 5, table 7.29, and the GNU ones, in the order of their numbers. */
enum {
	CFA_ADVANCE = 0x40, /* in the two high bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC,
	CFA_ADVANCE1,
	CFA_ADVANCE2,
	CFA_ADVANCE4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_ADVANCE8 = 0x1d,
	CFA_GNU_WINDOW_SAVE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

static int cfi_location(struct cfi_run *run, struct af_dwarf_cursor *c, uint8_t op)
{
	switch (op) {
	case CFA_SET_LOC:
		run->at = af_dwarf_pointer(c, run->cie->fde_encoding, 0);
		run->stop = run->at > run->target;
		return 0;
	case CFA_ADVANCE1:
		cfi_advance(run, af_dwarf_uint(c, 1));
		return 0;
	case CFA_ADVANCE2:
		cfi_advance(run, af_dwarf_uint(c, 2));
		return 0;
	case CFA_ADVANCE4:
		cfi_advance(run, af_dwarf_uint(c, 4));
		return 0;
	case CFA_ADVANCE8:
		cfi_advance(run, af_dwarf_uint(c, 8));
		return 0;
	}
	return -EINVAL;
}

static int cfi_define_cfa(struct cfi_run *run, struct af_dwarf_cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = af_dwarf_uleb(c);
		cfi_set_cfa(run, reg, (int64_t)af_dwarf_uleb(c));
		return 0;
	case CFA_DEF_CFA_SF:
		reg = af_dwarf_uleb(c);
		cfi_set_cfa(run, reg, cfi_factored(run, (uint64_t)af_dwarf_sleb(c)));
		return 0;
	case CFA_DEF_CFA_REGISTER:
		cfi_set_cfa(run, af_dwarf_uleb(c), run->row.cfa_offset);
		return 0;
	case CFA_DEF_CFA_OFFSET:
		run->row.cfa_offset = (int64_t)af_dwarf_uleb(c);
		return 0;
	case CFA_DEF_CFA_OFFSET_SF:
		run->row.cfa_offset = cfi_factored(run, (uint64_t)af_dwarf_sleb(c));
		return 0;
	case CFA_DEF_CFA_EXPRESSION:
		run->row.expression = af_dwarf_block(c, af_dwarf_uleb(c));
		run->row.by_expression = true;
		return 0;
	}
	return -EINVAL;
}

static int cfi_remember(struct cfi_run *run)
{
	if (run->nr_saved == CFI_SAVED_ROWS)
		return -ENOTSUP;
	run->saved[run->nr_saved++] = run->row;
	return 0;
}

static int cfi_restore_state(struct cfi_run *run)
{
	if (!run->nr_saved)
		return -EINVAL;
	run->row = run->saved[--run->nr_saved];
	return 0;
}

/* The instructions that say where one register is. */
static int cfi_define_register(struct cfi_run *run, struct af_dwarf_cursor *c, uint8_t op)
{
	uint64_t reg = af_dwarf_uleb(c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		cfi_set(run, reg, CFI_AT_CFA, cfi_factored(run, af_dwarf_uleb(c)));
		return 0;
	case CFA_OFFSET_EXTENDED_SF:
		cfi_set(run, reg, CFI_AT_CFA, cfi_factored(run, (uint64_t)af_dwarf_sleb(c)));
		return 0;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		cfi_set(run, reg, CFI_AT_CFA, cfi_factored(run, -af_dwarf_uleb(c)));
		return 0;
	case CFA_VAL_OFFSET:
		cfi_set(run, reg, CFI_VALUE_CFA, cfi_factored(run, af_dwarf_uleb(c)));
		return 0;
	case CFA_VAL_OFFSET_SF:
		cfi_set(run, reg, CFI_VALUE_CFA, cfi_factored(run, (uint64_t)af_dwarf_sleb(c)));
		return 0;
	case CFA_RESTORE_EXTENDED:
		cfi_restore(run, reg);
		return 0;
	case CFA_UNDEFINED:
		cfi_set(run, reg, CFI_UNDEFINED, 0);
		return 0;
	case CFA_SAME_VALUE:
		cfi_set(run, reg, CFI_SAME, 0);
		return 0;
	case CFA_REGISTER:
		af_dwarf_uleb(c);
		cfi_set(run, reg, CFI_OTHER, 0);
		return 0;
	case CFA_EXPRESSION:
		cfi_set(run, reg, CFI_AT_EXPRESSION, 0);
		cfi_register(run, &run->row, reg)->expression = af_dwarf_block(c, af_dwarf_uleb(c));
		return 0;
	case CFA_VAL_EXPRESSION:
		cfi_set(run, reg, CFI_OTHER, 0);
		af_dwarf_block(c, af_dwarf_uleb(c));
		return 0;
	}
	return -EINVAL;
}

static int cfi_extended(struct cfi_run *run, struct af_dwarf_cursor *c, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC ... CFA_ADVANCE4:
	case CFA_ADVANCE8:
		return cfi_location(run, c, op);
	case CFA_DEF_CFA ... CFA_DEF_CFA_EXPRESSION:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_OFFSET_SF:
		return cfi_define_cfa(run, c, op);
	case CFA_REMEMBER:
		return cfi_remember(run);
	case CFA_RESTORE_STATE:
		return cfi_restore_state(run);
	case CFA_GNU_WINDOW_SAVE:
		return 0;
	case CFA_GNU_ARGS_SIZE:
		af_dwarf_uleb(c);
		return 0;
	}
	return cfi_define_register(run, c, op);
}

int af_cfi_execute(struct cfi_run *run, struct af_dwarf_cursor c)
{
	while (c.at < c.end && !run->stop) {
		uint8_t op = (uint8_t)af_dwarf_uint(&c, 1);
		uint8_t operand = op & 0x3f;
		int rc = 0;

		switch (op & 0xc0) {
		case CFA_ADVANCE:
			cfi_advance(run, operand);
			break;
		case CFA_OFFSET:
			cfi_set(run, operand, CFI_AT_CFA, cfi_factored(run, af_dwarf_uleb(&c)));
			break;
		case CFA_RESTORE:
			cfi_restore(run, operand);
			break;
		default:
			rc = cfi_extended(run, &c, op);
		}
		if (rc)
			return rc;
	}
	return c.bad ? -EINVAL : 0;
}
