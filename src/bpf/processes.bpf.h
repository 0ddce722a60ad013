/*
 * Forks, execs, exits and names of threads (on_fork, on_exec, on_exit, on_rename).
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_PROCESSES_BPF_H
#define AF_BPF_PROCESSES_BPF_H

#include "bpf/balance.bpf.h"
#include "bpf/turns.bpf.h"

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

	if (probes)
		turns_end(ctx->args[1]);
	if (!in_scope(pid))
		return 0;
	bpf_map_delete_elem(&covered, &pid);
	struct af_bpf_text *t = bpf_map_lookup_elem(&text_scratch, &zero);
	if (!t)
		return 0;
	head_fill(&t->head, AF_BPF_EXEC, task);
	t->max_rss_pages = BPF_CORE_READ(task, signal, maxrss);
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

	if (probes) {
		bpf_map_delete_elem(&callers, &tid);
		turns_end(tid);
	}
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

#endif
