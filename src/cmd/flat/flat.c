#include "cmd/flat/flat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/functions/flat.h"
#include "analyse/tree/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/output/picture.h"
#include "cmd/shared/load.h"
#include "cmd/shared/summary.h"
#include "trace/kinds.h"

void af_flat_query(struct af_query *query, const char *by)
{
	query->answers |= AF_ANSWER_COVERAGE;
	query->locations = true;
	if (by)
		query->group = AF_GROUP_TRACK;
}

/* The head of the report, for programs; one row. */
#define FLAT_HEAD_COLUMNS(C)                                                                       \
	C(samples, "Samples", AF_CELL_COUNT)                                                       \
	C(dropped, "Dropped", AF_CELL_COUNT)                                                       \
	C(time_ns, "Time", AF_CELL_NS) /* that the samples stand for */                            \
	C(used_ns, "CPU time", AF_CELL_NS)                                                         \
	C(period_ns, "Period", AF_CELL_NS)                                                         \
	C(rate_hertz, "Rate", AF_CELL_COUNT)                                                       \
	C(achieved_hertz, "Achieved", AF_CELL_COUNT)
struct flat_head_row {
	FLAT_HEAD_COLUMNS(AF_ROW_CELL)
};

/* One row for each reason. */
#define FLAT_DROPPED_COLUMNS(C)                                                                    \
	C(reason, "Reason", AF_CELL_TEXT)                                                          \
	C(count, "Dropped", AF_CELL_COUNT)                                                         \
	C(key, "Key", AF_CELL_TEXT, AF_SHOW_NEVER)
struct flat_dropped_row {
	FLAT_DROPPED_COLUMNS(AF_ROW_CELL)
};

/* Losses that samples can be among. */
static const enum af_lost flat_losses[] = {
    AF_LOST_RING_FULL, AF_LOST_NO_STREAM,  AF_LOST_TOO_LARGE, AF_LOST_BUSY,
    AF_LOST_DISK_FULL, AF_LOST_TABLE_FULL, AF_LOST_THROTTLED, AF_LOST_KERNEL_RING,
    AF_LOST_NO_JOIN,   AF_LOST_DEBUGGER,   AF_LOST_FORBIDDEN, AF_LOST_CAPPED,
};

static uint64_t flat_dropped(struct af_tables *f, const struct af_results *r)
{
	static const struct af_column columns[] = {FLAT_DROPPED_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "dropped", "Dropped", columns);
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof flat_losses / sizeof *flat_losses; i++) {
		uint64_t nr = r->lost[flat_losses[i]];
		if (!nr)
			continue;
		struct flat_dropped_row *row = af_table_row(f, t);
		row->reason.text = af_lost_text(flat_losses[i]);
		row->count.value = nr;
		row->key.text = af_lost_name(flat_losses[i]);
		if (__builtin_add_overflow(sum, nr, &sum))
			sum = UINT64_MAX;
	}
	return sum;
}

/*
 * The CPU time that the samples were taken in: used time where it is known, because samples of some
 * samplers stand for their period however late they are.
 */
static uint64_t flat_used_ns(const struct af_results *r, uint64_t sampled_ns)
{
	const struct af_coverage *c = &r->coverage;
	uint64_t used_ns = 0, held_ns;

	if (c->comparable && c->total.known)
		af_covered_held(&c->total.cpu, &used_ns, &held_ns);
	return used_ns ? used_ns : sampled_ns;
}

static const struct flat_head_row *flat_head(struct af_tables *f, const struct af_results *r,
                                             const struct af_tree *tree)
{
	static const struct af_column columns[] = {FLAT_HEAD_COLUMNS(AF_ROW_COLUMN)};
	int samples = af_tree_weight(tree, "samples"), time = af_tree_weight(tree, "time");
	struct af_table *t = AF_TABLE(f, "sampling", "Sampling", columns);
	struct flat_head_row *row = af_table_row(f, t);

	row->samples.value = samples >= 0 ? tree->total[samples][0] : 0;
	row->time_ns.value = time >= 0 ? tree->total[time][0] : 0;
	row->period_ns.value = r->coverage.period_ns;
	row->period_ns.unknown = row->rate_hertz.unknown = !row->period_ns.value;
	row->rate_hertz.value = af_tables_ratio(1000000000, row->period_ns.value, 1);
	row->used_ns.value = flat_used_ns(r, row->time_ns.value);
	row->achieved_hertz.unknown = !row->used_ns.value || !row->samples.value;
	row->achieved_hertz.value = af_tables_ratio(row->samples.value, row->used_ns.value, 1e9);
	row->dropped.value = flat_dropped(f, r);
	return row;
}

