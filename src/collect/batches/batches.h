/*
 * Batches that BPF programs read as they were submitted (bpf/batch.bpf.h), and those that they
 * could not read to the end: a driver may submit a batch first and write it afterwards, or it lies
 * in memory that programs in the kernel cannot read, or it is too long for them. Such a batch is
 * read again, from here, by the same walker, until it has an end or AF_BATCHES_TRIES are over.
 *
 *	struct af_batches batches = {.memory_fd = …, .take = …};
 *	af_batches_add() for each record; af_batches_poll() now and then
 */
#ifndef AF_COLLECT_BATCHES_BATCHES_H
#define AF_COLLECT_BATCHES_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

enum {
	AF_BATCHES_WAITING = 64,
	AF_BATCHES_TRIES = 5,
	AF_BATCHES_PERIOD_NS = 100000000,
};

struct af_batches {
	int memory_fd, bases_fd; /* of the maps `batch_memory` and `batch_bases` */
	/* Gets each kernel once, with the record of the submission that started it. */
	void (*take)(void *arg, const struct af_bpf_batch *of, const struct af_batch_kernel *k);
	void *arg;

	struct af_batch_waiting {
		struct af_bpf_batch batch;
		uint32_t nr_given, nr_tries;
		uint64_t due_ns;
	} waiting[AF_BATCHES_WAITING];
	uint32_t nr_waiting;
	uint64_t nr_late;     /* read to the end by another try */
	uint64_t nr_given_up; /* never read to the end */
	uint64_t nr_no_room;  /* of these, because others waited already */
};

/*
 * A record AF_BPF_BATCH of @size bytes, which may be cut or hostile: its kernels are handed out at
 * once. If the walk ended too early, the batch waits for another try.
 */
void af_batches_add(struct af_batches *b, const struct af_bpf_batch *record, size_t size,
                    uint64_t now_ns);

/*
 * Where the memory ends that the GPU has in one piece at @address, as the process of the batch @of
 * bound it; 0: that was not seen.
 */
uint64_t af_batches_memory_end(const struct af_batches *b, const struct af_bpf_batch *of,
                               uint64_t address);

/* Forget the memory of a device's file: the process that had it is gone. */
void af_batches_file_gone(const struct af_batches *b, uint64_t file);

/* Is the batch of @record worth another try? */
bool af_batches_is_open(const struct af_bpf_batch *record);

/* Tries again what is due, by /proc/PID/mem: needs the rights of ptrace(2) over the process. */
void af_batches_poll(struct af_batches *b, uint64_t now_ns);

#endif
