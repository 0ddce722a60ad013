/*
 * A model of an API in memory: what NAME.api says (see ../README.md). Legal order:
 *
 *	af_model_read() → … → af_model_free()
 *
 * or fill one by af_model_type() and so on, then af_model_write(). Everything a model points to
 * belongs to it. Single-threaded.
 */
#ifndef AF_API_MODEL_MODEL_H
#define AF_API_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

struct af_buf;
struct af_err;

enum af_model_form {
	AF_MODEL_ALIAS, /* of a built-in type: `type cl_int i32` */
	AF_MODEL_ENUM,
	AF_MODEL_FLAGS,
	AF_MODEL_STRUCT,
	AF_MODEL_BUILTIN,
};

struct af_model_value {
	int64_t value;
	const char *name;
};

struct af_model_member {
	const char *name, *type;
	uint32_t offset, nr;
};

struct af_model_type {
	const char *name;
	enum af_model_form form;
	const char *base;     /* the built-in type that an ALIAS, ENUM or FLAGS is stored as */
	uint32_t size, align; /* of every type, filled in when a model is read */
	struct af_model_value *values;
	uint32_t nr_values, cap_values;
	struct af_model_member *members;
	uint32_t nr_members, cap_members;
};

enum af_model_points {
	AF_MODEL_BY_VALUE,
	AF_MODEL_IN,  /* points to const */
	AF_MODEL_OUT, /* points to what the call may write */
};

struct af_model_param {
	const char *name, *type; /* the type pointed to, where it points */
	enum af_model_points points;
};

struct af_model_function {
	const char *name, *result;
	uint32_t number;
	struct af_model_param *params;
	uint32_t nr_params, cap_params;
};

struct af_model_source {
	const char *header, *version;
};

struct af_model {
	struct af_arena arena; /* of all strings */
	const char *name, *title;
	uint32_t kind; /* the first event kind of its block */
	struct af_model_source *sources;
	uint32_t nr_sources, cap_sources;
	struct af_model_type *types; /* in the file's order: a type stands before its users */
	uint32_t nr_types, cap_types;
	struct af_model_function *functions; /* by number */
	uint32_t nr_functions, cap_functions;
	struct af_model_type **blobs; /* the types bytesN that it uses */
	uint32_t nr_blobs, cap_blobs;
};

/*
 * Read the file @path. -errno with a message that names the line. A zeroed @m is freed by the
 * caller also after a failure.
 */
int af_model_read(struct af_model *m, const char *path, struct af_err *err);
int af_model_read_text(struct af_model *m, const char *name, const char *text, size_t len,
                       struct af_err *err); /* the same, of a text that messages call @name */
void af_model_free(struct af_model *m);

/*
 * The type @name, built-in types included; NULL when there is none (a bytesN that nothing in the
 * model uses among them). The base of a built-in type is its own name. Valid until one is added.
 */
const struct af_model_type *af_model_type(const struct af_model *m, const char *name);
const struct af_model_function *af_model_function(const struct af_model *m, const char *name);

/*
 * Add one, with copies of the strings; valid until the next is added. The base of a struct is NULL:
 * the caller sets its size and alignment. Functions may come in any order, each number once.
 */
struct af_model_type *af_model_add_type(struct af_model *m, const char *name,
                                        enum af_model_form form, const char *base);
struct af_model_function *af_model_add_function(struct af_model *m, uint32_t number,
                                                const char *name, const char *result);
void af_model_add_value(struct af_model *m, struct af_model_type *t, int64_t value,
                        const char *name);
void af_model_add_member(struct af_model *m, struct af_model_type *t, uint32_t offset,
                         const char *name, const char *type, uint32_t nr);
void af_model_add_param(struct af_model *m, struct af_model_function *f, const char *name,
                        enum af_model_points points, const char *type);
void af_model_add_source(struct af_model *m, const char *header, const char *version);

/* The model as text, as af_model_read() takes it, appended to @b. */
void af_model_write(const struct af_model *m, struct af_buf *b);

#endif
