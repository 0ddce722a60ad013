#include "inject/walk/unwind.h"

#include <string.h>

#include "inject/walk/modules.h"
#include "inject/walk/unwinder.h"
#include "inject/walk/walk.h"

size_t af_unwinder_size(void)
{
	return sizeof(struct af_unwinder);
}

void af_unwinder_init(struct af_unwinder *u)
{
	/* Another thread's stack may be gone by now; what is remembered of code stays true. */
	for (unsigned i = 0; i < UNWIND_RANGES; i++)
		atomic_store_explicit(&u->ranges[i], 0, memory_order_relaxed);
	u->pending = 0;
}

void af_unwind_forget(void)
{
	af_modules_forget();
}

/* The base register after a step from @before to @after by @rule. */
UNWIND_WALKER static bool base_step(struct af_unwinder *u, const struct unwind_frame *before,
                                    struct unwind_frame *after, const struct af_rule *rule,
                                    uint64_t *base)
{
	uint64_t offset = (uint64_t)(int64_t)rule->base_offset;

	if (rule->cfa == AF_CFA_SIGNAL)
		return unwind_load(u, after, before->sp + AF_ARCH_SIGFRAME_BASE, base);
	switch (rule->base) {
	case AF_SAVED_SAME:
		return true;
	case AF_SAVED_CFA:
		return unwind_load(u, after, after->sp + offset, base);
	case AF_SAVED_FP:
		return unwind_load(u, after, before->fp + offset, base);
	case AF_SAVED_SP:
		return unwind_load(u, after, before->sp + offset, base);
	}
	return false;
}

UNWIND_WALKER bool af_unwind_base(struct af_unwinder *u, const struct af_regs *regs, unsigned nr,
                                  uint64_t *base)
{
	struct unwind_frame f = frame_first(regs, true);

	*base = regs->base;
	for (unsigned i = 0; i < nr; i++) {
		struct unwind_frame before = f;
		struct af_rule rule;
		af_rule_compute(u, f.exact ? f.pc : f.pc - 1, f.exact, &rule);
		if (rule.cfa == AF_CFA_NONE ||
		    unwind_step(u, &f, &rule, NULL) != AF_STOP_NOT_WALKED ||
		    !base_step(u, &before, &f, &rule, base))
			return false;
	}
	return true;
}

UNWIND_WALKER bool af_unwind_chain(struct af_unwinder *u, uint64_t pc, uint64_t sp, uint64_t fp)
{
	enum { CHAIN_FRAMES = 64 };
	struct unwind_frame f = {.sp = sp};
	struct af_fp_frame at = {.pc = pc, .sp = sp, .fp = fp};

	for (int i = 0; i < CHAIN_FRAMES; i++) {
		struct af_fp_slots slots;
		struct af_rule rule;

		if (af_module_find(at.pc) ||
		    !af_fp_slots(AF_ARCH_MACHINE, &at, UNWIND_FP_LIMIT, &slots) ||
		    !unwind_load(u, &f, slots.ra, &at.pc) || !unwind_load(u, &f, slots.fp, &at.fp))
			return false;
		af_fp_step(AF_ARCH_MACHINE, &at, UNWIND_FP_LIMIT, &slots);
		af_rule_compute(u, at.pc - 1, false, &rule);
		if (rule.cfa != AF_CFA_NONE)
			return rule.cfa != AF_CFA_NOT_CODE;
		if (rule.cfa_offset)
			return true;
	}
	return false;
}

UNWIND_WALKER unsigned af_unwind_walk(struct af_unwinder *u, const struct af_regs *regs, bool leaf,
                                      uint64_t *pcs, unsigned max, enum af_stop *stop)
{
	return unwind_frames(u, regs, leaf, pcs, max, stop, NULL);
}
