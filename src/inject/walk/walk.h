/*
 * The walk itself, compiled twice: into af_unwind_walk() without a tape, and into
 * af_unwind_record() with a tape that notes every stack slot which decided something. Private to
 * walk.c and replay.c.
 */
#ifndef AF_INJECT_WALK_WALK_H
#define AF_INJECT_WALK_WALK_H

#include "inject/walk/ends.h"
#include "inject/walk/modules.h"
#include "inject/walk/unwinder.h"
#include "unwind/frame_pointer.h"

/* It reads the stack of functions that a sanitizer may have laid out. */
#define UNWIND_WALKER __attribute__((no_sanitize("address"), no_sanitize("undefined")))
#define UNWIND_INLINE UNWIND_WALKER static inline __attribute__((always_inline))

/* The slots a walk read, as words from the first sp. */
struct unwind_tape {
	uint64_t sp;
	uint32_t nr;
	bool bad;     /* a slot that cannot be noted: no replay */
	bool uses_fp; /* the first fp decided something */
	uint64_t *values;
	uint16_t *words;
};

struct unwind_frame {
	uint64_t pc, sp, fp;
	uint64_t start, size; /* proven readable */
	uint64_t fp_slot;     /* where fp was read: 0 nowhere, 1 it is the first one */
	uint64_t ra;          /* the register of the return address, where @exact */
	bool exact;           /* pc is where it was interrupted, not a return address */
	bool guessed;         /* pc came by a frame pointer, without a table */
};

/*
 * Nothing below gives the address of a frame or a rule to a function that is not inlined: both live
 * in registers, which makes a walk a third faster.
 */

UNWIND_INLINE void tape_note(struct unwind_tape *tape, uint64_t addr, uint64_t value)
{
	uint64_t word = (addr - tape->sp) / AF_ARCH_WORD;

	if (tape->nr == UNWIND_SLOTS || word > UINT16_MAX || (addr - tape->sp) % AF_ARCH_WORD) {
		tape->bad = true;
		return;
	}
	tape->words[tape->nr] = (uint16_t)word;
	tape->values[tape->nr++] = value;
}

/* fp decides something now, so the slot that it was read from counts. */
UNWIND_INLINE void tape_use_fp(struct unwind_tape *tape, struct unwind_frame *f)
{
	if (!tape)
		return;
	if (f->fp_slot == 1)
		tape->uses_fp = true;
	else if (f->fp_slot)
		tape_note(tape, f->fp_slot, f->fp);
	f->fp_slot = 0;
}

/* A word of the stack. False: it cannot be read. */
UNWIND_INLINE bool unwind_load(struct af_unwinder *u, struct unwind_frame *f, uint64_t addr,
                               uint64_t *value)
{
	if (__builtin_expect(addr - f->start >= f->size, 0)) {
		uint64_t start, size;
		if (!af_readable_prove(u, addr, &start, &size))
			return false;
		f->start = start;
		f->size = size;
	}
	/* Memory that was proved readable is not at NULL. */
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	*value = *(const volatile uint64_t *)addr;
	return true;
}

/* The same, noted: the walk depends on the value from here on. */
UNWIND_INLINE bool unwind_read(struct af_unwinder *u, struct unwind_frame *f, uint64_t addr,
                               uint64_t *value, struct unwind_tape *tape)
{
	if (!unwind_load(u, f, addr, value))
		return false;
	if (tape)
		tape_note(tape, addr, *value);
	return true;
}

UNWIND_INLINE void unwind_rule(struct af_unwinder *u, uint32_t bits, uint64_t pc, bool leaf,
                               struct af_rule *rule)
{
	enum { REVALIDATE = 64 };
	uint64_t hash = unwind_rule_hash(pc);
	uint64_t word =
	    atomic_load_explicit(&u->rules[unwind_rule_index(hash)], memory_order_relaxed);

	if (__builtin_expect(
		word >> UNWIND_RULE_BITS == unwind_rule_key(hash, bits) && pc >> 48 == 0, 1)) {
		af_rule_unpack(word & ((1u << UNWIND_RULE_BITS) - 1), rule);
		/* Code without a table may give way to a library that has one. */
		if (__builtin_expect(rule->cfa != AF_CFA_NONE, 1) ||
		    (!leaf && ++u->age % REVALIDATE))
			return;
	}
	struct af_rule computed;
	af_rule_compute(u, pc, leaf, &computed);
	*rule = computed;
}

/* Registers as the kernel saved them when it ran a signal handler. */
UNWIND_INLINE enum af_stop step_signal(struct af_unwinder *u, struct unwind_frame *f,
                                       struct unwind_tape *tape)
{
	uint64_t pc, sp, fp, frame = f->sp;

