/*
 * The walker of batch buffers over hostile memory: a byte chooses the version, one the most
 * commands, one a page that is not there. The rest is what lies at every address, over and over, so
 * that jumps of any bytes lead into it. Work is bounded, each kernel was started by a command that
 * was read, and a walk is over for a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "batch/batch.h"
#include "batch/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	const uint8_t *bytes;
	size_t size;
	uint64_t hole; /* addresses with this in bits 12 and up are not readable */
	uint64_t last; /* address of a header that was read */
	uint64_t nr_reads;
	uint64_t nr_kernels;
	uint64_t sum; /* of all that was found */
};

static int read_memory(void *arg, uint64_t address, void *to, uint32_t bytes)
{
	struct memory *m = arg;

	if (bytes > AF_BATCH_BYTES || bytes < 4)
		abort();
	m->nr_reads++;
	if (address >> 12 == m->hole)
		return -1;
	if (bytes == 4)
		m->last = address;
	for (uint32_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = m->bytes[(address + i) % m->size];
	return 0;
}

static void take(void *arg, const struct af_batch_kernel *k)
{
	struct memory *m = arg;

	m->nr_kernels++;
	m->sum = m->sum * 31 + k->address + k->at + k->kind + k->flags;
	if (k->at != m->last || !k->kind || k->kind > AF_BATCH_SYSTEM || k->address >> 57)
		abort();
}

static void walk_once(struct memory *m, uint32_t version, uint32_t most, struct af_batch_walk *walk)
{
	struct af_batch_reader reader = {read_memory, m};
	const struct af_batch_taker taker = {take, m};

	walk->most = most;
	uint32_t stop = af_batch_walk(walk, version, 0x10000, &reader, &taker);
	if (!stop || stop > AF_BATCH_INDIRECT || stop != walk->stop)
		abort();
	if (walk->nr_commands > most || m->nr_reads > 3ull * most ||
	    m->nr_kernels > (uint64_t)AF_BATCH_KERNELS * most)
		abort();
	if (walk->depth > AF_BATCH_LEVELS || walk->nr_jumped > AF_BATCH_JUMPS ||
	    walk->nr_pending > AF_BATCH_PENDING || walk->unsure > 15)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = {9, 11, 12, 20, 30, 35};
	struct af_batch_walk walk = {0}, again = {0};

	if (size < 3 + 4)
		return 0;
	struct memory m = {.bytes = data + 3, .size = (size - 3) & ~3ul, .hole = data[2]}, copy = m;
	uint32_t version = versions[data[0] % 6], most = 64u << data[1] % 8;
	walk_once(&m, version, most, &walk);
	walk_once(&copy, version, most, &again);
	if (m.sum != copy.sum || memcmp(&walk.bases, &again.bases, sizeof walk.bases) != 0)
		abort();
	/* The next batch of this context. */
	m.nr_reads = m.nr_kernels = 0;
	walk_once(&m, version, most, &walk);
	return 0;
}
