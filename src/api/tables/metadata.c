#include "api/tables/metadata.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/keys.h"

/* One text on its way. */
struct text {
	struct af_buf *b;
	const char *api;
	struct af_keys types;  /* that are defined, by name */
	struct af_keys fields; /* of the event or struct at hand */
};

static void put_identifier(struct af_buf *b, const char *name)
{
	for (; *name; name++)
		af_buf_char(b, isalnum((unsigned char)*name) ? *name : '_');
}

/* The name of a type of this API: cuda_CUresult. */
static void put_type_name(struct text *t, const char *name)
{
	put_identifier(t->b, t->api);
	af_buf_char(t->b, '_');
	put_identifier(t->b, name);
}

static bool is_enum(const struct af_api_type *type)
{
	return type->form == AF_API_ENUM && type->nr && type->name;
}

static bool is_struct(const struct af_api_type *type)
{
	return type->form == AF_API_STRUCT && type->name;
}

static bool is_number_size(uint16_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* A type that no number can hold is written as an array of bytes. */
static bool is_bytes(const struct af_api_type *type)
{
	return !is_struct(type) && (type->form == AF_API_BYTES || !is_number_size(type->size));
}

static const char *number_name(const struct af_api_type *type, char name[8])
{
	char letter = 'u';

	switch (type->form) {
	case AF_API_CHAR:
		return "char";
	case AF_API_FLOAT:
		letter = type->size >= 4 ? 'f' : 'x';
		break;
	case AF_API_ADDRESS:
	case AF_API_HANDLE:
	case AF_API_FLAGS:
		letter = 'x';
		break;
	default:
		letter = type->is_signed || type->form == AF_API_SIGNED ? 'i' : 'u';
	}
	snprintf(name, 8, "%c%u", letter, 8u * (type->size & 15u));
	return name;
}

static void put_number_type(struct text *t, const struct af_api_type *type)
{
	char name[8];

	put_type_name(t, is_bytes(type) ? "u8" : number_name(type, name));
}

static void put_type(struct text *t, const struct af_api_type *type)
{
	if (is_struct(type) || is_enum(type)) {
		af_buf_str(t->b, is_enum(type) ? "enum " : "struct ");
		put_type_name(t, type->name);
	} else {
		put_number_type(t, type);
	}
}

/* The name that a field gets, and its underscore. What an earlier field has gets one behind. */
static void put_field_name(struct text *t, const char *name, const char *suffix)
{
	struct af_buf unique = {0};
	bool fresh;

	put_identifier(&unique, name);
	af_buf_str(&unique, suffix);
	while (af_keys_at(&t->fields, unique.data, unique.len, &fresh), !fresh)
		af_buf_char(&unique, '_');
	af_buf_char(t->b, '_');
	af_buf_add(t->b, unique.data, unique.len);
	af_buf_free(&unique);
}

/* A field of one value or, with @nr above 1, of an array of that length. */
static void put_value(struct text *t, const struct af_api_type *type, const char *name,
                      const char *suffix, uint32_t nr)
{
	uint32_t bytes = is_bytes(type) ? type->size * nr : 0;

	if (!type->size)
		return;
	af_buf_str(t->b, "\t\t");
	put_type(t, type);
	af_buf_char(t->b, ' ');
	put_field_name(t, name, suffix);
	if (is_bytes(type) || nr > 1)
		af_buf_fmt(t->b, "[%u]", bytes ? bytes : nr);
	af_buf_str(t->b, ";\n");
}

/* The count of a sequence stands before it, by the name nr_NAME_val. */
static void put_sequence(struct text *t, const struct af_api_type *type, const char *name,
                         const char *suffix)
{
	struct af_buf count = {0};

	af_buf_fmt(&count, "nr_%s", name);
	af_buf_str(t->b, "\t\t");
	put_type_name(t, "u16");
	af_buf_char(t->b, ' ');
	size_t from = t->b->len;
	put_field_name(t, count.data, suffix);
	count.len = 0;
	af_buf_add(&count, t->b->data + from, t->b->len - from);
	af_buf_str(t->b, ";\n\t\t");
	if (is_bytes(type) && type->size > 1) {
		af_buf_str(t->b, "struct { ");
		put_type_name(t, "u8");
		af_buf_fmt(t->b, " _bytes[%u]; }", type->size);
	} else {
		put_type(t, type);
	}
	af_buf_char(t->b, ' ');
	put_field_name(t, name, suffix);
	af_buf_fmt(t->b, "[%s];\n", count.data);
	af_buf_free(&count);
}

static void define_enum(struct text *t, const struct af_api_type *type)
{
	const uint64_t mask = type->size < 8 ? (1ull << 8 * type->size) - 1 : UINT64_MAX;
	bool first = true;

	af_buf_str(t->b, "enum ");
	put_type_name(t, type->name);
	af_buf_str(t->b, " : ");
	put_number_type(t, type);
	af_buf_str(t->b, " {");
	for (uint32_t i = 0; i < type->nr; i++) {
		const struct af_api_value *v = &type->values[i];
		if (i && v->value == type->values[i - 1].value) /* another name for it */
			continue;
		af_buf_str(t->b, first ? "\n\t\"" : ",\n\t\"");
		first = false;
		put_identifier(t->b, v->name);
		if (type->is_signed)
			af_buf_fmt(t->b, "\" = %lld", (long long)v->value);
		else
			af_buf_fmt(t->b, "\" = %llu", (unsigned long long)v->value & mask);
	}
	af_buf_str(t->b, "\n};\n");
}

static void put_padding(struct text *t, uint32_t from, uint32_t to)
{
	static const struct af_api_type byte = {.form = AF_API_UNSIGNED, .size = 1};
	char name[24];

	snprintf(name, sizeof name, "_padding_%u", from);
	if (to > from)
		put_value(t, &byte, name, "", to - from);
}

static void define(struct text *t, const struct af_api_type *type);

/* Members that overlap, as those of a union, are left out. */
static void define_struct(struct text *t, const struct af_api_type *type)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < type->nr; i++)
		define(t, type->members[i].type);
	af_keys_free(&t->fields);
	af_buf_str(t->b, "struct ");
	put_type_name(t, type->name);
	af_buf_str(t->b, " {\n");
	for (uint32_t i = 0; i < type->nr; i++) {
		const struct af_api_member *m = &type->members[i];
		uint32_t end = m->offset + (uint32_t)m->nr * m->type->size;
		if (m->offset < at || end > type->size || !m->type->size || !m->nr)
			continue;
		put_padding(t, at, m->offset);
		put_value(t, m->type, m->name, "", m->nr);
		at = end;
	}
	put_padding(t, at, type->size);
	af_buf_str(t->b, "};\n");
}

