/*
 * Batch buffers of Intel GPUs, read in user space: the kernels that a submission starts. The walker
 * is walk.h's, which BPF programs run as well.
 *
 *	struct af_batch_walk walk = {.bases = those of the context, zeros at first};
 *	af_batch_walk(&walk, version, address, &reader, &taker);
 */
#ifndef AF_BATCH_BATCH_H
#define AF_BATCH_BATCH_H

#include <stdint.h>

#include "batch/found.h"

/* The GPU's memory, as the process that submitted sees it. */
struct af_batch_reader {
	/* 0 if all @bytes at @address are in @to, else it is not readable. */
	int (*read)(void *arg, uint64_t address, void *to, uint32_t bytes);
	void *arg;
};

/* Gets each kernel as it is found, often the same one more than once. May be NULL. */
struct af_batch_taker {
	void (*take)(void *arg, const struct af_batch_kernel *kernel);
	void *arg;
};

/*
 * Walks the batch at @address of a GPU of @version (GRAPHICS_VER) and hands all kernels to @taker.
 * Returns enum af_batch_stop, and leaves in @walk the bases for the next batch of this context and
 * the place at which it stopped. The bytes may be hostile: at most `most` commands are read, each
 * in at most 3 reads.
 */
uint32_t af_batch_walk(struct af_batch_walk *walk, uint32_t version, uint64_t address,
                       struct af_batch_reader *reader, const struct af_batch_taker *taker);

/* Names for people of enum af_batch_stop and enum af_batch_kind; "?" of any other number. */
const char *af_batch_stop_name(uint32_t stop);
const char *af_batch_kind_name(uint32_t kind);

#endif
