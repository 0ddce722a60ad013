/*
 * The event table as data, for code that treats all kinds alike: the reader's checks, the metadata,
 * `aflame print`, the tables of docs/format.md. Generated from the X-macro of aflame/event.h.
 */
#ifndef AF_TRACE_KINDS_H
#define AF_TRACE_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

enum af_field_class { AF_FIELD_FIX, AF_FIELD_STR, AF_FIELD_SEQ };

enum af_field_type {
	AF_TYPE_u8,
	AF_TYPE_u16,
	AF_TYPE_u24,
	AF_TYPE_u32,
	AF_TYPE_u48,
	AF_TYPE_u64,
	AF_TYPE_x64,
	AF_TYPE_i32,
	AF_TYPE_i64,
	AF_TYPE_str
};

enum { AF_TAILS_MAX = 4 };

struct af_field_info {
	const char *name, *meaning;
	enum af_field_class class;
	enum af_field_type type; /* of the elements, for a SEQ */
};

struct af_kind_info {
	uint16_t kind;
	const char *name, *meaning;
	const struct af_field_info *fields; /* fixed fields first, then tails, as on disk */
	uint32_t nr_fields;
	uint32_t fixed_size; /* bytes of the fixed fields */
	uint32_t nr_tails;
};

/* NULL for an unknown kind. */
const struct af_kind_info *af_kind_info(uint16_t kind);

/* Bytes of one value; 0 for a string. */
uint32_t af_field_size(enum af_field_type type);

/* The values of a field whose meaning starts with "enum af_…". */
struct af_value_info {
	uint32_t value;
	const char *name;    /* RING_FULL */
	const char *meaning; /* for people; "" where the name says it */
};
struct af_enum_info {
	const char *name; /* af_lost */
	bool flags;       /* a value is a sum of these */
	const struct af_value_info *values;
	uint32_t nr_values;
};

/* The enumeration of a field, or NULL. Compares names: look it up once, not for each event. */
const struct af_enum_info *af_field_enum(const struct af_field_info *field);

/* The name of @value, or NULL. */
const char *af_enum_name(const struct af_enum_info *e, uint32_t value);

/* The name of a LOST reason, as in `aflame print`, or "unknown". */
const char *af_lost_name(uint32_t reason);

/*
 * The words for people for a LOST reason, a stop, an op, a cause of UNSAMPLED and so on; "unknown"
 * for others.
 */
const char *af_lost_text(uint32_t reason);
const char *af_stop_text(uint32_t stop);
const char *af_op_text(uint32_t op);
const char *af_state_text(uint32_t state);
const char *af_call_category_text(uint32_t category);
const char *af_memory_text(uint32_t memory);
const char *af_overhead_text(uint32_t overhead);
const char *af_unsampled_text(uint32_t cause);

/* A tail field: points into the event, unaligned. */
struct af_tail_view {
	const uint8_t *data; /* a STR is NUL-terminated there */
	uint32_t len;        /* bytes of a STR without its NUL; elements of a SEQ */
};

/*
 * Split the @size bytes of payload at @p by the table: copies the fixed fields to @fixed when that
 * is not NULL (info->fixed_size bytes) and fills info->nr_tails of @tails when that is not NULL.
 * False when the bytes are not exactly one such payload.
 */
bool af_payload_split(const struct af_kind_info *info, const uint8_t *p, size_t size, void *fixed,
                      struct af_tail_view *tails);

#endif
