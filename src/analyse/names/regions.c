#include "analyse/names/regions.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "trace/read/reader.h"

static const char prefix[] = "target region ";

struct af_region_symbol {
	uint32_t module, function; /* of texts */
	uint32_t line;             /* 0: not known */
	uint32_t before;           /* another one of the same process and offset, 0: none */
};

/* A place in a file, as the target wrote it. */
struct region_place {
	const char *module;
	size_t module_len;
	uint64_t offset; /* of the return address */
};

static bool place_parse(const char *kernel, struct region_place *p)
{
	const char *plus = strrchr(kernel, '+');
	char *end;

	if (strncmp(kernel, prefix, sizeof prefix - 1) != 0 || !plus ||
	    strncmp(plus, "+0x", 3) != 0)
		return false;
	p->module = kernel + sizeof prefix - 1;
	if (plus <= p->module)
		return false;
	p->module_len = (size_t)(plus - p->module);
	errno = 0;
	p->offset = strtoull(plus + 3, &end, 16);
	return end != plus + 3 && !*end && !errno && p->offset;
}

static void string_take(struct af_region_names *r, const struct af_event *ev)
{
	struct af_ev_string fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails))
		*af_map_at(&r->strings, fixed.string, NULL) =
		    af_strtab_id(&r->texts, (const char *)tails[0].data, tails[0].len);
}

static uint32_t text_of(const struct af_region_names *r, uint32_t string)
{
	const uint64_t *id = af_map_get(&r->strings, string);

	return id ? (uint32_t)*id : 0;
}

/* The innermost function has the construct. */
static void symbol_take(struct af_region_names *r, const struct af_event *ev)
{
	struct af_ev_symbol fixed;
	struct af_tail_view tails[AF_TAILS_MAX];
	uint32_t frame[3];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails) || tails[0].len < 3)
		return;
	memcpy(frame, tails[0].data, sizeof frame);
	const struct af_region_symbol s = {text_of(r, fixed.module), text_of(r, frame[0]), frame[2],
	                                   0};
	if (!s.module || !s.function)
		return;
	r->nr_symbols += !r->nr_symbols;
	AF_GROW(r->symbols, r->nr_symbols, r->cap_symbols);
	uint64_t *last = af_keys_at(&r->by_place, AF_KEY(fixed.process, fixed.offset), NULL);
	r->symbols[r->nr_symbols] = s;
	r->symbols[r->nr_symbols].before = (uint32_t)*last;
	*last = r->nr_symbols++;
}

static void event_take(void *arg, const struct af_event *ev)
{
	if (ev->kind == AF_KIND_STRING)
		string_take(arg, ev);
	else
		symbol_take(arg, ev);
}

static bool is_module(const char *path, const struct region_place *p)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strlen(name) == p->module_len && !memcmp(name, p->module, p->module_len);
}

/* Stacks have return addresses less one. */
static const struct af_region_symbol *symbol_at(const struct af_region_names *r, uint32_t process,
                                                const struct region_place *p)
{
	const uint64_t *last = af_keys_get(&r->by_place, AF_KEY(process, p->offset - 1));

	for (uint32_t i = last ? (uint32_t)*last : 0; i; i = r->symbols[i].before)
		if (is_module(af_strtab_get(&r->texts, r->symbols[i].module), p))
			return &r->symbols[i];
	return NULL;
}

bool af_region_name(struct af_region_names *r, uint32_t process, const char *kernel, char *text,
                    size_t size)
{
	struct region_place place;

	if (!r->trace || !place_parse(kernel, &place))
		return false;
	if (!r->read)
		af_trace_each_event(r->trace, "symbols",
		                    1ull << AF_KIND_STRING | 1ull << AF_KIND_SYMBOL, event_take, r);
	r->read = true;
	const struct af_region_symbol *s = symbol_at(r, process, &place);
	if (!s)
		return false;
	const char *function = af_strtab_get(&r->texts, s->function);
	if (s->line)
		snprintf(text, size, "%s:%u target region", function, s->line);
	else
		snprintf(text, size, "%s %s", function, kernel);
	return true;
}

/* Behind the digits of @base at @p and the @end that follows them; NULL: it is otherwise. */
static const char *digits_skip(const char *p, int base, char end)
{
	const char *first = p;

	while (base == 16 ? isxdigit((unsigned char)*p) : isdigit((unsigned char)*p))
		p++;
	if (p == first || *p != end)
		return NULL;
	return end ? p + 1 : p;
}

/* Does @p, at "_l", have the line and nothing more than the number among regions of one line? */
static bool is_line(const char *p)
{
	return digits_skip(p + 2, 10, 0) ||
	       ((p = digits_skip(p + 2, 10, '_')) && digits_skip(p, 10, 0));
}

bool af_region_offloaded(const char *kernel, char *function, size_t size, uint32_t *line)
{
	static const char offloaded[] = "__omp_offloading_";
	const char *name = NULL, *end = NULL;

	if (strncmp(kernel, offloaded, sizeof offloaded - 1) != 0 ||
	    !(name = digits_skip(kernel + sizeof offloaded - 1, 16, '_')) ||
	    !(name = digits_skip(name, 16, '_')))
		return false;
	for (const char *p = name; (p = strstr(p, "_l")); p += 2)
		if (p > name && is_line(p))
			end = p;
	if (!end || (size_t)(end - name) >= size)
		return false;
	memcpy(function, name, (size_t)(end - name));
	function[end - name] = 0;
	*line = (uint32_t)strtoul(end + 2, NULL, 10);
	return true;
}

void af_region_names_free(struct af_region_names *r)
{
	af_strtab_free(&r->texts);
	af_map_free(&r->strings);
	af_keys_free(&r->by_place);
	free(r->symbols);
}
