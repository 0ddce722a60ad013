/* The rule of a frame in the compact form that walks follow: af_cfi_rule(). */
#include "unwind/cfi.h"

#include <errno.h>
#include <string.h>

#include "unwind/cfi_program.h"

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

static bool rule_fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

/* DW_OP_breg<sp or fp> offset, at the head of @e. */
static bool rule_base(const struct af_machine *m, struct af_dwarf_cursor *e, unsigned *reg,
                      int64_t *offset)
{
	*reg = (unsigned)af_dwarf_uint(e, 1) - OP_BREG0;
	*offset = af_dwarf_sleb(e);
	return !e->bad && (*reg == m->sp || *reg == m->fp) && rule_fits(*offset);
}

/*
 * The linkage table of x86-64, as GNU ld describes it: sp + 8 + ((pc & 15) >= n) << 3, where n is
 * the length of the instructions before the push.
 */
static bool rule_plt(struct af_dwarf_cursor e, struct af_rule *rule)
{
	static const uint8_t before[] = {
	    OP_BREG0 + AF_DWARF_RSP, 8, OP_BREG0 + AF_DWARF_RIP, 0, OP_LIT0 + 15, OP_AND};
	static const uint8_t after[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
	const uint8_t *bytes = e.image->bytes + e.at;

	if (e.end - e.at != sizeof before + 1 + sizeof after ||
	    memcmp(bytes, before, sizeof before) ||
	    memcmp(bytes + sizeof before + 1, after, sizeof after))
		return false;
	uint8_t literal = bytes[sizeof before];
	if (literal < OP_LIT0 || literal > OP_LIT0 + 15)
		return false;
	rule->cfa = AF_CFA_PLT;
	rule->cfa_offset = literal - OP_LIT0;
	return true;
}

static int rule_cfa_expression(const struct af_machine *m, struct af_dwarf_cursor e,
                               struct af_rule *rule)
{
	unsigned reg;
	int64_t offset;

	if (m->elf == EM_X86_64 && rule_plt(e, rule))
		return 0;
	if (!rule_base(m, &e, &reg, &offset))
		return -ENOTSUP;
	bool deref = e.at < e.end && af_dwarf_uint(&e, 1) == OP_DEREF;
	if (e.at != e.end)
		return -ENOTSUP;
	if (reg == m->sp)
		rule->cfa = deref ? AF_CFA_SP_DEREF : AF_CFA_SP;
	else
		rule->cfa = deref ? AF_CFA_FP_DEREF : AF_CFA_FP;
	rule->cfa_offset = (int32_t)offset;
	return 0;
}

static struct af_dwarf_cursor rule_expression(const struct af_cfi *c, const struct af_cfi_value *v)
{
	uint64_t at = (uint64_t)v->offset;

	return af_dwarf_cursor(&c->image, at, at + v->number);
}

/* The kind of a frame address that register @reg leads to, 0: none that walks follow. */
static uint8_t rule_kind(const struct af_machine *m, uint32_t reg)
{
	if (reg == m->sp)
		return AF_CFA_SP;
	if (reg == m->fp)
		return AF_CFA_FP;
	if (reg == m->base)
		return AF_CFA_BASE;
	return reg == m->drap ? AF_CFA_DRAP : 0;
}

static int rule_cfa(const struct af_cfi *c, const struct af_cfi_value *v, struct af_rule *rule)
{
	if (v->how == AF_CFI_VALUE_EXPRESSION)
		return rule_cfa_expression(c->machine, rule_expression(c, v), rule);
	rule->cfa = v->how == AF_CFI_REGISTER && v->number < AF_DWARF_REGISTERS
	                ? rule_kind(c->machine, v->number)
	                : 0;
	rule->cfa_offset = (int32_t)v->offset;
	return rule->cfa && rule_fits(v->offset) ? 0 : -ENOTSUP;
}

static uint8_t rule_saved(const struct af_cfi *c, const struct af_cfi_value *v, int32_t *offset_out)
{
	int64_t offset = v->offset;
	unsigned reg;

	*offset_out = (int32_t)offset;
	if (v->how == AF_CFI_UNSET || v->how == AF_CFI_SAME)
		return AF_SAVED_SAME;
	if (v->how == AF_CFI_AT_CFA && rule_fits(offset))
		return AF_SAVED_CFA;
	if (v->how == AF_CFI_CFA && rule_fits(offset))
		return AF_SAVED_VALUE;
	struct af_dwarf_cursor e = rule_expression(c, v);
	bool based = v->how == AF_CFI_AT_EXPRESSION && rule_base(c->machine, &e, &reg, &offset) &&
	             e.at == e.end;
	*offset_out = based ? (int32_t)offset : 0;
	if (!based)
		return AF_SAVED_LOST;
	return reg == c->machine->sp ? AF_SAVED_SP : AF_SAVED_FP;
}

/* The registers and places that a rule describes. */
enum { RULE_FP = 2, RULE_BASE, RULE_RA, RULE_COLUMNS };

static struct cfi_columns rule_columns(const struct af_machine *m)
{
	struct cfi_columns followed = {.nr = RULE_COLUMNS};

	memset(followed.of, CFI_IGNORED, sizeof followed.of);
	followed.of[m->fp] = RULE_FP;
	followed.of[m->base] = RULE_BASE;
	followed.of[m->ra] = RULE_RA;
	return followed;
}

static int rule_return_address(const struct af_machine *m, const struct af_cfi_value *ra,
                               struct af_rule *rule)
{
	rule->ra_in_register = m->links && (ra->how == AF_CFI_UNSET || ra->how == AF_CFI_SAME);
	if (rule->ra_in_register)
		return 0;
	rule->ra_offset = (int32_t)ra->offset;
	return ra->how == AF_CFI_AT_CFA && rule_fits(ra->offset) ? 0 : -ENOTSUP;
}

static int rule_of_row(const struct af_cfi *c, const struct af_cfi_value *row, struct af_rule *rule)
{
	if (row[RULE_RA].how == AF_CFI_UNDEFINED) {
		rule->cfa = AF_CFA_END;
		return 0;
	}
	int rc = rule_return_address(c->machine, &row[RULE_RA], rule);
	if (rc)
		return rc;
	rule->fp = rule_saved(c, &row[RULE_FP], &rule->fp_offset);
	rule->base = rule_saved(c, &row[RULE_BASE], &rule->base_offset);
	return rule_cfa(c, &row[CFI_CFA], rule);
}

int af_cfi_rule(const struct af_cfi *c, uint64_t pc, uint32_t *insns, struct af_rule *rule)
{
	struct af_cfi_value rows[CFI_ROWS * RULE_COLUMNS];
	struct cfi_fde fde;
	int rc = c->machine ? cfi_find(c, pc, &fde) : -ENOTSUP;

	if (!rc && fde.cie.ra_register != c->machine->ra)
		rc = -ENOTSUP;
	if (rc)
		return rc;
	const struct cfi_columns followed = rule_columns(c->machine);
	struct af_rule found = {.exact = fde.cie.is_signal};
	rc = cfi_run(&fde, &followed, pc, insns, rows);
	if (!rc)
		rc = rule_of_row(c, rows, &found);
	if (!rc)
		*rule = found;
	return rc;
}