	if (!unwind_read(u, f, frame + AF_ARCH_SIGFRAME_PC, &pc, tape) ||
	    !unwind_read(u, f, frame + AF_ARCH_SIGFRAME_SP, &sp, tape) ||
	    !unwind_load(u, f, frame + AF_ARCH_SIGFRAME_FP, &fp))
		return AF_STOP_UNREADABLE;
	if (AF_ARCH_LINKS && !unwind_read(u, f, frame + AF_ARCH_SIGFRAME_RA, &f->ra, tape))
		return AF_STOP_UNREADABLE;
	f->fp_slot = frame + AF_ARCH_SIGFRAME_FP;
	f->pc = pc;
	f->sp = sp;
	f->fp = fp;
	f->exact = true;
	f->guessed = false;
	return AF_STOP_NOT_WALKED;
}

/* No table: a frame pointer, if it looks like one. */
UNWIND_INLINE enum af_stop step_fp(struct af_unwinder *u, struct unwind_frame *f,
                                   struct unwind_tape *tape)
{
	struct af_fp_frame at = {.sp = f->sp, .fp = f->fp, .ra = f->ra, .is_leaf = f->exact};
	struct af_fp_slots slots;

	tape_use_fp(tape, f);
	/* The outermost frame of code that has no table is marked so: psABI 3.4.1. */
	if (!at.fp && af_module_find(f->pc))
		return AF_STOP_COMPLETE;
	if (!af_fp_slots(AF_ARCH_MACHINE, &at, UNWIND_FP_LIMIT, &slots))
		return AF_STOP_NO_RULE;
	if (!unwind_read(u, f, slots.ra, &at.pc, tape) || !unwind_load(u, f, slots.fp, &at.fp)) {
		/* Memory may be mapped there later, and no slot would show it. */
		if (tape)
			tape->bad = true;
		return AF_STOP_NO_RULE;
	}
	af_fp_step(AF_ARCH_MACHINE, &at, UNWIND_FP_LIMIT, &slots);
	f->fp_slot = slots.fp;
	f->fp = at.fp;
	f->sp = at.sp;
	f->pc = at.pc;
	f->exact = false;
	f->guessed = true;
	return f->pc ? AF_STOP_NOT_WALKED : AF_STOP_COMPLETE;
}

UNWIND_INLINE bool step_cfa(struct af_unwinder *u, struct unwind_frame *f,
                            const struct af_rule *rule, uint64_t *cfa, struct unwind_tape *tape)
{
	int64_t offset = rule->cfa_offset;

	switch (rule->cfa) {
	case AF_CFA_SP:
		*cfa = f->sp + (uint64_t)offset;
		return true;
	case AF_CFA_FP:
		tape_use_fp(tape, f);
		*cfa = f->fp + (uint64_t)offset;
		return true;
	case AF_CFA_PLT:
		*cfa = f->sp + AF_ARCH_WORD + ((f->pc & 15) >= (uint64_t)offset ? AF_ARCH_WORD : 0);
		return true;
	case AF_CFA_SP_DEREF:
		return unwind_read(u, f, f->sp + (uint64_t)offset, cfa, tape);
	default: /* AF_CFA_FP_DEREF */
		tape_use_fp(tape, f);
		return unwind_read(u, f, f->fp + (uint64_t)offset, cfa, tape);
	}
}

/* The caller's frame pointer. The slot that it is read from is noted only once it is used. */
UNWIND_INLINE bool step_saved_fp(struct af_unwinder *u, struct unwind_frame *f,
                                 const struct af_rule *rule, uint64_t cfa, struct unwind_tape *tape)
{
	uint64_t slot;

	switch (rule->fp) {
	case AF_SAVED_SAME:
		return true;
	case AF_SAVED_CFA:
		slot = cfa + (uint64_t)(int64_t)rule->fp_offset;
		break;
	case AF_SAVED_FP:
		tape_use_fp(tape, f);
		slot = f->fp + (uint64_t)(int64_t)rule->fp_offset;
		break;
	case AF_SAVED_SP:
		slot = f->sp + (uint64_t)(int64_t)rule->fp_offset;
		break;
	case AF_SAVED_VALUE:
		f->fp = cfa + (uint64_t)(int64_t)rule->fp_offset;
		f->fp_slot = 0;
		return true;
	default:
		f->fp = f->fp_slot = 0;
		return true;
	}
	f->fp_slot = slot;
	return unwind_load(u, f, slot, &f->fp);
}

UNWIND_INLINE enum af_stop step_to(struct af_unwinder *u, struct unwind_frame *f,
                                   const struct af_rule *rule, uint64_t cfa,
                                   struct unwind_tape *tape)
{
	uint64_t ra = f->ra;
	bool linked = AF_ARCH_LINKS && rule->ra_in_register;

	/*
	 * Every frame holds at least its return address, so stacks only get shallower. Where that
	 * is in a register, this is known of interrupted frames only.
	 */
	if (linked ? cfa < f->sp || !f->exact : cfa <= f->sp)
		return AF_STOP_BAD_FRAME;
	if (!linked && !unwind_read(u, f, cfa + (uint64_t)(int64_t)rule->ra_offset, &ra, tape))
		return AF_STOP_UNREADABLE;
	if (!step_saved_fp(u, f, rule, cfa, tape))
		return AF_STOP_UNREADABLE;
	ra = af_machine_address(AF_ARCH_MACHINE, ra);
	f->pc = ra;
	f->sp = cfa;
	f->exact = rule->exact;
	f->guessed = false;
	return ra ? AF_STOP_NOT_WALKED : AF_STOP_COMPLETE;
}

