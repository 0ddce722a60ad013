/*
 * Events as they lie in a packet: a struct af_event_header, then the fixed fields of the kind
 * (packed, little-endian), then its tail fields. The table of kinds is aflame/event.h, which
 * programs that use libaflame-trace have too; this layout is ours.
 */
#ifndef AF_TRACE_LAYOUT_H
#define AF_TRACE_LAYOUT_H

#include <stdint.h>

#include "aflame/event.h"

/* The directory of a trace that nobody named. */
#define AF_TRACE_DEFAULT "aflame.data"

typedef uint8_t af_u8;
typedef uint16_t af_u16;
typedef struct {
	uint8_t byte[3]; /* little-endian: af_u24_make(), af_u24_value() */
} __attribute__((packed)) af_u24;
typedef uint32_t af_u32;
typedef struct {
	uint8_t byte[6]; /* little-endian: af_u48_make(), af_u48_value() */
} __attribute__((packed)) af_u48;
typedef uint64_t af_u64;
typedef uint64_t af_x64; /* printed in hexadecimal: an address or a handle */
typedef int32_t af_i32;
typedef int64_t af_i64;

struct af_event_header {
	uint16_t kind;
	uint16_t size; /* bytes of the whole event, header included */
	uint64_t time_ns;
} __attribute__((packed));

_Static_assert(sizeof(struct af_event_header) == 12, "the event header is 12 bytes on disk");

/* struct af_ev_sample and so on: the fixed fields of each kind, as they lie on disk. */
#define AF_MEMBER_FIX(type, name) af_##type name;
#define AF_MEMBER_STR(type, name)
#define AF_MEMBER_SEQ(type, name)
#define AF_MEMBER(class, type, name, meaning) AF_MEMBER_##class(type, name)
#define AF_K(number, NAME, name, meaning)                                                          \
	struct af_ev_##name {                                                                      \
		AF_##NAME##_FIELDS(AF_MEMBER)                                                      \
	} __attribute__((packed));
AF_KINDS(AF_K)
#undef AF_K
#undef AF_MEMBER

enum { AF_U24_MAX = (1 << 24) - 1 };

static inline af_u24 af_u24_make(uint32_t v)
{
	return (af_u24){{(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16)}};
}

static inline uint32_t af_u24_value(af_u24 v)
{
	return v.byte[0] | (uint32_t)v.byte[1] << 8 | (uint32_t)v.byte[2] << 16;
}

static inline af_u48 af_u48_make(uint64_t v)
{
	af_u48 u;

	__builtin_memcpy(&u, &v, sizeof u);
	return u;
}

static inline uint64_t af_u48_value(af_u48 u)
{
	uint64_t v = 0;

	__builtin_memcpy(&v, &u, sizeof u);
	return v;
}

/* The payload of every call of a traced API begins with this. */
struct af_api_head {
	uint32_t callpath, correlation;
	af_u48 duration_ns;
	uint8_t depth, flags; /* enum af_api_call_flag */
} __attribute__((packed));

_Static_assert(sizeof(struct af_api_head) == 16, "the head of a call is 16 bytes on disk");

#endif
