/*
 * A program that asks the stand-in for work of known length, from two call paths: xe_work NODE.
 * draw() asks for 3 pieces of 40 ms, compute() for 2 of 20 ms, on one queue. It waits for them to
 * be done, and carries nothing of aflame's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "xe_uapi.h"

static int card;
static struct drm_xe_exec exec = {.num_batch_buffer = 1};

static __attribute__((noinline)) int submit(unsigned ms)
{
	exec.address = 0x100000 + ms;
	int rc = ioctl(card, XE_IOCTL_EXEC, &exec);
	__asm__ volatile("" ::: "memory"); /* no tail call */
	return rc;
}

static __attribute__((noinline)) int draw(void)
{
	int rc = 0;

	for (int i = 0; i < 3; i++)
		rc |= submit(40);
	__asm__ volatile("" ::: "memory");
	return rc;
}

static __attribute__((noinline)) int compute(void)
{
	int rc = 0;

	for (int i = 0; i < 2; i++)
		rc |= submit(20);
	__asm__ volatile("" ::: "memory");
	return rc;
}

int main(int nr, char **words)
{
	struct drm_xe_exec_queue_create queue = {.width = 1, .num_placements = 1, .vm_id = 1};
	struct drm_xe_vm_bind bind = {.vm_id = 1, .num_binds = 1};
	struct drm_xe_gem_create buffer = {.size = 4096};
	struct drm_xe_gem_mmap_offset offset = {0};
	struct timespec end = {.tv_nsec = 500000000};

	card = nr == 2 ? open(words[1], O_RDWR) : -1;
	if (ioctl(card, XE_IOCTL_QUEUE_CREATE, &queue) || ioctl(card, XE_IOCTL_VM_BIND, &bind) ||
	    ioctl(card, XE_IOCTL_GEM_CREATE, &buffer))
		return 1;
	offset.handle = buffer.handle;
	if (ioctl(card, XE_IOCTL_MMAP_OFFSET, &offset))
		return 1;
	exec.exec_queue_id = queue.exec_queue_id;
	if (draw() || compute())
		return 1;
	nanosleep(&end, NULL);
	puts("done");
	return 0;
}