UNWIND_INLINE enum af_stop step_table(struct af_unwinder *u, struct unwind_frame *f,
                                      const struct af_rule *rule, struct unwind_tape *tape)
{
	uint64_t cfa;

	return step_cfa(u, f, rule, &cfa, tape) ? step_to(u, f, rule, cfa, tape)
	                                        : AF_STOP_UNREADABLE;
}

/* The frame's address is in a register that the walk does not follow; @nr frames are above. */
UNWIND_INLINE enum af_stop step_register(struct af_unwinder *u, struct unwind_frame *f,
                                         const struct af_rule *rule, const struct af_regs *regs,
                                         unsigned nr, bool leaf, struct unwind_tape *tape)
{
	uint64_t value;

	if (leaf && rule->cfa == AF_CFA_DRAP && !nr)
		value = regs->drap;
	else if (!leaf || rule->cfa != AF_CFA_BASE || !af_unwind_base(u, regs, nr, &value))
		return AF_STOP_UNSUPPORTED;
	return step_to(u, f, rule, value + (uint64_t)(int64_t)rule->cfa_offset, tape);
}

/*
 * Why there is no frame at f->pc although a walk led there; AF_STOP_NOT_WALKED when there is one. A
 * return address found by a frame pointer must follow a call or, as an interpreter (the JVM's)
 * pushes its own, belong to a chain of frame pointers that leads to such an address.
 */
UNWIND_INLINE enum af_stop frame_doubt(struct af_unwinder *u, const struct unwind_frame *f,
                                       const struct af_rule *rule)
{
	if (rule->cfa == AF_CFA_NOT_CODE)
		return f->guessed ? AF_STOP_NO_RULE : AF_STOP_BAD_FRAME;
	if (f->guessed && rule->cfa == AF_CFA_NONE && !rule->cfa_offset &&
	    !af_unwind_chain(u, f->pc, f->sp, f->fp))
		return AF_STOP_NO_RULE;
	return AF_STOP_NOT_WALKED;
}

/* One frame further; AF_STOP_NOT_WALKED: go on. */
UNWIND_INLINE enum af_stop unwind_step(struct af_unwinder *u, struct unwind_frame *f,
                                       const struct af_rule *rule, struct unwind_tape *tape)
{
	if (__builtin_expect(rule->cfa >= AF_CFA_SP && rule->cfa <= AF_CFA_PLT, 1))
		return step_table(u, f, rule, tape);
	switch (rule->cfa) {
	case AF_CFA_SIGNAL:
		return step_signal(u, f, tape);
	case AF_CFA_END:
		return AF_STOP_COMPLETE;
	case AF_CFA_NONE:
		return step_fp(u, f, tape);
	}
	return AF_STOP_UNSUPPORTED;
}

UNWIND_INLINE struct unwind_frame frame_first(const struct af_regs *regs, bool leaf)
{
	return (struct unwind_frame){.pc = regs->pc,
	                             .sp = regs->sp,
	                             .fp = regs->fp,
	                             .fp_slot = 1,
	                             .ra = AF_ARCH_LINKS && leaf ? regs->ra : 0,
	                             .exact = leaf};
}

UNWIND_INLINE unsigned unwind_frames(struct af_unwinder *u, const struct af_regs *regs, bool leaf,
                                     uint64_t *pcs, unsigned max, enum af_stop *stop,
                                     struct unwind_tape *tape)
{
	struct unwind_frame f = frame_first(regs, leaf);
	uint32_t bits = af_rules_refresh(u);
	unsigned most = max < AF_ENDS_LEAST ? max : AF_WALK_MOST, nr = 0;

	for (;;) {
		uint64_t pc = f.exact ? f.pc : f.pc - 1;
		struct af_rule rule;

		unwind_rule(u, bits, pc, f.exact, &rule);
		enum af_stop doubt = nr ? frame_doubt(u, &f, &rule) : AF_STOP_NOT_WALKED;
		if (doubt == AF_STOP_NOT_WALKED && nr == most)
			doubt = AF_STOP_TOO_DEEP;
		if (doubt == AF_STOP_NOT_WALKED) {
			pcs[af_ends_slot(nr++, max)] = pc;
			doubt = unwind_step(u, &f, &rule, tape);
			if (doubt == AF_STOP_UNSUPPORTED && nr <= max)
				doubt = step_register(u, &f, &rule, regs, nr - 1, leaf, tape);
		}
		if (doubt != AF_STOP_NOT_WALKED) {
			*stop = doubt;
			return nr <= max ? nr : af_ends_close(pcs, max, nr, nr - max + 1);
		}
	}
}

#endif
