// SPDX-License-Identifier: GPL-2.0
/*
 * Queues and work of the stand-in: jobs of the kernel's own scheduler of GPUs, as the real driver's
 * are, so its trace points and those of fences fire. Nothing is computed: a job takes as many
 * milliseconds as the last 12 bits of its address tell, one after the other. Source: Linux 6.15,
 * drivers/gpu/drm/xe/xe_exec.c and xe_exec_queue.c; 6.1, include/drm/gpu_scheduler.h.
 */
#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "xe_standin.h"

/* The queues of a file, by their numbers from 1. */
struct standin_file {
	struct standin_card *card;
	struct xarray queues; /* of drm_sched_entity */
};

/* Completion of a job: the fence that the "hardware" signals. */
struct standin_fence {
	struct dma_fence base;
	spinlock_t lock;
	struct hrtimer timer;
};

struct standin_work {
	struct drm_sched_job base;
	u32 ms;
};

static const char *fence_driver(struct dma_fence *fence)
{
	return "xe";
}

static const char *fence_timeline(struct dma_fence *fence)
{
	return "standin";
}

static const struct dma_fence_ops fence_ops = {
    .get_driver_name = fence_driver,
    .get_timeline_name = fence_timeline,
};

static enum hrtimer_restart fence_due(struct hrtimer *timer)
{
	struct standin_fence *fence = container_of(timer, struct standin_fence, timer);

	dma_fence_signal(&fence->base);
	dma_fence_put(&fence->base);
	return HRTIMER_NORESTART;
}

static struct dma_fence *work_run(struct drm_sched_job *job)
{
	static atomic64_t number;
	struct standin_work *work = container_of(job, struct standin_work, base);
	struct standin_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	struct standin_card *card = container_of(job->sched, struct standin_card, scheduler);

	if (!fence)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &fence_ops, &fence->lock, dma_fence_context_alloc(1),
	               atomic64_inc_return(&number));
	dma_fence_get(&fence->base); /* for the timer */
	if (ktime_before(card->busy_until, ktime_get()))
		card->busy_until = ktime_get();
	card->busy_until = ktime_add_ms(card->busy_until, work->ms);
	hrtimer_init(&fence->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	fence->timer.function = fence_due;
	hrtimer_start(&fence->timer, card->busy_until, HRTIMER_MODE_ABS);
	return &fence->base;
}

static enum drm_gpu_sched_stat work_late(struct drm_sched_job *job)
{
	return DRM_GPU_SCHED_STAT_NOMINAL;
}

static void work_free(struct drm_sched_job *job)
{
	drm_sched_job_cleanup(job);
	kfree(container_of(job, struct standin_work, base));
}

static const struct drm_sched_backend_ops scheduler_ops = {
    .run_job = work_run,
    .timedout_job = work_late,
    .free_job = work_free,
};

int standin_work_init(struct standin_card *card)
{
	const struct drm_sched_init_args args = {
	    .ops = &scheduler_ops,
	    .credit_limit = 4,
	    .timeout = MAX_SCHEDULE_TIMEOUT,
	    .name = "ccs0",
	    .dev = card->drm.dev,
	};

	return drm_sched_init(&card->scheduler, &args);
}

void standin_work_exit(struct standin_card *card)
{
	drm_sched_fini(&card->scheduler);
}

int standin_file_open(struct drm_device *drm, struct drm_file *file)
{
	struct standin_file *own = kzalloc(sizeof(*own), GFP_KERNEL);

	if (!own)
		return -ENOMEM;
	own->card = container_of(drm, struct standin_card, drm);
	xa_init_flags(&own->queues, XA_FLAGS_ALLOC1);
	file->driver_priv = own;
	return 0;
}

void standin_file_close(struct drm_device *drm, struct drm_file *file)
{
	struct standin_file *own = file->driver_priv;
	struct drm_sched_entity *queue;
	unsigned long i;

	xa_for_each(&own->queues, i, queue)
	{
		drm_sched_entity_destroy(queue);
		kfree(queue);
	}
	xa_destroy(&own->queues);
	kfree(own);
}

int standin_queue_create(struct drm_file *file, struct drm_xe_exec_queue_create *arg)
{
	struct standin_file *own = file->driver_priv;
	struct drm_gpu_scheduler *scheduler = &own->card->scheduler;
	struct drm_sched_entity *queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	int err;

	if (!queue)
		return -ENOMEM;
	err = drm_sched_entity_init(queue, DRM_SCHED_PRIORITY_NORMAL, &scheduler, 1, NULL);
	if (err)
		goto no_entity;
	err = xa_alloc(&own->queues, &arg->exec_queue_id, queue, xa_limit_32b, GFP_KERNEL);
	if (err)
		goto no_number;
	return 0;
no_number:
	drm_sched_entity_destroy(queue);
no_entity:
	kfree(queue);
	return err;
}

int standin_exec(struct drm_file *file, const struct drm_xe_exec *arg)
{
	struct standin_file *own = file->driver_priv;
	struct drm_sched_entity *queue = xa_load(&own->queues, arg->exec_queue_id);
	struct standin_work *work;
	int err;

	if (!queue)
		return -ENOENT;
	if (arg->num_batch_buffer != 1)
		return -EINVAL;
	work = kzalloc(sizeof(*work), GFP_KERNEL);
	if (!work)
		return -ENOMEM;
	work->ms = arg->address & 0xfff;
	err = drm_sched_job_init(&work->base, queue, NULL);
	if (err) {
		kfree(work);
		return err;
	}
	drm_sched_job_arm(&work->base);
	drm_sched_entity_push_job(&work->base);
	return 0;
}
