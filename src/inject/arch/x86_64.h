/*
 * x86-64: registers and frames of the System V psABI, 1.0, 3.2.2 and 3.6.2; the kernel's signal
 * frame; instruction patterns of code that has no unwind table. See arch/arch.h.
 */
#ifndef AF_INJECT_ARCH_X86_64_H
#define AF_INJECT_ARCH_X86_64_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "inject/arch/regs.h"

enum {
	AF_ARCH_MACHINE = EM_X86_64,
	AF_ARCH_WORD = 8,
	AF_ARCH_LINKS = 0,
	AF_ARCH_RA_OFFSET = -8,
	AF_ARCH_CALL_PUSHES = 8,
	/* In the restorer, sp points to the ucontext of the kernel's struct rt_sigframe. */
	AF_ARCH_SIGFRAME_PC = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RIP,
	AF_ARCH_SIGFRAME_SP = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RSP,
	AF_ARCH_SIGFRAME_FP = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RBP,
	AF_ARCH_SIGFRAME_RA = 0, /* there is none */
	AF_ARCH_SIGFRAME_BASE = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RBX,
	/* Bytes of code that af_arch_code_rule() sees before and from the address on. */
	AF_ARCH_CODE_BEFORE = 8,
	AF_ARCH_CODE_AFTER = 16,
	AF_ARCH_CODE = AF_ARCH_CODE_BEFORE + AF_ARCH_CODE_AFTER,
	AF_ARCH_SYSCALL_BYTES = 2,
};

/* `syscall` (Intel SDM, volume 2). */
#define AF_ARCH_SYSCALL "\x0f\x05"

/* AF_REGS_CALLER() on this machine. */
#define AF_ARCH_CALLER(regs)                                                                       \
	do {                                                                                       \
		const uint64_t *frame_ = __builtin_frame_address(0);                               \
		(regs)->pc = frame_[1];                                                            \
		(regs)->sp = (uint64_t)(frame_ + 2);                                               \
		(regs)->fp = frame_[0];                                                            \
	} while (0)

/* The instruction of af_arch_guarded_word(). */
#define AF_ARCH_LOAD "mov (%[addr]),%[w]"

/* The number of this machine in seccomp filters. */
#define AF_ARCH_AUDIT AUDIT_ARCH_X86_64

static inline long af_arch_syscall(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long rc;

	__asm__ volatile("syscall"
	                 : "=a"(rc)
	                 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
	                 : "rcx", "r11", "memory");
	return rc;
}

static inline long af_arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long rc;

	__asm__ volatile("syscall"
	                 : "=a"(rc)
	                 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return rc;
}

static inline void af_arch_context(const ucontext_t *uc, struct af_regs *regs)
{
	regs->pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	regs->sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
	regs->fp = (uint64_t)uc->uc_mcontext.gregs[REG_RBP];
	regs->base = (uint64_t)uc->uc_mcontext.gregs[REG_RBX];
	regs->drap = (uint64_t)uc->uc_mcontext.gregs[REG_R10];
	regs->ra = 0;
}

#endif
