#include "inject/cfi.h"

#include <errno.h>
#include <string.h>

#include "inject/arch/arch.h"
#include "inject/cfi_program.h"
#include "inject/dwarf.h"

enum {
	CFI_MAX_SCAN = 1u << 16, /* entries looked at when there is no search table */
};

/* The body of a CIE or FDE at @at: what follows its length. At the terminator it is empty. */
static struct af_dwarf_cursor cfi_entry(const struct af_cfi_image *image, uint64_t at)
{
	struct af_dwarf_cursor c = af_dwarf_cursor(image, at, image->len);
	uint64_t len = af_dwarf_uint(&c, 4);

	if (len == 0xffffffff)
		len = af_dwarf_uint(&c, 8);
	return af_dwarf_block(&c, len);
}

static void cfi_augmentation(struct cfi_cie *cie, struct af_dwarf_cursor *c, const char *name)
{
	struct af_dwarf_cursor data = af_dwarf_block(c, af_dwarf_uleb(c));

	cie->has_size = true;
	for (name++; *name; name++) {
		switch (*name) {
		case 'R':
			cie->fde_encoding = (uint8_t)af_dwarf_uint(&data, 1);
			break;
		case 'L':
			af_dwarf_uint(&data, 1);
			break;
		case 'P':
			af_dwarf_pointer(&data, (uint8_t)af_dwarf_uint(&data, 1), 0);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':
			break;
		default:
			/* What follows is unknown, but z says where the instructions begin. */
			return;
		}
	}
	c->bad |= data.bad;
}

static int cfi_read_cie(const struct af_cfi_image *image, uint64_t at, struct cfi_cie *cie)
{
	struct af_dwarf_cursor c = cfi_entry(image, at);
	char name[8] = "";

	*cie = (struct cfi_cie){.fde_encoding = AF_PE_ABSPTR};
	if (af_dwarf_uint(&c, 4) != 0)
		return -EINVAL;
	uint64_t version = af_dwarf_uint(&c, 1);
	if (version != 1 && version != 3 && version != 4)
		return -EINVAL;
	for (unsigned i = 0;; i++) {
		if (i == sizeof name || c.bad)
			return -EINVAL;
		name[i] = (char)af_dwarf_uint(&c, 1);
		if (!name[i])
			break;
	}
	if (!strcmp(name, "eh")) /* gcc before 3.0 */
		af_dwarf_uint(&c, 8);
	if (version == 4 && (af_dwarf_uint(&c, 1) != 8 || af_dwarf_uint(&c, 1) != 0))
		return -EINVAL;
	cie->code_align = af_dwarf_uleb(&c);
	cie->data_align = af_dwarf_sleb(&c);
	cie->ra_register = version == 1 ? af_dwarf_uint(&c, 1) : af_dwarf_uleb(&c);
	if (name[0] == 'z')
		cfi_augmentation(cie, &c, name);
	cie->insns = c;
	return c.bad ? -EINVAL : 0;
}

/*
 * An FDE's range and, in @c, what follows it. @c has been set to the body by the caller; the id
 * is the distance back to the CIE.
 */
struct cfi_fde {
	uint64_t start, size;
	struct cfi_cie cie;
	struct af_dwarf_cursor insns;
};

static int cfi_read_fde(const struct af_cfi_image *image, uint64_t at, struct cfi_fde *fde)
{
	struct af_dwarf_cursor c = cfi_entry(image, at);
	uint64_t id_at = c.at, id = af_dwarf_uint(&c, 4);

	if (c.bad || !id || id > id_at)
		return -EINVAL;
	int rc = cfi_read_cie(image, id_at - id, &fde->cie);
	if (rc)
		return rc;
	fde->start = af_dwarf_pointer(&c, fde->cie.fde_encoding, 0);
	fde->size = af_dwarf_pointer(&c, fde->cie.fde_encoding & AF_PE_FORMAT, 0);
	if (fde->cie.has_size)
		af_dwarf_block(&c, af_dwarf_uleb(&c));
	fde->insns = c;
	return c.bad ? -EINVAL : 0;
}

