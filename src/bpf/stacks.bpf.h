/*
 * Numbers of a task in the recorder's namespace, and the records that carry its stacks.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_STACKS_BPF_H
#define AF_BPF_STACKS_BPF_H

#include "bpf/state.bpf.h"

/* The number that @task's process or thread has in the recorder's namespace. */
static __always_inline __u32 seen_number(const struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);

	for (unsigned int i = 0; i < 8; i++) {
		if (i > level)
			break;
		struct upid *at = (void *)pid->numbers + i * bpf_core_type_size(struct upid);
		if (BPF_CORE_READ(at, ns, ns.inum) == recorder_ns)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

static __always_inline __u32 innermost_number(const struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);

	if (!pid) /* at the end of its exit */
		return BPF_CORE_READ(task, pid);
	struct upid *at = (void *)pid->numbers + (level & 31) * bpf_core_type_size(struct upid);
	return BPF_CORE_READ(at, nr);
}

static __always_inline __u32 seen_tgid(const struct task_struct *task)
{
	if (!recorder_ns)
		return BPF_CORE_READ(task, tgid);
	return seen_number(BPF_CORE_READ(task, group_leader));
}

static __always_inline __u32 seen_current(void)
{
	if (!recorder_ns)
		return bpf_get_current_pid_tgid() >> 32;
	return seen_number(
	    BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), group_leader));
}

static __always_inline _Bool in_scope(__u32 pid)
{
	if (!pid || pid == recorder_pid)
		return 0;
	return all_processes || bpf_map_lookup_elem(&scope, &pid);
}

/* CLOCK_MONOTONIC as the recorder sees it. */
static __always_inline __u64 clock_ns(void)
{
	return bpf_ktime_get_ns() + ahead_ns;
}

static __always_inline void head_fill(struct af_bpf_head *h, __u32 kind,
                                      const struct task_struct *task)
{
	h->time_ns = clock_ns();
	h->kind = kind;
	h->cpu = bpf_get_smp_processor_id();
	h->pid = seen_tgid(task);
	h->tid = recorder_ns ? seen_number(task) : BPF_CORE_READ(task, pid);
	h->ns_pid = innermost_number(BPF_CORE_READ(task, group_leader));
	h->ns_tid = innermost_number(task);
	bpf_probe_read_kernel(h->comm, sizeof h->comm, task->comm);
}

/*
 * The recorder looks several times a second by itself: waking it for each record would cost more.
 * False: there is no room in the ring.
 */
static __always_inline _Bool emit(void *record, __u64 size)
{
	__u64 flags = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= ring_low ? BPF_RB_FORCE_WAKEUP
	                                                                      : BPF_RB_NO_WAKEUP;

	if (!bpf_ringbuf_output(&ring, record, size, flags))
		return 1;
	__sync_fetch_and_add(&counts[AF_BPF_COUNT_RING_FULL], 1);
	return 0;
}

/* Returns at most @limit; the barrier keeps the compiler from comparing a copy of @n. */
static __always_inline __u64 bytes_of(long n, __u64 limit)
{
	__u64 bytes = n;

	asm volatile("" : "+r"(bytes));
	if ((__s64)bytes < 0)
		return 0;
	return bytes > limit ? limit : bytes;
}

/*
 * The user's registers lie at the top of the kernel's stack, which is THREAD_SIZE large and has two
 * words of padding where the kernel knows FRED. They are what they seem when they hold the program
 * counter that the helper found there.
 */
static __always_inline _Bool user_registers(struct af_bpf_stacks *s, __u64 ip)
{
	const char *stack = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stack);
	struct pt_regs regs;

	for (int i = 0; i < 4; i++) {
		const char *top = stack + (i & 1 ? 32768 : 16384) - (i & 2 ? 16 : 0);
		if (bpf_probe_read_kernel(&regs, sizeof regs, top - sizeof regs) || regs.rip != ip)
			continue;
		s->sp = regs.rsp;
		s->fp = regs.rbp;
		return 1;
	}
	return 0;
}

