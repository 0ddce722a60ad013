/*
 * Protocol Buffers' wire format (developers.google.com/protocol-buffers/docs/encoding), written
 * into a buffer and read from bytes that may be hostile. A message within another is opened, filled
 * and closed; only then is its length known, so closing may move it by a few bytes.
 */
#ifndef AF_BASE_PROTOBUF_H
#define AF_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/leb128.h"

enum af_pb_wire { AF_PB_VARINT = 0, AF_PB_FIXED64 = 1, AF_PB_BYTES = 2, AF_PB_FIXED32 = 5 };

enum { AF_PB_MOST = 20 }; /* bytes of a field's tag and its number or length, at most */

/*
 * The same into memory that has room: for small messages whose sizes are known ahead. They return
 * what is behind the field. Of bytes the head alone is put, and af_pb_size_bytes() is the size of
 * both.
 */
static inline uint8_t *af_pb_put_varint(uint8_t *to, uint32_t field, uint64_t v)
{
	to += af_leb128_put(to, field << 3 | AF_PB_VARINT);
	return to + af_leb128_put(to, v);
}

static inline uint8_t *af_pb_put_fixed64(uint8_t *to, uint32_t field, uint64_t v)
{
	to += af_leb128_put(to, field << 3 | AF_PB_FIXED64);
	memcpy(to, &v, sizeof v);
	return to + sizeof v;
}

static inline uint8_t *af_pb_put_head(uint8_t *to, uint32_t field, size_t len)
{
	to += af_leb128_put(to, field << 3 | AF_PB_BYTES);
	return to + af_leb128_put(to, len);
}

static inline uint8_t *af_pb_put_bytes(uint8_t *to, uint32_t field, const void *data, size_t len)
{
	to = af_pb_put_head(to, field, len);
	memcpy(to, data, len);
	return to + len;
}

static inline size_t af_pb_size_varint(uint32_t field, uint64_t v)
{
	return af_leb128_size((uint64_t)field << 3) + af_leb128_size(v);
}

static inline size_t af_pb_size_bytes(uint32_t field, size_t len)
{
	return af_leb128_size((uint64_t)field << 3) + af_leb128_size(len) + len;
}

/* Append a field to a buffer. */
static inline void af_pb_varint(struct af_buf *b, uint32_t field, uint64_t v)
{
	uint8_t *to = (uint8_t *)af_buf_room(b, AF_PB_MOST);

	af_buf_took(b, (char *)af_pb_put_varint(to, field, v));
}

static inline void af_pb_fixed64(struct af_buf *b, uint32_t field, uint64_t v)
{
	uint8_t *to = (uint8_t *)af_buf_room(b, AF_PB_MOST);

	af_buf_took(b, (char *)af_pb_put_fixed64(to, field, v));
}

static inline void af_pb_bytes(struct af_buf *b, uint32_t field, const void *data, size_t len)
{
	uint8_t *to = (uint8_t *)af_buf_room(b, AF_PB_MOST + len);

	af_buf_took(b, (char *)af_pb_put_head(to, field, len));
	af_buf_add(b, data, len);
}

static inline void af_pb_text(struct af_buf *b, uint32_t field, const char *s)
{
	af_pb_bytes(b, field, s, strlen(s));
}

/* Begin a message; returns what af_pb_close() is to be given. */
static inline size_t af_pb_open(struct af_buf *b, uint32_t field)
{
	uint8_t bytes[AF_LEB128_MAX + 1];
	size_t n = af_leb128_put(bytes, field << 3 | AF_PB_BYTES);

	bytes[n++] = 0;
	af_buf_add(b, bytes, n);
	return b->len;
}

static inline void af_pb_close(struct af_buf *b, size_t at)
{
	uint8_t len[AF_LEB128_MAX];
	size_t size = b->len - at;
	size_t n = af_leb128_put(len, size);

	if (n > 1) {
		af_buf_add(b, len, n - 1); /* room */
		memmove(b->data + at + n - 1, b->data + at, size);
	}
	memcpy(b->data + at - 1, len, n);
}

/* Text of any bytes as its strings are to be: UTF-8. */
static inline void af_pb_utf8(struct af_buf *b, uint32_t field, const char *text, size_t len)
{
	size_t at = af_pb_open(b, field);

	af_buf_utf8(b, text, len);
	af_pb_close(b, at);
}

/* Reading: what does not fit in the message ends it, and the cursor's `bad` says so. */

struct af_pb_field {
	uint32_t number;
	enum af_pb_wire wire;
	uint64_t value; /* of a number */
	struct af_cursor bytes;
};

static inline uint64_t af_pb_number(struct af_cursor *in)
{
	size_t left = (size_t)(in->end - in->at);
	uint64_t v = 0;
	size_t size = af_leb128(in->at, left < AF_LEB128_MAX ? left : AF_LEB128_MAX, false, &v);

	in->bad |= !size;
	in->at += size;
	return v;
}

/* The next field, or false at the end or at what cannot be. */
static inline bool af_pb_next(struct af_cursor *in, struct af_pb_field *f)
{
	*f = (struct af_pb_field){0};
	if (in->bad || in->at == in->end)
		return false;
	uint64_t tag = af_pb_number(in), len;
	f->number = tag >> 3 > UINT32_MAX ? 0 : (uint32_t)(tag >> 3);
	f->wire = (enum af_pb_wire)(tag & 7);
	in->bad |= !f->number;
	switch (f->wire) {
	case AF_PB_VARINT:
		f->value = af_pb_number(in);
		break;
	case AF_PB_FIXED64:
	case AF_PB_FIXED32:
		af_cursor_bytes(in, f->wire == AF_PB_FIXED64 ? 8 : 4);
		break;
	case AF_PB_BYTES:
		len = af_pb_number(in);
		f->bytes.at = af_cursor_bytes(in, len);
		f->bytes.end = f->bytes.at ? in->at : NULL;
		break;
	default:
		in->bad = true;
	}
	return !in->bad;
}

/* The numbers of a repeated field, packed or not: one after the other until false. */
static inline bool af_pb_each(struct af_pb_field *f, uint64_t *v)
{
	if (f->wire == AF_PB_BYTES) {
		if (f->bytes.at == f->bytes.end)
			return false;
		*v = af_pb_number(&f->bytes);
		return !f->bytes.bad;
	}
	if (f->wire != AF_PB_VARINT)
		return false;
	*v = f->value;
	f->wire = AF_PB_FIXED32; /* taken */
	return true;
}

#endif