/* Where the FDE of @pc may be, by the sorted table that follows the header. */
static int cfi_search(struct af_dwarf_cursor c, uint64_t nr, uint8_t encoding, uint64_t data,
                      uint64_t pc, uint64_t *fde)
{
	uint8_t format = encoding & AF_PE_FORMAT & ~AF_PE_SIGNED;
	unsigned size = format == AF_PE_UDATA2 ? 2 : format == AF_PE_UDATA4 ? 4 : 8;

	if (format == AF_PE_ULEB128)
		return -ENOTSUP;
	if (nr > (c.end - c.at) / (2 * size))
		return -EINVAL;

	uint64_t low = 0, high = nr;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct af_dwarf_cursor row = c;
		row.at += middle * 2 * size;
		if (af_dwarf_pointer(&row, encoding, data) <= pc)
			low = middle + 1;
		else
			high = middle;
		if (row.bad)
			return -ENOTSUP;
	}
	if (!low)
		return -ENOENT;
	c.at += (low - 1) * 2 * size + size;
	*fde = af_dwarf_pointer(&c, encoding, data);
	return c.bad ? -EINVAL : 0;
}

/* The same without a table: look at every FDE of .eh_frame. */
static int cfi_scan(const struct af_cfi_image *image, uint64_t eh_frame, uint64_t pc, uint64_t *at)
{
	for (unsigned i = 0; i < CFI_MAX_SCAN; i++) {
		struct af_dwarf_cursor body = cfi_entry(image, eh_frame);
		struct cfi_fde fde;

		if (body.bad)
			return -EINVAL;
		if (body.at == body.end)
			return -ENOENT;
		*at = eh_frame;
		if (!cfi_read_fde(image, eh_frame, &fde) && pc - fde.start < fde.size)
			return 0;
		eh_frame = body.end;
	}
	return -ENOENT;
}

static int cfi_find(const struct af_cfi_image *image, uint64_t hdr, uint64_t pc,
                    struct cfi_fde *fde)
{
	struct af_dwarf_cursor c = af_dwarf_cursor(image, hdr, image->len);
	uint64_t data = image->address + hdr, at = 0;
	uint8_t version = (uint8_t)af_dwarf_uint(&c, 1);
	uint8_t eh_frame_encoding = (uint8_t)af_dwarf_uint(&c, 1);
	uint8_t nr_encoding = (uint8_t)af_dwarf_uint(&c, 1);
	uint8_t encoding = (uint8_t)af_dwarf_uint(&c, 1);

	if (c.bad || version != 1 || eh_frame_encoding == AF_PE_OMIT)
		return -EINVAL;
	uint64_t eh_frame = af_dwarf_pointer(&c, eh_frame_encoding, data) - image->address;
	int rc = -ENOTSUP;
	if (nr_encoding != AF_PE_OMIT && encoding != AF_PE_OMIT) {
		uint64_t nr = af_dwarf_pointer(&c, nr_encoding, data);
		rc = c.bad ? -EINVAL : cfi_search(c, nr, encoding, data, pc, &at);
		at -= image->address;
	}
	if (rc == -ENOTSUP)
		rc = cfi_scan(image, eh_frame, pc, &at);
	if (!rc)
		rc = cfi_read_fde(image, at, fde);
	if (!rc && pc - fde->start >= fde->size)
		rc = -ENOENT;
	return rc;
}

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

static bool cfi_fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

/* DW_OP_breg<sp or fp> offset, at the head of @e. */
static bool cfi_base(struct af_dwarf_cursor *e, unsigned *reg, int64_t *offset)
{
	*reg = (unsigned)af_dwarf_uint(e, 1) - OP_BREG0;
	*offset = af_dwarf_sleb(e);
	return !e->bad && (*reg == AF_ARCH_DWARF_SP || *reg == AF_ARCH_DWARF_FP) &&
	       cfi_fits(*offset);
}

/*
 * The linkage table, as GNU ld describes it: sp + 8 + ((pc & 15) >= n) << 3, where n is the length
 * of the instructions before the push.
 */