static void flat_say_dropped(struct af_buf *b, const struct af_tables *f, bool part)
{
	const struct af_table *t = af_tables_find(f, "dropped");

	af_buf_str(b, part ? " in the whole run" : "");
	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct flat_dropped_row *row = AF_ROW_AT(struct flat_dropped_row, t, i);
		af_buf_str(b, i ? "; " : " (");
		af_cell_text(b, AF_CELL_COUNT, row->count.value);
		af_buf_fmt(b, ": %s", row->reason.text);
	}
	af_buf_str(b, t && t->nr_rows ? ")\n" : "\n");
}

static void flat_say_head(struct af_buf *b, const struct af_tables *f,
                          const struct flat_head_row *head, bool part)
{
	af_buf_str(b, "samples  ");
	af_cell_text(b, AF_CELL_COUNT, head->samples.value);
	if (head->time_ns.value) {
		af_buf_str(b, ", which stand for ");
		af_cell_text(b, AF_CELL_NS, head->time_ns.value);
	}
	af_buf_str(b, "\ndropped  ");
	af_cell_text(b, AF_CELL_COUNT, head->dropped.value);
	flat_say_dropped(b, f, part);
	af_buf_str(b, "rate     ");
	if (!head->rate_hertz.unknown) {
		af_cell_text(b, AF_CELL_COUNT, head->rate_hertz.value);
		af_buf_str(b, " a second requested, ");
	}
	if (head->achieved_hertz.unknown) {
		af_buf_str(b, "not known\n");
		return;
	}
	af_cell_text(b, AF_CELL_COUNT, head->achieved_hertz.value);
	af_buf_str(b, " a second of CPU time achieved\n");
}

static void flat_say_sum(struct af_buf *b, const char *head, const struct af_tree *t,
                         uint32_t weight)
{
	af_buf_fmt(b, "%s  ", head);
	af_cell_text(b, af_tree_unit(t, weight), t->total[weight][0]);
	af_buf_char(b, '\n');
}

/* The whole view that @document names. */
static const struct af_tree *flat_view(const struct af_results *r,
                                       const struct af_document *document)
{
	int view = 0;

	while (view + 1 < AF_VIEWS && strcmp(af_view_names[view], document->view) != 0)
		view++;
	return &r->trees[view];
}

void af_flat_print(const struct af_results *results, const struct af_tree *tree, uint32_t weight,
                   const struct af_document *document, const char *warning,
                   const struct af_flat_options *options)
{
	const struct af_query *query = &results->query;
	struct af_tables tables = {0};
	struct af_buf b = {0};

	const struct flat_head_row *head =
	    flat_head(&tables, results, flat_view(results, document));
	af_flat_table(&tables, tree, weight, options->by, options->lines);
	tables.last->warning = warning;
	if (options->json) {
		af_tables_json(&b, document, &tables, options->limit);
	} else {
		if (options->head)
			flat_say_sum(&b, options->head, tree, weight);
		else
			flat_say_head(&b, &tables, head, query->from_ns || query->to_ns);
		af_buf_char(&b, '\n');
		af_table_text(&b, tables.last, options->limit, af_colour(stdout), AF_SHOW_ALL);
	}
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
	af_tables_free(&tables);
}

/* One report of the loaded trace in @dir; @weight is the one that it was loaded for. */
static int flat_report(const char *dir, struct af_results *r, const char *weight,
                       const struct af_flat_options *options, struct af_err *err)
{
	const struct af_tree *tree = &r->trees[AF_VIEW_CPU];
	const char *of = options->weight ? options->weight : weight ? weight : "time";
	int column = af_tree_weight(tree, of);
	uint64_t all = column < 0 ? 0 : tree->total[column][0];

	if (column < 0 || (!all && !options->head))
		return af_fail_plain(err, -ENODATA, "the trace %s has no CPU samples%s", dir,
		                     af_load_hint(AF_VIEW_CPU));
	const struct af_document document = {.report = "flat",
	                                     .view = af_view_names[AF_VIEW_CPU],
	                                     .weight = tree->weights[column].name,
	                                     .unit = tree->weights[column].unit,
	                                     .all = all,
	                                     .total = all};
	af_flat_print(r, tree, (uint32_t)column, &document, af_load_warning(r, AF_VIEW_CPU, of),
	              options);
	return 0;
}

int af_flat_report(const char *who, const char *dir, const struct af_flat_options *reports,
                   unsigned nr, struct af_err *err)
{
	struct af_query query = {.answers = 1u << AF_VIEW_CPU};
	struct af_results results = {0};
	const char *weight = reports->weight;

	af_flat_query(&query, reports->by);
	int rc = af_load_view(who, dir, &query, AF_VIEW_CPU, &weight, &results, err);
	for (unsigned i = 0; !rc && i < nr; i++) {
		if (i)
			putchar('\n');
		rc = flat_report(dir, &results, weight, &reports[i], err);
	}
	af_results_close(&results);
	return rc;
}
