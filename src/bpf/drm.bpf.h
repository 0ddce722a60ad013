/*
 * Work that the kernel's GPU drivers do for processes: calls of the drivers (functions of modules,
 * by their BTF), and trace points of the scheduler that most drivers share, of i915 and of fences:
 * when a piece of work was queued, given to the device, and done. collect/bpf/drm.c and
 * collect/batches choose those that the running kernel has.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_DRM_BPF_H
#define AF_BPF_DRM_BPF_H

#include "bpf/calls.bpf.h"

/* Work in flight, by the address of the fence that it ends with. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct af_bpf_work);
} works SEC(".maps");

/* The calling thread's entry of `callers`, with its user stack; NULL: not in scope. */
static __always_inline struct af_bpf_stacks *driver_caller(void *ctx, __u32 kind)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tid = bpf_get_current_pid_tgid();

	if (silent || !in_scope(seen_current()) || BPF_CORE_READ(task, flags) & KERN_PF_KTHREAD)
		return 0;
	struct af_bpf_stacks *s = kept_of(&callers, tid, AF_BPF_COUNT_NO_CALLER);
	if (!s)
		return 0;
	head_fill(&s->head, kind, task);
	stacks_take(ctx, s, 0, 1, 0);
	/* There is no kernel part: more of the stack finds room. */
	__u64 used = s->user_bytes;
	if (s->stack_bytes && used <= AF_BPF_USER_MAX * 8 &&
	    !bpf_probe_read_user((void *)s->pcs + used, AF_BPF_CALL_WORDS_MAX * 8, (void *)s->sp))
		s->stack_bytes = AF_BPF_CALL_WORDS_MAX * 8;
	return s;
}

static __always_inline int driver_call(void *ctx, __u32 hook)
{
	struct af_bpf_stacks *s = driver_caller(ctx, AF_BPF_DRIVER_CALL);

	if (s) {
		s->what = hook;
		s->wake = 0;
		stacks_emit(s);
	}
	return 0;
}

#define AF_H(hook, module, function, name, category)                                               \
	SEC("fentry/" #function)                                                                   \
	int on_##function(void *ctx)                                                               \
	{                                                                                          \
		return driver_call(ctx, hook);                                                     \
	}
AF_BPF_DRIVER_HOOKS(AF_H)
#undef AF_H

/* The fence that is signalled when the work of @job is done. */
static __always_inline __u64 fence_of(const struct drm_sched_job *job)
{
	return (__u64)&BPF_CORE_READ(job, s_fence)->finished;
}

/* The current process asks for the work that ends with @fence, on a ring of a device. */
static __always_inline int work_queued(void *ctx, __u64 fence, const char *ring, const char *device)
{
	struct af_bpf_stacks *s = driver_caller(ctx, AF_BPF_SUBMIT);
	struct af_bpf_work work = {0};

	if (!s)
		return 0;
	s->what = 0;
	s->wake = fence;
	work.head = s->head;
	work.head.kind = AF_BPF_WORK;
	work.fence = fence;
	work.queued_ns = s->head.time_ns;
	bpf_probe_read_kernel_str(work.ring, sizeof work.ring, ring);
	bpf_probe_read_kernel_str(work.device, sizeof work.device, device);
	bpf_map_update_elem(&works, &fence, &work, BPF_ANY);
	stacks_emit(s);
	return 0;
}

/* The device has done the work that ends with @fence, if it is work that was seen. */
static __always_inline int work_done(__u64 fence)
{
	struct af_bpf_work *work = bpf_map_lookup_elem(&works, &fence);

	if (!work)
		return 0;
	if (!silent) {
		work->head.time_ns = clock_ns();
		emit(work, sizeof *work);
	}
	bpf_map_delete_elem(&works, &fence);
	return 0;
}

/* ---- gpu_scheduler ---- */

/* (struct drm_sched_job *job, …), in the process that asks for the work. */
SEC("raw_tp/drm_sched_job")
int on_work_queued(struct bpf_raw_tracepoint_args *ctx)
{
	const struct drm_sched_job *job = (void *)ctx->args[0];

	return work_queued(ctx, fence_of(job), BPF_CORE_READ(job, sched, name),
	                   BPF_CORE_READ(job, sched, dev, kobj.name));
}

/* The same, in a thread of the scheduler: the device has the work from now on. */
SEC("raw_tp/drm_run_job")
int on_work_run(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 fence = fence_of((void *)ctx->args[0]);
	struct af_bpf_work *work = bpf_map_lookup_elem(&works, &fence);

	if (work)
		work->run_ns = clock_ns();
	return 0;
}

/* (struct drm_sched_fence *fence): the device has done it. */
SEC("raw_tp/drm_sched_process_job")
int on_work_done(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_fence *fence = (void *)ctx->args[0];

	return work_done((__u64)&fence->finished);
}

/* ---- i915, which has a scheduler of its own ---- */

/*
 * (struct i915_request *request, u32 flags), in the process that submits, once for each batch of
 * the submission. That a fence is made (dma_fence_init) would not tell: some versions of i915 do it
 * when they get memory for requests, and use each of them many times.
 */
SEC("raw_tp/i915_request_queue")
int on_i915_queued(struct bpf_raw_tracepoint_args *ctx)
{
	struct i915_request *request = (void *)ctx->args[0];
	struct intel_engine_cs *engine = BPF_CORE_READ(request, engine);
	const struct drm_device *device = (void *)BPF_CORE_READ(engine, i915);

	return work_queued(ctx, (__u64)&request->fence, engine->name,
	                   BPF_CORE_READ(device, dev, kobj.name));
}

/*
 * (struct dma_fence *fence). Fences of gpu_scheduler are signalled here, too: on_work_done() has
 * had those before, or finds nothing afterwards.
 */
SEC("raw_tp/dma_fence_signaled")
int on_fence_done(struct bpf_raw_tracepoint_args *ctx)
{
	return work_done(ctx->args[0]);
}

#endif
