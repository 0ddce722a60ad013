/*
 * A program that submits batches to the stand-in from paths of its own: xe_batch NODE ROWS. It
 * carries nothing of aflame's. Each batch lies 200 bytes into its page, so its work takes 200 ms;
 * meanwhile rows of stalls for a kernel of it are written to the file ROWS. The kernels' addresses
 * count from the base 0x800000000000, which each batch sets.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu_batch.h"
#include "xe_uapi.h"

enum {
	PAGE = 4096,
	BYTES = 16 * PAGE, /* of a block of memory */
	AT = BATCH_AT,
};

static int card, rows;
static __u32 queues[3]; /* of the address spaces 1 and 2 */

static void must(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static void wait_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t))
		;
}

/* ---- memory ---- */

static void bind(__u32 vm, const struct drm_xe_vm_bind_op *op)
{
	struct drm_xe_vm_bind bind = {.vm_id = vm, .num_binds = 1, .bind = *op};

	must(!ioctl(card, XE_IOCTL_VM_BIND, &bind), "bind");
}

/* Memory of the process, which the GPU has at @gpu, too. */
static __u32 *own_memory(__u32 vm, __u64 gpu)
{
	void *memory =
	    mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "memory");
	bind(vm,
	     &(struct drm_xe_vm_bind_op){
		 .op = XE_BIND_USERPTR, .obj_offset = (__u64)memory, .range = BYTES, .addr = gpu});
	return memory;
}

static void unbind(__u32 vm, __u64 gpu)
{
	bind(vm, &(struct drm_xe_vm_bind_op){.op = XE_BIND_UNMAP, .range = BYTES, .addr = gpu});
}

static __u32 buffer_make(void)
{
	struct drm_xe_gem_create buffer = {.size = BYTES};

	must(!ioctl(card, XE_IOCTL_GEM_CREATE, &buffer), "buffer");
	return buffer.handle;
}

static void buffer_bind(__u32 vm, __u32 handle, __u64 gpu)
{
	bind(vm, &(struct drm_xe_vm_bind_op){
		     .op = XE_BIND_MAP, .obj = handle, .range = BYTES, .addr = gpu});
}

static void buffer_unbind(__u32 vm, __u32 handle)
{
	bind(vm, &(struct drm_xe_vm_bind_op){.op = XE_BIND_UNMAP_ALL, .obj = handle});
}

static __u32 *buffer_map(__u32 handle)
{
	struct drm_xe_gem_mmap_offset place = {.handle = handle};

	must(!ioctl(card, XE_IOCTL_MMAP_OFFSET, &place), "place");
	void *memory =
	    mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, card, (off_t)place.offset);
	must(memory != MAP_FAILED, "map");
	return memory;
}

/* ---- batches ---- */

/* @count samples of SbidStall at an instruction of @kernel: bits 77 to 84 of a row of Xe2. */
static void rows_write(__u32 kernel, unsigned count)
{
	__u64 row[8] = {(kernel + 16) >> 3, (__u64)count << (77 - 64)};

	must(write(rows, row, sizeof row) == sizeof row, "rows");
}

static __attribute__((noinline)) int submit(__u32 vm, __u64 gpu)
{
	struct drm_xe_exec exec = {
	    .num_batch_buffer = 1, .exec_queue_id = queues[vm], .address = gpu + AT};
	int rc = ioctl(card, XE_IOCTL_EXEC, &exec);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return rc;
}

