#include "sym/elf/unwind_copy.h"

#include <errno.h>
#include <string.h>

#include "unwind/expression.h"
#include "unwind/frame_pointer.h"

enum {
	WORD = 8,
	RED_ZONE = 128,                /* bytes below the stack that may be in use */
	FRAME_POINTER_REACH = 1 << 20, /* bytes of a frame that nothing but its pointer tells of */
};

/* A frame as it is unwound. */
struct frame {
	uint64_t pc, regs[AF_DWARF_REGISTERS];
	uint32_t known;
	const struct af_machine *machine;
	const struct af_stack_copy *copy;
	uint64_t cfa;
	enum af_stop trouble; /* of reading: COMPLETE when there was none */
	bool below;           /* what was read last would be below the stack */
	bool exact;           /* its pc is no return address */
	bool guessed;         /* it was found by a frame pointer */
};

static bool frame_read(void *arg, uint64_t at, uint64_t *word)
{
	struct frame *f = arg;
	const struct af_stack_copy *c = f->copy;
	uint64_t sp = f->regs[f->machine->sp];
	uint64_t offset = at - c->regs[f->machine->sp];

	if (c->size >= WORD && offset <= c->size - WORD) {
		memcpy(word, c->bytes + offset, WORD);
		return true;
	}
	f->below = at < sp && sp - at <= RED_ZONE;
	f->trouble = c->cut && offset < INT64_MAX ? AF_STOP_COPY_ENDS : AF_STOP_UNREADABLE;
	return false;
}

static bool frame_register(void *arg, uint64_t reg, uint64_t *value)
{
	struct frame *f = arg;

	if (reg >= f->machine->nr || !(f->known >> reg & 1)) {
		f->trouble = AF_STOP_UNSUPPORTED;
		return false;
	}
	*value = f->regs[reg];
	return true;
}

static bool frame_expression(struct frame *f, const struct af_cfi_image *image,
                             const struct af_cfi_value *v, const uint64_t *cfa, uint64_t *to)
{
	const struct af_expression of = {frame_register, frame_read, f};
	int rc = af_expression_value(image, v, cfa, &of, to);

	if (rc == -ENOTSUP)
		f->trouble = AF_STOP_UNSUPPORTED;
	return !rc;
}

static bool frame_cfa(struct frame *f, const struct af_frame_rule *rule)
{
	const struct af_cfi_value *v = &rule->row.cfa;

	f->trouble = AF_STOP_UNSUPPORTED;
	if (v->how == AF_CFI_VALUE_EXPRESSION)
		return frame_expression(f, rule->image, v, NULL, &f->cfa);
	if (v->how != AF_CFI_REGISTER || !frame_register(f, v->number, &f->cfa))
		return false;
	f->cfa += (uint64_t)v->offset;
	return true;
}

/* The value of @v, which differs from the frame's own. False: f->trouble has the reason. */
static bool frame_value(struct frame *f, const struct af_frame_rule *rule,
                        const struct af_cfi_value *v, uint64_t *to)
{
	uint64_t at = f->cfa + (uint64_t)v->offset;

	f->trouble = AF_STOP_UNSUPPORTED;
	f->below = false;
	switch (v->how) {
	case AF_CFI_AT_CFA:
		return frame_read(f, at, to);
	case AF_CFI_CFA:
		*to = at;
		return true;
	case AF_CFI_REGISTER:
		return frame_register(f, v->number, to);
	case AF_CFI_AT_EXPRESSION:
		return frame_expression(f, rule->image, v, &f->cfa, &at) && frame_read(f, at, to);
	case AF_CFI_VALUE_EXPRESSION:
		return frame_expression(f, rule->image, v, &f->cfa, to);
	}
	return false;
}

/* Put the registers of @f's caller into @to. Returns why its return address is not known. */
static enum af_stop step_registers(struct frame *f, const struct af_frame_rule *rule,
                                   struct frame *to)
{
	for (uint32_t reg = 0; reg < f->machine->nr; reg++) {
		const struct af_cfi_value *v = &rule->row.regs[reg];
		uint64_t value = f->regs[reg];
		if (v->how == AF_CFI_SAME)
			continue;
		bool is = frame_value(f, rule, v, &value);
		if (!is && reg == f->machine->ra)
			return f->trouble;
		/*
		 * Tables do not say so, but a register that the function has popped has its value
		 * again.
		 */
		if (!is && f->below)
			continue;
		to->regs[reg] = value;
		to->known = is ? to->known | 1u << reg : to->known & ~(1u << reg);
	}
	return AF_STOP_NOT_WALKED;
}

