/*
 * AArch64: registers and frames of AAPCS64 (6.4.6, the frame record); the kernel's signal frame;
 * instruction patterns of code that has no unwind table. See arch/arch.h.
 */
#ifndef AF_INJECT_ARCH_AARCH64_H
#define AF_INJECT_ARCH_AARCH64_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "inject/arch/regs.h"
#include "unwind/machine.h"

/* In the restorer, sp points to the kernel's struct rt_sigframe: a siginfo, then the ucontext. */
#define AF_ARCH_SIGFRAME(member) (128 + offsetof(ucontext_t, uc_mcontext.member))

enum {
	AF_ARCH_MACHINE = EM_AARCH64,
	AF_ARCH_WORD = 8,
	AF_ARCH_LINKS = 1,
	AF_ARCH_RA_OFFSET = -8,
	AF_ARCH_CALL_PUSHES = 0,
	AF_ARCH_SIGFRAME_PC = AF_ARCH_SIGFRAME(pc),
	AF_ARCH_SIGFRAME_SP = AF_ARCH_SIGFRAME(sp),
	AF_ARCH_SIGFRAME_FP = AF_ARCH_SIGFRAME(regs) + 8 * 29,
	AF_ARCH_SIGFRAME_RA = AF_ARCH_SIGFRAME(regs) + 8 * 30,
	AF_ARCH_SIGFRAME_BASE = AF_ARCH_SIGFRAME(regs) + 8 * 19,
	/* Bytes of code that af_arch_code_rule() sees before and from the address on. */
	AF_ARCH_CODE_BEFORE = 256,
	AF_ARCH_CODE_AFTER = 16,
	AF_ARCH_CODE = AF_ARCH_CODE_BEFORE + AF_ARCH_CODE_AFTER,
	AF_ARCH_SYSCALL_BYTES = 4,
};

/* `svc #0`. */
#define AF_ARCH_SYSCALL "\x01\x00\x00\xd4"

/*
 * AF_REGS_CALLER() on this machine. The frame record need not be at the end of the frame: the
 * compiler knows where that is.
 */
#define AF_ARCH_CALLER(regs)                                                                       \
	do {                                                                                       \
		const uint64_t *frame_ = __builtin_frame_address(0);                               \
		(regs)->pc = af_machine_address(EM_AARCH64, frame_[1]);                            \
		(regs)->sp = (uint64_t)__builtin_dwarf_cfa();                                      \
		(regs)->fp = frame_[0];                                                            \
	} while (0)

/* The instruction of af_arch_guarded_word(). */
#define AF_ARCH_LOAD "ldr %[w],[%[addr]]"

/* The number of this machine in seccomp filters. */
#define AF_ARCH_AUDIT AUDIT_ARCH_AARCH64

static inline long af_arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory");
	return x0;
}

static inline long af_arch_syscall(long nr, long a, long b, long c, long d)
{
	return af_arch_syscall6(nr, a, b, c, d, 0, 0);
}

static inline void af_arch_context(const ucontext_t *uc, struct af_regs *regs)
{
	regs->pc = uc->uc_mcontext.pc;
	regs->sp = uc->uc_mcontext.sp;
	regs->fp = uc->uc_mcontext.regs[29];
	regs->base = uc->uc_mcontext.regs[19];
	regs->drap = 0;
	regs->ra = uc->uc_mcontext.regs[30];
}

#endif
