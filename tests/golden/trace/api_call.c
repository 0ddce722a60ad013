#include "api_call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/tables/tables.h"
#include "trace/layout.h"

static const struct af_api_function *function_called(const char *name, size_t len, uint64_t *kind)
{
	for (int a = 0; af_apis[a]; a++)
		for (uint32_t i = 0; i < af_apis[a]->nr_functions; i++) {
			const struct af_api_function *f = &af_apis[a]->functions[i];
			if (!f->name || strlen(f->name) != len || memcmp(f->name, name, len))
				continue;
			*kind = af_apis[a]->kind + i;
			return f;
		}
	return NULL;
}

/* Where a field lies in the payload; of no bytes: there is none. */
struct place {
	size_t at, bytes;
};

static struct place place_of(const struct af_api_function *f, const char *name, size_t len)
{
#define HEAD(member)                                                                               \
	{                                                                                          \
#member,                                                                           \
		{                                                                                  \
			offsetof(struct af_api_head, member),                                      \
			    sizeof(((struct af_api_head *)0)->member)                              \
		}                                                                                  \
	}
	static const struct {
		const char *name;
		struct place place;
	} head[] = {HEAD(callpath), HEAD(correlation), HEAD(duration_ns), HEAD(depth), HEAD(flags)};
#undef HEAD

	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		if (strlen(head[i].name) == len && !memcmp(head[i].name, name, len))
			return head[i].place;
	for (uint32_t i = 0; i < f->nr_params; i++)
		if (strlen(f->params[i].name) == len && !memcmp(f->params[i].name, name, len))
			return (struct place){f->params[i].at, f->params[i].type->size};
	if (len == 6 && !memcmp(name, "result", len) && f->result)
		return (struct place){sizeof(struct af_api_head), f->result->size};
	if (len == 5 && !memcmp(name, "bytes", len) && f->has_bytes)
		return (struct place){f->bytes_at, f->bytes_len};
	return (struct place){0};
}

/* Bytes in hexadecimal digits. */
static const char *tail_add(struct af_buf *b, const char *s)
{
	for (char byte[3] = {0}; isxdigit((unsigned char)s[0]) && isxdigit((unsigned char)s[1]);
	     s += 2) {
		memcpy(byte, s, 2);
		af_buf_char(b, (char)strtoul(byte, NULL, 16));
	}
	return s;
}

const char *api_call(const char *s, size_t len, struct af_buf *b, uint64_t *kind,
                     const char **wrong)
{
	const struct af_api_function *f = function_called(s, len, kind);
	size_t start = b->len;

	*wrong = NULL;
	if (!f)
		return NULL;
	for (size_t i = 0; i < f->fixed; i++)
		af_buf_char(b, 0);
	for (s += len + strspn(s + len, " "); *s && *s != '\n'; s += strspn(s, " ")) {
		size_t name = strcspn(s, "= \n");
		if (!strncmp(s, "tail=", 5)) {
			s = tail_add(b, s + 5);
			continue;
		}
		struct place to = place_of(f, s, name);
		char *end = NULL;
		uint64_t v = s[name] == '=' ? strtoull(s + name + 1, &end, 0) : 0;
		*wrong = s;
		if (!to.bytes || to.bytes > sizeof v || !end || end == s + name + 1)
			return NULL;
		memcpy(b->data + start + to.at, &v, to.bytes);
		s = end;
	}
	return s;
}
