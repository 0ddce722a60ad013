/*
 * Calls of a device's API, at uprobes (device_call).
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_CALLS_BPF_H
#define AF_BPF_CALLS_BPF_H

#include "bpf/stacks.bpf.h"

static __always_inline void caller_stack_take(struct pt_regs *ctx, struct af_bpf_stacks *s)
{
	__u64 used = bytes_of(bpf_get_stack(ctx, s->pcs, AF_BPF_USER_MAX * 8, BPF_F_USER_STACK),
	                      AF_BPF_USER_MAX * 8);

	s->kernel_bytes = 0;
	s->user_bytes = used;
	s->stack_bytes = 0;
	s->sp = ctx->rsp;
	s->fp = ctx->rbp;
	if (!bpf_probe_read_user((void *)s->pcs + used, AF_BPF_CALL_WORDS_MAX * 8, (void *)s->sp))
		s->stack_bytes = AF_BPF_CALL_WORDS_MAX * 8;
	else if (!bpf_probe_read_user((void *)s->pcs + used, AF_BPF_WORDS_MAX, (void *)s->sp))
		s->stack_bytes = AF_BPF_WORDS_MAX;
}

/*
 * False: the call has no record. @begin_ns and @end_ns are of a call that is over, else 0 and the
 * time now.
 */
static __always_inline _Bool call_record(struct pt_regs *ctx, __u32 kind, __u32 function,
                                         __u64 number, __u64 begin_ns, __u64 end_ns)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tid = bpf_get_current_pid_tgid();
	struct af_bpf_stacks *s = kept_of(&callers, tid, AF_BPF_COUNT_NO_CALLER);

	if (!s)
		return 0;
	/* The thread's identity stays the same as long as the entry. */
	if (s->head.kind != kind)
		head_fill(&s->head, kind, task);
	else
		bpf_get_current_comm(s->head.comm, sizeof s->head.comm);
	s->head.time_ns = end_ns;
	s->head.cpu = bpf_get_smp_processor_id();
	s->what = function;
	s->wake = number;
	s->out_ns = begin_ns;
	caller_stack_take(ctx, s);
	return stacks_emit(s);
}

static __always_inline void call_take(struct pt_regs *ctx, __u32 kind, __u32 function,
                                      __u32 correlation)
{
	if (!silent && in_scope(seen_current()))
		call_record(ctx, kind, function, correlation, 0, clock_ns());
}

/* At the entry of a function of the API: its address says which. */
SEC("uprobe")
int device_call(struct pt_regs *ctx)
{
	call_take(ctx, AF_BPF_CALL, 0, 0);
	return 0;
}

/* At libaflame's aflame:cuda_call, which says which (inject/cuda/call.c). */
SEC("uprobe")
int recorded_call(struct pt_regs *ctx)
{
	call_take(ctx, AF_BPF_RECORDED_CALL, ctx->rdi, ctx->rsi);
	return 0;
}

#endif
