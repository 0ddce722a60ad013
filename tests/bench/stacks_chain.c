/*
 * A deep call chain whose frames are of every common make: compiled twice, with and without frame
 * pointers (CHAIN names the entry). Each function calls the next from one of two places, so that
 * the bits of `path` make different stacks of the same size.
 */
#include "stacks_chain.h"

#include <alloca.h>
#include <string.h>

#define NEXT(n)                                                                                    \
	(left <= 0                        ? end(chain)                                             \
	 : chain->path >> (left % 64) & 1 ? first(chain_##n(chain, left - 1))                      \
	                                  : second(chain_##n(chain, left - 1)))

static inline int end(struct chain *chain)
{
	chain->probe(chain);
	return 1;
}

/* Work after the call, different at the two places, so that no call is a jump or shared. */
static inline int first(int v)
{
	__asm__ volatile("# first" : "+r"(v));
	return v + 1;
}

static inline int second(int v)
{
	__asm__ volatile("# second" : "+r"(v));
	return v * 3;
}

#define LEVEL __attribute__((noinline, noclone)) static int

LEVEL chain_plain(struct chain *chain, int left);

LEVEL chain_aligned(struct chain *chain, int left)
{
	_Alignas(64) volatile char line[64];

	line[left & 63] = 1;
	return NEXT(plain) + line[left & 63];
}

LEVEL chain_alloca(struct chain *chain, int left)
{
	volatile char *bytes = alloca((size_t)(left & 31) + 1);

	bytes[0] = 2;
	return NEXT(aligned) + bytes[0];
}

LEVEL chain_array(struct chain *chain, int left)
{
	volatile char bytes[200];

	bytes[left & 127] = 3;
	return NEXT(alloca) + bytes[left & 127];
}

LEVEL chain_registers(struct chain *chain, int left)
{
	/* All callee-saved registers, the frame pointer among them, are saved and used. */
	__asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
	int v = NEXT(array);
	__asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
	return v;
}

LEVEL chain_plain(struct chain *chain, int left)
{
	return NEXT(registers);
}

LEVEL chain_root(struct chain *chain)
{
	return first(chain_plain(chain, chain->depth));
}

LEVEL chain_trunk(struct chain *chain)
{
	return second(chain_root(chain));
}

int CHAIN(struct chain *chain)
{
	return first(chain_trunk(chain));
}