/* The caller of @f by a file's unwind tables; AF_STOP_NOT_WALKED: it was found. */
static enum af_stop step_rule(struct frame *f, const struct af_frame_rule *rule)
{
	const struct af_machine *m = f->machine;
	struct frame to = *f;

	if (rule->kind == AF_FRAME_BAD_RULE)
		return AF_STOP_UNSUPPORTED;
	if (rule->row.regs[m->ra].how == AF_CFI_UNDEFINED)
		return AF_STOP_COMPLETE;
	if (!frame_cfa(f, rule))
		return f->trouble;
	/*
	 * Every frame that has called another one holds at least its return address, so the stack
	 * pointer always grows. Only vfork() of x86-64 keeps the address in a register.
	 */
	if (f->cfa < f->regs[m->sp] + !f->exact && !rule->row.is_signal)
		return AF_STOP_BAD_FRAME;
	if (rule->row.regs[m->ra].how == AF_CFI_SAME && !f->exact)
		return AF_STOP_BAD_FRAME;
	enum af_stop stop = step_registers(f, rule, &to);
	if (stop != AF_STOP_NOT_WALKED)
		return stop;
	if (!(to.known >> m->ra & 1) || !(to.known >> m->sp & 1))
		return AF_STOP_UNSUPPORTED;
	to.pc = af_machine_address(m->elf, to.regs[m->ra]);
	to.exact = rule->row.is_signal;
	to.guessed = false;
	*f = to;
	return f->pc ? AF_STOP_NOT_WALKED : AF_STOP_COMPLETE;
}

/* Without tables: the caller by the frame pointer, if it looks like one. */
static enum af_stop step_frame_pointer(struct frame *f)
{
	const struct af_machine *m = f->machine;
	struct af_fp_frame at = {.sp = f->regs[m->sp], .is_leaf = f->exact};
	struct af_fp_slots slots;

	if (!frame_register(f, m->fp, &at.fp))
		return AF_STOP_NO_RULE;
	/* The outermost frame has a frame pointer of 0: psABI of x86-64, 3.4.1; AAPCS64, 6.4.6. */
	if (!at.fp)
		return AF_STOP_COMPLETE;
	if (!af_fp_slots(m->elf, &at, FRAME_POINTER_REACH, &slots))
		return AF_STOP_NO_RULE;
	if (!frame_read(f, slots.fp, &at.fp) || !frame_read(f, slots.ra, &at.pc))
		return f->trouble;
	at.is_leaf = at.is_leaf && frame_register(f, m->ra, &at.ra);
	af_fp_step(m->elf, &at, FRAME_POINTER_REACH, &slots);
	f->regs[m->fp] = at.fp;
	f->regs[m->sp] = at.sp;
	f->regs[m->ra] = f->pc = at.pc;
	f->known = 1u << m->fp | 1u << m->sp | 1u << m->ra;
	f->exact = false;
	f->guessed = true;
	return at.pc ? AF_STOP_NOT_WALKED : AF_STOP_COMPLETE;
}

/*
 * Why @f has a pc that is in no known code although the walk led there; NOT_WALKED: it is in known
 * code.
 */
static enum af_stop frame_doubt(const struct frame *f, const struct af_unwind_code *code)
{
	if (code->mapped)
		return AF_STOP_NOT_WALKED;
	return f->guessed ? AF_STOP_NO_RULE : AF_STOP_BAD_FRAME;
}

/*
 * The rules for @f. Its pc may be behind all that a table covers where the kernel was asked for
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
	struct frame f = {
	    .pc = copy->pc,
	    .known = copy->known,
	    .machine = copy->machine,
	    .copy = copy,
	    .exact = true,
	};
	uint32_t nr = 0;

	*stop = AF_STOP_NOT_WALKED;
	if (!f.machine || !copy->has_pc || !(f.known >> f.machine->sp & 1))
		return 0;
	memcpy(f.regs, copy->regs, sizeof f.regs);
	while (*stop == AF_STOP_NOT_WALKED) {
		uint64_t pc = f.pc - !f.exact;
		const struct af_unwind_code *code = maps->find(maps->arg, pc);
		*stop = nr ? frame_doubt(&f, code) : AF_STOP_NOT_WALKED;
		if (*stop == AF_STOP_NOT_WALKED && nr == most)
			*stop = AF_STOP_TOO_DEEP;
		if (*stop != AF_STOP_NOT_WALKED)
			break;
		const struct af_frame_rule *rule = frame_rule(&f, code, pc);
		/* A signal handler returns to code that never called it. */
		pcs[nr++] = rule && rule->row.is_signal ? f.pc : pc;
		*stop = rule            ? step_rule(&f, rule)
		        : code->missing ? AF_STOP_NO_FILE
		                        : step_frame_pointer(&f);
	}
	return nr;
}
