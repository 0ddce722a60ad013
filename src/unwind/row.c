/*
 * All registers of a frame's caller, from call frame information: af_cfi_row(), af_cfi_function().
 */
#include <errno.h>
#include <string.h>

#include "unwind/cfi_program.h"

/* All of them, in their order. */
enum { ROW_FIRST = 2, ROW_COLUMNS = ROW_FIRST + AF_DWARF_REGISTERS };

static const struct cfi_columns all = {
    ROW_COLUMNS, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}};

/* Registers that belong to the caller: a function that changes them says where they are. */
static bool row_is_kept(unsigned reg)
{
	return reg == AF_DWARF_RBX || reg == AF_DWARF_RBP ||
	       (reg >= AF_DWARF_R12 && reg < AF_DWARF_RIP);
}

static void row_complete(struct af_cfi_row *row)
{
	for (unsigned reg = 0; reg < AF_DWARF_REGISTERS; reg++) {
		struct af_cfi_value *v = &row->regs[reg];
		if (v->how != AF_CFI_UNSET)
			continue;
		v->how = row_is_kept(reg)      ? AF_CFI_SAME
		         : reg == AF_DWARF_RSP ? AF_CFI_CFA
		                               : AF_CFI_UNDEFINED;
	}
}

int af_cfi_row(const struct af_cfi *c, uint64_t pc, uint32_t *insns, struct af_cfi_row *row)
{
	struct af_cfi_value rows[CFI_ROWS * ROW_COLUMNS];
	struct cfi_fde fde;
	int rc = c->has_tables ? cfi_find(c, pc, &fde) : -ENOENT;

	if (!rc && fde.cie.ra_register != AF_DWARF_RIP)
		rc = -ENOTSUP;
	if (!rc)
		rc = cfi_run(&fde, &all, pc, insns, rows);
	if (!rc && rows[CFI_CFA].how == AF_CFI_UNSET)
		rc = -EINVAL;
	if (rc)
		return rc;
	row->cfa = rows[CFI_CFA];
	memcpy(row->regs, rows + ROW_FIRST, sizeof row->regs);
	row->is_signal = fde.cie.is_signal;
	row_complete(row);
	return 0;
}

bool af_cfi_function(const struct af_cfi *c, uint64_t pc, struct af_cfi_function *f)
{
	struct af_cfi_entry e;
	struct cfi_fde fde;

	if (!c->has_tables || cfi_search(c, pc, &e))
		return false;
	*f = (struct af_cfi_function){.start = e.start, .size = UINT64_MAX};
	if (cfi_fde(c, e.at, &fde) || fde.start != e.start)
		return true;
	f->size = fde.size;
	f->defines = cfi_defines(fde.insns);
	return true;
}
