/* The flat profile as tables, and as text. */
#include "render/flat/flat.h"

#include "analyse/functions/flat.h"
#include "analyse/tree/table.h"
#include "base/buf.h"
#include "render/text/tables.h"
#include "trace/kinds.h"

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

static const struct flat_head_row *flat_make(struct af_tables *f, const struct af_flat_report *r)
{
	const struct flat_head_row *head = flat_head(f, r->results, r->all);

	af_flat_table(f, r->tree, r->weight, r->by, r->lines);
	f->last->warning = r->warning;
	return head;
}

void af_flat_tables(struct af_tables *f, const struct af_flat_report *report)
{
	flat_make(f, report);
}

void af_flat_text(struct af_buf *b, const struct af_flat_report *report)
{
	const struct af_query *query = &report->results->query;
	struct af_tables tables = {0};

	const struct flat_head_row *head = flat_make(&tables, report);
	if (report->head)
		flat_say_sum(b, report->head, report->tree, report->weight);
	else
		flat_say_head(b, &tables, head, query->from_ns || query->to_ns);
	af_buf_char(b, '\n');
	af_table_text(b, tables.last, report->limit, report->colour, report->more);
	af_tables_free(&tables);
}
