#include "unwind/cfi_program.h"

#include <errno.h>
#include <string.h>

static struct af_cfi_value *cfi_row(const struct cfi_run *run, unsigned i)
{
	return run->rows + (size_t)i * run->columns->nr;
}

static unsigned cfi_column(const struct cfi_run *run, uint64_t reg)
{
	return reg < AF_DWARF_REGISTERS ? run->columns->of[reg] : CFI_IGNORED;
}

static void cfi_set(struct cfi_run *run, uint64_t reg, uint32_t how, int64_t offset)
{
	run->rows[cfi_column(run, reg)] = (struct af_cfi_value){.offset = offset, .how = how};
}

static void cfi_restore(struct cfi_run *run, uint64_t reg)
{
	unsigned column = cfi_column(run, reg);

	run->rows[column] = cfi_row(run, 1)[column];
}

static int cfi_set_cfa(struct cfi_run *run, uint64_t reg, int64_t offset)
{
	if (reg > UINT32_MAX)
		return -EINVAL;
	run->rows[CFI_CFA] = (struct af_cfi_value){offset, (uint32_t)reg, AF_CFI_REGISTER};
	return 0;
}

/* The expression that follows. */
static int cfi_set_expression(struct af_dwarf_cursor *c, struct af_cfi_value *value, uint32_t how)
{
	struct af_dwarf_cursor e = af_dwarf_block(c, af_dwarf_uleb(c));

	if (e.end - e.at > UINT32_MAX)
		return -EINVAL;
	*value = (struct af_cfi_value){(int64_t)e.at, (uint32_t)(e.end - e.at), how};
	return 0;
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
	/* The return address changes between signed and not: af_machine_address() strips it */
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* of SPARC: DW_CFA_GNU_window_save */
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
	struct af_cfi_value *cfa = &run->rows[CFI_CFA];
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = af_dwarf_uleb(c);
		return cfi_set_cfa(run, reg, (int64_t)af_dwarf_uleb(c));
	case CFA_DEF_CFA_SF:
		reg = af_dwarf_uleb(c);
		return cfi_set_cfa(run, reg, cfi_factored(run, (uint64_t)af_dwarf_sleb(c)));
	case CFA_DEF_CFA_EXPRESSION:
		return cfi_set_expression(c, cfa, AF_CFI_VALUE_EXPRESSION);
	}
	/* GNU as begins RISC-V's tables with the register alone, at which the CFA is then. */
	if (op == CFA_DEF_CFA_REGISTER && cfa->how == AF_CFI_UNSET)
		return cfi_set_cfa(run, af_dwarf_uleb(c), 0);
	/* The rest changes a register or an offset, which must be there. */
	if (cfa->how != AF_CFI_REGISTER)
		return -EINVAL;
	switch (op) {
	case CFA_DEF_CFA_REGISTER:
		return cfi_set_cfa(run, af_dwarf_uleb(c), cfa->offset);
	case CFA_DEF_CFA_OFFSET:
		cfa->offset = (int64_t)af_dwarf_uleb(c);
		return 0;
	case CFA_DEF_CFA_OFFSET_SF:
		cfa->offset = cfi_factored(run, (uint64_t)af_dwarf_sleb(c));
		return 0;
	}
	return -EINVAL;
}

static int cfi_remember(struct cfi_run *run)
{
	if (run->nr_saved == CFI_SAVED_ROWS)
		return -ENOTSUP;
	memcpy(cfi_row(run, 2 + run->nr_saved++), run->rows, run->columns->nr * sizeof *run->rows);
	return 0;
}

static int cfi_restore_state(struct cfi_run *run)
{
	if (!run->nr_saved)
		return -EINVAL;
	memcpy(run->rows, cfi_row(run, 2 + --run->nr_saved), run->columns->nr * sizeof *run->rows);
	return 0;
}

