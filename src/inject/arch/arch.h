/*
 * The machine that the unwinder runs on. The header of each machine has:
 *
 *	AF_ARCH_MACHINE         e_machine of its files
 *	AF_ARCH_LINKS           does a call leave the return address in a register?
 *	AF_ARCH_RA_OFFSET       where the return address usually is, relative to the CFA
 *	AF_ARCH_CALL_PUSHES     bytes that a call itself takes from the stack
 *	AF_ARCH_SIGFRAME_{PC,SP,FP,RA,BASE}
 *	                        saved registers, relative to sp in the signal restorer
 *	AF_ARCH_CALLER()        registers of a function's caller
 *	AF_ARCH_CODE, AF_ARCH_CODE_{BEFORE,AFTER}
 *	                        bytes of code that a rule is made of
 *	AF_ARCH_LOAD            the instruction of a guarded read
 *	AF_ARCH_AUDIT           its number in seccomp filters
 *	AF_ARCH_SYSCALL, AF_ARCH_SYSCALL_BYTES
 *	                        the instruction that asks the kernel
 *	af_arch_syscall(), af_arch_syscall6()
 *	                        a system call that leaves errno alone
 *	af_arch_context()       registers out of a ucontext
 *
 * Its source has the functions that are declared below, and says which instructions they know.
 */
#ifndef AF_INJECT_ARCH_ARCH_H
#define AF_INJECT_ARCH_ARCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
#include "inject/arch/x86_64.h"
#elif defined(__aarch64__)
#include "inject/arch/aarch64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "inject/arch/riscv64.h"
#else
#error "the unwinder does not know this machine: add src/inject/arch/<machine>.[ch]"
#endif

struct af_rule;

/* Call @run with @arg on the stack that ends at @top, a multiple of 16. */
void af_arch_call_on(void *top, void (*run)(void *arg), void *arg);

/*
 * The rule of code that is returned to but was never called, for which the tables, looked up at the
 * address less one, describe other code or name a register that is 0: the end of a signal handler,
 * and the start of a makecontext() fiber. @code has AF_ARCH_CODE bytes, and the address is at
 * AF_ARCH_CODE_BEFORE. False: it is neither.
 */
bool af_arch_special_rule(const uint8_t *code, bool leaf, struct af_rule *rule);

/* Does a call instruction end at the address? */
bool af_arch_after_call(const uint8_t *code);

/*
 * The rule of code that no table covers, by its instructions. At a @leaf: functions that have not
 * yet made a frame, or have none any more, and the entries of a procedure linkage table. False: the
 * instructions do not tell, and the frame pointer has to.
 */
bool af_arch_code_rule(const uint8_t *code, bool leaf, struct af_rule *rule);

/* Copy. 0, or -EFAULT when af_arch_guard_fault() handled a fault in it. */
int af_arch_guarded_copy(void *dst, const void *src, size_t len);
bool af_arch_guard_fault(ucontext_t *uc);

/*
 * The same for one word. Each place that this is compiled into leaves a row in a table of its own
 * section: the addresses of the load and of the code to go to when it faults, both relative to the
 * row.
 */
static inline int af_arch_guarded_word(uint64_t *word, uint64_t addr)
{
	uint64_t w = 0;

	__asm__ goto("1:	" AF_ARCH_LOAD "\n"
	             "	.pushsection af_guarded_words,\"a\"\n"
	             "	.p2align 2\n"
	             "	.long 1b-.,%l[fault]-.\n"
	             "	.popsection\n"
	             : [w] "=r"(w)
	             : [addr] "r"(addr)
	             :
	             : fault);
	*word = w;
	return 0;
fault:
	return -EFAULT;
}

#endif