/* The same where no helper knows it: by the segments of a 64-bit program. */
static __always_inline _Bool registers_by_segments(const struct task_struct *task,
                                                   struct pt_regs *regs)
{
	const char *stack = BPF_CORE_READ(task, stack);

	for (int i = 0; i < 4; i++) {
		const char *top = stack + (i & 1 ? 32768 : 16384) - (i & 2 ? 16 : 0);
		if (!bpf_probe_read_kernel(regs, sizeof *regs, top - sizeof *regs) &&
		    (regs->cs & 0xffff) == 0x33 && (regs->ss & 0xffff) == 0x2b)
			return 1;
	}
	return 0;
}

/*
 * A thread that ends has given its memory back, and no helper finds its stack any more. Where it
 * went into the kernel is all that is left of that.
 */
static __always_inline __u64 last_place(void)
{
	const struct task_struct *task = (void *)bpf_get_current_task();
	struct pt_regs regs;

	if (!(BPF_CORE_READ(task, flags) & KERN_PF_EXITING) || !registers_by_segments(task, &regs))
		return 0;
	return regs.rip;
}

static __always_inline void stacks_take(void *ctx, struct af_bpf_stacks *s, _Bool kernel,
                                        _Bool user, const struct pt_regs *regs)
{
	__u64 used = 0, user_bytes;

	if (kernel)
		used = bytes_of(bpf_get_stack(ctx, s->pcs, AF_BPF_KERNEL_MAX * 8, 0),
		                AF_BPF_KERNEL_MAX * 8);
	s->kernel_bytes = used;
	s->user_bytes = s->stack_bytes = 0;
	if (!user)
		return;
	user_bytes = bytes_of(
	    bpf_get_stack(ctx, (void *)s->pcs + used, AF_BPF_USER_MAX * 8, BPF_F_USER_STACK),
	    AF_BPF_USER_MAX * 8);
	s->user_bytes = user_bytes;
	if (!user_bytes) {
		__u64 ip = last_place();
		if (ip && used <= AF_BPF_KERNEL_MAX * 8 &&
		    !bpf_probe_read_kernel((void *)s->pcs + used, sizeof ip, &ip))
			s->user_bytes = sizeof ip;
		return;
	}
	if (regs) {
		s->sp = regs->rsp;
		s->fp = regs->rbp;
	} else if (!user_registers(s, *(__u64 *)((void *)s->pcs + used))) {
		return;
	}
	used += user_bytes;
	asm volatile("" : "+r"(used));
	if (used > (AF_BPF_KERNEL_MAX + AF_BPF_USER_MAX) * 8)
		return;
	if (!bpf_probe_read_user((void *)s->pcs + used, AF_BPF_WORDS_MAX * 8, (void *)s->sp))
		s->stack_bytes = AF_BPF_WORDS_MAX * 8;
	else if (!bpf_probe_read_user((void *)s->pcs + used, AF_BPF_WORDS_MAX, (void *)s->sp))
		s->stack_bytes = AF_BPF_WORDS_MAX; /* near its end */
}

static __always_inline _Bool stacks_emit(struct af_bpf_stacks *s)
{
	__u64 bytes = (__u64)s->kernel_bytes + s->user_bytes + s->stack_bytes;

	asm volatile("" : "+r"(bytes));
	if (bytes > sizeof s->pcs)
		return 0;
	return emit(s, __builtin_offsetof(struct af_bpf_stacks, pcs) + bytes);
}

static __always_inline struct af_bpf_stacks *scratch(__u32 which)
{
	return bpf_map_lookup_elem(&stacks_scratch, &which);
}

/* The entry of a thread in @map, empty at first. */
static __always_inline struct af_bpf_stacks *kept_of(void *map, __u32 tid, __u32 count)
{
	struct af_bpf_stacks *s = bpf_map_lookup_elem(map, &tid), *empty;

	if (s)
		return s;
	empty = scratch(SCRATCH_SLOT); /* never written to */
	if (empty && bpf_map_update_elem(map, &tid, empty, BPF_ANY))
		__sync_fetch_and_add(&counts[count], 1);
	return bpf_map_lookup_elem(map, &tid);
}

#endif
