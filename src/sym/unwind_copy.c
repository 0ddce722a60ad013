#include "sym/unwind_copy.h"

#include <dwarf.h>
#include <string.h>

enum {
	VALUES = 16, /* on the stack of an expression */
	WORD = 8,
	RED_ZONE = 128,                /* bytes below the stack that may be in use */
	FRAME_POINTER_REACH = 1 << 20, /* bytes of a frame that nothing but its pointer tells of */
};

/* A frame as it is unwound. */
struct frame {
	uint64_t regs[AF_FRAME_REGISTERS];
	uint32_t known;
	const struct af_stack_copy *copy;
	uint64_t cfa;
	enum af_stop trouble; /* of reading: COMPLETE when there was none */
	bool below;           /* what was read last would be below the stack */
	bool exact;           /* its pc is no return address */
	bool guessed;         /* it was found by a frame pointer */
};

static bool frame_read(struct frame *f, uint64_t at, uint64_t *word)
{
	const struct af_stack_copy *c = f->copy;
	uint64_t sp = f->regs[AF_FRAME_RSP];
	uint64_t offset = at - c->regs[AF_FRAME_RSP];

	if (c->size >= WORD && offset <= c->size - WORD) {
		memcpy(word, c->bytes + offset, WORD);
		return true;
	}
	f->below = at < sp && sp - at <= RED_ZONE;
	f->trouble = c->cut && offset < INT64_MAX ? AF_STOP_COPY_ENDS : AF_STOP_UNREADABLE;
	return false;
}

static bool frame_register(struct frame *f, uint64_t reg, uint64_t *value)
{
	if (reg >= AF_FRAME_REGISTERS || !(f->known >> reg & 1)) {
		f->trouble = AF_STOP_UNSUPPORTED;
		return false;
	}
	*value = f->regs[reg];
	return true;
}

static bool binary(uint8_t code, uint64_t a, uint64_t b, uint64_t *to)
{
	switch (code) {
	case DW_OP_plus:
		*to = a + b;
		return true;
	case DW_OP_minus:
		*to = a - b;
		return true;
	case DW_OP_mul:
		*to = a * b;
		return true;
	case DW_OP_and:
		*to = a & b;
		return true;
	case DW_OP_or:
		*to = a | b;
		return true;
	case DW_OP_shl:
		*to = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*to = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_ge:
		*to = (int64_t)a >= (int64_t)b;
		return true;
	}
	return false;
}

/* What an operation leaves on top that takes nothing from there. */
static bool pushes(struct frame *f, const struct af_frame_op *op, uint64_t *value)
{
	uint8_t code = op->code;

	if (code == DW_OP_call_frame_cfa) {
		*value = f->cfa;
		return true;
	}
	if (code >= DW_OP_lit0 && code <= DW_OP_lit31) {
		*value = (uint64_t)(code - DW_OP_lit0);
		return true;
	}
	if ((code >= DW_OP_const1u && code <= DW_OP_consts) || code == DW_OP_addr) {
		*value = op->first;
		return true;
	}
	bool near = code >= DW_OP_breg0 && code <= DW_OP_breg31;
	if (!near && code != DW_OP_bregx)
		return false;
	if (!frame_register(f, near ? (uint64_t)(code - DW_OP_breg0) : op->first, value))
		return false;
	*value += near ? op->first : op->second;
	return true;
}

/*
 * What @v comes to: an address, or what is at it when @load and the expression does not say that
 * it is the value itself. False: f->trouble says why.
 */
static bool frame_value(struct frame *f, const struct af_frame_value *v, bool load, uint64_t *to)
{
	uint64_t values[VALUES];
	uint32_t nr = 0;

	f->trouble = AF_STOP_COMPLETE;
	f->below = false;
	for (uint8_t i = 0; i < v->nr; i++) {
		const struct af_frame_op *op = &v->ops[i];
		uint64_t value;
		if (op->code == DW_OP_regx)
			return frame_register(f, op->first, to);
		if (op->code == DW_OP_stack_value) {
			load = false;
		} else if (op->code == DW_OP_plus_uconst && nr) {
			values[nr - 1] += op->first;
		} else if (op->code == DW_OP_deref && nr) {
			if (!frame_read(f, values[nr - 1], &values[nr - 1]))
				return false;
		} else if (nr > 1 && binary(op->code, values[nr - 2], values[nr - 1], &value)) {
			values[--nr - 1] = value;
		} else if (nr < VALUES && pushes(f, op, &value)) {
			values[nr++] = value;
		} else {
			f->trouble = f->trouble ? f->trouble : AF_STOP_UNSUPPORTED;
			return false;
		}
	}
	if (!nr) {
		f->trouble = AF_STOP_UNSUPPORTED;
		return false;
	}
	if (load)
		return frame_read(f, values[nr - 1], to);
	*to = values[nr - 1];
	return true;
}

/* The caller of @f, by what a file says; AF_STOP_NOT_WALKED: there is one. */
static enum af_stop step_rule(struct frame *f, const struct af_frame_rule *rule)
{
	struct frame to = *f;

