#include "unwind/expression.h"

#include <errno.h>

#include "unwind/dwarf.h"

/* DW_OP_* of DWARF 5, table 7.9. */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S,
	OP_CONST2U,
	OP_CONST2S,
	OP_CONST4U,
	OP_CONST4S,
	OP_CONST8U,
	OP_CONST8S,
	OP_CONSTU,
	OP_CONSTS,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_OR = 0x21,
	OP_PLUS,
	OP_PLUS_UCONST,
	OP_SHL,
	OP_SHR,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

struct run {
	const struct af_expression *of;
	struct af_dwarf_cursor c;
	uint64_t values[AF_EXPRESSION_STACK];
	uint32_t nr;
};

static uint64_t constant(struct af_dwarf_cursor *c, uint8_t op)
{
	switch (op) {
	case OP_CONST1U:
		return af_dwarf_uint(c, 1);
	case OP_CONST1S:
		return (uint64_t)(int8_t)af_dwarf_uint(c, 1);
	case OP_CONST2U:
		return af_dwarf_uint(c, 2);
	case OP_CONST2S:
		return (uint64_t)(int16_t)af_dwarf_uint(c, 2);
	case OP_CONST4U:
		return af_dwarf_uint(c, 4);
	case OP_CONST4S:
		return (uint64_t)(int32_t)af_dwarf_uint(c, 4);
	case OP_CONSTU:
		return af_dwarf_uleb(c);
	case OP_CONSTS:
		return (uint64_t)af_dwarf_sleb(c);
	}
	return af_dwarf_uint(c, 8); /* OP_CONST8U, OP_CONST8S, OP_ADDR */
}

/* Operations that take nothing from the stack and leave a value. */
static int push(struct run *r, uint8_t op)
{
	uint64_t value, reg;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		value = (uint64_t)(op - OP_LIT0);
	} else if (op == OP_ADDR || (op >= OP_CONST1U && op <= OP_CONSTS)) {
		value = constant(&r->c, op);
	} else if ((op >= OP_BREG0 && op <= OP_BREG31) || op == OP_BREGX) {
		reg = op == OP_BREGX ? af_dwarf_uleb(&r->c) : (uint64_t)(op - OP_BREG0);
		int64_t offset = af_dwarf_sleb(&r->c);
		if (!r->of->reg(r->of->arg, reg, &value))
			return -EFAULT;
		value += (uint64_t)offset;
	} else {
		return -ENOTSUP;
	}
	if (r->nr == AF_EXPRESSION_STACK)
		return -ENOTSUP;
	r->values[r->nr++] = value;
	return 0;
}

/* Operations that make one value of the two on top. */
static bool combine(uint8_t op, uint64_t a, uint64_t b, uint64_t *to)
{
	switch (op) {
	case OP_PLUS:
		*to = a + b;
		return true;
	case OP_MINUS:
		*to = a - b;
		return true;
	case OP_MUL:
		*to = a * b;
		return true;
	case OP_AND:
		*to = a & b;
		return true;
	case OP_OR:
		*to = a | b;
		return true;
	case OP_SHL:
		*to = b < 64 ? a << b : 0;
		return true;
	case OP_SHR:
		*to = b < 64 ? a >> b : 0;
		return true;
	case OP_GE:
		*to = (int64_t)a >= (int64_t)b;
		return true;
	}
	return false;
}

static int operate(struct run *r, uint8_t op)
{
	uint64_t *top = r->nr ? &r->values[r->nr - 1] : NULL, value;

	if (op == OP_PLUS_UCONST && top) {
		*top += af_dwarf_uleb(&r->c);
		return 0;
	}
	if (op == OP_DEREF && top)
		return r->of->read(r->of->arg, *top, top) ? 0 : -EFAULT;
	if (r->nr > 1 && combine(op, top[-1], top[0], &value)) {
		top[-1] = value;
		r->nr--;
		return 0;
	}
	return push(r, op);
}

int af_expression_value(const struct af_cfi_image *image, const struct af_cfi_value *v,
                        const uint64_t *cfa, const struct af_expression *of, uint64_t *value)
{
	uint64_t at = (uint64_t)v->offset;
	struct run r = {.of = of, .c = af_dwarf_cursor(image, at, at + v->number)};
	int rc = v->number > AF_EXPRESSION_MAX ? -ENOTSUP : 0;

	if (cfa)
		r.values[r.nr++] = *cfa;
	while (!rc && r.c.at < r.c.end)
		rc = operate(&r, (uint8_t)af_dwarf_uint(&r.c, 1));
	if (!rc && (r.c.bad || !r.nr))
		rc = -ENOTSUP;
	if (!rc)
		*value = r.values[r.nr - 1];
	return rc;
}
