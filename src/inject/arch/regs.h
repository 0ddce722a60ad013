/* Where a walk starts. */
#ifndef AF_INJECT_ARCH_REGS_H
#define AF_INJECT_ARCH_REGS_H

#include <stdint.h>

/*
 * The registers a walk starts from; on x86-64 rip, rsp, rbp, rbx, r10. @base and @drap hold the
 * address of a frame for a few instructions of some functions, @ra is the register in which a call
 * leaves the return address (x30, ra; x86-64 has none). Only a walk with leaf = true looks at these
 * three, so a hook need not set them; af_arch_context() sets all.
 */
struct af_regs {
	uint64_t pc, sp, fp;
	uint64_t base, drap, ra;
};

#endif