	if (rule->kind == AF_FRAME_BAD_RULE)
		return AF_STOP_UNSUPPORTED;
	if (!frame_value(f, &rule->cfa, false, &f->cfa))
		return f->trouble;
	/*
	 * Every frame holds at least its return address, so stacks only get shallower; but for
	 * vfork(), which keeps it in a register.
	 */
	if (f->cfa < f->regs[AF_FRAME_RSP] + !f->exact && !rule->signal)
		return AF_STOP_BAD_FRAME;
	to.regs[AF_FRAME_RSP] = f->cfa;
	to.known &= ~(1u << AF_FRAME_RIP);
	for (uint8_t i = 0; i < rule->nr; i++) {
		const struct af_frame_value *v = &rule->saved[i];
		uint64_t value = f->regs[v->reg];
		bool is = v->nr && frame_value(f, v, true, &value);
		if (!is && v->reg == AF_FRAME_RIP)
			return v->nr ? f->trouble : AF_STOP_COMPLETE;
		/* Tables do not tell that a function has popped what it saved: it is back. */
		if (!is && v->nr && f->below)
			continue;
		to.regs[v->reg] = value;
		to.known = is ? to.known | 1u << v->reg : to.known & ~(1u << v->reg);
	}
	if (!(to.known >> AF_FRAME_RIP & 1) || !(to.known >> AF_FRAME_RSP & 1))
		return AF_STOP_UNSUPPORTED;
	to.exact = rule->signal;
	to.guessed = false;
	*f = to;
	return f->regs[AF_FRAME_RIP] ? AF_STOP_NOT_WALKED : AF_STOP_COMPLETE;
}

/* The same where nothing tells: by the frame pointer, if it looks like one. */
static enum af_stop step_frame_pointer(struct frame *f)
{
	uint64_t fp, sp = f->regs[AF_FRAME_RSP], next, return_address;

	if (!frame_register(f, AF_FRAME_RBP, &fp))
		return AF_STOP_NO_RULE;
	/* The outermost frame is marked so: psABI 3.4.1. */
	if (!fp)
		return AF_STOP_COMPLETE;
	if (fp % WORD || fp < sp || fp - sp > FRAME_POINTER_REACH)
		return AF_STOP_NO_RULE;
	if (!frame_read(f, fp, &next) || !frame_read(f, fp + WORD, &return_address))
		return f->trouble;
	f->regs[AF_FRAME_RBP] = next;
	f->regs[AF_FRAME_RSP] = fp + 2 * WORD;
	f->regs[AF_FRAME_RIP] = return_address;
	f->known = 1u << AF_FRAME_RBP | 1u << AF_FRAME_RSP | 1u << AF_FRAME_RIP;
	f->exact = false;
	f->guessed = true;
	return return_address ? AF_STOP_NOT_WALKED : AF_STOP_COMPLETE;
}

/* Why there is no frame at @f's pc although a walk led there; NOT_WALKED: there is. */
static enum af_stop frame_doubt(const struct frame *f, const struct af_unwind_code *code)
{
	if (code->mapped)
		return AF_STOP_NOT_WALKED;
	return f->guessed ? AF_STOP_NO_RULE : AF_STOP_BAD_FRAME;
}

/*
 * What tells of @f. Its pc may be behind all that a table covers where the kernel was asked for
 * something by the last instruction.
 */
static const struct af_frame_rule *frame_rule(const struct frame *f,
                                              const struct af_unwind_code *code, uint64_t pc)
{
	const struct af_frame_rule *rule =
	    code->rules ? af_frame_rule(code->rules, pc - code->bias) : NULL;

	if (rule && !rule->kind && f->exact)
		rule = af_frame_rule(code->rules, pc - 1 - code->bias);
	return rule && rule->kind ? rule : NULL;
}

uint32_t af_unwind_copy(const struct af_stack_copy *copy, const struct af_unwind_maps *maps,
                        uint64_t *pcs, uint32_t most, enum af_stop *stop)
{
	const uint32_t needed = 1u << AF_FRAME_RIP | 1u << AF_FRAME_RSP;
	struct frame f = {.known = copy->known, .copy = copy, .exact = true};
	uint32_t nr = 0;

	memcpy(f.regs, copy->regs, sizeof f.regs);
	*stop = AF_STOP_NOT_WALKED;
	if ((f.known & needed) != needed)
		return 0;
	while (*stop == AF_STOP_NOT_WALKED) {
		uint64_t pc = f.regs[AF_FRAME_RIP] - !f.exact;
		const struct af_unwind_code *code = maps->find(maps->arg, pc);
		*stop = nr ? frame_doubt(&f, code) : AF_STOP_NOT_WALKED;
		if (*stop == AF_STOP_NOT_WALKED && nr == most)
			*stop = AF_STOP_TOO_DEEP;
		if (*stop != AF_STOP_NOT_WALKED)
			break;
		const struct af_frame_rule *rule = frame_rule(&f, code, pc);
		/* The end of a signal handler is returned to, and was never called. */
		pcs[nr++] = rule && rule->signal ? f.regs[AF_FRAME_RIP] : pc;
		*stop = rule            ? step_rule(&f, rule)
		        : code->missing ? AF_STOP_NO_FILE
		                        : step_frame_pointer(&f);
	}
	return nr;
}
