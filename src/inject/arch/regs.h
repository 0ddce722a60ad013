/* Where a walk starts. */
#ifndef AF_INJECT_ARCH_REGS_H
#define AF_INJECT_ARCH_REGS_H

#include <stdint.h>

/*
 * The registers a walk starts from; on x86-64 rip, rsp, rbp, rbx, r10. The last two hold the
 * address of a frame for a few instructions of some functions. Only a walk with leaf = true looks
 * at them, so a hook need not set them; af_arch_context() sets all.
 */
struct af_regs {
	uint64_t pc, sp, fp;
	uint64_t base, drap;
};

#endif
