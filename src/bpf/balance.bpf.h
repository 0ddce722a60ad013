/*
 * The CPU time of a thread that samples stand for, and the time that it used: which thread lacks
 * samples.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_BALANCE_BPF_H
#define AF_BPF_BALANCE_BPF_H

#include "bpf/stacks.bpf.h"

/*
 * The event of a thread begins to count when the thread does, so it never sees what is over before
 * the first period is, and of the rest it misses half a period on average: of a thousand threads
 * that live for microseconds, everything. The clock of the CPU takes this half.
 */
static __always_inline _Bool is_young(const struct af_bpf_covered *c)
{
	__u64 start = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), start_time);

	if (c->since_ns > start)
		start = c->since_ns;
	return bpf_ktime_get_ns() - start < period_ns / 2;
}

/*
 * While libaflame's handler runs, the signal of a tick comes a moment later:
 * base/system/handler_mask.h.
 */
static __always_inline _Bool blocks_samples(const struct task_struct *task)
{
	return af_blocks_samples(BPF_CORE_READ(task, blocked.sig[0]), KERN_SIGTRAP);
}

static __always_inline _Bool in_handler(const struct task_struct *task)
{
	return BPF_CORE_READ(task, blocked.sig[0]) & AF_SIGNAL_BIT(KERN_SIGTRAP) &&
	       !blocks_samples(task);
}

static __always_inline __u64 cpu_time(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), se.sum_exec_runtime);
}

/*
 * The account of the running thread, since its process is sampled as @c says (NULL: by the clock of
 * the CPU). A thread of which nothing is remembered, and which is not new, is held to account from
 * now on. One that has just executed another program has the samples that it had before.
 */
static __always_inline struct balance *balance_of(const struct af_bpf_covered *c)
{
	__u64 since_ns = c ? c->since_ns : begun_ns, used_ns = cpu_time();
	__u32 tid = bpf_get_current_pid_tgid();
	struct balance *b = bpf_map_lookup_elem(&balances, &tid);

	if (b && b->since_ns == since_ns)
		return b;
	struct balance fresh = {.since_ns = since_ns, .whole = !c || c->how == AF_BPF_COVER_ALL};
	if (b) {
		__u64 lacks_ns = used_ns - b->base_ns - b->nr * period_ns;
		if (!b->whole || lacks_ns > AF_BPF_NEW * period_ns)
			lacks_ns = 0; /* it has all, or was another thread that had this number */
		fresh.base_ns = fresh.seen_ns = used_ns - lacks_ns;
	} else if (BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), start_time) <
	               since_ns ||
	           used_ns > AF_BPF_NEW * period_ns)
		fresh.base_ns = fresh.seen_ns = used_ns;
	bpf_map_update_elem(&balances, &tid, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&balances, &tid);
}

/* The kernel adds up what a thread used at each switch, and between two of these now and then. */
static __always_inline _Bool is_ahead(const struct balance *b, __u64 periods)
{
	return b->nr * period_ns > cpu_time() - b->base_ns + KERN_TICK_NS + periods * period_ns;
}

/* Not of one that ends: on_exit() may have been there. */
static __always_inline void account(struct af_bpf_covered *c, struct balance *b)
{
	__u64 used_ns = cpu_time();

	if (BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags) & KERN_PF_EXITING)
		return;
	__sync_fetch_and_add(&c->live_ns, used_ns - b->seen_ns);
	b->seen_ns = used_ns;
}

/* The CPU time of @c's process since then. The kernel has the exact sum of threads that ended. */
static __always_inline __u64 process_time(struct af_bpf_covered *c)
{
	__u64 ended_ns =
	    BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), signal, sum_sched_runtime);

	if (c->ended_ns == ~0ull)
		c->ended_ns = ended_ns;
	return ended_ns - c->ended_ns + c->live_ns;
}

/* Whole periods by which @nr of them are behind @used_ns. */
static __always_inline __u64 behind(__u64 used_ns, __u64 nr)
{
	__u64 have_ns = (nr + AF_BPF_BEHIND) * period_ns;

	return (__s64)(used_ns - have_ns) < 0 ? 0 : (used_ns - have_ns) / period_ns + 1;
}

/*
 * The kernel charges a thread that another CPU wakes from the moment of the wake-up, and not when
 * it begins to run (rq_clock_skip_update()): a few microseconds at each wait, in which every clock
 * finds the idle task or somebody else. Samples of such a thread stand for them. Returns the
 * periods by which both it and its process are behind their CPU times; @young: it alone need not
 * be, as it has had no time for that.
 */
static __always_inline __u64 catch_up(struct af_bpf_covered *c, struct balance *b, _Bool young)
{
	__u64 own = behind(cpu_time() - b->base_ns, b->nr),
	      all = behind(process_time(c), c->nr_own);
	__u64 periods = young || all < own ? all : own;

	b->nr += periods;
	__sync_fetch_and_add(&c->nr_own, periods);
	__sync_fetch_and_add(&c->nr_clock, periods);
	return periods;
}

/* Does @c's thread, on whose CPU the clock ticks, lack a sample? */
static __always_inline _Bool lacks_sample(const struct af_bpf_covered *c, struct balance *b,
                                          _Bool handler)
{
	b->lead++; /* one CPU at a time has the thread */
	if (b->lead < 1 || (__s64)(c->nr_own - c->nr_clock) >= -AF_BPF_TICKS_BY_CHANCE ||
	    is_ahead(b, AF_BPF_TICKS_BY_CHANCE) || handler)
		return 0;
	b->lead--;
	return 1;
}

/*
 * The event of a thread may miss CPU time between two waits: it is stopped and set again at each
 * switch, and between two of one program the kernel swaps it with that of a thread that then ends,
 * with what was left of its period (perf_event_context_sched_out()). The clock of the CPU has as
 * many ticks as the events, but for a few by chance: while a process has fewer than these from its
 * events, a thread that lacks one is sampled from here, and no young one when it has more. What
 * takes turns with the clock may be found by it too often: the thread's CPU time is the limit.
 * Returns the periods that a sample is to stand for, 0: none is missing.
 */
static __always_inline __u64 missed(struct af_bpf_covered *c)
{
	struct balance *b = balance_of(c);
	_Bool young = is_young(c), lacks = young, handler;

	__sync_fetch_and_add(&c->nr_clock, 1);
	if (c->how != AF_BPF_COVER_ALL || !b)
		return young;
	account(c, b);
	handler = in_handler((void *)bpf_get_current_task());
	if (young)
		lacks = (__s64)(c->nr_own - c->nr_clock) < AF_BPF_TICKS_BY_CHANCE;
	else
		lacks = lacks_sample(c, b, handler);
	/* Chance must not only add: what it gave too much is not given again. */
	if (lacks &&
	    c->nr_own * period_ns > process_time(c) + KERN_TICK_NS + AF_BPF_BEHIND * period_ns)
		lacks = 0;
	if (lacks) {
		__sync_fetch_and_add(&c->nr_own, 1);
		b->nr++;
	}
	return handler ? lacks : lacks + catch_up(c, b, young);
}

/* The same of a thread that has no event, of as many ticks as its CPU time has periods. */
static __always_inline __u64 due(void)
{
	struct balance *b = balance_of(0);

	if (!b)
		return 1;
	if (is_ahead(b, AF_BPF_BEHIND))
		return 0;
	__u64 periods = 1 + behind(cpu_time() - b->base_ns, b->nr + 1);
	b->nr += periods;
	return periods;
}

#endif
