/*
 * The machine that the unwinder runs on. Each machine has one header and one source; they give:
 *
 *	AF_ARCH_RA_OFFSET       where a call leaves the return address, relative to the CFA
 *	AF_ARCH_SIGFRAME_{PC,SP,FP,BASE}
 *	                        saved registers, relative to sp in the signal restorer
 *	af_arch_syscall()       a system call that leaves errno alone
 *	af_arch_code_rule()     the rule that the instructions tell where no table does
 *	af_arch_special_rule()  the rule of code that is returned to but was never called
 *	af_arch_after_call()    does a call instruction end at an address?
 *	af_arch_guarded_copy(), af_arch_guarded_word(), af_arch_guard_fault()
 *	                        reads that fail instead of crashing
 *	af_arch_context()       registers out of a ucontext
 *	af_arch_call_on()       a call on another stack
 */
#ifndef AF_INJECT_ARCH_ARCH_H
#define AF_INJECT_ARCH_ARCH_H

#if defined(__x86_64__)
#include "inject/arch/x86_64.h"
#else
#error "the unwinder knows x86-64 only: add src/inject/arch/<machine>.[ch]"
#endif

#endif
