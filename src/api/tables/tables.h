/*
 * The APIs that can be traced, as constant tables: made by src/api/generate from src/api/models.
 * Events of their calls are decoded by them. All strings and tables live as long as the program.
 */
#ifndef AF_API_TABLES_TABLES_H
#define AF_API_TABLES_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/* How a value is stored and shown. */
enum af_api_form {
	AF_API_VOID,
	AF_API_UNSIGNED,
	AF_API_SIGNED,
	AF_API_FLOAT,
	AF_API_CHAR,
	AF_API_ADDRESS, /* hexadecimal */
	AF_API_HANDLE,  /* an opaque object of the API */
	AF_API_ENUM,
	AF_API_FLAGS,
	AF_API_STRUCT,
	AF_API_BYTES, /* not decoded */
};

struct af_api_value {
	int64_t value;
	const char *name;
};

struct af_api_type;

/* A member of a struct. */
struct af_api_member {
	const char *name;
	const struct af_api_type *type;
	uint16_t offset;
	uint16_t nr; /* elements of an array, 1 for a single value */
};

struct af_api_type {
	const char *name;
	uint8_t form; /* enum af_api_form */
	bool is_signed;
	uint16_t size; /* bytes of a value */
	uint16_t nr;   /* of the next one */
	union {
		const struct af_api_value *values;   /* ENUM, FLAGS: by value */
		const struct af_api_member *members; /* STRUCT: by offset */
	};
};

/* How the target of a parameter that points is recorded. */
enum af_api_pointee {
	AF_API_NOTHING, /* it is no pointer, or only the address is recorded */
	AF_API_ONE,
	AF_API_ARRAY, /* u16 count, elements */
	AF_API_PAIRS, /* the same: count of elements, two a pair, without the final 0 */
	AF_API_STRING,
};

struct af_api_param {
	const char *name;
	const struct af_api_type *type;   /* as it was passed: ADDRESS for a pointer */
	const struct af_api_type *target; /* of the pointee, NULL for AF_API_NOTHING */
	uint16_t at;                      /* offset in the payload of its value */
	uint8_t pointee;                  /* enum af_api_pointee */
	bool is_out;                      /* the call writes it: shown behind an arrow */
	bool is_inout;                    /* recorded twice: first as it was before the call */
};

enum af_api_level {
	AF_API_OFF = 0,
	AF_API_MINIMAL = 1,
	AF_API_DEFAULT = 2,
	AF_API_FULL = 3,
};

struct af_api_function {
	const char *name; /* NULL: the number is not used */
	const struct af_api_type *result;
	const struct af_api_param *params;
	uint8_t nr_params;
	uint8_t category;  /* enum af_call_category */
	uint8_t level;     /* enum af_api_level: the lowest that records it */
	uint8_t bytes_len; /* bytes of the field that holds what it moves, 0: there is none */
	uint16_t bytes_at; /* and its offset in the payload */
	uint16_t fixed;    /* bytes of the payload before the first pointee */
	bool has_bytes;    /* that field is computed, and stands behind the result */
	bool can_fail;     /* the status of the head, or the result, is an error code */
	bool is_safe;      /* a test may call the real one with zeros */
	bool blocks;       /* it may wait */
};

/* Not struct af_api: that tag is an enum of aflame/event.h. */
struct af_api_table {
	const char *name, *title;
	uint32_t api;          /* enum af_api */
	uint16_t kind;         /* the first event kind of its block */
	uint16_t nr_functions; /* numbers: 0 to nr_functions - 1 */
	const struct af_api_function *functions;
	const struct af_api_type *errors; /* names of error codes, or NULL */
	const char *headers;              /* that it is from, with their versions; or NULL */
};

extern const struct af_api_table *const af_apis[]; /* NULL-terminated, by kind */

/* The API whose block @kind lies in, or NULL. */
const struct af_api_table *af_api_of(uint16_t kind);

/* The function of an event of @kind, or NULL when this version does not know it. */
const struct af_api_function *af_api_function(uint16_t kind);

/* By name; NULL when there is none. */
const struct af_api_table *af_api_named(const char *name);

#endif
