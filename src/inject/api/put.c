/* Appends the pointees of parameters to the event of their call. */
#include <string.h>

#include "inject/api/api.h"
#include "inject/api/read.h"
#include "inject/walk/guard.h"

/* Arrays and strings are recorded up to this; src/api/generate leaves room for it. */
enum { ARRAY_MAX = 1024, STRING_MAX = 1024, PIECE = 64 };

/*
 * A call that succeeded has been where its pointers lead; one that failed perhaps because of them
 * must not end the thread, which may block SIGSEGV.
 */
bool af_api_read(struct af_api_hook *c, void *to, const void *from, size_t size)
{
	uint64_t at = (uint64_t)from;

	if (!(c->failed ? af_probed_read(to, at, size) : af_guarded_read(to, at, size)))
		return true;
	c->flags |= AF_API_CALL_UNREADABLE;
	return false;
}

uint64_t af_api_at(struct af_api_hook *c, const void *from, uint32_t size)
{
	uint64_t v = 0;

	if (!from || size > sizeof v || !af_api_read(c, &v, from, size))
		return 0;
	return v;
}

uint64_t af_api_volume(struct af_api_hook *c, const void *from)
{
	uint64_t extents[3];

	if (!from || !af_api_read(c, extents, from, sizeof extents))
		return 0;
	return extents[0] * extents[1] * extents[2];
}

void af_api_put_one(struct af_api_hook *c, const void *from, uint32_t size, bool skip)
{
	if (skip || !from || !af_api_read(c, c->at, from, size))
		memset(c->at, 0, size);
	c->at += size;
}

/* The count that goes before the elements: those that are recorded. */
uint16_t af_api_array_begin(struct af_api_hook *c, uint64_t nr, uint32_t size)
{
	uint64_t most = (size > ARRAY_MAX ? size : ARRAY_MAX) / size;

	if (nr > most) {
		nr = most;
		c->flags |= AF_API_CALL_TRUNCATED;
	}
	return (uint16_t)nr;
}

static void array_put(struct af_api_hook *c, const void *from, uint16_t nr, uint32_t size)
{
	if (nr && !af_api_read(c, c->at + 2, from, (size_t)nr * size))
		nr = 0;
	memcpy(c->at, &nr, 2);
	c->at += 2 + (size_t)nr * size;
}

void af_api_put_array(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size,
                      bool skip)
{
	array_put(c, from,
	          skip || (uint64_t)from < AF_API_SOMEWHERE ? 0 : af_api_array_begin(c, nr, size),
	          size);
}

void af_api_put_zero(struct af_api_hook *c, const void *from, uint32_t size, uint32_t step)
{
	const char *p = from;
	uint64_t nr = 0;

	while (p && nr < ARRAY_MAX / size && af_api_at(c, p + nr * size, size))
		nr += step;
	array_put(c, from, af_api_array_begin(c, nr, size), size);
}

void af_api_put_string(struct af_api_hook *c, const void *from, bool skip)
{
	const char *p = skip ? NULL : from;
	size_t len = 0;

	while (p && len < STRING_MAX) {
		/* A piece never reaches into the next page, which need not be there. */
		size_t piece = PIECE - ((uint64_t)(p + len) & (PIECE - 1));
		if (piece > STRING_MAX - len)
			piece = STRING_MAX - len;
		if (!af_api_read(c, c->at + len, p + len, piece))
			break;
		const char *nul = memchr(c->at + len, 0, piece);
		if (nul) {
			len = (size_t)(nul - c->at);
			break;
		}
		len += piece;
		if (len == STRING_MAX)
			c->flags |= AF_API_CALL_TRUNCATED;
	}
	c->at[len] = 0;
	c->at += len + 1;
}

void af_api_before(struct af_api_hook *c, struct af_api_before *b, const void *from, uint64_t nr,
                   uint32_t size)
{
	uint64_t most = AF_API_BEFORE_MAX / size;

	/* Before the call nothing is known of the pointer: it may be one that the API refuses. */
	c->failed = true;
	b->nr = (uint16_t)(nr < most ? nr : most);
	b->whole = nr <= most;
	if (!from || !b->nr || !af_api_read(c, b->bytes, from, (size_t)b->nr * size))
		b->nr = 0;
}

void af_api_keep(struct af_api_hook *c, unsigned i, const void *from, uint32_t size)
{
	c->failed = true; /* as in af_api_before() */
	c->kept[i] = af_api_at(c, from, size);
}

void af_api_kept(const struct af_api_hook *c, unsigned i, struct af_api_before *b)
{
	b->nr = 1;
	b->whole = true;
	memcpy(b->bytes, &c->kept[i], sizeof c->kept[i]);
}

void af_api_put_before(struct af_api_hook *c, const struct af_api_before *b, bool one,
                       uint32_t size)
{
	uint16_t nr = b ? b->nr : 0;

	if (one) {
		memset(c->at, 0, size);
		memcpy(c->at, b ? b->bytes : "", nr ? size : 0);
		c->at += size;
		return;
	}
	if (b && !b->whole)
		c->flags |= AF_API_CALL_TRUNCATED;
	memcpy(c->at, &nr, 2);
	memcpy(c->at + 2, b ? b->bytes : "", (size_t)nr * size);
	c->at += 2 + (size_t)nr * size;
}