/* The instructions that say where one register is. */
static int cfi_define_register(struct cfi_run *run, struct af_dwarf_cursor *c, uint8_t op)
{
	uint64_t reg = af_dwarf_uleb(c), other;
	struct af_cfi_value *value = &run->rows[cfi_column(run, reg)];

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		cfi_set(run, reg, AF_CFI_AT_CFA, cfi_factored(run, af_dwarf_uleb(c)));
		return 0;
	case CFA_OFFSET_EXTENDED_SF:
		cfi_set(run, reg, AF_CFI_AT_CFA, cfi_factored(run, (uint64_t)af_dwarf_sleb(c)));
		return 0;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		cfi_set(run, reg, AF_CFI_AT_CFA, cfi_factored(run, -af_dwarf_uleb(c)));
		return 0;
	case CFA_VAL_OFFSET:
		cfi_set(run, reg, AF_CFI_CFA, cfi_factored(run, af_dwarf_uleb(c)));
		return 0;
	case CFA_VAL_OFFSET_SF:
		cfi_set(run, reg, AF_CFI_CFA, cfi_factored(run, (uint64_t)af_dwarf_sleb(c)));
		return 0;
	case CFA_RESTORE_EXTENDED:
		cfi_restore(run, reg);
		return 0;
	case CFA_UNDEFINED:
		cfi_set(run, reg, AF_CFI_UNDEFINED, 0);
		return 0;
	case CFA_SAME_VALUE:
		cfi_set(run, reg, AF_CFI_SAME, 0);
		return 0;
	case CFA_REGISTER:
		cfi_set(run, reg, AF_CFI_REGISTER, 0);
		other = af_dwarf_uleb(c);
		value->number = other < UINT32_MAX ? (uint32_t)other : UINT32_MAX;
		return 0;
	case CFA_EXPRESSION:
		return cfi_set_expression(c, value, AF_CFI_AT_EXPRESSION);
	case CFA_VAL_EXPRESSION:
		return cfi_set_expression(c, value, AF_CFI_VALUE_EXPRESSION);
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
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
	case CFA_AARCH64_NEGATE_RA_STATE:
		return 0;
	case CFA_GNU_ARGS_SIZE:
		af_dwarf_uleb(c);
		return 0;
	}
	return cfi_define_register(run, c, op);
}

static int cfi_execute(struct cfi_run *run, struct af_dwarf_cursor c)
{
	while (c.at < c.end && !run->stop) {
		uint8_t op = (uint8_t)af_dwarf_uint(&c, 1);
		uint8_t operand = op & 0x3f;
		int rc = 0;

		if (!*run->insns)
			return -E2BIG;
		--*run->insns;
		switch (op & 0xc0) {
		case CFA_ADVANCE:
			cfi_advance(run, operand);
			break;
		case CFA_OFFSET:
			cfi_set(run, operand, AF_CFI_AT_CFA, cfi_factored(run, af_dwarf_uleb(&c)));
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

int cfi_run(const struct cfi_fde *fde, const struct cfi_columns *columns, uint64_t pc,
            uint32_t *insns, struct af_cfi_value *rows)
{
	struct cfi_run run = {.cie = &fde->cie,
	                      .columns = columns,
	                      .rows = rows,
	                      .insns = insns,
	                      .target = UINT64_MAX};

	memset(rows, 0, 2 * columns->nr * sizeof *rows);
	int rc = cfi_execute(&run, fde->cie.insns);
	if (rc)
		return rc;
	memcpy(cfi_row(&run, 1), rows, columns->nr * sizeof *rows);
	run.at = fde->start;
	run.target = pc;
	run.stop = false;
	return cfi_execute(&run, fde->insns);
}

bool cfi_defines(struct af_dwarf_cursor insns)
{
	uint8_t op = (uint8_t)af_dwarf_uint(&insns, 1);

	return !insns.bad && (op >= CFA_OFFSET || (op >= CFA_DEF_CFA && op <= CFA_EXPRESSION));
}
