/*
 * Finds what an event refers to (aflame/trace.h): definitions, symbols, clocks of devices. They are
 * read once, from the bytes that the trace has mapped, and sorted; a look-up is a binary search.
 */
#include <stdlib.h>

#include "aflame/trace.h"
#include "base/arena.h"
#include "trace/layout.h"
#include "trace/read/clock.h"
#include "trace/read/merge.h"

enum scope { NO_SCOPE, STREAM, PROCESS };

/* The kinds whose first field is an id that they define, and where it means something. */
static const enum scope scopes[AF_KIND_MAX] = {
    [AF_KIND_STACK] = STREAM,      [AF_KIND_PY_STACK] = STREAM,    [AF_KIND_CALLPATH] = STREAM,
    [AF_KIND_DESCRIPTOR] = STREAM, [AF_KIND_STRING] = STREAM,      [AF_KIND_LAUNCH_CONFIG] = STREAM,
    [AF_KIND_KSTACK] = STREAM,     [AF_KIND_PY_CODE] = PROCESS,    [AF_KIND_DEVICE] = PROCESS,
    [AF_KIND_QUEUE] = PROCESS,     [AF_KIND_PROGRAM] = PROCESS,    [AF_KIND_KERNEL] = PROCESS,
    [AF_KIND_FUNCTION] = PROCESS,  [AF_KIND_GRAPH_NODE] = PROCESS, [AF_KIND_STALL] = PROCESS,
    [AF_KIND_CODE] = PROCESS,      [AF_KIND_GPU_WINDOW] = PROCESS,
};

/* A definition has kind and stream or process; the id; 0. A symbol has process, address, epoch. */
struct lookup_key {
	uint64_t scope, id;
	uint32_t epoch;
};

struct lookup_entry {
	struct lookup_key key;
	struct af_event ev;
};

struct lookup_table {
	struct lookup_entry *entries; /* by key, then in order of time */
	size_t nr, cap;
};

struct af_lookup {
	struct lookup_table definitions, symbols;
	struct af_clocks clocks;
};

static void lookup_free(struct af_lookup *l)
{
	free(l->definitions.entries);
	free(l->symbols.entries);
	af_clocks_free(&l->clocks);
	free(l);
}

static struct lookup_key definition_key(const struct af_event *by, uint16_t kind, uint32_t id)
{
	uint32_t scope = scopes[kind] == STREAM ? by->stream : by->process;

	return (struct lookup_key){.scope = (uint64_t)kind << 32 | scope, .id = id};
}

static void table_add(struct lookup_table *t, struct lookup_key key, const struct af_event *ev)
{
	AF_GROW(t->entries, t->nr, t->cap);
	t->entries[t->nr++] = (struct lookup_entry){key, *ev};
}

static int key_order(const struct lookup_key *a, const struct lookup_key *b)
{
	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
}

static int entry_order(const void *a, const void *b)
{
	const struct lookup_entry *x = a, *y = b;
	int order = key_order(&x->key, &y->key);

	if (order)
		return order;
	if (x->ev.time_ns != y->ev.time_ns)
		return x->ev.time_ns < y->ev.time_ns ? -1 : 1;
	if (x->ev.stream != y->ev.stream)
		return x->ev.stream < y->ev.stream ? -1 : 1;
	return x->ev.payload < y->ev.payload ? -1 : x->ev.payload > y->ev.payload;
}

static void table_sort(struct lookup_table *t)
{
	AF_SORT(t->entries, t->nr, entry_order);
}

