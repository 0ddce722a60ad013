/*
 * A bounded reader of bytes that may be hostile. Reading past the end gives zeros and sets `bad`,
 * which stays set: check it once, at the end.
 */
#ifndef AF_BASE_CURSOR_H
#define AF_BASE_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/leb128.h"

struct af_cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* Over what is in @b, which stays as it is meanwhile; `at` is NULL where nothing is. */
static inline struct af_cursor af_buf_cursor(const struct af_buf *b)
{
	const uint8_t *at = (const uint8_t *)b->data;

	return (struct af_cursor){at, at ? at + b->len : at, false};
}

/* The next @len bytes, or NULL. */
static inline const uint8_t *af_cursor_bytes(struct af_cursor *c, uint64_t len)
{
	const uint8_t *p = c->at;

	if (len > (uint64_t)(c->end - c->at)) {
		c->at = c->end;
		c->bad = true;
		return NULL;
	}
	c->at += len;
	return p;
}

/* Little-endian integer of @size bytes, 1 to 8. */
static inline uint64_t af_cursor_uint(struct af_cursor *c, unsigned size)
{
	const uint8_t *p = af_cursor_bytes(c, size);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, size);
	return v;
}

/* LEB128, of either sort. */
static inline uint64_t af_cursor_leb(struct af_cursor *c, bool is_signed)
{
	uint64_t v = 0;
	size_t size = af_leb128(c->at, (size_t)(c->end - c->at), is_signed, &v);

	c->bad |= !size;
	c->at = size ? c->at + size : c->end;
	return v;
}

static inline uint64_t af_cursor_uleb(struct af_cursor *c)
{
	return af_cursor_leb(c, false);
}

static inline int64_t af_cursor_sleb(struct af_cursor *c)
{
	return (int64_t)af_cursor_leb(c, true);
}

/* A string up to its NUL; NULL when it has none. */
static inline const char *af_cursor_string(struct af_cursor *c)
{
	const uint8_t *p = c->at, *nul = p < c->end ? memchr(p, 0, (size_t)(c->end - p)) : NULL;

	if (!nul) {
		c->at = c->end;
		c->bad = true;
		return NULL;
	}
	c->at = nul + 1;
	return (const char *)p;
}

#endif
