/* Pointees that are stored otherwise than they lie in memory. */
#include <string.h>

#include "inject/api/api.h"
#include "inject/api/read.h"

/* Some are no addresses: numbers that an API takes in their place. */
static bool is_somewhere(const void *from)
{
	return (uint64_t)from >= AF_API_SOMEWHERE;
}

static bool native_store(struct af_api_hook *c, void *to, const void *from,
                         const struct af_api_native *n)
{
	char native[AF_API_NATIVE_MAX];

	if (!af_api_read(c, native, from, n->size))
		return false;
	n->store(to, native);
	return true;
}

void af_api_put_native(struct af_api_hook *c, const void *from, const struct af_api_native *n,
                       bool skip)
{
	if (skip || !is_somewhere(from) || !native_store(c, c->at, from, n))
		memset(c->at, 0, n->stored);
	c->at += n->stored;
}

void af_api_put_natives(struct af_api_hook *c, const void *from, uint64_t nr,
                        const struct af_api_native *n, bool skip)
{
	uint16_t most = skip || !is_somewhere(from) ? 0 : af_api_array_begin(c, nr, n->stored);
	uint16_t done = 0;

	while (done < most && native_store(c, c->at + 2 + (size_t)done * n->stored,
	                                   (const char *)from + (size_t)done * n->size, n))
		done++;
	memcpy(c->at, &done, 2);
	c->at += 2 + (size_t)done * n->stored;
}

void af_api_before_native(struct af_api_hook *c, struct af_api_before *b, const void *from,
                          uint64_t nr, const struct af_api_native *n)
{
	uint64_t most = AF_API_BEFORE_MAX / n->stored;

	/* As for other types, nothing is known of the pointer yet. */
	c->failed = true;
	b->whole = nr <= most;
	b->nr = 0;
	while (is_somewhere(from) && b->nr < nr && b->nr < most &&
	       native_store(c, b->bytes + (size_t)b->nr * n->stored,
	                    (const char *)from + (size_t)b->nr * n->size, n))
		b->nr++;
}

uint64_t af_api_native_at(struct af_api_hook *c, const struct af_api_native *n, const void *from,
                          uint32_t offset, uint32_t size)
{
	char stored[AF_API_NATIVE_MAX];
	uint64_t v = 0;

	if (!is_somewhere(from) || !native_store(c, stored, from, n))
		return UINT64_MAX;
	memcpy(&v, stored + offset, size);
	return v;
}

uint64_t af_api_sum(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < nr && is_somewhere(from); i++) {
		int32_t count = 0;
		int64_t wide = 0;
		const char *at = (const char *)from + i * size;
		if (!(size == 4 ? af_api_read(c, &count, at, 4) : af_api_read(c, &wide, at, 8)))
			return sum;
		wide = size == 4 ? count : wide;
		sum += wide > 0 ? (uint64_t)wide : 0;
	}
	return sum;
}
