#include "collect/batches/points.h"

#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/record.skel.h"
#include "collect/batches/hooks.h"

/* The scheduler's types: it is a module, or a part of the kernel. */
static bool has_scheduler(const struct btf *kernel)
{
	return !access("/sys/kernel/btf/gpu_sched", R_OK) ||
	       btf__find_by_name_kind(kernel, "drm_sched_job", BTF_KIND_STRUCT) > 0;
}

static bool has_i915(const struct btf *kernel)
{
	struct af_module_types types = {.kernel = kernel};
	bool has = af_module_has(&types, "i915", "i915_gem_execbuffer2_ioctl");

	af_module_types_close(&types);
	return has;
}

unsigned af_work_points_choose(struct record_bpf *p, const struct btf *kernel)
{
	bool scheduler = kernel && has_scheduler(kernel), i915 = kernel && has_i915(kernel);

	bpf_program__set_autoload(p->progs.on_work_queued, scheduler);
	bpf_program__set_autoload(p->progs.on_work_run, scheduler);
	bpf_program__set_autoload(p->progs.on_work_done, scheduler);
	bpf_program__set_autoload(p->progs.on_i915_queued, i915);
	bpf_program__set_autoload(p->progs.on_fence_done, i915);
	if (!scheduler && !i915)
		bpf_map__set_max_entries(p->maps.works, 1);
	return (scheduler ? AF_WORK_SCHEDULER : 0u) | (i915 ? AF_WORK_I915 : 0u);
}

static struct bpf_link *point_attach(struct bpf_program *program, const char *name)
{
	return bpf_program__attach_raw_tracepoint(program, name);
}

/* The trace point's name before Linux 6.17, or the one since then. */
static struct bpf_link *either_attach(struct bpf_program *program, const char *name,
                                      const char *later)
{
	struct bpf_link *link = point_attach(program, name);

	return link ? link : point_attach(program, later);
}

static bool scheduler_attach(struct record_bpf *p)
{
	if (!bpf_program__autoload(p->progs.on_work_queued))
		return false;
	p->links.on_work_done =
	    either_attach(p->progs.on_work_done, "drm_sched_process_job", "drm_sched_job_done");
	p->links.on_work_run =
	    either_attach(p->progs.on_work_run, "drm_run_job", "drm_sched_job_run");
	if (!p->links.on_work_done || !p->links.on_work_run)
		return false;
	p->links.on_work_queued =
	    either_attach(p->progs.on_work_queued, "drm_sched_job", "drm_sched_job_queue");
	return p->links.on_work_queued != NULL;
}

static bool i915_attach(struct record_bpf *p)
{
	if (!bpf_program__autoload(p->progs.on_i915_queued))
		return false;
	p->links.on_fence_done = point_attach(p->progs.on_fence_done, "dma_fence_signaled");
	if (!p->links.on_fence_done)
		return false;
	p->links.on_i915_queued = point_attach(p->progs.on_i915_queued, "i915_request_queue");
	return p->links.on_i915_queued != NULL;
}

unsigned af_work_points_attach(struct record_bpf *p)
{
	return (scheduler_attach(p) ? AF_WORK_SCHEDULER : 0u) |
	       (i915_attach(p) ? AF_WORK_I915 : 0u);
}

const char *af_work_points_name(unsigned points)
{
	static const char *const names[] = {"none", "by gpu_scheduler", "of i915",
	                                    "by gpu_scheduler, of i915"};

	return names[points & (AF_WORK_SCHEDULER | AF_WORK_I915)];
}
