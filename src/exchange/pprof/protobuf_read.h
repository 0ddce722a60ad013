/*
 * Protocol Buffers' wire format, read by hand: fields of a message one after the other. Bytes are
 * hostile: what does not fit in the message ends it, and `bad` says so.
 */
#ifndef AF_EXCHANGE_PPROF_PROTOBUF_READ_H
#define AF_EXCHANGE_PPROF_PROTOBUF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pb_wire { PB_WIRE_VARINT = 0, PB_WIRE_FIXED64 = 1, PB_WIRE_BYTES = 2, PB_WIRE_FIXED32 = 5 };

struct pb_in {
	const uint8_t *at, *end;
	bool bad;
};

struct pb_field {
	uint32_t number;
	enum pb_wire wire;
	uint64_t value; /* of a number */
	struct pb_in bytes;
};

static inline bool pb_in_varint(struct pb_in *in, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		uint8_t byte = *in->at++;
		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	in->bad = true;
	return false;
}

static inline bool pb_in_skip(struct pb_in *in, size_t n)
{
	if (n > (size_t)(in->end - in->at)) {
		in->bad = true;
		return false;
	}
	in->at += n;
	return true;
}

/* The next field, or false at the end or at what cannot be. */
static inline bool pb_in_next(struct pb_in *in, struct pb_field *f)
{
	uint64_t tag, len = 0;

	*f = (struct pb_field){0};
	if (in->bad || in->at == in->end || !pb_in_varint(in, &tag))
		return false;
	f->number = tag >> 3 > UINT32_MAX ? 0 : (uint32_t)(tag >> 3);
	f->wire = (enum pb_wire)(tag & 7);
	in->bad = !f->number;
	switch (f->wire) {
	case PB_WIRE_VARINT:
		pb_in_varint(in, &f->value);
		break;
	case PB_WIRE_FIXED64:
	case PB_WIRE_FIXED32:
		pb_in_skip(in, f->wire == PB_WIRE_FIXED64 ? 8 : 4);
		break;
	case PB_WIRE_BYTES:
		if (pb_in_varint(in, &len) && pb_in_skip(in, len))
			f->bytes = (struct pb_in){in->at - len, in->at, false};
		break;
	default:
		in->bad = true;
	}
	return !in->bad;
}

/* The numbers of a repeated field, packed or not: one after the other until false. */
static inline bool pb_in_number(struct pb_field *f, uint64_t *v)
{
	if (f->wire == PB_WIRE_BYTES)
		return f->bytes.at < f->bytes.end && pb_in_varint(&f->bytes, v);
	if (f->wire != PB_WIRE_VARINT)
		return false;
	*v = f->value;
	f->wire = PB_WIRE_FIXED32; /* taken */
	return true;
}

#endif
