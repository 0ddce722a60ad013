/*
 * The payload of one API call, taken apart by the tables. Bytes are hostile: all that is handed out
 * lies in the payload. Views point into it, unaligned.
 */
#ifndef AF_API_TABLES_DECODE_H
#define AF_API_TABLES_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/tables/tables.h"
#include "trace/layout.h"

enum { AF_API_ARGS = 32 };

/* Elements that a pointer pointed to. */
struct af_api_view {
	const uint8_t *data; /* NULL: not recorded; a string has its NUL */
	uint32_t nr;         /* elements; bytes of a string without its NUL */
};

struct af_api_arg {
	const struct af_api_param *param;
	const uint8_t *value;      /* as it was passed */
	struct af_api_view before; /* inout: as it was before the call */
	struct af_api_view target;
};

struct af_api_call {
	const struct af_api_function *function;
	struct af_api_head head;
	const uint8_t *result; /* NULL for void */
	bool has_bytes;
	uint64_t bytes; /* that it moves or allocates */
	bool is_cut;    /* the payload ends before what the table says; the rest is not recorded */
	uint32_t nr_args;
	struct af_api_arg args[AF_API_ARGS];
};

/*
 * Take apart the @size bytes at @payload, of a call of @f. False when not even the arguments as
 * they were passed are there.
 */
bool af_api_decode(const struct af_api_function *f, const uint8_t *payload, size_t size,
                   struct af_api_call *call);

/*
 * Is there something to show where the argument points? After a call that failed, zeros that it
 * would have written are nothing.
 */
bool af_api_has_target(const struct af_api_call *call, const struct af_api_arg *arg);

/* Are all @size bytes zero? */
bool af_api_is_zero(const uint8_t *at, size_t size);

/* The value at @at, of at most 8 bytes, as it lies there; @t of size 8 at most, else 0. */
static inline uint64_t af_api_unsigned(const struct af_api_type *t, const uint8_t *at)
{
	uint64_t v = 0;

	if (t->size <= sizeof v)
		memcpy(&v, at, t->size);
	return v;
}

/* The same with its sign. */
static inline int64_t af_api_signed(const struct af_api_type *t, const uint8_t *at)
{
	unsigned unused = t->size && t->size < 8 ? 64 - 8u * t->size : 0;

	return (int64_t)(af_api_unsigned(t, at) << unused) >> unused;
}

/* The same by the sign that @t has: as values of enums are in the tables. */
static inline int64_t af_api_number(const struct af_api_type *t, const uint8_t *at)
{
	return t->is_signed ? af_api_signed(t, at) : (int64_t)af_api_unsigned(t, at);
}

/* The name of @value, of an enum or of one flag; NULL when it has none. */
const char *af_api_value_name(const struct af_api_type *t, int64_t value);

#endif
