/*
 * The programs of the collector `bpf`. Four concerns: what runs (cpu_sample, task_sample), what
 * does not (on_switch, on_waking), who calls a device's API (device_call), and whom all this is
 * about (on_fork, on_exec, on_exit, on_rename). Only helpers and map types of Linux 5.8 are used.
 *
 * License of this file: Dual BSD/GPL, as the kernel asks of programs that use its helpers.
 */
#include "record.h"
#include "base/system/handler_mask.h"
#include "kern.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the recorder before the programs are loaded. */
const volatile __u32 recorder_pid;        /* in its own namespace */
const volatile __u32 recorder_ns;         /* its pid namespace, 0: the initial one */
const volatile __u64 period_ns;           /* of samples */
const volatile __u64 begun_ns;            /* when they began */
const volatile __u64 min_block_ns;        /* shorter blocks are not reported */
const volatile _Bool all_processes;       /* not only those in `scope` */
const volatile _Bool wakers;              /* also who ended a block */
const volatile _Bool mutes;               /* 0 from task_sample() keeps the signal back */
const volatile __u64 ring_low = 64 << 10; /* bytes in the ring that are worth a wake-up */

/* Changed by it at run time. */
_Bool adopts; /* what the recorder forks now is to be recorded */
_Bool silent; /* nothing is recorded, but whom it would be about is followed */
_Bool probes; /* calls of device APIs are seen */

__u64 counts[AF_BPF_COUNTS];

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* Processes to record, by pid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
} scope SEC(".maps");

/* Processes with an event of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct af_bpf_covered);
} covered SEC(".maps");

/* What is sampled of a thread, and what there was. */
struct balance {
	__u64 since_ns; /* when this began */
	__s64 lead;     /* ticks of CPUs' clocks that its own event has not had yet */
	__u64 nr;       /* periods that its samples stand for */
	__u64 base_ns;  /* its CPU time before the first of them */
	__u64 seen_ns;  /* its CPU time that its process's counts */
	__u64 whole;    /* nr stands for all its CPU time, not only for user mode */
};

/* By the kernel's own tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct balance);
} balances SEC(".maps");

/* Threads that were on a CPU once; out_ns is set while they are off it. By the kernel's own tid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, struct af_bpf_stacks);
} slots SEC(".maps");

/*
 * Threads that called a device's API, by the kernel's own tid. A uprobe's program may be preempted,
 * and another thread then be in it on the same CPU: its records are put together here.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct af_bpf_stacks);
} callers SEC(".maps");

/*
 * Where records are put together. A sample may interrupt the making of another kind of record on
 * its CPU, so each kind has its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct af_bpf_stacks);
} stacks_scratch SEC(".maps");

/* A sample with two pages of the user's stack. */
struct whole {
	struct af_bpf_stacks s;
	char more[2 * KERN_PAGE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct whole);
} whole_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct af_bpf_text);
} text_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} wake_numbers SEC(".maps");

enum { SCRATCH_SAMPLE = 0, SCRATCH_WAKE = 1, SCRATCH_SLOT = 2 };

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

static __always_inline void head_fill(struct af_bpf_head *h, __u32 kind,
                                      const struct task_struct *task)
{
	h->time_ns = bpf_ktime_get_ns();
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
 */
static __always_inline void emit(void *record, __u64 size)
{
	__u64 flags = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= ring_low ? BPF_RB_FORCE_WAKEUP
	                                                                      : BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_output(&ring, record, size, flags))
		__sync_fetch_and_add(&counts[AF_BPF_COUNT_RING_FULL], 1);
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

static __always_inline void stacks_emit(struct af_bpf_stacks *s)
{
	__u64 bytes = (__u64)s->kernel_bytes + s->user_bytes + s->stack_bytes;

	asm volatile("" : "+r"(bytes));
	if (bytes > sizeof s->pcs)
		return;
	emit(s, __builtin_offsetof(struct af_bpf_stacks, pcs) + bytes);
}

static __always_inline struct af_bpf_stacks *scratch(__u32 which)
{
	return bpf_map_lookup_elem(&stacks_scratch, &which);
}

/* What @map keeps of a thread, empty at first. */
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

/* ---- what runs ---- */

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
 * Of the thread that runs, since its process is sampled as @c says (NULL: by the clock of the CPU).
 * One of which nothing is remembered, and which is not new, is held to account from now on. One
 * that has just executed another program has the samples that it had before.
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
 * What a thread does between two waits its event may miss: it is stopped and set again at each
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

/* ---- who calls a device's API ---- */

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

static __always_inline void call_take(struct pt_regs *ctx, __u32 kind, __u32 function,
                                      __u32 correlation)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tid = bpf_get_current_pid_tgid();

	if (silent || !in_scope(seen_current()))
		return;
	struct af_bpf_stacks *s = kept_of(&callers, tid, AF_BPF_COUNT_NO_CALLER);
	if (!s)
		return;
	/* Who it is stays the same as long as the entry. */
	if (s->head.kind != kind)
		head_fill(&s->head, kind, task);
	else
		bpf_get_current_comm(s->head.comm, sizeof s->head.comm);
	s->head.time_ns = bpf_ktime_get_ns();
	s->head.cpu = bpf_get_smp_processor_id();
	s->what = function;
	s->wake = correlation;
	caller_stack_take(ctx, s);
	stacks_emit(s);
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

/* ---- what does not run ---- */

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

/* enum af_thread_state of src/trace/event.h */
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
	/* Who it is stays the same as long as the slot. */
	if (!s->head.kind)
		head_fill(&s->head, AF_BPF_OFFCPU, task);
	else
		bpf_get_current_comm(s->head.comm, sizeof s->head.comm);
	s->head.time_ns = bpf_ktime_get_ns();
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
	__u64 now = bpf_ktime_get_ns();
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
	__u64 now = bpf_ktime_get_ns();
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

/* ---- whom it is about ---- */

/* (struct task_struct *parent, struct task_struct *child) */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 pid = seen_tgid(child), from = seen_tgid(parent), one = 1;

	if (all_processes || !pid || pid == from)
		return 0;
	if (in_scope(from) || (adopts && from == recorder_pid))
		bpf_map_update_elem(&scope, &pid, &one, BPF_ANY);
	return 0;
}

