/*
 * Threads that do not run: they block or queue (on_switch), and others wake them (on_waking).
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_WAITS_BPF_H
#define AF_BPF_WAITS_BPF_H

#include "bpf/stacks.bpf.h"

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

/* enum af_thread_state of include/aflame/event.h */
static __always_inline __u32 state_code(__u32 state)
{
	if (!(state & 0x7f))
		return 0;
	if (state & KERN_TASK_INTERRUPTIBLE)
		return 1;
	if (state & KERN_TASK_UNINTERRUPTIBLE)
		return state & KERN_TASK_NOLOAD ? 6 : 2;
	if (state & KERN_TASK_STOPPED)
		return 3;
	if (state & KERN_TASK_TRACED)
		return 4;
	return state & KERN_TASK_PARKED ? 5 : 0;
}

static __always_inline void switch_out(void *ctx, struct task_struct *task, _Bool preempted)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (silent || !tid || !in_scope(seen_current()))
		return;
	__u32 state = task_state(task);
	if (!preempted && state & KERN_TASK_EXIT) {
		bpf_map_delete_elem(&slots, &tid);
		return;
	}
	if (all_processes && BPF_CORE_READ(task, flags) & KERN_PF_KTHREAD)
		return; /* they sleep for a living */
	struct af_bpf_stacks *s = kept_of(&slots, tid, AF_BPF_COUNT_NO_SLOT);
	if (!s)
		return;
	/* The thread's identity stays the same as long as the slot. */
	if (!s->head.kind)
		head_fill(&s->head, AF_BPF_OFFCPU, task);
	else
		bpf_get_current_comm(s->head.comm, sizeof s->head.comm);
	s->head.time_ns = clock_ns();
	s->what = preempted ? 0 : state_code(state);
	s->woken_ns = s->wake = 0;
	stacks_take(ctx, s, 1, 1, 0);
	s->out_ns = s->head.time_ns;
}

static __always_inline void switch_in(const struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid);
	struct af_bpf_stacks *s = bpf_map_lookup_elem(&slots, &tid);

	if (!s || !s->out_ns)
		return;
	__u64 now = clock_ns();
	if (!silent && now - s->out_ns >= min_block_ns) {
		s->head.time_ns = now;
		s->head.cpu = bpf_get_smp_processor_id();
		stacks_emit(s);
	}
	s->out_ns = 0;
}

/* (bool preempt, struct task_struct *prev, struct task_struct *next, …) */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	switch_out(ctx, (void *)ctx->args[1], ctx->args[0]);
	switch_in((void *)ctx->args[2]);
	return 0;
}

/* (struct task_struct *p), in the waker: the moment, and who it was. */
SEC("raw_tp/sched_waking")
int on_waking(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct *task = (void *)ctx->args[0];
	__u32 tid = BPF_CORE_READ(task, pid), zero = 0;
	struct af_bpf_stacks *s = bpf_map_lookup_elem(&slots, &tid), *w;

	if (!s || !s->out_ns || s->woken_ns)
		return 0;
	__u64 now = clock_ns();
	s->woken_ns = now;
	if (!wakers || silent || now - s->out_ns < min_block_ns)
		return 0;
	__u64 *number = bpf_map_lookup_elem(&wake_numbers, &zero);
	w = scratch(SCRATCH_WAKE);
	if (!number || !w)
		return 0;
	head_fill(&w->head, AF_BPF_WAKE, (void *)bpf_get_current_task());
	w->wake = ++*number << 12 | w->head.cpu;
	w->what = s->head.ns_tid;
	s->wake = w->wake;
	stacks_take(ctx, w, 1, 1, 0);
	stacks_emit(w);
	return 0;
}

#endif