/* The last entry that has this scope and id, and neither epoch nor time beyond those given. */
static const struct lookup_entry *table_find(const struct lookup_table *t, struct lookup_key key,
                                             uint64_t time_ns)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct lookup_entry *e = &t->entries[middle];
		int order = key_order(&e->key, &key);
		if (order < 0 || (!order && e->ev.time_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct lookup_entry *e = &t->entries[low - 1];
	return e->key.scope == key.scope && e->key.id == key.id ? e : NULL;
}

static void lookup_event(struct af_lookup *l, const struct af_event *ev)
{
	struct af_event_symbol symbol;

	af_clocks_event(&l->clocks, ev);
	if (scopes[ev->kind]) {
		uint32_t id;
		memcpy(&id, ev->payload, sizeof id);
		table_add(&l->definitions, definition_key(ev, ev->kind, id), ev);
	} else if (af_event_as_symbol(ev, &symbol)) {
		struct lookup_key key = {symbol.process, symbol.address, symbol.epoch};
		table_add(&l->symbols, key, ev);
	}
}

/* The trace's bytes a second time, as the definitions in them may be read to the end already. */
static struct af_trace *second_reading(const struct af_trace *t)
{
	uint64_t wanted = AF_WANTED(AF_KIND_SYMBOL) | AF_WANTED(AF_KIND_CLOCK);
	struct af_stream_bytes *bytes = af_xcalloc(t->nr_streams + 1, sizeof *bytes);
	struct af_trace *second;

	for (uint32_t i = 0; i < t->nr_streams; i++)
		bytes[i] = (struct af_stream_bytes){t->cursors[i].data, t->cursors[i].size};
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++)
		if (scopes[kind])
			wanted |= AF_WANTED(kind);
	af_trace_open_memory(&second, bytes, t->nr_streams, wanted);
	free(bytes);
	return second;
}

static struct af_lookup *lookup_get(struct af_trace *t)
{
	struct af_event ev;

	if (t->lookup)
		return t->lookup;

	struct af_lookup *l = af_xcalloc(1, sizeof *l);
	struct af_trace *second = second_reading(t);
	while (af_trace_next(second, &ev))
		lookup_event(l, &ev);
	af_trace_close(second);
	table_sort(&l->definitions);
	table_sort(&l->symbols);
	af_clocks_build(&l->clocks);
	t->lookup = l;
	t->lookup_free = lookup_free;
	return l;
}

bool af_trace_definition(struct af_trace *t, const struct af_event *by, uint16_t kind, uint32_t id,
                         struct af_event *definition)
{
	if (kind >= AF_KIND_MAX || !scopes[kind])
		return false;

	const struct lookup_entry *e =
	    table_find(&lookup_get(t)->definitions, definition_key(by, kind, id), by->time_ns);
	if (!e)
		return false;
	*definition = e->ev;
	return true;
}

static const char *symbol_string(struct af_trace *t, const struct af_event *symbol, uint64_t id)
{
	struct af_event ev;

	if (!id || !af_trace_definition(t, symbol, AF_KIND_STRING, (uint32_t)id, &ev))
		return NULL;
	return af_event_text(&ev, "text");
}

uint32_t af_trace_symbol(struct af_trace *t, uint32_t process, uint64_t address, uint32_t epoch,
                         struct af_symbol_frame *frames, uint32_t nr)
{
	struct lookup_key key = {process, address, epoch};
	const struct lookup_table *symbols = &lookup_get(t)->symbols;
	const struct lookup_entry *e = table_find(symbols, key, UINT64_MAX);
	struct af_event_symbol symbol;

	if (!e) {
		key.epoch = UINT32_MAX;
		e = table_find(symbols, key, UINT64_MAX);
	}
	if (!e || !af_event_as_symbol(&e->ev, &symbol))
		return 0;
	uint32_t has = symbol.frames.nr / 3;
	for (uint32_t i = 0; i < nr && i < (has ? has : 1); i++)
		frames[i] = (struct af_symbol_frame){
		    .function = symbol_string(t, &e->ev, af_seq_at(&symbol.frames, 3 * i)),
		    .file = symbol_string(t, &e->ev, af_seq_at(&symbol.frames, 3 * i + 1)),
		    .line = (uint32_t)af_seq_at(&symbol.frames, 3 * i + 2),
		    .module = symbol_string(t, &e->ev, symbol.module),
		    .offset = symbol.offset,
		    .source = symbol.source,
		};
	return has ? has : 1;
}

bool af_trace_device_time(struct af_trace *t, uint32_t process, uint32_t device, uint64_t device_ns,
                          uint64_t *ns, uint64_t *uncertainty_ns)
{
	struct af_clock *clock = af_clocks_find(&lookup_get(t)->clocks, process, device);

	if (clock)
		*ns = af_clock_convert(clock, device_ns, uncertainty_ns);
	return clock;
}
