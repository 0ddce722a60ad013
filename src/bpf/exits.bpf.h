/*
 * Where an instruction leads that may leave a function: jumps under a condition, and jumps to what
 * a register or memory says.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_EXITS_BPF_H
#define AF_BPF_EXITS_BPF_H

#include "bpf/state.bpf.h"

/* As enum af_exit_how and enum af_exit_register (collect/session/watcher.h) have them. */
enum {
	EXIT_ALWAYS = 0,
	EXIT_IF = 1,
	EXIT_TO_REGISTER = 2,
	EXIT_TO_MEMORY = 3,
	EXIT_RIP = 16,
};

/*
 * The verifier lets a program read its context at fixed places only: the asm keeps the compiler
 * from choosing the place first and reading then.
 */
#define EXIT_REGISTER(number, name)                                                                \
	case number:                                                                               \
		value = ctx->name;                                                                 \
		asm volatile("" : "+r"(value) : "i"(number));                                      \
		break;

static __always_inline __u64 exit_register(struct pt_regs *ctx, __u32 number)
{
	__u64 value = 0;

	switch (number) {
		EXIT_REGISTER(0, rax)
		EXIT_REGISTER(1, rcx)
		EXIT_REGISTER(2, rdx)
		EXIT_REGISTER(3, rbx)
		EXIT_REGISTER(4, rsp)
		EXIT_REGISTER(5, rbp)
		EXIT_REGISTER(6, rsi)
		EXIT_REGISTER(7, rdi)
		EXIT_REGISTER(8, r8)
		EXIT_REGISTER(9, r9)
		EXIT_REGISTER(10, r10)
		EXIT_REGISTER(11, r11)
		EXIT_REGISTER(12, r12)
		EXIT_REGISTER(13, r13)
		EXIT_REGISTER(14, r14)
		EXIT_REGISTER(15, r15)
		EXIT_REGISTER(EXIT_RIP, rip)
	}
	return value;
}

/* Does the condition of a Jcc hold? Intel SDM, volume 1, appendix B. */
static __always_inline _Bool exit_condition(__u64 flags, __u32 condition)
{
	_Bool carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1;
	_Bool sign = flags >> 7 & 1, overflow = flags >> 11 & 1, holds;

	switch (condition >> 1) {
	case 0:
		holds = overflow;
		break;
	case 1:
		holds = carry;
		break;
	case 2:
		holds = zero;
		break;
	case 3:
		holds = carry | zero;
		break;
	case 4:
		holds = sign;
		break;
	case 5:
		holds = parity;
		break;
	case 6:
		holds = sign != overflow;
		break;
	default:
		holds = zero | (sign != overflow);
	}
	return holds != (condition & 1);
}

static __always_inline _Bool exit_leads_outside(struct pt_regs *ctx,
                                                const struct af_bpf_exit_site *at)
{
	__u64 target = exit_register(ctx, at->base);

	if (at->how == EXIT_TO_MEMORY) {
		target += exit_register(ctx, at->index) * at->scale + at->add;
		if (bpf_probe_read_user(&target, sizeof target, (void *)target))
			return 0;
	}
	target -= ctx->rip - at->address;
#pragma unroll
	for (int i = 0; i < AF_BPF_PARTS; i++)
		if (target - at->starts[i] < at->sizes[i])
			return 0;
	return 1;
}

/* Does the instruction leave its function, for good or to another function? */
static __always_inline _Bool exit_is(struct pt_regs *ctx, const struct af_bpf_exit_site *at)
{
	if (at->how == EXIT_ALWAYS)
		return 1;
	if (at->how == EXIT_IF)
		return exit_condition(ctx->eflags, at->condition);
	return exit_leads_outside(ctx, at);
}

#endif
