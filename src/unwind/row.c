/*
 * All registers of a frame's caller, from call frame information: af_cfi_row(), af_cfi_function().
 */
#include <errno.h>
#include <string.h>

#include "unwind/cfi_program.h"

/* All of them, in their order. */
enum { ROW_FIRST = 2, ROW_COLUMNS = ROW_FIRST + AF_DWARF_REGISTERS };

static struct cfi_columns row_columns(const struct af_machine *m)
{
	struct cfi_columns all = {.nr = (uint8_t)(ROW_FIRST + m->nr)};

	for (unsigned reg = 0; reg < AF_DWARF_REGISTERS; reg++)
		all.of[reg] = reg < m->nr ? (uint8_t)(ROW_FIRST + reg) : CFI_IGNORED;
	return all;
}

/* A function that changes registers of its caller says where they are. */
static void row_complete(const struct af_machine *m, struct af_cfi_row *row)
{
	for (unsigned reg = 0; reg < m->nr; reg++) {
		struct af_cfi_value *v = &row->regs[reg];
		if (v->how != AF_CFI_UNSET)
			continue;
		v->how = m->kept >> reg & 1 ? AF_CFI_SAME
		         : reg == m->sp     ? AF_CFI_CFA
		                            : AF_CFI_UNDEFINED;
	}
}

int af_cfi_row(const struct af_cfi *c, uint64_t pc, uint32_t *insns, struct af_cfi_row *row)
{
	struct af_cfi_value rows[CFI_ROWS * ROW_COLUMNS];
	const struct af_machine *m = c->machine;
	struct cfi_fde fde;
	int rc = c->has_tables ? cfi_find(c, pc, &fde) : -ENOENT;

	if (!rc && (!m || fde.cie.ra_register != m->ra))
		rc = -ENOTSUP;
	if (rc)
		return rc;
	const struct cfi_columns all = row_columns(m);
	rc = cfi_run(&fde, &all, pc, insns, rows);
	if (!rc && rows[CFI_CFA].how == AF_CFI_UNSET)
		rc = -EINVAL;
	if (rc)
		return rc;
	row->cfa = rows[CFI_CFA];
	memcpy(row->regs, rows + ROW_FIRST, m->nr * sizeof *row->regs);
	row->is_signal = fde.cie.is_signal;
	row_complete(m, row);
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

bool af_cfi_start(const struct af_cfi *c, uint64_t at, uint64_t *start)
{
	struct cfi_fde fde;

	if (cfi_fde(c, at, &fde))
		return false;
	*start = fde.start;
	return true;
}
