/*
 * A program that submits batches to the stand-in for i915 from paths of its own: i915_batch NODE.
 * It carries nothing of aflame's. Each batch takes 200 ms; it waits for all of them but the first
 * of twice().
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "gpu_batch.h"
#include "i915_uapi.h"

enum { BYTES = 16 * 4096 }; /* of a buffer */

static int card;
static __u32 context;

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

static __u32 *memory_at(void *address)
{
	void *memory = mmap(address, BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | (address ? MAP_FIXED : 0), -1, 0);

	must(memory != MAP_FAILED, "memory");
	return memory;
}

static __u32 buffer_of(const __u32 *memory)
{
	struct i915_userptr own = {.address = (__u64)memory, .size = BYTES};

	must(!ioctl(card, I915_IOCTL_USERPTR, &own), "userptr");
	return own.handle;
}

static __u32 buffer_make(void)
{
	struct i915_create made = {.size = BYTES};

	must(!ioctl(card, I915_IOCTL_CREATE, &made), "buffer");
	return made.handle;
}

static __u32 *buffer_map(__u32 handle)
{
	struct i915_mmap_offset place = {.handle = handle, .flags = I915_OFFSET_WB};

	must(!ioctl(card, I915_IOCTL_MMAP_OFFSET, &place), "place");
	void *memory =
	    mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, card, (off_t)place.offset);
	must(memory != MAP_FAILED, "map");
	return memory;
}

static __attribute__((noinline)) int submit(__u32 handle, __u64 gpu)
{
	struct i915_buffer buffer = {.handle = handle, .offset = gpu, .flags = I915_PINNED};
	struct i915_exec exec = {.buffers = (__u64)&buffer,
	                         .nr_buffers = 1,
	                         .start = BATCH_AT,
	                         .bytes = 4096,
	                         .context = context};
	int rc = ioctl(card, I915_IOCTL_EXEC, &exec);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return rc;
}

/* A path of its own for each batch. */
#define PATH(name, times)                                                                          \
	static __attribute__((noinline)) void name(__u32 handle, __u64 gpu)                        \
	{                                                                                          \
		for (int i = 0; i < times; i++)                                                    \
			must(!submit(handle, gpu), #name);                                         \
		wait_ms(150 + 200 * times);                                                        \
	}
PATH(own, 1)
PATH(together, 1)
PATH(twice, 2)
PATH(gone, 1)
PATH(mapped_again, 1)

int main(int nr, char **words)
{
	struct i915_context made = {0};

	card = nr == 2 ? open(words[1], O_RDWR) : -1;
	must(card >= 0, "the card");
	must(!ioctl(card, I915_IOCTL_CONTEXT, &made), "context");
	context = made.context;
	__u32 *memory = memory_at(NULL);
	batch_write(memory, 0xfffd0080, 0);
	own(buffer_of(memory), 0x100000);
	__u32 first = buffer_make(), second = buffer_make();
	memory = buffer_map(first);
	batch_write(memory, 0xfffe0080, 0xffff0080);
	together(first, 0x200000);
	__u32 *other = buffer_map(second);
	batch_write(other, 0xfff00080, 0);
	twice(second, 0x300000);
	/* Memory that is not the buffer's, where the process had the buffer. */
	must(!munmap(memory, BYTES), "unmap");
	batch_write(memory_at(memory), 0xffe00080, 0);
	gone(first, 0x200000);
	wait_ms(500); /* nobody tries to read it any more */
	batch_write(buffer_map(first), 0xffd00080, 0);
	mapped_again(first, 0x200000);
	puts("done");
	return 0;
}
