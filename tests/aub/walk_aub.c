/*
 * walk_aub FILE VERSION: what the walker of batch buffers finds in an AUB file. A line a kernel,
 * "kernel ADDRESS KIND AT [offset]", a line a batch, "batch ADDRESS COMMANDS
 * UNDESCRIBED LAST HEADER STOP".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aub.h"
#include "batch/batch.h"

static void kernel(void *arg, const struct af_batch_kernel *k)
{
	(void)arg;
	printf("kernel %#" PRIx64 " %s %#" PRIx64 "%s\n", (uint64_t)k->address,
	       af_batch_kind_name(k->kind), (uint64_t)k->at,
	       k->flags & AF_BATCH_OFFSET ? " offset" : "");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	struct aub *aub = aub_open(argv[1]);
	struct af_batch_reader reader = {aub_read, aub};
	const struct af_batch_taker taker = {kernel, NULL};
	struct af_batch_bases bases[64] = {0};

	while (aub_next(aub))
		for (uint32_t i = 0; i < aub->nr_batches; i++) {
			struct af_batch_walk walk = {.bases = bases[aub->context / 4096 % 64]};
			uint32_t stop = af_batch_walk(&walk, (uint32_t)atoi(argv[2]),
			                              aub->batches[i], &reader, &taker);
			printf("batch %#" PRIx64 " %u %u %#" PRIx64 " %#x %s\n", aub->batches[i],
			       walk.nr_commands, walk.nr_undescribed, (uint64_t)walk.at,
			       walk.dwords[0], af_batch_stop_name(stop));
			bases[aub->context / 4096 % 64] = walk.bases;
		}
	aub_close(aub);
	return 0;
}
