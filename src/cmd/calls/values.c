#include "cmd/calls/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_ELEMENTS = 32, SHOWN_BYTES = 64, SHOWN_STRING = 256 };

static void put_number(struct af_buf *b, const struct af_api_type *t, int64_t v)
{
	bool negative = t->is_signed && v < 0;

	if (negative)
		af_buf_char(b, '-');
	af_buf_u64(b, negative ? -(uint64_t)v : (uint64_t)v);
}

/* JSON has no words for what is no number. */
static void put_float(const struct af_values *v, const struct af_api_type *t, const uint8_t *at,
                      struct af_buf *b)
{
	float single;
	double real;

	if (t->size == sizeof single) {
		memcpy(&single, at, sizeof single);
		real = single;
	} else if (t->size == sizeof real) {
		memcpy(&real, at, sizeof real);
	} else {
		af_buf_hex(b, af_api_unsigned(t, at));
		return;
	}
	/* JSON has all digits, people those that are the same in any reckoning. */
	bool quoted = v->json && !isfinite(real);
	int digits = t->size == sizeof single ? (v->json ? 9 : 7) : (v->json ? 17 : 15);
	af_buf_fmt(b, quoted ? "\"%.*g\"" : "%.*g", digits, real);
}

static void put_enum(struct af_buf *b, const struct af_api_type *t, int64_t value)
{
	const char *name = af_api_value_name(t, value);

	if (name)
		af_buf_str(b, name);
	else
		put_number(b, t, value);
}

/* Names of the flags that are set, joined by '|'; the rest as a number. */
static void put_flags(struct af_buf *b, const struct af_api_type *t, uint64_t value)
{
	const char *name = af_api_value_name(t, t->is_signed ? (int64_t)value : (int64_t)value);
	bool first = true;

	if (name) {
		af_buf_str(b, name);
		return;
	}
	for (uint32_t i = 0; i < t->nr; i++) {
		uint64_t flag = (uint64_t)t->values[i].value;
		if (!flag || (value & flag) != flag)
			continue;
		af_buf_str(b, first ? "" : "|");
		af_buf_str(b, t->values[i].name);
		first = false;
		value &= ~flag;
	}
	if (!first && !value)
		return;
	af_buf_str(b, first ? "" : "|");
	if (value)
		af_buf_hex(b, value);
	else
		af_buf_char(b, '0');
}

static void put_bytes(struct af_buf *b, const uint8_t *at, uint32_t len, bool json)
{
	uint32_t shown = json || len <= SHOWN_BYTES ? len : SHOWN_BYTES;

	for (uint32_t i = 0; i < shown; i++) {
		char two[2] = {"0123456789abcdef"[at[i] >> 4], "0123456789abcdef"[at[i] & 15]};
		af_buf_add(b, two, 2);
	}
	if (shown < len)
		af_buf_fmt(b, "… (%u bytes)", len);
}

/* Text of 4 letters and more that ends with a NUL, with nothing but more of them behind it. */
static bool is_text(const uint8_t *at, uint32_t nr, size_t *len)
{
	*len = strnlen((const char *)at, nr);
	for (uint32_t i = 0; i < nr; i++)
		if (i < *len ? (at[i] < ' ' && at[i] != '\n' && at[i] != '\t') || at[i] > '~'
		             : at[i] != 0)
			return false;
	return *len >= 4 && *len < nr;
}

void af_value_name(const struct af_values *v, const char *name, bool first, struct af_buf *b)
{
	if (v->json) {
		af_buf_str(b, first ? "\"" : ",\"");
		af_buf_str(b, name);
		af_buf_str(b, "\":");
	} else {
		af_buf_str(b, first ? "" : ", ");
		af_buf_str(b, name);
		af_buf_str(b, ": ");
	}
}

static void put_struct(struct af_values *v, const struct af_api_type *t, const uint8_t *at,
                       struct af_buf *b)
{
	af_buf_char(b, '{');
	for (uint32_t i = 0; i < t->nr; i++) {
		const struct af_api_member *m = &t->members[i];
		af_value_name(v, m->name, !i, b);
		if (m->nr == 1)
			af_value_put(v, m->type, at + m->offset, b);
		else
			af_values_put(v, m->type, at + m->offset, m->nr, b);
	}
	af_buf_char(b, '}');
}