/* A path of its own for each batch. */
#define PATH(name)                                                                                 \
	static __attribute__((noinline)) void name(__u32 vm, __u64 gpu, __u32 kernel,              \
	                                           unsigned count)                                 \
	{                                                                                          \
		must(!submit(vm, gpu), #name);                                                     \
		if (count)                                                                         \
			rows_write(kernel, count);                                                 \
		wait_ms(350);                                                                      \
	}
PATH(own)
PATH(together)
PATH(other_space)
PATH(late)
PATH(unbound)
PATH(deep)
PATH(rebound)
PATH(gone)
PATH(placed)
PATH(placed_again)
PATH(buffer_gone)
PATH(child)

/* In a buffer that is mapped and then bound, and in one that is bound first, in another space. */
static void buffers(void)
{
	__u32 first = buffer_make(), second = buffer_make();

	batch_write(buffer_map(first), 0xfffd0080, 0xfffe0080);
	buffer_bind(1, first, 0x200000);
	together(1, 0x200000, 0xfffe0080, 7);
	buffer_bind(2, second, 0x200000);
	__u32 *memory = buffer_map(second);
	batch_write(memory, 0xffff0080, 0);
	other_space(2, 0x200000, 0xffff0080, 11);
	must(!munmap(memory, BYTES), "unmap");
	gone(2, 0x200000, 0, 0);
}

/* Written after it was submitted. */
static void lately(void)
{
	__u32 *block = own_memory(1, 0x300000);

	must(!submit(1, 0x300000), "late");
	wait_ms(30);
	batch_write(block, 0xfff00080, 0);
	rows_write(0xfff00080, 13);
	wait_ms(650);
	late(1, 0x300000, 0xfff00080, 1);
}

/*
 * Batches that call the next one. The fourth is one too deep to come back from: its kernel is
 * found.
 */
static void deeply(void)
{
	for (__u32 level = 0; level < 4; level++) {
		__u32 gpu = 0x400000 + level * 0x10000;
		__u32 *at = own_memory(1, gpu) + AT / 4;

		at = level ? at : base_add(at);
		at = level < 3 ? call_add(at, gpu + 0x10000 + AT) : kernel_add(at, 0xffe00080);
		end_add(at);
	}
	deep(1, 0x400000, 0xffe00080, 17);
}

/* A kernel in memory that the GPU has twice, in between and afterwards not. */
static void code(void)
{
	__u32 buffer = buffer_make();

	batch_write(own_memory(1, 0x500000), 0xffb00080, 0);
	own_memory(1, 0x8000ffb00000);
	placed(1, 0x500000, 0xffb00080, 29);
	unbind(1, 0x8000ffb00000);
	wait_ms(300);
	buffer_bind(1, buffer, 0x8000ffb00000);
	placed_again(1, 0x500000, 0xffb00080, 31);
	buffer_unbind(1, buffer);
}

/* The GPU has a buffer no more; that it is mapped again brings nothing back. */
static void unbound_buffer(void)
{
	__u32 buffer = buffer_make();

	batch_write(buffer_map(buffer), 0xffa00080, 0);
	buffer_bind(1, buffer, 0x600000);
	buffer_unbind(1, buffer);
	buffer_map(buffer);
	buffer_gone(1, 0x600000, 0, 0);
}

/* Another process has other memory at the same address. */
static void in_child(const char *node)
{
	struct drm_xe_exec_queue_create queue = {.width = 1, .num_placements = 1, .vm_id = 1};

	card = open(node, O_RDWR);
	must(!ioctl(card, XE_IOCTL_QUEUE_CREATE, &queue), "child's queue");
	queues[1] = queue.exec_queue_id;
	batch_write(own_memory(1, 0x100000), 0xffc00080, 0);
	child(1, 0x100000, 0xffc00080, 23);
	_exit(0);
}

int main(int nr, char **words)
{
	struct drm_xe_exec_queue_create queue = {.width = 1, .num_placements = 1};
	int status = 0;

	card = nr == 3 ? open(words[1], O_RDWR) : -1;
	rows = card >= 0 ? open(words[2], O_WRONLY) : -1;
	must(rows >= 0, "the card and its rows");
	for (queue.vm_id = 1; queue.vm_id < 3; queue.vm_id++) {
		must(!ioctl(card, XE_IOCTL_QUEUE_CREATE, &queue), "queue");
		queues[queue.vm_id] = queue.exec_queue_id;
	}
	__u32 *block = own_memory(1, 0x100000);
	batch_write(block, 0xfffd0080, 0);
	own(1, 0x100000, 0xfffd0080, 5);
	buffers();
	lately();
	unbound(1, 0x900000, 0, 0);
	deeply();
	unbind(1, 0x100000);
	must(!munmap(block, BYTES), "unmap");
	batch_write(own_memory(1, 0x100000), 0xffd00080, 0);
	rebound(1, 0x100000, 0xffd00080, 19);
	code();
	unbound_buffer();
	if (!fork())
		in_child(words[1]);
	wait(&status);
	must(!status, "the child");
	puts("done");
	return 0;
}
