/*
 * Batches of Intel GPUs as programs of tests write them. Kernels' addresses count from the base
 * 0x800000000000, which a batch sets.
 */
#ifndef GPU_BATCH_H
#define GPU_BATCH_H

#include <linux/types.h>
#include <string.h>

enum { BATCH_AT = 200 }; /* of a batch in its block: the stand-ins take 200 ms for it */

static inline __u32 *words_add(__u32 *at, const __u32 *words, unsigned nr)
{
	memcpy(at, words, nr * sizeof *words);
	return at + nr;
}

/* STATE_BASE_ADDRESS with the instruction base. */
static inline __u32 *base_add(__u32 *at)
{
	const __u32 words[22] = {0x61010014, [6] = 1, [10] = 1, [11] = 0x8000};

	return words_add(at, words, 22);
}

/* COMPUTE_WALKER. */
static inline __u32 *kernel_add(__u32 *at, __u32 kernel)
{
	const __u32 words[39] = {0x72080025, [18] = kernel};

	return words_add(at, words, 39);
}

/* MI_BATCH_BUFFER_START of the next level, which returns; MI_BATCH_BUFFER_END. */
static inline __u32 *call_add(__u32 *at, __u32 gpu)
{
	const __u32 words[3] = {0x18C00101, gpu};

	return words_add(at, words, 3);
}

static inline __u32 *end_add(__u32 *at)
{
	const __u32 word = 0x05000000;

	return words_add(at, &word, 1);
}

/* A batch in @block that starts @kernel, and @other unless that is 0. */
static inline void batch_write(__u32 *block, __u32 kernel, __u32 other)
{
	__u32 *at = kernel_add(base_add(block + BATCH_AT / 4), kernel);

	if (other)
		at = kernel_add(at, other);
	end_add(at);
}

#endif