static void put_char(const struct af_values *v, const uint8_t *at, struct af_buf *b)
{
	if (*at < ' ' || *at > '~') {
		af_buf_u64(b, *at);
		return;
	}
	if (v->json) {
		af_buf_json(b, (const char *)at, 1);
		return;
	}
	af_buf_char(b, '\'');
	af_buf_char(b, (char)*at);
	af_buf_char(b, '\'');
}

static void put_address(const struct af_api_type *t, uint64_t address, struct af_buf *b)
{
	if (address || (t->name && !strcmp(t->name, "x64")))
		af_buf_hex(b, address);
	else
		af_buf_str(b, "NULL");
}

/* The forms that are in quotes in JSON: addresses and handles are exact only as texts. */
static void put_word(struct af_values *v, const struct af_api_type *t, const uint8_t *at,
                     struct af_buf *b)
{
	switch (t->form) {
	case AF_API_ADDRESS:
		if (v->json)
			af_buf_hex(b, af_api_unsigned(t, at));
		else
			put_address(t, af_api_unsigned(t, at), b);
		break;
	case AF_API_HANDLE:
		if (v->json)
			af_buf_hex(b, af_api_unsigned(t, at));
		else
			af_handle_name(&v->handles, v->process, t, af_api_unsigned(t, at), b);
		break;
	case AF_API_ENUM:
		put_enum(b, t, af_api_number(t, at));
		break;
	case AF_API_FLAGS:
		put_flags(b, t, (uint64_t)af_api_number(t, at));
		break;
	default:
		put_bytes(b, at, t->size, v->json);
	}
}

void af_value_put(struct af_values *v, const struct af_api_type *t, const uint8_t *at,
                  struct af_buf *b)
{
	switch (t->form) {
	case AF_API_VOID:
		break;
	case AF_API_UNSIGNED:
	case AF_API_SIGNED:
		put_number(b, t, af_api_number(t, at));
		break;
	case AF_API_FLOAT:
		put_float(v, t, at, b);
		break;
	case AF_API_CHAR:
		put_char(v, at, b);
		break;
	case AF_API_STRUCT:
		put_struct(v, t, at, b);
		break;
	default:
		if (v->json)
			af_buf_char(b, '"');
		put_word(v, t, at, b);
		if (v->json)
			af_buf_char(b, '"');
	}
}

void af_value_string(const struct af_values *v, const uint8_t *at, size_t len, struct af_buf *b)
{
	size_t shown = len <= SHOWN_STRING ? len : SHOWN_STRING;

	if (v->json) {
		af_buf_json(b, (const char *)at, len);
		return;
	}
	af_buf_char(b, '"');
	af_buf_terminal(b, (const char *)at, shown, "\"\\");
	af_buf_char(b, '"');
	if (shown < len)
		af_buf_fmt(b, "… (%zu bytes)", len);
}

void af_values_put(struct af_values *v, const struct af_api_type *t, const uint8_t *at, uint32_t nr,
                   struct af_buf *b)
{
	uint32_t shown = v->json || nr <= SHOWN_ELEMENTS ? nr : SHOWN_ELEMENTS;

	if (t->form == AF_API_CHAR) {
		af_value_string(v, at, strnlen((const char *)at, nr), b);
		return;
	}
	if (t->size == 1 && (t->form == AF_API_BYTES || t->form == AF_API_UNSIGNED)) {
		size_t len;
		if (!v->json && is_text(at, nr, &len)) {
			af_value_string(v, at, len, b);
			return;
		}
		af_buf_str(b, v->json ? "\"" : "");
		put_bytes(b, at, nr, v->json);
		af_buf_str(b, v->json ? "\"" : "");
		return;
	}
	af_buf_char(b, '[');
	for (uint32_t i = 0; i < shown; i++) {
		if (i)
			af_buf_str(b, v->json ? "," : ", ");
		af_value_put(v, t, at + (size_t)i * t->size, b);
	}
	if (shown < nr)
		af_buf_fmt(b, ", … (%u in all)", nr);
	af_buf_char(b, ']');
}
