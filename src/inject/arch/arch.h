/*
 * The machine that the unwinder runs on. Each machine has one header and one source; they give:
 *
 *	AF_ARCH_MACHINE         e_machine of its files
 *	AF_ARCH_LINKS           does a call leave the return address in a register?
 *	AF_ARCH_RA_OFFSET       where the return address usually is, relative to the CFA
 *	AF_ARCH_CALL_PUSHES     bytes that a call itself takes from the stack
 *	AF_ARCH_SIGFRAME_{PC,SP,FP,RA,BASE}
 *	                        saved registers, relative to sp in the signal restorer
 *	AF_ARCH_CALLER()        registers of a function's caller
 *	af_arch_syscall()       a system call that leaves errno alone
 *	af_arch_code_rule()     the rule that the instructions tell where no table does
 *	af_arch_special_rule()  the rule of code that is returned to but was never called
 *	af_arch_after_call()    does a call instruction end at an address?
 *	AF_ARCH_SYSCALL, AF_ARCH_SYSCALL_BYTES
 *	                        the instruction that asks the kernel
 *	af_arch_guarded_copy(), af_arch_guarded_word(), af_arch_guard_fault()
 *	                        reads that fail instead of crashing
 *	af_arch_context()       registers out of a ucontext
 *	af_arch_call_on()       a call on another stack
 */
#ifndef AF_INJECT_ARCH_ARCH_H
#define AF_INJECT_ARCH_ARCH_H

#if defined(__x86_64__)
#include "inject/arch/x86_64.h"
#elif defined(__aarch64__)
#include "inject/arch/aarch64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "inject/arch/riscv64.h"
#else
#error "the unwinder does not know this machine: add src/inject/arch/<machine>.[ch]"
#endif

#endif
