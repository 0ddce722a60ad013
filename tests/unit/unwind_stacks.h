/*
 * Stacks whose shape is known, for tests of the unwinder: every function on the way notes its own
 * return address, and the walk from take() must find exactly those.
 */
#ifndef AF_TESTS_UNWIND_STACKS_H
#define AF_TESTS_UNWIND_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "inject/walk/unwind.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#define KEEPS_FP
#else
#define NOINLINE __attribute__((noinline, noclone))
#define KEEPS_FP __attribute__((optimize("no-omit-frame-pointer")))
#endif
/* Something to do after a call, so that it is none of the last kind. */
#define AFTER_CALL() __asm__ volatile("")

struct walk {
	unsigned nr;
	enum af_stop stop;
	uint64_t pcs[AF_STACK_MAX];
};

extern struct af_unwinder *unwinder; /* main() makes it */

/* A new one, to be unmapped by who wants it gone. */
struct af_unwinder *unwinder_make(void);

void walk_from(const struct af_regs *regs, bool leaf, struct walk *w);

/* Walk the stack of the caller into @taken. */
void take(void);
extern struct walk taken;

/* Return addresses from the outside in, noted on the way to take(). */
enum { NOTED_MAX = 1024 };

extern uint64_t noted[NOTED_MAX];
extern unsigned nr_noted;

#define NOTE_CALLER() (noted[nr_noted++] = (uint64_t)__builtin_return_address(0))

/* Frames that were noted since the last look, from the inside out, are those at @from of @w. */
void assert_noted(const struct walk *w, unsigned from);

/* take() beneath @n frames of one function, frames of every make, and a tail call. */
int shape_recursive(int n);
int shape_sum(const volatile int *v);
void shape_tail(int n);

/* The program counter in a context. */
static inline uint64_t *unwind_pc(ucontext_t *uc)
{
#if defined(__x86_64__)
	return (uint64_t *)&uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uint64_t *)&uc->uc_mcontext.pc;
#else
	return (uint64_t *)&uc->uc_mcontext.__gregs[REG_PC];
#endif
}

/* Code that no table describes: a copy of @len bytes that call their first argument. */
void (*jit_make(const void *code, size_t len))(void (*)(void));

#define JIT(bytes) jit_make(bytes, sizeof(bytes) - 1)

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const char jit_with_fp[] = "\x55\x48\x89\xe5\xff\xd7\x5d\xc3";
enum { JIT_CALL_END = 6 };
#elif defined(__aarch64__)
/* stp x29,x30,[sp,#-16]!; mov x29,sp; blr x0; ldp x29,x30,[sp],#16; ret */
static const char jit_with_fp[] = "\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x00\x00\x3f\xd6"
				  "\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6";
enum { JIT_CALL_END = 12 };
#else
/* addi sp,sp,-16; sd ra,8(sp); sd s0,0(sp); addi s0,sp,16; jalr a0; ld ra,8(sp); ld s0,0(sp);
 * addi sp,sp,16; ret */
static const char jit_with_fp[] = "\x41\x11\x06\xe4\x22\xe0\x00\x08\x02\x95"
				  "\xa2\x60\x02\x64\x41\x01\x82\x80";
enum { JIT_CALL_END = 10 };
#endif
/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret: CPython's perf trampoline, but for the register */
static const char jit_trampoline[] = "\x48\x83\xec\x08\xff\xd7\x48\x83\xc4\x08\xc3";

void shape_jit(void (*jit)(void (*)(void)), void (*target)(void));

#endif
