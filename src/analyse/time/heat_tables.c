/* The cells of a heat map, as tables. */
#include <stdlib.h>

#include "analyse/time/heat_private.h"
#include "analyse/time/period.h"
#include "base/arena.h"

enum { SERIES_LEAST = 64 };

static void table_about(const struct heat *h, const struct af_heat *query, uint64_t from_ns,
                        struct af_tables *f)
{
	static const struct af_column columns[] = {AF_HEAT_ABOUT_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "heat_about", "The map", columns);
	struct af_heat_about_row *c = af_table_row(f, t);
	uint64_t period_ns = h->cells.each_ns * AF_HEAT_ROWS;

	c->view.text = query->gpu ? "gpu" : "cpu";
	c->period_ns.value = period_ns;
	c->rows.value = AF_HEAT_ROWS;
	c->columns.value = (h->end_ns + period_ns - 1) / period_ns;
	c->from_ns.value = from_ns;
	c->to_ns.value = from_ns + h->end_ns;
	c->left_out.value = h->left_out;
}

static void table_cells(const struct heat *h, const struct af_heat *query, uint64_t from_ns,
                        struct af_tables *f)
{
	const char *counted = query->gpu && !h->sampled_only ? "Started" : "Samples";
	const char *measured = query->gpu ? "Busy" : "Time";
	const struct af_column columns[] = {AF_HEAT_CELL_COLUMNS(AF_ROW_COLUMN, counted, measured)};
	struct af_table *t = AF_TABLE(f, "heat", "Heat map", columns);
	uint32_t nr = h->cells.nr > h->nr_counts ? h->cells.nr : h->nr_counts;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t count = i < h->nr_counts ? h->counts[i] : 0;
		uint64_t ns = i < h->cells.nr ? h->cells.ns[i] : 0;
		if (!count && !ns)
			continue;
		struct af_heat_cell_row *c = af_table_row(f, t);
		c->column.value = i / AF_HEAT_ROWS;
		c->row.value = i % AF_HEAT_ROWS;
		c->start_ns.value = from_ns + i * h->cells.each_ns;
		c->count.value = count;
		c->time_ns.value = ns;
	}
}

static bool series_period(struct heat_bins *series, struct af_period *period)
{
	uint32_t first = 0, nr = series->nr;

	while (first < nr && !series->ns[first])
		first++;
	while (nr > first && !series->ns[nr - 1])
		nr--;
	double *values = af_xcalloc((size_t)nr - first + 1, sizeof *values);
	for (uint32_t i = first; i < nr; i++)
		values[i - first] = (double)series->ns[i];
	bool found = af_period_find(values, nr - first, period);
	free(values);
	return found;
}

/*
 * In ns. What is fine may hide what is coarse, as kernels do the steps that they are of: the series
 * is looked at in stretches that are longer and longer, and what comes out much clearer counts.
 * Periods shorter than the time that a sample stands for are not reported.
 */
static struct af_period heat_period(struct heat *h)
{
	struct af_period best = {0, 0}, period;

	while (h->series.each_ns < h->weight_ns && h->series.nr > 1)
		heat_bins_coarsen(&h->series, 2);
	heat_bins_settle(&h->series);
	for (; h->series.nr >= SERIES_LEAST; heat_bins_coarsen(&h->series, 4))
		if (series_period(&h->series, &period) && period.strength > best.strength * 1.2)
			best = (struct af_period){period.lag * (double)h->series.each_ns,
			                          period.strength};
	return best;
}

static void table_periods(struct heat *h, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_PERIOD_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "periods", "What repeats itself", columns);
	const struct af_period period = heat_period(h);
	const double ns = period.lag;

	if (period.strength <= 0) {
		t->note = "nothing that stands out";
		return;
	}
	struct af_period_row *c = af_table_row(f, t);
	c->period_ns.value = af_tables_count(ns);
	c->strength_percent.value = af_tables_count(period.strength * 1e4);
	c->per_minute.value = af_tables_count(60e9 / ns);
	t->note = af_tables_text(f, "a pattern repeats every %s, %.1f times a second",
	                         af_tables_ns(f, af_tables_count(ns)), 1e9 / ns);
}

void heat_tables(struct heat *h, const struct af_heat *query, uint64_t from_ns, struct af_tables *f)
{
	heat_bins_settle(&h->cells);
	table_about(h, query, from_ns, f);
	table_cells(h, query, from_ns, f);
	table_periods(h, f);
}
