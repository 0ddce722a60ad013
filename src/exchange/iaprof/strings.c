#include "exchange/iaprof/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "exchange/builder/builder.h"
#include "exchange/source/json.h"

void iaprof_strings_free(struct iaprof_strings *s)
{
	af_map_free(&s->by_id);
	free(s->all);
	*s = (struct iaprof_strings){0};
}

static bool ends_in(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !memcmp(text + len - n, end, n);
}

/*
 * CPython's own trampolines are called "py::function:file"; where the line is known, as in what
 * aflame exports, it follows. 0: it is none.
 */
static uint32_t python_frame(struct af_builder *d, uint32_t above, const char *p, size_t len)
{
	char text[AF_JSON_TEXT_MAX];
	const char *end = p + len, *function = p + 4;

	if (len < 8 || len > sizeof text - 16 || memcmp(p, "py::", 4) != 0)
		return 0;
	const char *file = memchr(function, ':', (size_t)(end - function));
	if (!file || file == function || file + 1 == end)
		return 0;
	const char *digits = end;
	while (digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	bool line = digits < end && end - digits < 10 && digits - file > 2 && digits[-1] == ':';
	int n = snprintf(text, sizeof text, "%.*s(%.*s): %.*s",
	                 (int)((line ? digits - 1 : end) - file - 1), file + 1,
	                 line ? (int)(end - digits) : 1, line ? digits : "0",
	                 (int)(file - function), function);
	return af_builder_node(d, above, af_builder_name(d, text, (size_t)n), AF_BUILDER_PYTHON);
}

static uint32_t frame_add(struct af_builder *d, uint32_t above, const char *p, size_t len)
{
	uint32_t python = python_frame(d, above, p, len);
	bool kernel = ends_in(p, len, "_[k]");

	if (python)
		return python;
	return af_builder_node(d, above, af_builder_text(d, p, kernel ? len - 4 : len),
	                       kernel ? AF_BUILDER_KERNEL : AF_BUILDER_NATIVE);
}

static uint32_t stack_add(struct af_builder *d, const char *p, size_t len)
{
	uint32_t node = 0;

	for (const char *end = p + len; p < end;) {
		const char *stop = memchr(p, ';', (size_t)(end - p));
		size_t n = (size_t)((stop ? stop : end) - p);
		if (n)
			node = frame_add(d, node, p, n);
		p = stop ? stop + 1 : end;
	}
	return node;
}

bool iaprof_string_put(struct iaprof_strings *s, uint64_t id, const char *text, size_t len)
{
	struct iaprof_string string = {.stack = memchr(text, ';', len) != NULL};
	bool fresh;
	uint64_t *slot = af_map_at(&s->by_id, id, &fresh);

	if (string.stack && (ends_in(text, len, "_[g]") || ends_in(text, len, "_[g];")))
		string.stack = false; /* a path of a sample */
	else if (string.stack)
		string.node = stack_add(s->builder, text, len);
	else
		string.name = af_builder_text(s->builder, text, len);
	if (fresh) {
		*slot = s->nr;
		AF_GROW(s->all, s->nr, s->cap);
		s->all[s->nr++] = string;
		return true;
	}
	struct iaprof_string *known = &s->all[*slot];
	bool same = known->name == string.name && known->node == string.node;
	*known = string;
	return same;
}

static struct iaprof_string *string_get(struct iaprof_strings *s, uint64_t id)
{
	uint64_t *at = id ? af_map_get(&s->by_id, id) : NULL;

	if (id && !at)
		s->builder->unused[AF_BUILDER_STRINGS_UNUSED]++;
	return at ? &s->all[*at] : NULL;
}

/* A name that has a semicolon was taken for a stack. */
static uint32_t stack_name(struct af_builder *d, uint32_t node)
{
	struct af_buf b = {0};
	uint32_t path[AF_BUILDER_DEPTH], nr = 0;

	for (; node; node = d->nodes[node].parent)
		path[nr++] = d->frames[d->nodes[node].frame].name;
	while (nr-- > 0) {
		af_buf_str(&b, af_strtab_get(&d->names, path[nr]));
		af_buf_char(&b, ';');
	}
	uint32_t name = b.len ? af_builder_text(d, b.data, b.len - 1) : 0;
	af_buf_free(&b);
	return name;
}

uint32_t iaprof_name(struct iaprof_strings *s, uint64_t id)
{
	struct iaprof_string *string = string_get(s, id);
	char text[32];

	if (!string && id)
		return af_builder_name(
		    s->builder, text,
		    (size_t)snprintf(text, sizeof text, "[string %llu]", (unsigned long long)id));
	if (!string)
		return 0;
	if (string->stack && !string->name)
		string->name = stack_name(s->builder, string->node);
	return string->name;
}

uint32_t iaprof_stack(struct iaprof_strings *s, uint64_t id)
{
	struct iaprof_string *string = string_get(s, id);

	if (!string)
		return 0;
	if (!string->stack && !string->node && string->name) {
		const char *text = af_strtab_get(&s->builder->names, string->name);
		string->node = frame_add(s->builder, 0, text, strlen(text));
	}
	return string->node;
}

uint32_t iaprof_stack_of(struct af_builder *d, const char *text, uint32_t kind)
{
	uint32_t node = 0;

	for (const char *p = text, *stop; *p; p = *stop ? stop + 1 : stop) {
		stop = strchrnul(p, ';');
		if (stop > p)
			node = af_builder_node(d, node, af_builder_text(d, p, (size_t)(stop - p)),
			                       (enum af_builder_frame)kind);
	}
	return node;
}

uint32_t iaprof_stack_join(struct af_builder *d, uint32_t above, uint32_t node)
{
	uint32_t path[AF_BUILDER_DEPTH], nr = 0;

	if (!above)
		return node;
	for (; node; node = d->nodes[node].parent)
		path[nr++] = d->nodes[node].frame;
	while (nr-- > 0) {
		struct af_builder_frame_of frame = d->frames[path[nr]];
		above = af_builder_node(d, above, frame.name, (enum af_builder_frame)frame.kind);
	}
	return above;
}
