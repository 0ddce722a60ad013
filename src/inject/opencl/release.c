/*
 * References to programs and kernels: when the last one goes, a program's code leaves the device
 * (OpenCL 3.0, 5.8.1 and 5.9.1: a program is deleted when its reference count is zero and all its
 * kernels are). Work that was enqueued goes on running it, so the code is there until no work is in
 * flight, or until other code is placed.
 */
#include "inject/opencl/opencl.h"

#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/lock.h"
#include "inject/intel/placed.h"

enum { WAITING_MOST = 64 };

static struct af_fork_lock lock = AF_FORK_LOCK;        /* of all that follows */
static struct af_handles holders = AF_HANDLES_INIT;    /* of programs → references and kernels */
static struct af_handles references = AF_HANDLES_INIT; /* of kernels */
static struct af_handles owners = AF_HANDLES_INIT;     /* of kernels → their program's handle */
static uint32_t waiting[WAITING_MOST];                 /* ids of programs that are gone */
static _Atomic uint32_t nr_waiting;

/* Change the count of @handle, where it is known; true: it has become 0. Under the lock. */
static bool count_change(struct af_handles *h, const void *handle, int by)
{
	uint64_t was = af_handles_get(h, (uintptr_t)handle);

	if (was)
		af_handles_set(h, (uintptr_t)handle, was + (uint64_t)by);
	return was && was + (uint64_t)by == 0;
}

void af_opencl_program_made(cl_program program)
{
	af_fork_lock(&lock);
	af_handles_set(&holders, (uintptr_t)program, 1);
	af_fork_unlock(&lock);
}

void af_opencl_kernel_made(cl_kernel kernel, cl_program program)
{
	af_fork_lock(&lock);
	af_handles_set(&references, (uintptr_t)kernel, 1);
	af_handles_set(&owners, (uintptr_t)kernel, (uintptr_t)program);
	count_change(&holders, program, 1);
	af_fork_unlock(&lock);
}

static bool is_idle(void)
{
	uint32_t nr = af_opencl_nr_queues();

	for (uint32_t i = 0; i < nr; i++) {
		const struct af_opencl_queue *q = af_opencl_queue_at(i);
		if (q && atomic_load_explicit(&q->nr_pending, memory_order_relaxed))
			return false;
	}
	return true;
}

/* One of those that wait, or 0. */
static uint32_t waiting_take(void)
{
	af_fork_lock(&lock);
	uint32_t nr = atomic_load(&nr_waiting), id = nr ? waiting[nr - 1] : 0;
	if (nr)
		atomic_store(&nr_waiting, nr - 1);
	af_fork_unlock(&lock);
	return id;
}

void af_opencl_codes_tidy(bool all)
{
	uint32_t id;

	if (!atomic_load_explicit(&nr_waiting, memory_order_relaxed) || (!all && !is_idle()))
		return;
	while ((id = waiting_take()))
		af_placed_drop(id);
}

/* The table is full: what waits goes at once. */
static void program_gone(uint32_t id)
{
	if (atomic_load(&nr_waiting) == WAITING_MOST)
		af_opencl_codes_tidy(true);
	af_fork_lock(&lock);
	uint32_t nr = atomic_load(&nr_waiting);
	if (nr < WAITING_MOST) {
		waiting[nr] = id;
		atomic_store(&nr_waiting, nr + 1);
	}
	af_fork_unlock(&lock);
	af_opencl_harvest_all();
	af_opencl_codes_tidy(false);
}

/* Before the driver is called, which may give the place to other code. */
void af_opencl_program_released(cl_program program)
{
	af_fork_lock(&lock);
	bool gone = count_change(&holders, program, -1);
	af_fork_unlock(&lock);
	if (gone)
		program_gone(af_opencl_program(program));
}

static void kernel_released(cl_kernel kernel)
{
	cl_program program = NULL;

	af_fork_lock(&lock);
	if (count_change(&references, kernel, -1))
		program = (cl_program)(uintptr_t)af_handles_get(&owners, (uintptr_t)kernel);
	if (program)
		af_handles_set(&owners, (uintptr_t)kernel, 0);
	af_fork_unlock(&lock);
	if (program)
		af_opencl_program_released(program);
}

static bool is_recorded(void)
{
	if (!af_inject_session())
		return false;
	af_opencl_check_fork();
	return true;
}

static void retained(struct af_handles *h, const void *handle)
{
	if (!is_recorded())
		return;
	af_fork_lock(&lock);
	count_change(h, handle, 1);
	af_fork_unlock(&lock);
}

static cl_int CL_API_CALL opencl_retain_program(cl_program program)
{
	cl_int rc = af_opencl_next.clRetainProgram(program);

	if (!rc)
		retained(&holders, program);
	return rc;
}

static cl_int CL_API_CALL opencl_retain_kernel(cl_kernel kernel)
{
	cl_int rc = af_opencl_next.clRetainKernel(kernel);

	if (!rc)
		retained(&references, kernel);
	return rc;
}

static cl_int CL_API_CALL opencl_release_kernel(cl_kernel kernel)
{
	if (kernel && is_recorded())
		kernel_released(kernel);
	return af_opencl_next.clReleaseKernel(kernel);
}

void af_opencl_wrap_releases(struct _cl_icd_dispatch *d)
{
	d->clRetainProgram = opencl_retain_program;
	d->clRetainKernel = opencl_retain_kernel;
	d->clReleaseKernel = opencl_release_kernel;
}

void af_opencl_releases_after_fork(void)
{
	af_handles_after_fork(&holders);
	af_handles_after_fork(&references);
	af_handles_after_fork(&owners);
	atomic_store(&nr_waiting, 0);
}
