/* See stacks_chain.c. */
#ifndef STACKS_CHAIN_H
#define STACKS_CHAIN_H

#include <stdint.h>

struct chain {
	int depth;     /* functions below the four of the entry */
	uint64_t path; /* one bit a level */
	void (*probe)(struct chain *chain);
	void *data;
	int sum;
};

int chain_without_fp(struct chain *chain);
int chain_with_fp(struct chain *chain);

#endif
