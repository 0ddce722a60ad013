#include "inject/unwind.h"

#include <string.h>

#include "inject/modules.h"
#include "inject/unwinder.h"
#include "inject/walk.h"

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

UNWIND_WALKER unsigned af_unwind_walk(struct af_unwinder *u, const struct af_regs *regs, bool leaf,
                                      uint64_t *pcs, unsigned max, enum af_stop *stop)
{
	return unwind_frames(u, regs, leaf, pcs, max, stop, NULL);
}
