#include "collect/batches/batches.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/scope.h"
#include "batch/batch.h"

/* Worth another try: who writes it may be about to. */
static bool is_early(uint32_t stop)
{
	return stop == AF_BATCH_UNWRITTEN || stop == AF_BATCH_UNREADABLE;
}

bool af_batches_is_open(const struct af_bpf_batch *record)
{
	return is_early(record->stop) || record->stop == AF_BATCH_TOO_LONG;
}

void af_batches_add(struct af_batches *b, const struct af_bpf_batch *record, size_t size,
                    uint64_t now_ns)
{
	size_t head = offsetof(struct af_bpf_batch, kernels);

	if (size < head || record->nr_kernels > AF_BPF_BATCH_KERNELS ||
	    size - head < record->nr_kernels * sizeof *record->kernels)
		return;
	for (uint32_t i = 0; i < record->nr_kernels; i++)
		b->take(b->arg, record, &record->kernels[i]);
	if (!af_batches_is_open(record))
		return;
	if (b->nr_waiting == AF_BATCHES_WAITING) {
		b->nr_given_up++;
		b->nr_no_room++;
		return;
	}
	struct af_batch_waiting *w = &b->waiting[b->nr_waiting++];
	memset(w, 0, sizeof *w);
	memcpy(&w->batch, record, head);
	w->nr_given = record->nr_before + record->nr_kernels;
	w->due_ns = now_ns + AF_BATCHES_PERIOD_NS;
}

/* ---- another try ---- */

struct again {
	struct af_batches *b;
	struct af_batch_waiting *w;
	int memory;        /* /proc/PID/mem */
	uint32_t nr_found; /* those that were handed out before come first */
};

/* The memory of the batch @of at @address. 0: it is known. */
static int range_find(const struct af_batches *b, const struct af_bpf_batch *of, uint64_t address,
                      struct af_bpf_batch_range *range)
{
	struct af_bpf_batch_key key = {.bits = 160, .vm = of->vm, .file = of->file};

	for (int i = 0; i < 8; i++)
		key.address[i] = (uint8_t)(address >> (56 - 8 * i));
	return bpf_map_lookup_elem(b->memory_fd, &key, range);
}

uint64_t af_batches_memory_end(const struct af_batches *b, const struct af_bpf_batch *of,
                               uint64_t address)
{
	struct af_bpf_batch_range range;

	return range_find(b, of, address, &range) ? 0 : range.gpu + range.bytes;
}

void af_batches_file_gone(const struct af_batches *b, uint64_t file)
{
	struct af_bpf_batch_key key, next;
	void *last = NULL;

	while (!bpf_map_get_next_key(b->memory_fd, last, &next)) {
		if (last && key.file == file)
			bpf_map_delete_elem(b->memory_fd, &key);
		key = next;
		last = &key;
	}
	if (last && key.file == file)
		bpf_map_delete_elem(b->memory_fd, &key);
}

static int memory_read(void *arg, uint64_t address, void *to, uint32_t bytes)
{
	const struct again *a = arg;
	struct af_bpf_batch_range range;

	if (range_find(a->b, &a->w->batch, address, &range))
		return -1;
	uint64_t offset = address - range.gpu;
	if (!range.cpu || offset >= range.bytes || bytes > range.bytes - offset)
		return -1;
	ssize_t n = pread(a->memory, to, bytes, (off_t)(range.cpu + offset));
	return n == (ssize_t)bytes ? 0 : -1;
}

static void kernel_take(void *arg, const struct af_batch_kernel *k)
{
	struct again *a = arg;

	if (++a->nr_found <= a->w->nr_given)
		return;
	a->w->nr_given++;
	a->b->take(a->b->arg, &a->w->batch, k);
}

/* Returns enum af_batch_stop. */
static uint32_t read_again(struct af_batches *b, struct af_batch_waiting *w)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/mem", w->batch.head.pid);
	scope_close int memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return 0; /* the process is gone, and its memory */
	struct again again = {b, w, memory, 0};
	struct af_batch_reader reader = {memory_read, &again};
	const struct af_batch_taker taker = {kernel_take, &again};
	struct af_batch_walk walk = {.bases = w->batch.bases};
	uint32_t stop = af_batch_walk(&walk, w->batch.version, w->batch.address, &reader, &taker);
	/* For the batches after it, as the kernel's walks leave them. */
	const struct af_bpf_batch_context key = {w->batch.file, w->batch.context, 0};
	if (walk.bases.known & ~w->batch.bases.known)
		bpf_map_update_elem(b->bases_fd, &key, &walk.bases, BPF_ANY);
	return stop;
}

static bool waits_on(struct af_batches *b, struct af_batch_waiting *w, uint64_t now_ns)
{
	uint32_t stop = read_again(b, w);

	if (stop && !is_early(stop)) {
		b->nr_late++;
		return false;
	}
	w->due_ns = now_ns + AF_BATCHES_PERIOD_NS;
	if (stop && ++w->nr_tries < AF_BATCHES_TRIES)
		return true;
	b->nr_given_up++;
	return false;
}

void af_batches_poll(struct af_batches *b, uint64_t now_ns)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < b->nr_waiting; i++) {
		struct af_batch_waiting *w = &b->waiting[i];
		if ((w->due_ns > now_ns || waits_on(b, w, now_ns)) && left++ != i)
			b->waiting[left - 1] = *w;
	}
	b->nr_waiting = left;
}
