/* The seeded hash. */
#include <string.h>
#include <sys/auxv.h>

#include "base/hash.h"

uint64_t af_hash_seed[4];

/* The kernel's words are the stack protector's, too: no table shows them, but they are mixed. */
__attribute__((constructor(101))) static void scatter_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t w[2] = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};

	if (random)
		memcpy(w, random, sizeof w);
	for (unsigned i = 0; i < 4; i++)
		af_hash_seed[i] =
		    af_mix(af_mix(w[0] + i * 0x9e3779b97f4a7c15ull) + w[1] + i) | (i & 1);
}

static uint64_t word_at(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, 8);
	return w;
}

/* As wyhash does it: products of words, each with a secret, folded. */
uint64_t af_scatter_bytes(const void *data, size_t len)
{
	const uint64_t *s = af_hash_seed;
	const unsigned char *p = data;
	uint64_t h = s[0], a = 0, b = 0;
	size_t left = len;

	for (; left > 16; p += 16, left -= 16)
		h = af_mul_fold(word_at(p) ^ s[1], word_at(p + 8) ^ h);
	if (left >= 8) { /* the last words overlap */
		a = word_at(p);
		b = word_at(p + left - 8);
	} else {
		memcpy(&a, p, left);
	}
	h = af_mul_fold(a ^ s[2], b ^ h);
	return af_mul_fold(h ^ s[3], len ^ s[1]);
}
