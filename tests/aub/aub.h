/*
 * AUB files, which Intel's drivers write instead of giving work to a GPU: all that a GPU would find
 * in memory, and what is written to its registers, in order of time. The reader stops at each
 * submission, and memory is then what it was at that moment.
 *
 *	struct aub *aub = aub_open(path);
 *	while (aub_next(aub))
 *		for each of aub->batches: aub_read(aub, address, …)
 *	aub_close(aub);
 *
 * Formats: of the file, Mesa's aub_read.c and intel_aub.h; of page tables, contexts and the ports
 * that take them, Intel's Programmer's Reference Manuals (Skylake, Tiger Lake, Alchemist), Volume
 * 5, Memory Views, and Volume 8, Command Stream Programming. Files come from a driver of the test's
 * own: a wrong one ends the program with a message.
 */
#ifndef AF_TESTS_AUB_H
#define AF_TESTS_AUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum { AUB_BATCHES = 256 };

struct aub {
	uint32_t *words;
	size_t nr, at;
	struct af_map pages; /* number of a page and where it is (AUB_LOCAL): its bytes */
	struct af_map ggtt;  /* of the GPU's own address space: number of a page to its entry */
	struct af_map tails; /* of rings: what was read */
	uint32_t ports[64];  /* by engine: the context that waits in its submission port */
	uint32_t nr_written[64];

	/* The submission. */
	uint64_t tables;               /* the root of its page tables, with AUB_LOCAL */
	uint64_t context;              /* of the hardware: where its state lies */
	uint64_t batches[AUB_BATCHES]; /* in its ring */
	uint32_t nr_batches;
};

struct aub *aub_open(const char *path);
void aub_close(struct aub *aub);

/* On to the next submission that starts a batch; false: there is none left. */
bool aub_next(struct aub *aub);

/* Reads memory of the submission's process; 0: all @bytes were there. @arg is a struct aub. */
int aub_read(void *arg, uint64_t address, void *to, uint32_t bytes);

#endif
