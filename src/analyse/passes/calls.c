/*
 * What did the program ask of device APIs, and how long did it take to ask? One row a function. And
 * what tracing cost, as the driver tells itself.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "base/keys.h"

struct calls_row {
	uint32_t function; /* of the world: the first of this name */
	uint64_t count, failed, time_ns, max_ns;
};

struct calls_cost {
	uint64_t count, time_ns;
};

struct calls {
	struct calls_row *rows;
	uint32_t nr, cap;
	struct af_keys by_name;
	uint32_t *row_of; /* by function of the world: index plus 1, 0 not known yet */
	uint32_t nr_functions;
	struct calls_cost cost[AF_OVERHEAD_END]; /* 0 is of kinds that this version does not know */
};

/* Processes of one program have the same functions, by other numbers maybe. */
static struct calls_row *calls_row(struct calls *c, const struct af_world *w, uint32_t function)
{
	if (function >= c->nr_functions) {
		uint32_t nr = (function + 1) * 2;
		c->row_of = af_xrealloc(c->row_of, nr * sizeof *c->row_of);
		memset(c->row_of + c->nr_functions, 0, (nr - c->nr_functions) * sizeof *c->row_of);
		c->nr_functions = nr;
	}
	if (!c->row_of[function]) {
		const char *name = function ? w->functions[function].name : "";
		bool fresh;
		uint64_t *slot = af_keys_at(&c->by_name, AF_KEY_TEXT(name), &fresh);
		if (fresh) {
			AF_GROW(c->rows, c->nr, c->cap);
			c->rows[c->nr] = (struct calls_row){.function = function};
			*slot = c->nr++;
		}
		c->row_of[function] = (uint32_t)*slot + 1;
	}
	return &c->rows[c->row_of[function] - 1];
}

static void calls_overhead(struct calls *c, const struct af_event *ev)
{
	struct af_ev_overhead fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	struct calls_cost *cost = &c->cost[fixed.overhead < AF_OVERHEAD_END ? fixed.overhead : 0];
	cost->count++;
	cost->time_ns += fixed.busy_ns;
}

static void calls_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_call call;

	if (ev->kind == AF_KIND_OVERHEAD)
		calls_overhead(self, ev);
	if (!af_call_read(w, ev, &call) || !af_within_call(&w->within, &call))
		return;
	struct calls_row *row = calls_row(self, w, call.function);
	uint64_t ns = call.end_ns - call.start_ns;
	row->count += !call.aside;
	row->failed += !call.aside && call.status;
	row->time_ns += ns;
	if (ns > row->max_ns && !call.aside)
		row->max_ns = ns;
}

static int calls_order(const void *a, const void *b)
{
	const struct calls_row *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void table_calls(const struct calls *c, const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {AF_CALL_COLUMNS(AF_ROW_COLUMN)};
	uint64_t all = 0;

	if (!c->nr)
		return;
	struct af_table *t =
	    AF_TABLE(f, "calls", "Calls of device APIs: time in the calling threads", columns);
	for (uint32_t i = 0; i < c->nr; i++)
		all += c->rows[i].time_ns;
	for (uint32_t i = 0; i < c->nr; i++) {
		const struct calls_row *r = &c->rows[i];
		const struct af_function *is = r->function ? &w->functions[r->function] : NULL;
		struct af_call_row *cell = af_table_row(f, t);
		cell->function.text = is ? af_facts_text(f, "%s", is->name) : "[not known]";
		cell->time_ns.value = r->time_ns;
		cell->share.value = af_facts_ratio(r->time_ns, all, 1e4);
		cell->calls.value = r->count;
		cell->mean_ns.value = r->count ? r->time_ns / r->count : 0;
		cell->mean_ns.unknown = cell->max_ns.unknown = !r->count;
		cell->max_ns.value = r->max_ns;
		cell->failed.value = r->failed;
		cell->category.text = is ? af_does_text(is->does) : "";
		cell->category_number.value =
		    is && is->does < AF_DOES_END ? is->does : AF_DOES_OTHER;
	}
}

static void table_overhead(const struct calls *c, struct af_facts *f)
{
	static const struct af_column columns[] = {AF_OVERHEAD_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = NULL;

	for (uint32_t i = 0; i < AF_OVERHEAD_END; i++) {
		if (!c->cost[i].count)
			continue;
		if (!t)
			t = AF_TABLE(f, "overhead", "What tracing cost, as the driver says",
			             columns);
		struct af_overhead_row *cell = af_table_row(f, t);
		cell->what.text = i ? af_overhead_text(i) : "other";
		cell->time_ns.value = c->cost[i].time_ns;
		cell->count.value = c->cost[i].count;
	}
}

static void calls_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct calls *c = self;

	if (c->nr)
		qsort(c->rows, c->nr, sizeof *c->rows, calls_order);
	table_calls(c, w, &out->facts);
	table_overhead(c, &out->facts);
}

static void calls_close(void *self)
{
	struct calls *c = self;

	free(c->rows);
	free(c->row_of);
	af_keys_free(&c->by_name);
}

const struct af_pass_ops af_pass_calls = {
    .name = "calls",
    .question = "what was asked of devices, and at what cost?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_OVERHEAD,
    .state_size = sizeof(struct calls),
    .event = calls_event,
    .finish = calls_finish,
    .close = calls_close,
};
