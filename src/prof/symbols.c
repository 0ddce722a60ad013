#include "prof/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "prof/private.h"
#include "trace/read/reader.h"

enum {
	NAME_MAX_BYTES = 1000, /* of a name with its place in the source */
	TEXT_BYTES = 16 << 10, /* of one event */
};

void prof_symbols_open(struct prof_symbols *s)
{
	*s = (struct prof_symbols){.written_ns = af_now_ns()};
	pthread_mutex_init(&s->lock, NULL);
}

static void lines_free(struct prof_symbols *s)
{
	for (uint32_t i = 0; i < s->nr; i++)
		free(s->lines[i].text);
	s->nr = 0;
}

void prof_symbols_close(struct prof_symbols *s)
{
	lines_free(s);
	free(s->lines);
	af_map_free(&s->asked);
	pthread_mutex_destroy(&s->lock);
	*s = (struct prof_symbols){0};
}

/* "START SIZE NAME (FILE:LINE)\n", in which a name has one line. */
static void line_add(struct af_buf *b, const struct af_prof_symbol *symbol, uint64_t address)
{
	struct af_buf name = {0};

	af_buf_str(&name, symbol->name);
	if (symbol->file && *symbol->file) {
		const char *slash = strrchr(symbol->file, '/');
		af_buf_fmt(&name, " (%s", slash ? slash + 1 : symbol->file);
		if (symbol->line)
			af_buf_fmt(&name, ":%u", symbol->line);
		af_buf_char(&name, ')');
	}
	size_t len = name.len < NAME_MAX_BYTES ? name.len : NAME_MAX_BYTES;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name.data[i] < ' ')
			name.data[i] = ' ';
	af_buf_fmt(b, "%llx %llx %.*s\n",
	           (unsigned long long)(symbol->size ? symbol->start : address),
	           (unsigned long long)(symbol->size ? symbol->size : 1), (int)len, name.data);
	af_buf_free(&name);
}

static bool is_valid(const struct af_prof_symbol *symbol, uint64_t address)
{
	uint64_t end;

	if (!symbol->name || !*symbol->name)
		return false;
	if (!symbol->size)
		return address != 0;
	return !__builtin_add_overflow(symbol->start, symbol->size, &end);
}

int prof_symbols_add(struct prof_symbols *s, const struct af_prof_symbol *symbol,
                     struct af_err *err)
{
	struct af_buf b = {0};

	if (!symbol->size || !is_valid(symbol, 0))
		return af_fail_plain(err, -EINVAL,
		                     "a function needs a name, and code of at least one byte");
	line_add(&b, symbol, 0);
	pthread_mutex_lock(&s->lock);
	AF_GROW(s->lines, s->nr, s->cap);
	s->lines[s->nr++] = (struct prof_symbol_line){af_now_ns(), b.data};
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Writes to the trace of @p. */
static void text_write(struct af_prof *p, uint64_t from_ns, struct af_buf *b)
{
	struct af_ev_perf_map ev = {.process = 1, .written_ns = from_ns};
	struct af_tail tail = {b->data, (uint32_t)b->len, 0};

	if (b->len)
		af_stream_put_tail(&p->stream, AF_KIND_PERF_MAP, af_now_ns(), &ev, sizeof ev, &tail,
		                   1);
	b->len = 0;
}

/* The files that are mapped, and the addresses that stacks have. */
struct places {
	struct af_ev_mapping *files;
	uint32_t nr_files, cap_files;
	struct af_map addresses;
};

static void places_take(struct places *all, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_mapping mapping;
	struct af_ev_stack stack;
	uint64_t pc;

	if (ev->kind == AF_KIND_MAPPING && af_event_decode(ev, &mapping, sizeof mapping, tails)) {
		if (mapping.flags & AF_MAPPING_JIT)
			return;
		AF_GROW(all->files, all->nr_files, all->cap_files);
		all->files[all->nr_files++] = mapping;
	} else if (ev->kind == AF_KIND_STACK && af_event_decode(ev, &stack, sizeof stack, tails)) {
		for (uint32_t i = 0; i < tails[0].len; i++) {
			memcpy(&pc, (const char *)tails[0].data + i * sizeof pc, sizeof pc);
			if (pc && !AF_IS_LEFT_OUT(pc))
				*af_map_at(&all->addresses, pc, NULL) = 1;
		}
	}
}

static bool places_has_file(const struct places *all, uint64_t address)
{
	for (uint32_t i = 0; i < all->nr_files; i++)
		if (address >= all->files[i].start && address < all->files[i].end)
			return true;
	return false;
}

/* Ask the program for each address that is new and in no file. */
static void places_name(struct prof_symbols *s, struct af_prof *p, const struct places *all)
{
	struct af_buf b = {0};

	for (size_t i = 0; i < all->addresses.cap; i++) {
		const struct af_map_slot *slot = &all->addresses.slots[i];
		struct af_prof_symbol symbol = {0};
		if (!slot->used || af_map_get(&s->asked, slot->key) ||
		    places_has_file(all, slot->key))
			continue;
		*af_map_at(&s->asked, slot->key, NULL) = 1;
		if (p->o.symbolize(p->o.context, slot->key, &symbol) ||
		    !is_valid(&symbol, slot->key))
			continue;
		line_add(&b, &symbol, slot->key);
		if (b.len >= TEXT_BYTES)
			text_write(p, s->written_ns, &b);
	}
	text_write(p, s->written_ns, &b);
	af_buf_free(&b);
}

static int addresses_name(struct prof_symbols *s, struct af_prof *p, struct af_err *err)
{
	struct places all = {0};
	struct af_trace *trace;
	struct af_event ev;
	int rc = af_trace_open_at(&trace, p->dir_fd, p->folder,
	                          AF_WANTED(AF_KIND_MAPPING) | AF_WANTED(AF_KIND_STACK), err);

	if (rc)
		return rc;
	while (af_trace_next(trace, &ev))
		places_take(&all, &ev);
	af_trace_close(trace);
	places_name(s, p, &all);
	free(all.files);
	af_map_free(&all.addresses);
	return 0;
}

int prof_symbols_write(struct prof_symbols *s, struct af_prof *p, struct af_err *err)
{
	uint64_t now = af_now_ns();
	int rc = p->o.symbolize ? addresses_name(s, p, err) : 0;
	struct af_buf b = {0};

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->nr; i++) {
		af_buf_str(&b, s->lines[i].text);
		text_write(p, s->lines[i].from_ns, &b);
	}
	lines_free(s);
	pthread_mutex_unlock(&s->lock);
	af_buf_free(&b);
	s->written_ns = now;
	af_stream_flush(&p->stream);
	return rc ? rc : p->stream.error;
}