static bool cfi_plt(struct af_dwarf_cursor e, struct af_rule *rule)
{
	static const uint8_t before[] = {
	    OP_BREG0 + AF_ARCH_DWARF_SP, 8, OP_BREG0 + AF_ARCH_DWARF_RA, 0, OP_LIT0 + 15, OP_AND};
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

static int cfi_cfa_expression(struct af_dwarf_cursor e, struct af_rule *rule)
{
	unsigned reg;
	int64_t offset;

	if (cfi_plt(e, rule))
		return 0;
	if (!cfi_base(&e, &reg, &offset))
		return -ENOTSUP;
	bool deref = e.at < e.end && af_dwarf_uint(&e, 1) == OP_DEREF;
	if (e.at != e.end)
		return -ENOTSUP;
	if (reg == AF_ARCH_DWARF_SP)
		rule->cfa = deref ? AF_CFA_SP_DEREF : AF_CFA_SP;
	else
		rule->cfa = deref ? AF_CFA_FP_DEREF : AF_CFA_FP;
	rule->cfa_offset = (int32_t)offset;
	return 0;
}

static int cfi_cfa(const struct cfi_row *row, struct af_rule *rule)
{
	if (row->by_expression)
		return cfi_cfa_expression(row->expression, rule);
	if (!cfi_fits(row->cfa_offset))
		return -ENOTSUP;
	if (row->cfa_register == AF_ARCH_DWARF_SP)
		rule->cfa = AF_CFA_SP;
	else if (row->cfa_register == AF_ARCH_DWARF_FP)
		rule->cfa = AF_CFA_FP;
	else if (row->cfa_register == AF_ARCH_DWARF_BASE)
		rule->cfa = AF_CFA_BASE;
	else if (row->cfa_register == AF_ARCH_DWARF_DRAP)
		rule->cfa = AF_CFA_DRAP;
	else
		return -ENOTSUP;
	rule->cfa_offset = (int32_t)row->cfa_offset;
	return 0;
}

static uint8_t cfi_saved(const struct cfi_saved *saved, int32_t *offset_out)
{
	struct af_dwarf_cursor e = saved->expression;
	int64_t offset = saved->offset;
	unsigned reg;

	*offset_out = (int32_t)offset;
	if (saved->how == CFI_UNSET || saved->how == CFI_SAME)
		return AF_SAVED_SAME;
	if (saved->how == CFI_AT_CFA && cfi_fits(offset))
		return AF_SAVED_CFA;
	if (saved->how == CFI_VALUE_CFA && cfi_fits(offset))
		return AF_SAVED_VALUE;
	bool based =
	    saved->how == CFI_AT_EXPRESSION && cfi_base(&e, &reg, &offset) && e.at == e.end;
	*offset_out = based ? (int32_t)offset : 0;
	if (!based)
		return AF_SAVED_LOST;
	return reg == AF_ARCH_DWARF_SP ? AF_SAVED_SP : AF_SAVED_FP;
}

static int cfi_rule(const struct cfi_run *run, struct af_rule *rule)
{
	const struct cfi_saved *ra = &run->row.ra;

	rule->exact = run->cie->is_signal;
	if (ra->how == CFI_UNDEFINED) {
		rule->cfa = AF_CFA_END;
		return 0;
	}
	if (ra->how != CFI_AT_CFA || !cfi_fits(ra->offset))
		return -ENOTSUP;
	rule->ra_offset = (int32_t)ra->offset;
	rule->fp = cfi_saved(&run->row.fp, &rule->fp_offset);
	rule->base = cfi_saved(&run->row.base, &rule->base_offset);
	return cfi_cfa(&run->row, rule);
}

int af_cfi_rule(const struct af_cfi_image *image, uint64_t hdr, uint64_t pc, struct af_rule *rule)
{
	struct cfi_fde fde;
	int rc = cfi_find(image, hdr, pc, &fde);
	if (rc)
		return rc;

	struct cfi_run run = {.cie = &fde.cie, .target = UINT64_MAX};
	rc = af_cfi_execute(&run, fde.cie.insns);
	if (rc)
		return rc;
	run.initial = run.row;
	run.at = fde.start;
	run.target = pc;
	run.stop = false;
	rc = af_cfi_execute(&run, fde.insns);

	struct af_rule found = {0};
	if (!rc)
		rc = cfi_rule(&run, &found);
	if (!rc)
		*rule = found;
	return rc;
}
