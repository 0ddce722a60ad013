/*
 * 64-bit RISC-V: registers and frames of the ELF psABI; the kernel's signal frame; instruction
 * patterns of code that has no unwind table. See arch/arch.h.
 */
#ifndef AF_INJECT_ARCH_RISCV64_H
#define AF_INJECT_ARCH_RISCV64_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "inject/arch/regs.h"
#include "unwind/machine.h"

/* In the restorer, sp points to the kernel's struct rt_sigframe: a siginfo, then the ucontext. */
#define AF_ARCH_SIGFRAME(member) (128 + offsetof(ucontext_t, uc_mcontext.member))

enum {
	AF_ARCH_MACHINE = EM_RISCV,
	AF_ARCH_WORD = 8,
	AF_ARCH_LINKS = 1,
	AF_ARCH_RA_OFFSET = -8,
	AF_ARCH_CALL_PUSHES = 0,
	AF_ARCH_SIGFRAME_PC = AF_ARCH_SIGFRAME(__gregs) + 8 * REG_PC,
	AF_ARCH_SIGFRAME_SP = AF_ARCH_SIGFRAME(__gregs) + 8 * REG_SP,
	AF_ARCH_SIGFRAME_FP = AF_ARCH_SIGFRAME(__gregs) + 8 * REG_S0,
	AF_ARCH_SIGFRAME_RA = AF_ARCH_SIGFRAME(__gregs) + 8 * REG_RA,
	AF_ARCH_SIGFRAME_BASE = AF_ARCH_SIGFRAME(__gregs) + 8 * REG_S1,
	/* Bytes of code that af_arch_code_rule() sees before and from the address on. */
	AF_ARCH_CODE_BEFORE = 256,
	AF_ARCH_CODE_AFTER = 16,
	AF_ARCH_CODE = AF_ARCH_CODE_BEFORE + AF_ARCH_CODE_AFTER,
	AF_ARCH_SYSCALL_BYTES = 4,
};

/* `ecall`. */
#define AF_ARCH_SYSCALL "\x73\x00\x00\x00"

/* AF_REGS_CALLER() on this machine, where the frame pointer is the end of the frame. */
#define AF_ARCH_CALLER(regs)                                                                       \
	do {                                                                                       \
		const uint64_t *frame_ = __builtin_frame_address(0);                               \
		(regs)->pc = frame_[-1];                                                           \
		(regs)->sp = (uint64_t)frame_;                                                     \
		(regs)->fp = frame_[-2];                                                           \
	} while (0)

/* The instruction of af_arch_guarded_word(). */
#define AF_ARCH_LOAD "ld %[w],0(%[addr])"

/* The number of this machine in seccomp filters. */
#define AF_ARCH_AUDIT AUDIT_ARCH_RISCV64

static inline long af_arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = nr;
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	register long a4 __asm__("a4") = e;
	register long a5 __asm__("a5") = f;

	__asm__ volatile("ecall"
	                 : "+r"(a0)
	                 : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
	                 : "memory");
	return a0;
}

static inline long af_arch_syscall(long nr, long a, long b, long c, long d)
{
	return af_arch_syscall6(nr, a, b, c, d, 0, 0);
}

static inline void af_arch_context(const ucontext_t *uc, struct af_regs *regs)
{
	regs->pc = uc->uc_mcontext.__gregs[REG_PC];
	regs->sp = uc->uc_mcontext.__gregs[REG_SP];
	regs->fp = uc->uc_mcontext.__gregs[REG_S0];
	regs->base = uc->uc_mcontext.__gregs[REG_S1];
	regs->drap = 0;
	regs->ra = uc->uc_mcontext.__gregs[REG_RA];
}

#endif
