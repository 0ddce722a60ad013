#include "api/model/model.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of a value, which is aligned to its size; void has none. */
#define BUILTIN(type_name, bytes)                                                                  \
	{                                                                                          \
		.name = type_name, .form = AF_MODEL_BUILTIN, .base = type_name, .size = bytes,     \
		.align = (bytes) ? (bytes) : 1                                                     \
	}

static const struct af_model_type builtins[] = {
    BUILTIN("i8", 1),      BUILTIN("i16", 2),    BUILTIN("i32", 4), BUILTIN("i64", 8),
    BUILTIN("u8", 1),      BUILTIN("u16", 2),    BUILTIN("u32", 4), BUILTIN("u64", 8),
    BUILTIN("f32", 4),     BUILTIN("f64", 8),    BUILTIN("x64", 8), BUILTIN("char", 1),
    BUILTIN("pointer", 8), BUILTIN("handle", 8), BUILTIN("void", 0)};

enum { BUILTINS = sizeof builtins / sizeof *builtins, BLOB_MOST = UINT16_MAX };

static const char *model_string(struct af_model *m, const char *s)
{
	return s ? af_arena_strdup(&m->arena, s, strlen(s)) : NULL;
}

void af_model_free(struct af_model *m)
{
	for (uint32_t i = 0; i < m->nr_types; i++) {
		free(m->types[i].values);
		free(m->types[i].members);
	}
	for (uint32_t i = 0; i < m->nr_functions; i++)
		free(m->functions[i].params);
	free(m->sources);
	free(m->types);
	free(m->functions);
	free(m->blobs);
	af_arena_free(&m->arena);
	*m = (struct af_model){0};
}

const struct af_model_type *af_model_type(const struct af_model *m, const char *name)
{
	for (uint32_t i = 0; i < BUILTINS; i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	for (uint32_t i = 0; i < m->nr_blobs; i++)
		if (!strcmp(m->blobs[i]->name, name))
			return m->blobs[i];
	for (uint32_t i = 0; i < m->nr_types; i++)
		if (!strcmp(m->types[i].name, name))
			return &m->types[i];
	return NULL;
}

const struct af_model_function *af_model_function(const struct af_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->nr_functions; i++)
		if (!strcmp(m->functions[i].name, name))
			return &m->functions[i];
	return NULL;
}

/* The bytes of bytesN; 0 when @name is no such name. */
static uint32_t blob_size(const char *name)
{
	const char *digits = name + 5;

	if (strncmp(name, "bytes", 5) || strlen(digits) > 5 || *digits < '1' || *digits > '9' ||
	    digits[strspn(digits, "0123456789")])
		return 0;
	unsigned long size = strtoul(digits, NULL, 10);
	return size <= BLOB_MOST ? (uint32_t)size : 0;
}

/* The name of a type that is used: as the type has it, and bytesN comes into being. */
static const char *model_use(struct af_model *m, const char *name)
{
	const struct af_model_type *t = name ? af_model_type(m, name) : NULL;
	uint32_t size = name && !t ? blob_size(name) : 0;

	if (t)
		return t->name;
	if (!size)
		return model_string(m, name);
	struct af_model_type *blob = af_arena_alloc(&m->arena, sizeof *blob);
	blob->name = blob->base = model_string(m, name);
	blob->form = AF_MODEL_BUILTIN;
	blob->size = size;
	blob->align = 1;
	AF_GROW(m->blobs, m->nr_blobs, m->cap_blobs);
	m->blobs[m->nr_blobs++] = blob;
	return blob->name;
}

struct af_model_type *af_model_add_type(struct af_model *m, const char *name,
                                        enum af_model_form form, const char *base)
{
	const char *used = model_use(m, base);
	const struct af_model_type *b = used ? af_model_type(m, used) : NULL;

	AF_GROW(m->types, m->nr_types, m->cap_types);
	struct af_model_type *t = &m->types[m->nr_types++];
	*t = (struct af_model_type){.name = model_string(m, name), .form = form, .base = used};
	t->size = b ? b->size : 0;
	t->align = b ? b->align : 0;
	return t;
}

struct af_model_function *af_model_add_function(struct af_model *m, uint32_t number,
                                                const char *name, const char *result)
{
	AF_GROW(m->functions, m->nr_functions, m->cap_functions);
	uint32_t at = m->nr_functions++;
	for (; at && m->functions[at - 1].number > number; at--)
		m->functions[at] = m->functions[at - 1];
	struct af_model_function *f = &m->functions[at];
	*f = (struct af_model_function){
	    .name = model_string(m, name), .result = model_use(m, result), .number = number};
	return f;
}

void af_model_add_value(struct af_model *m, struct af_model_type *t, int64_t value,
                        const char *name)
{
	AF_GROW(t->values, t->nr_values, t->cap_values);
	t->values[t->nr_values++] = (struct af_model_value){value, model_string(m, name)};
}

void af_model_add_member(struct af_model *m, struct af_model_type *t, uint32_t offset,
                         const char *name, const char *type, uint32_t nr)
{
	AF_GROW(t->members, t->nr_members, t->cap_members);
	t->members[t->nr_members++] = (struct af_model_member){
	    .name = model_string(m, name), .type = model_use(m, type), .offset = offset, .nr = nr};
}

void af_model_add_param(struct af_model *m, struct af_model_function *f, const char *name,
                        enum af_model_points points, const char *type)
{
	AF_GROW(f->params, f->nr_params, f->cap_params);
	f->params[f->nr_params++] = (struct af_model_param){
	    .name = model_string(m, name), .type = model_use(m, type), .points = points};
}

void af_model_add_source(struct af_model *m, const char *header, const char *version)
{
	AF_GROW(m->sources, m->nr_sources, m->cap_sources);
	m->sources[m->nr_sources++] =
	    (struct af_model_source){model_string(m, header), model_string(m, version)};
}
