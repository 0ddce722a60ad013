/*
 * Hashes. af_hash() and af_mix() are the same in every process, so the writer of a file can make
 * two texts with one hash: use them to choose colours, slots of caches and names of files, never to
 * decide whether two things are equal. Tables use the seeded hashes, whose seed nobody outside this
 * process knows, and they compare keys. Where there is no room for keys (libaflame's stacks and
 * names of kernels, the tui's frames), the seeded hash alone stands for the key: then two different
 * keys are taken for one by chance, with probability 2^-64 for each pair.
 */
#ifndef AF_BASE_HASH_H
#define AF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Mix one 64-bit word; not for adversaries. */
static inline uint64_t af_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* The product of two words, folded: one step in the hash of many words. */
static inline uint64_t af_mul_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Hash of @len bytes, the same in every process; not for adversaries. */
uint64_t af_hash(const void *data, size_t len);

/* Random words of this process, from the kernel (AT_RANDOM), set before main(); in libaflame.so
 * before its own constructors. */
extern uint64_t af_hash_seed[4];

/* Where a word goes in a table of this process. One product leaves rows of numbers crowded. */
static inline uint64_t af_scatter(uint64_t x)
{
	x = af_mul_fold(x ^ af_hash_seed[0], af_hash_seed[1]);
	return af_mul_fold(x ^ af_hash_seed[2], af_hash_seed[3]);
}

/* The same of @len bytes. */
uint64_t af_scatter_bytes(const void *data, size_t len);

/*
 * Where four numbers go in a table of 2^@bits that remembers what was found last, in front of one
 * with keys. Not for adversaries: numbers that meet cost a look into the other one.
 */
static inline uint32_t af_near(uint32_t bits, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t hash = a * 0x9e3779b1u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u ^ d * 0x27d4eb2fu;

	return hash >> (32 - bits);
}

#endif
