/*
 * The build-time program that turns a model and its rules into C: shared by its files.
 *
 *	resolve.c   model and rules to what is emitted: offsets, shapes, lengths
 *	tables.c    the tables that readers decode by (../tables/tables.h)
 *	enqueue.c   OpenCL's hooks of calls that put work on a queue
 *	encode.c    what writes the event of a call, given its arguments
 *	length.c    how much a call moves, how long an array is
 *	wrappers.c  functions that stand before the real ones, and call the encoders
 *	fortran.c   the same for those that Fortran calls
 *
 * It runs once and never frees.
 */
#ifndef AF_API_GENERATE_GENERATE_H
#define AF_API_GENERATE_GENERATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api/model/model.h"
#include "api/model/rules.h"

/* How a parameter's pointee is recorded: those of enum af_api_pointee, and how long it is. */
enum gen_pointee { GEN_NOTHING, GEN_ONE, GEN_ARRAY, GEN_PAIRS, GEN_STRING, GEN_ZERO };

struct gen_param {
	const char *name;
	const char *type;   /* model type of the value as it is passed; "pointer" for pointers */
	const char *target; /* model type of what is recorded of the pointee */
	enum gen_pointee pointee;
	bool is_out, is_inout;
	bool is_c_only, is_filled; /* as in the rules */
	/* The values, or those pointed to, are stored otherwise than in memory */
	bool is_native;
	bool is_text;         /* characters, whether they are recorded or not */
	uint32_t size, align; /* bytes of the value */
	uint32_t at;          /* offset in the payload */
	uint32_t target_size;
	const struct af_length *length; /* of an ARRAY */
};

struct gen_function {
	const char *name;
	uint32_t number;
	const char *result;
	uint32_t result_size;
	struct gen_param *params;
	uint32_t nr_params;
	const char *category, *level;               /* in capitals */
	uint32_t bytes_at, bytes_size, bytes_param; /* the parameter, where it is no sum of more */
	const struct af_length *bytes;              /* computed, or NULL */
	int error; /* parameter that the error is stored through, or -1 */
	bool can_fail, blocks, is_safe, is_entry, is_variadic, is_fortran;
	bool has_native_result;
	const char *op;                /* enum af_op in capitals, of OpenCL's work; or NULL */
	const struct af_length *moves; /* how much the work moves, or NULL */
	uint32_t fixed;                /* bytes of the payload up to the first pointee */
	uint32_t room;                 /* bytes of the pointees at most */
};

struct gen_api {
	const struct af_model *model;
	int64_t success;
	struct gen_function *functions;
	uint32_t nr_functions, cap_functions;
};

/* Bytes of a pointee that are recorded at most. A string's NUL comes on top. */
enum { GEN_STRING_MAX = 1024, GEN_ARRAY_MAX = 1024, GEN_HEAD = 16, GEN_KEPT_MAX = 2 };

/* Exits with a message when model and rules do not fit. */
void gen_resolve(struct gen_api *api, const struct af_model *m, struct af_rules *rules);

/* The index of the parameter @name; -1 when there is none. */
int gen_param_named(const struct gen_function *f, const char *name);

/* The tables of the API (../tables/tables.h). */
void gen_tables(const struct gen_api *api, FILE *out);

/* The struct of a function's arguments, as C passes them. */
void gen_args(const struct gen_api *api, const struct gen_function *f, FILE *out);

/* OpenCL's hooks: functions with op:, and their table. */
void gen_enqueues(const struct gen_api *api, FILE *out);

/*
 * Encoders of all functions: for each a struct of its arguments as C passes them, and
 * `encode_N(call, result, args)`.
 */
void gen_encode(const struct gen_api *api, FILE *out);

/* A length as an expression of C, of the arguments @a; @f is the function. */
void gen_length(const struct gen_api *api, const struct gen_function *f, const struct af_length *l,
                FILE *out);

/* The line of a wrapper that keeps what an inout parameter points to before the call. */
void gen_before(const struct gen_api *api, const struct gen_function *f, uint32_t i, FILE *out);

/* Where generated code stands, and how it finds the real functions. */
enum gen_way {
	GEN_CALLBACK, /* no wrappers: arguments come as a struct (CUPTI) */
	GEN_LAYER,    /* static functions, for the table of a loader */
	GEN_PRELOAD,  /* exported functions under the real names */
};

/* The numbers that a vendor's profiling interface has for functions: what NAME.ids says. */
struct gen_id {
	uint32_t id;
	const char *name;
};
struct gen_ids {
	struct gen_id *ids;
	uint32_t nr, cap;
};

/* The functions that call the encoders, and their table; for GEN_CALLBACK by @ids too. */
void gen_wrappers(const struct gen_api *api, enum gen_way way, const struct gen_ids *ids,
                  FILE *out);

/*
 * X-macros of the functions that are recorded at the level minimal: F(id, name, category), and of
 * those of them that allocate or free, M(name, category, memory, form).
 */
void gen_minimal(const struct af_model *m, const struct gen_ids *ids, struct af_rules *rules,
                 FILE *out);

/* The lines of a wrapper between the arguments and the call: what is kept of before. */
void gen_keep(const struct gen_api *api, const struct gen_function *f, FILE *out);

/* An encoder takes these beside the arguments, of the wrapper of @f: ", name" each. */
void gen_kept(const struct gen_function *f, FILE *out);

/* Functions under the names of Fortran, after the others. */
void gen_fortran(const struct gen_api *api, FILE *out);

/* The C type of the model type @type, as a parameter. */
const char *gen_ctype(const struct af_model *m, const char *type);

__attribute__((noreturn, format(printf, 1, 2))) void gen_die(const char *fmt, ...);

#endif
