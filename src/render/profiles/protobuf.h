/*
 * Protocol Buffers' wire format (developers.google.com/protocol-buffers/docs/encoding), written
 * into a buffer. A message within another is opened, filled and closed; only then is its length
 * known, so closing may move it by a few bytes.
 */
#ifndef AF_RENDER_PROFILES_PROTOBUF_H
#define AF_RENDER_PROFILES_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2 };

static inline unsigned pb_put(uint8_t *to, uint64_t v)
{
	unsigned n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

static inline void pb_varint(struct af_buf *b, uint32_t field, uint64_t v)
{
	uint8_t bytes[16];
	unsigned n = pb_put(bytes, field << 3 | PB_VARINT);

	n += pb_put(bytes + n, v);
	af_buf_add(b, bytes, n);
}

static inline void pb_fixed64(struct af_buf *b, uint32_t field, uint64_t v)
{
	uint8_t bytes[16];
	unsigned n = pb_put(bytes, field << 3 | PB_FIXED64);

	for (int i = 0; i < 8; i++)
		bytes[n++] = (uint8_t)(v >> 8 * i);
	af_buf_add(b, bytes, n);
}

static inline void pb_bytes(struct af_buf *b, uint32_t field, const void *data, size_t len)
{
	uint8_t bytes[16];
	unsigned n = pb_put(bytes, field << 3 | PB_BYTES);

	n += pb_put(bytes + n, len);
	af_buf_add(b, bytes, n);
	af_buf_add(b, data, len);
}

static inline void pb_text(struct af_buf *b, uint32_t field, const char *s)
{
	pb_bytes(b, field, s, strlen(s));
}

/* Begin a message; returns what pb_close() is to be given. */
static inline size_t pb_open(struct af_buf *b, uint32_t field)
{
	uint8_t bytes[8];
	unsigned n = pb_put(bytes, field << 3 | PB_BYTES);

	bytes[n++] = 0;
	af_buf_add(b, bytes, n);
	return b->len;
}

static inline void pb_close(struct af_buf *b, size_t at)
{
	uint8_t len[10];
	size_t size = b->len - at;
	unsigned n = pb_put(len, size);

	if (n > 1) {
		af_buf_add(b, len, n - 1); /* room */
		memmove(b->data + at + n - 1, b->data + at, size);
	}
	memcpy(b->data + at - 1, len, n);
}

/* Text of any bytes as its strings are to be: UTF-8. */
static inline void pb_utf8(struct af_buf *b, uint32_t field, const char *text, size_t len)
{
	size_t at = pb_open(b, field);

	af_buf_utf8(b, text, len);
	pb_close(b, at);
}

#endif
