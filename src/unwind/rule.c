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
static bool rule_base(struct af_dwarf_cursor *e, unsigned *reg, int64_t *offset)
{
	*reg = (unsigned)af_dwarf_uint(e, 1) - OP_BREG0;
	*offset = af_dwarf_sleb(e);
	return !e->bad && (*reg == AF_DWARF_RSP || *reg == AF_DWARF_RBP) && rule_fits(*offset);
}

/*
 * The linkage table, as GNU ld describes it: sp + 8 + ((pc & 15) >= n) << 3, where n is the length
 * of the instructions before the push.
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

static int rule_cfa_expression(struct af_dwarf_cursor e, struct af_rule *rule)
{
	unsigned reg;
	int64_t offset;

	if (rule_plt(e, rule))
		return 0;
	if (!rule_base(&e, &reg, &offset))
		return -ENOTSUP;
	bool deref = e.at < e.end && af_dwarf_uint(&e, 1) == OP_DEREF;
	if (e.at != e.end)
		return -ENOTSUP;
	if (reg == AF_DWARF_RSP)
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

static int rule_cfa(const struct af_cfi *c, const struct af_cfi_value *v, struct af_rule *rule)
{
	static const uint8_t kinds[AF_DWARF_REGISTERS] = {
	    [AF_DWARF_RSP] = AF_CFA_SP,
	    [AF_DWARF_RBP] = AF_CFA_FP,
	    [AF_DWARF_RBX] = AF_CFA_BASE,
	    [AF_DWARF_R10] = AF_CFA_DRAP,
	};

	if (v->how == AF_CFI_VALUE_EXPRESSION)
		return rule_cfa_expression(rule_expression(c, v), rule);
	rule->cfa =
	    v->how == AF_CFI_REGISTER && v->number < AF_DWARF_REGISTERS ? kinds[v->number] : 0;
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
	bool based =
	    v->how == AF_CFI_AT_EXPRESSION && rule_base(&e, &reg, &offset) && e.at == e.end;
	*offset_out = based ? (int32_t)offset : 0;
	if (!based)
		return AF_SAVED_LOST;
	return reg == AF_DWARF_RSP ? AF_SAVED_SP : AF_SAVED_FP;
}

/* The registers and places that a rule describes. */
enum { RULE_RBP = 2, RULE_RBX, RULE_RIP, RULE_COLUMNS };

static const struct cfi_columns followed = {
    RULE_COLUMNS, {1, 1, 1, RULE_RBX, 1, 1, RULE_RBP, 1, 1, 1, 1, 1, 1, 1, 1, 1, RULE_RIP}};

static int rule_of_row(const struct af_cfi *c, const struct af_cfi_value *row, struct af_rule *rule)
{
	const struct af_cfi_value *ra = &row[RULE_RIP];

	if (ra->how == AF_CFI_UNDEFINED) {
		rule->cfa = AF_CFA_END;
		return 0;
	}
	if (ra->how != AF_CFI_AT_CFA || !rule_fits(ra->offset))
		return -ENOTSUP;
	rule->ra_offset = (int32_t)ra->offset;
	rule->fp = rule_saved(c, &row[RULE_RBP], &rule->fp_offset);
	rule->base = rule_saved(c, &row[RULE_RBX], &rule->base_offset);
	return rule_cfa(c, &row[CFI_CFA], rule);
}

int af_cfi_rule(const struct af_cfi *c, uint64_t pc, uint32_t *insns, struct af_rule *rule)
{
	struct af_cfi_value rows[CFI_ROWS * RULE_COLUMNS];
	struct cfi_fde fde;
	int rc = cfi_find(c, pc, &fde);

	if (!rc && fde.cie.ra_register != AF_DWARF_RIP)
		rc = -ENOTSUP;
	if (!rc)
		rc = cfi_run(&fde, &followed, pc, insns, rows);
	struct af_rule found = {.exact = !rc && fde.cie.is_signal};
	if (!rc)
		rc = rule_of_row(c, rows, &found);
	if (!rc)
		*rule = found;
	return rc;
}
