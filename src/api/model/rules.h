/*
 * Rules of an API: what NAME.rules says (see ../README.md). Legal order:
 *
 *	af_rules_read() → { af_rules_apply() }* → af_rules_free()
 *
 * Everything that an applied rule points to belongs to the rules. Single-threaded.
 */
#ifndef AF_API_MODEL_RULES_H
#define AF_API_MODEL_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "api/model/model.h"

struct af_err;

/* A factor of a length: a number, or a value that is known when the call has returned. */
enum af_factor_kind {
	AF_FACTOR_NUMBER,
	AF_FACTOR_PARAM,  /* the parameter's value */
	AF_FACTOR_AT,     /* what the parameter points to */
	AF_FACTOR_MEMBER, /* a member of the struct that it points to */
	AF_FACTOR_RANKS,  /* of a communicator */
	AF_FACTOR_SIZE,   /* of a datatype, in bytes */
	AF_FACTOR_SUM,    /* of the elements of an array */
	AF_FACTOR_VOLUME, /* of three extents that the parameter points to */
	AF_FACTOR_PIXEL,  /* of an image, in bytes */
	AF_FACTOR_MEMORY, /* of the memory objects of an array, in bytes */
	AF_FACTOR_GIVEN,  /* 1, or 0 where a buffer's place stands for another one */
};

struct af_factor {
	enum af_factor_kind kind;
	uint64_t number;
	const char *param, *member;
};

/* The least of some products. */
enum { AF_TERMS_MAX = 4, AF_FACTORS_MAX = 4 };
struct af_length {
	struct af_factor factors[AF_TERMS_MAX][AF_FACTORS_MAX];
	uint32_t nr_factors[AF_TERMS_MAX];
	uint32_t nr_terms; /* 0: there is none */
};

enum af_rule_shape {
	AF_SHAPE_UNSET, /* one value, or as the type says */
	AF_SHAPE_NONE,
	AF_SHAPE_ONE,
	AF_SHAPE_STRING,
	AF_SHAPE_ARRAY,
	AF_SHAPE_BYTES,
	AF_SHAPE_ZERO,
	AF_SHAPE_PAIRS,
};

/* The rules of one parameter. */
struct af_param_rule {
	enum af_rule_shape shape;
	bool is_inout, is_in;
	bool is_c_only; /* Fortran's function lacks it */
	bool is_filled; /* the wrapper puts one in its place where the program wants none */
	const char *as; /* a type, or NULL */
	struct af_length length;
};

/* The rules of one function. */
struct af_function_rule {
	const char *category, *level, *memory, *op; /* as in the file, or NULL */
	const char *error;                          /* a parameter, or NULL */
	const char *returns;                        /* a type, or NULL */
	bool never_fails, blocks, is_safe, is_entry;
	bool is_variadic; /* more arguments follow, which are passed on */
	bool is_fortran;  /* Fortran has it, too */
	struct af_length bytes, moves;
	struct af_param_rule *params; /* one for each of the model's */
};

/* A type that is shown otherwise than the headers say. */
struct af_rule_type {
	const char *name, *base;
};

struct af_rule_line {
	char *patterns; /* one after the other, each with its NUL; an empty one ends them */
	char *words;    /* the same */
	uint32_t line;
};

struct af_rules {
	struct af_arena arena;
	const char *path;
	int64_t success;                /* result of a call that worked */
	const char *result, *result_as; /* results of that type are of the other; or NULL */
	/* Types that are stored otherwise than in memory, as in words; or NULL */
	const char *native;
	struct af_rule_type *types;
	uint32_t nr_types, cap_types;
	struct af_rule_line *lines;
	uint32_t nr_lines, cap_lines;
};

/* Read the file @path. -errno with a message that names the line. Free it in any case. */
int af_rules_read(struct af_rules *r, const char *path, struct af_err *err);
void af_rules_free(struct af_rules *r);

/*
 * Collect the rules of @f in @out. -EINVAL with a message that names the line when a rule names a
 * parameter that a function has not (and none of those that the pattern matches has), or makes no
 * sense.
 */
int af_rules_apply(struct af_rules *r, const struct af_model_function *f,
                   struct af_function_rule *out, struct af_err *err);

#endif
