/* The report's tables of calls: by function, what the driver says of tracing, what the kernel saw.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/calls.h"
#include "analyse/passes/rows.h"
#include "base/arena.h"
#include "trace/kinds.h"

static int by_time(const void *a, const void *b)
{
	const struct call_sum *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static int by_count(const void *a, const void *b)
{
	const struct call_sum *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void sum_add(struct call_sum *to, const struct call_sum *s)
{
	to->count += s->count;
	to->failed += s->failed;
	to->timed += s->timed;
	to->time_ns += s->time_ns;
	to->max_ns = s->max_ns > to->max_ns ? s->max_ns : to->max_ns;
}

/*
 * Calls of @source: of a function in a process, or of all functions of
 * a name, as processes of one program have the same functions by other numbers. To be freed.
 */
static struct call_sum *sums_made(const struct calls *c, const struct af_world *w,
                                  enum call_source source, bool of_name, uint32_t *nr)
{
	struct call_sum *sums = af_xcalloc((size_t)c->nr + 1, sizeof *sums);
	struct af_keys by_key = {0};
	bool fresh;

	*nr = 0;
	for (uint32_t i = 0; i < c->nr; i++) {
		const struct call_sum *s = &c->sums[i];
		const char *name = s->function ? w->functions[s->function].name : "";
		if (s->source != source)
			continue;
		uint64_t *slot = of_name
		                     ? af_keys_at(&by_key, AF_KEY_TEXT(name), &fresh)
		                     : af_keys_at(&by_key, AF_KEY(s->process, s->function), &fresh);
		if (fresh) {
			*slot = *nr;
			sums[(*nr)++] = *s;
		} else {
			sum_add(&sums[*slot], s);
		}
	}
	af_keys_free(&by_key);
	return sums;
}

static void table_calls(const struct calls *c, const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_CALL_COLUMNS(AF_ROW_COLUMN)};
	uint64_t all = 0;
	uint32_t nr;
	struct call_sum *sums = sums_made(c, w, CALL_TIMED, true, &nr);
	struct af_table *t =
	    nr ? AF_TABLE(f, "calls", "Calls of device APIs: time in the calling threads", columns)
	       : NULL;

	AF_SORT(sums, nr, by_time);
	for (uint32_t i = 0; i < nr; i++)
		all += sums[i].time_ns;
	for (uint32_t i = 0; i < nr; i++) {
		const struct call_sum *s = &sums[i];
		const struct af_function *is = s->function ? &w->functions[s->function] : NULL;
		struct af_call_row *row = af_table_row(f, t);
		row->function.text = is ? af_tables_text(f, "%s", is->name) : "[not known]";
		row->time_ns.value = s->time_ns;
		row->share.value = af_tables_ratio(s->time_ns, all, 1e4);
		row->calls.value = s->count;
		row->mean_ns.value = s->count ? s->time_ns / s->count : 0;
		row->mean_ns.unknown = row->max_ns.unknown = !s->count;
		row->max_ns.value = s->max_ns;
		row->failed.value = s->failed;
		row->category.text = is ? af_call_category_text(is->category) : "";
		row->category_number.value =
		    is && is->category < AF_CATEGORY_END ? is->category : AF_CATEGORY_OTHER;
	}
	free(sums);
}

static void table_overhead(const struct calls *c, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_OVERHEAD_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = NULL;

	for (uint32_t i = 0; i < AF_OVERHEAD_END; i++) {
		if (!c->cost[i].count)
			continue;
		if (!t)
			t = AF_TABLE(f, "overhead", "What tracing cost, as the driver says",
			             columns);
		struct af_overhead_row *row = af_table_row(f, t);
		row->what.text = i ? af_overhead_text(i) : "other";
		row->time_ns.value = c->cost[i].time_ns;
		row->count.value = c->cost[i].count;
	}
}

static void table_twice(const struct calls *c, struct af_results *out)
{
	static const struct af_column columns[] = {AF_TWICE_COLUMNS(AF_ROW_COLUMN)};
	struct af_tables *f = &out->tables;

	if (!c->nr_twice)
		return;
	struct af_table *t = AF_TABLE(f, "calls_twice", "Calls of CUDA, seen twice", columns);
	t->note = "by libaflame and by the kernel; what was not recorded in the program has its "
		  "stack from the kernel";
	struct af_twice_row *row = af_table_row(f, t);
	row->seen.value = c->nr_twice;
	row->not_recorded.value = out->calls_seen_alone;
}

static void table_seen(const struct calls *c, const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_SEEN_COLUMNS(AF_ROW_COLUMN)};
	uint32_t nr;
	struct call_sum *sums = sums_made(c, w, CALL_SEEN, false, &nr);
	struct af_table *t =
	    nr ? AF_TABLE(f, "calls_seen", "Calls seen from outside", columns) : NULL;

	if (t)
		t->note = "by the kernel's probes: neither how long they took nor what devices did "
			  "is known; aflame run -- PROGRAM records both";
	AF_SORT(sums, nr, by_count);
	for (uint32_t i = 0; i < nr; i++) {
		const struct af_function *is =
		    sums[i].function ? &w->functions[sums[i].function] : NULL;
		const struct af_process *p = af_world_process(w, sums[i].process);
		struct af_seen_row *row = af_table_row(f, t);
		row->function.text =
		    af_tables_text(f, "%s", is ? is->name : "[function not known]");
		row->category.text = is ? af_call_category_text(is->category) : "";
		row->calls.value = sums[i].count;
		row->process.text = af_tables_text(f, "%s", p ? p->name : "");
		row->pid.value = p ? p->pid : 0;
	}
	free(sums);
}

/* One call in N has a record, and the others are counted: the sum is exact. */
static void table_functions(const struct calls *c, const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_PROBED_COLUMNS(AF_ROW_COLUMN)};
	uint32_t nr;
	struct call_sum *sums = sums_made(c, w, CALL_PROBED, false, &nr);
	struct af_table *t =
	    nr ? AF_TABLE(f, "functions_called", "Calls of functions", columns) : NULL;

	if (t)
		t->note = "of --uprobe, all of them; stacks: aflame flame -w count; +RETURN: times";
	AF_SORT(sums, nr, by_count);
	for (uint32_t i = 0; i < nr; i++) {
		const struct af_process *p = af_world_process(w, sums[i].process);
		struct af_probed_row *row = af_table_row(f, t);
		row->function.text = af_tables_text(f, "%s", w->functions[sums[i].function].name);
		row->calls.value = sums[i].count;
		row->timed.value = sums[i].timed;
		row->time_ns.value = sums[i].time_ns;
		row->mean_ns.value = sums[i].timed ? sums[i].time_ns / sums[i].timed : 0;
		row->max_ns.value = sums[i].max_ns;
		row->time_ns.unknown = row->mean_ns.unknown = row->max_ns.unknown = !sums[i].timed;
		row->process.text = af_tables_text(f, "%s", p ? p->name : "");
		row->pid.value = p ? p->pid : 0;
	}
	free(sums);
}

void calls_tables(const struct calls *c, const struct af_world *w, struct af_results *out)
{
	table_calls(c, w, &out->tables);
	table_overhead(c, &out->tables);
	table_twice(c, out);
	table_seen(c, w, &out->tables);
	table_functions(c, w, &out->tables);
}