static void define(struct text *t, const struct af_api_type *type)
{
	bool fresh;

	if (!type || (!is_enum(type) && !is_struct(type)))
		return;
	af_keys_at(&t->types, AF_KEY_TEXT(type->name), &fresh);
	if (!fresh)
		return;
	if (is_enum(type))
		define_enum(t, type);
	else
		define_struct(t, type);
}

static void define_numbers(struct text *t)
{
	static const struct {
		const char *name, *is;
	} numbers[] = {
#define INTEGER(bits)                                                                              \
	{"u" #bits, "integer { size = " #bits "; align = 8; signed = false; }"},                   \
	    {"i" #bits, "integer { size = " #bits "; align = 8; signed = true; }"},                \
	    {"x" #bits, "integer { size = " #bits "; align = 8; signed = false; base = 16; }"}
	    INTEGER(8),
	    INTEGER(16),
	    INTEGER(32),
	    INTEGER(64),
	    {"u48", "integer { size = 48; align = 8; signed = false; }"},
	    {"char", "integer { size = 8; align = 8; signed = true; encoding = UTF8; }"},
	    {"f32", "floating_point { exp_dig = 8; mant_dig = 24; align = 8; }"},
	    {"f64", "floating_point { exp_dig = 11; mant_dig = 53; align = 8; }"},
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		af_buf_fmt(t->b, "typealias %s := ", numbers[i].is);
		put_type_name(t, numbers[i].name);
		af_buf_str(t->b, ";\n");
	}
}

static void put_head(struct text *t)
{
	static const char *const fields[][2] = {{"u32", "callpath"},
	                                        {"u32", "correlation"},
	                                        {"u48", "duration_ns"},
	                                        {"u8", "depth"},
	                                        {"x8", "flags"}};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		af_buf_str(t->b, "\t\t");
		put_type_name(t, fields[i][0]);
		af_buf_char(t->b, ' ');
		put_field_name(t, fields[i][1], "");
		af_buf_str(t->b, ";\n");
	}
}

static void put_pointee(struct text *t, const struct af_api_param *p, const char *suffix)
{
	if (p->pointee == AF_API_STRING) {
		af_buf_str(t->b, "\t\tstring ");
		put_field_name(t, p->name, *suffix ? suffix : "_str");
		af_buf_str(t->b, ";\n");
	} else if (p->pointee == AF_API_ONE) {
		put_value(t, p->target, p->name, *suffix ? suffix : "_val", 1);
	} else if (p->pointee != AF_API_NOTHING) {
		put_sequence(t, p->target, p->name, *suffix ? suffix : "_val");
	}
}

static void put_function(struct text *t, const struct af_api_function *f, uint32_t kind)
{
	static const struct af_api_type bytes = {.form = AF_API_UNSIGNED, .size = 8};

	for (uint32_t i = 0; i < f->nr_params; i++) {
		define(t, f->params[i].type);
		define(t, f->params[i].target);
	}
	define(t, f->result);
	af_buf_str(t->b, "event {\n\tname = \"");
	put_identifier(t->b, t->api);
	af_buf_char(t->b, ':');
	put_identifier(t->b, f->name);
	af_buf_fmt(t->b, "\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", kind);
	af_keys_free(&t->fields);
	put_head(t);
	if (f->result)
		put_value(t, f->result, "result", "", 1);
	if (f->has_bytes)
		put_value(t, &bytes, "bytes", "", 1);
	for (uint32_t i = 0; i < f->nr_params; i++)
		put_value(t, f->params[i].type, f->params[i].name, "", 1);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		if (f->params[i].is_inout)
			put_pointee(t, &f->params[i], "_in");
		put_pointee(t, &f->params[i], "");
	}
	af_buf_str(t->b, "\t};\n};\n");
}

void af_api_metadata(struct af_buf *b, const struct af_api_table *api)
{
	struct text t = {.b = b, .api = api->name};

	define_numbers(&t);
	for (uint32_t i = 0; i < api->nr_functions; i++)
		if (api->functions[i].name)
			put_function(&t, &api->functions[i], api->kind + i);
	af_keys_free(&t.types);
	af_keys_free(&t.fields);
}
