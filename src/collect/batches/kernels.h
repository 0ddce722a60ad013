/*
 * Kernels of a process that nobody names, as its batches start them: CODE for each place that a
 * batch starts at, CODE_PLACED, a KERNEL for each set of them that is one batch, and KERNEL_CODE.
 *
 *	af_batch_kernels_begin() at the batch's record, _add() for each kernel in it, _end();
 *	_launch() at the launch that it is: returns the KERNEL of the work that comes of it.
 *	_late() for what another try finds; _place() now and then, and before the stream closes.
 *
 * A batch tells where a kernel begins and not where it ends. Its code is taken to reach to the next
 * kernel that is known, to the end of the memory that the GPU has in one piece there, or for
 * AF_BATCH_CODE_MOST bytes, whichever is nearest: memory of cards comes in pages of 64 KiB, so code
 * of one module ends there more often than not. Kernels that become known within
 * AF_BATCH_SETTLE_NS are placed together; one that comes later makes the one before it shorter.
 *
 * One thread. The stream is the process's; ids of kernels and code count in it from 1.
 */
#ifndef AF_COLLECT_BATCHES_KERNELS_H
#define AF_COLLECT_BATCHES_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keys.h"
#include "bpf/record.h"

struct af_stream;

enum {
	AF_BATCH_CODE_MOST = 1 << 16, /* bytes of a kernel whose end nothing tells */
	AF_BATCH_SETTLE_NS = 150000000,
	AF_BATCH_CODES = 1 << 14,   /* of a process; of more it is counted that they are lost */
	AF_BATCH_SETS = 1 << 12,    /* the same of sets */
	AF_BATCH_SUBMITTERS = 64,   /* threads between a batch and its launch */
	AF_BATCH_TOGETHER = 256,    /* kernels of a batch; of more, the first */
	AF_BATCH_FIRST_KERNEL = 65, /* below are those of rings */
};

/* Code, by its id less 1. */
struct af_batch_code {
	uint64_t address, end; /* end: of the memory that the GPU has there, 0 not known */
	uint64_t placed;       /* bytes, as the trace has it; 0: not yet, or not any more */
	uint64_t file;         /* and @vm: the address space of the batch that started it last */
	uint32_t vm;
	bool gone;             /* its memory was unbound after that */
	uint32_t device, kind; /* kind: enum af_batch_kind */
};

/* A batch of a thread that is not launched yet. */
struct af_batch_pending {
	uint64_t time_ns;
	uint32_t tid, device;
	bool whole, launched;
	bool open; /* more of it may be found later */
	uint32_t nr;
	uint32_t codes[AF_BATCH_TOGETHER]; /* in order */
};

struct af_batch_kernels {
	struct af_batch_code *codes;
	uint32_t nr_codes, cap_codes, nr_sets;
	struct af_keys by_code; /* device and address → id */
	struct af_keys by_set;  /* ids of codes → KERNEL */
	struct af_keys by_open; /* tid and time of a batch → KERNEL */
	struct af_batch_pending *pending[AF_BATCH_SUBMITTERS];
	uint32_t next; /* entry of @pending that is used again next */
	bool unplaced; /* some code is not placed as it is known by now */
	uint64_t unplaced_ns;
	uint64_t nr_lost; /* kernels and sets that there was no room for, counted once read */
};

/* A zeroed struct is empty. */
void af_batch_kernels_free(struct af_batch_kernels *k);

/* @record is the first one of its batch, of the device numbered @device, or one more. */
void af_batch_kernels_begin(struct af_batch_kernels *k, const struct af_bpf_batch *record,
                            uint32_t device);

/*
 * The batch @of starts @is; @end is that of the memory which the GPU has at its address, 0 where it
 * is not known. What is found later goes to the KERNEL of the batch.
 */
void af_batch_kernels_add(struct af_batch_kernels *k, struct af_stream *stream,
                          const struct af_bpf_batch *of, const struct af_batch_kernel *is,
                          uint64_t end);

/* That was the last record of the batch. @open: another try may find more of it. */
void af_batch_kernels_end(struct af_batch_kernels *k, const struct af_bpf_batch *record, bool open);

/*
 * The thread @tid launches the batch that it submitted last: the KERNEL of that work, and its
 * device. 0: it starts no kernels, or none that is known.
 */
uint32_t af_batch_kernels_launch(struct af_batch_kernels *k, struct af_stream *stream, uint32_t tid,
                                 uint64_t time_ns, uint32_t *device);

/*
 * The GPU has memory of the process no more: CODE_PLACED of size 0 for code that was started there,
 * until a batch starts it again.
 */
void af_batch_kernels_unbound(struct af_batch_kernels *k, struct af_stream *stream,
                              const struct af_bpf_unbound *unbound);

/* CODE_PLACED of what became known, if that is old enough at @time_ns. */
void af_batch_kernels_place(struct af_batch_kernels *k, struct af_stream *stream, uint64_t time_ns);

#endif
