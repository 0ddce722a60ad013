/*
 * Samples of what runs, by the clock of a CPU (cpu_sample) and by a thread's own event
 * (task_sample).
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_SAMPLES_BPF_H
#define AF_BPF_SAMPLES_BPF_H

#include "bpf/balance.bpf.h"

static __always_inline _Bool user_mode(const struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_x86)
	return (ctx->regs.cs & 3) == 3;
#else
#error "user_mode() is not written for this machine"
#endif
}

static __always_inline void sample(struct bpf_perf_event_data *ctx, _Bool kernel, _Bool user,
                                   __u32 joins, __u64 periods)
{
	struct af_bpf_stacks *s = scratch(SCRATCH_SAMPLE);

	if (!s)
		return;
	head_fill(&s->head, AF_BPF_SAMPLE, (void *)bpf_get_current_task());
	s->what = joins;
	s->wake = periods;
	stacks_take(ctx, s, kernel, user, kernel ? 0 : (const struct pt_regs *)&ctx->regs);
	stacks_emit(s);
}

/*
 * In place of libaflame, which finds whole stacks: the rest of the page that the stack's top is in,
 * and the next one unless it is the stack's end.
 */
static __always_inline void sample_whole(struct bpf_perf_event_data *ctx, _Bool kernel,
                                         __u64 periods)
{
	__u32 zero = 0;
	struct whole *w = bpf_map_lookup_elem(&whole_scratch, &zero);

	if (!w)
		return;
	struct af_bpf_stacks *s = &w->s;
	head_fill(&s->head, AF_BPF_SAMPLE, (void *)bpf_get_current_task());
	s->what = 0;
	s->wake = periods;
	stacks_take(ctx, s, kernel, 1, kernel ? 0 : (const struct pt_regs *)&ctx->regs);
	__u64 used = (__u64)s->kernel_bytes + s->user_bytes;
	__u64 rest = KERN_PAGE - (s->sp & (KERN_PAGE - 1));
	asm volatile("" : "+r"(used), "+r"(rest));
	if (used > (AF_BPF_KERNEL_MAX + AF_BPF_USER_MAX) * 8 || rest > KERN_PAGE)
		return;
	char *to = (char *)s->pcs + used;
	if (s->stack_bytes && !bpf_probe_read_user(to, rest, (void *)s->sp)) {
		s->stack_bytes = rest & ~7u;
		if (!(rest & 7) &&
		    !bpf_probe_read_user(to + rest, KERN_PAGE, (void *)(s->sp + rest)))
			s->stack_bytes = rest + KERN_PAGE;
	}
	used += s->stack_bytes;
	asm volatile("" : "+r"(used));
	if (used <= sizeof s->pcs + sizeof w->more)
		emit(s, __builtin_offsetof(struct af_bpf_stacks, pcs) + used);
}

/*
 * On the clock of each CPU: everybody in scope who has no event of their own, and what that misses.
 */
SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	if (!(__u32)bpf_get_current_pid_tgid())
		return 0; /* idle */
	__u32 pid = seen_current();
	if (!in_scope(pid))
		return 0;
	if (silent) { /* what is used meanwhile is not missing */
		__u32 tid = bpf_get_current_pid_tgid();
		bpf_map_delete_elem(&balances, &tid);
		return 0;
	}
	_Bool user = user_mode(ctx);
	struct af_bpf_covered *c = bpf_map_lookup_elem(&covered, &pid);
	if (c && (c->how == AF_BPF_COVER_ALL || user)) {
		__u64 periods = missed(c);
		if (periods)
			sample_whole(ctx, !user, periods);
		return 0;
	}
	__u64 periods = c ? 1 : due();
	if (periods)
		sample(ctx, !user, 1, 0, periods);
	return 0;
}

/* Is the thread in the system call execve() or execveat()? */
static __always_inline _Bool in_execve(const struct task_struct *task)
{
	struct pt_regs regs;

	return registers_by_segments(task, &regs) &&
	       (regs.orig_rax == KERN_NR_EXECVE || regs.orig_rax == KERN_NR_EXECVEAT);
}

/*
 * On the event of a process that carries libaflame. In user mode its handler takes the stack; in
 * the kernel the signal waits for the way out, and what is on top is seen only from here. Some must
 * not be sent it, and are sampled whole from here: a thread that is exiting never goes out, one
 * that goes out of execve() is another program, which the signal would end, a debugger would stop
 * at it, and one that blocks it by the bare system call (libaflame sees all others) has it pending.
 */
SEC("perf_event")
int task_sample(struct bpf_perf_event_data *ctx)
{
	__u32 pid = seen_current();
	struct af_bpf_covered *c = bpf_map_lookup_elem(&covered, &pid);
	if (c && !silent) {
		__sync_fetch_and_add(&c->nr_own, 1);
		struct balance *b = balance_of(c);
		if (b) {
			b->lead--;
			b->nr++;
			account(c, b);
		}
	}
	const struct task_struct *task = (void *)bpf_get_current_task();
	_Bool user = user_mode(ctx), exits = BPF_CORE_READ(task, flags) & KERN_PF_EXITING;
	_Bool mute = mutes && (BPF_CORE_READ(task, ptrace) || blocks_samples(task) ||
	                       (!user && in_execve(task)));
	if (!silent && (!user || mute))
		sample(ctx, !user, exits || mute, !exits && !mute, 1);
	return !mute;
}

#endif
