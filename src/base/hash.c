#include "base/hash.h"

#include <string.h>

uint64_t af_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = len * 0x9e3779b97f4a7c15ull, w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdull;
		h ^= h >> 29;
	}
	w = 0;
	memcpy(&w, p, len);
	h = (h ^ w) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}