/* (struct task_struct *task, pid_t old, struct linux_binprm *bprm): its event is gone. */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct linux_binprm *bprm = (void *)ctx->args[2];
	__u32 pid = seen_current(), zero = 0;

	if (!in_scope(pid))
		return 0;
	bpf_map_delete_elem(&covered, &pid);
	struct af_bpf_text *t = bpf_map_lookup_elem(&text_scratch, &zero);
	if (!t)
		return 0;
	head_fill(&t->head, AF_BPF_EXEC, task);
	t->file_bytes = bytes_of(
	    bpf_probe_read_kernel_str(t->text, AF_BPF_TEXT_MAX, BPF_CORE_READ(bprm, filename)),
	    AF_BPF_TEXT_MAX);
	__u64 start = BPF_CORE_READ(task, mm, arg_start);
	__u64 size = BPF_CORE_READ(task, mm, arg_end) - start;
	if (size > AF_BPF_TEXT_MAX)
		size = AF_BPF_TEXT_MAX;
	t->args_bytes = 0;
	if (!bpf_probe_read_user(t->text + AF_BPF_TEXT_MAX, size, (void *)start))
		t->args_bytes = size;
	emit(t, sizeof *t);
	return 0;
}

static __always_inline void exit_usage(struct af_bpf_exit *e, const struct task_struct *task)
{
	e->utime += BPF_CORE_READ(task, utime);
	e->stime += BPF_CORE_READ(task, stime);
	e->runtime_ns += BPF_CORE_READ(task, se.sum_exec_runtime);
}

static __always_inline void thread_exit(const struct task_struct *task)
{
	struct af_bpf_thread_exit e = {
	    .utime = BPF_CORE_READ(task, utime),
	    .stime = BPF_CORE_READ(task, stime),
	    .runtime_ns = BPF_CORE_READ(task, se.sum_exec_runtime),
	};

	head_fill(&e.head, AF_BPF_THREAD_EXIT, task);
	emit(&e, sizeof e);
}

/* (struct task_struct *task, …): each thread; the last one speaks for the process. */
SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct *task = (void *)ctx->args[0];
	const struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	const struct signal_struct *signal = BPF_CORE_READ(task, signal);
	__u32 tid = bpf_get_current_pid_tgid();

	if (probes)
		bpf_map_delete_elem(&callers, &tid);
	__u32 pid = seen_current();
	struct af_bpf_covered *c = bpf_map_lookup_elem(&covered, &pid);
	struct balance *b = c && !silent ? balance_of(c) : 0;
	if (b) /* it is among those that ended soon */
		__sync_fetch_and_add(&c->live_ns, -b->seen_ns);
	bpf_map_delete_elem(&balances, &tid);
	if (!in_scope(pid))
		return 0;
	/* Those that end with it are not in its sums yet. */
	if (BPF_CORE_READ(signal, nr_threads) > 1 || BPF_CORE_READ(signal, sum_sched_runtime))
		thread_exit(task);
	if (BPF_CORE_READ(signal, live.counter))
		return 0;
	struct af_bpf_exit e = {
	    .utime = BPF_CORE_READ(signal, utime),
	    .stime = BPF_CORE_READ(signal, stime),
	    .runtime_ns = BPF_CORE_READ(signal, sum_sched_runtime),
	    .max_rss_pages = BPF_CORE_READ(signal, maxrss),
	};
	head_fill(&e.head, AF_BPF_EXIT, task);
	exit_usage(&e, task);
	if (leader != task)
		exit_usage(&e, leader);
	e.status = BPF_CORE_READ(signal, group_exit_code);
	if (!e.status)
		e.status = BPF_CORE_READ(task, exit_code);
	emit(&e, sizeof e);
	return 0;
}

/* (struct task_struct *task, const char *comm), before the change */
SEC("raw_tp/task_rename")
int on_rename(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct *task = (void *)ctx->args[0];
	struct af_bpf_head h = {};

	if (!in_scope(seen_tgid(task)))
		return 0;
	head_fill(&h, AF_BPF_COMM, task);
	bpf_probe_read_kernel_str(h.comm, sizeof h.comm, (void *)ctx->args[1]);
	emit(&h, sizeof h);
	return 0;
}
