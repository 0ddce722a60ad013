/* What a heat map found, as tables. */
#include <stdlib.h>

#include "analyse/time/heat_private.h"
#include "analyse/time/period.h"
#include "base/arena.h"

enum { SERIES_LEAST = 64 };

static void table_about(const struct heat *h, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {
	    [AF_HEAT_VIEW] = {"View", AF_CELL_TEXT},
	    [AF_HEAT_PERIOD] = {"Column", AF_CELL_NS},
	    [AF_HEAT_NR_ROWS] = {"Rows", AF_CELL_COUNT},
	    [AF_HEAT_NR_COLUMNS] = {"Columns", AF_CELL_COUNT},
	    [AF_HEAT_FROM] = {"From", AF_CELL_NS},
	    [AF_HEAT_TO] = {"To", AF_CELL_NS},
	    [AF_HEAT_LEFT_OUT] = {"Left out", AF_CELL_COUNT, AF_SHOW_USED},
	};
	const struct af_heat *asked = out->asked.own;
	struct af_table *t = af_facts_table(&out->facts, "heat_about", "The map", columns, 7);
	struct af_cell *c = af_table_row(&out->facts, t);
	uint64_t period_ns = h->cells.each_ns * AF_HEAT_ROWS;
	uint64_t from_ns = w->within.asked->from_ns;

	c[AF_HEAT_VIEW].text = asked->gpu ? "gpu" : "cpu";
	c[AF_HEAT_PERIOD].value = period_ns;
	c[AF_HEAT_NR_ROWS].value = AF_HEAT_ROWS;
	c[AF_HEAT_NR_COLUMNS].value = (h->end_ns + period_ns - 1) / period_ns;
	c[AF_HEAT_FROM].value = from_ns;
	c[AF_HEAT_TO].value = from_ns + h->end_ns;
	c[AF_HEAT_LEFT_OUT].value = h->left_out;
}

static void table_cells(const struct heat *h, const struct af_world *w, struct af_results *out)
{
	const struct af_heat *asked = out->asked.own;
	const struct af_column columns[] = {
	    [AF_HEAT_COLUMN] = {"Column", AF_CELL_COUNT},
	    [AF_HEAT_OFFSET] = {"Row", AF_CELL_COUNT},
	    [AF_HEAT_START] = {"Start", AF_CELL_NS},
	    [AF_HEAT_COUNT] = {asked->gpu && (h->busy || !h->nr_windows) ? "Started" : "Samples",
	                       AF_CELL_COUNT},
	    [AF_HEAT_TIME] = {asked->gpu ? "Busy" : "Time", AF_CELL_NS},
	};
	struct af_table *t = af_facts_table(&out->facts, "heat", "Heat map", columns, 5);
	uint64_t from_ns = w->within.asked->from_ns;
	uint32_t nr = h->cells.nr > h->nr_counts ? h->cells.nr : h->nr_counts;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t count = i < h->nr_counts ? h->counts[i] : 0;
		uint64_t ns = i < h->cells.nr ? h->cells.ns[i] : 0;
		if (!count && !ns)
			continue;
		struct af_cell *c = af_table_row(&out->facts, t);
		c[AF_HEAT_COLUMN].value = i / AF_HEAT_ROWS;
		c[AF_HEAT_OFFSET].value = i % AF_HEAT_ROWS;
		c[AF_HEAT_START].value = from_ns + i * h->cells.each_ns;
		c[AF_HEAT_COUNT].value = count;
		c[AF_HEAT_TIME].value = ns;
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
 * Nothing is to be told of what is shorter than what a sample stands for.
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

static void table_periods(struct heat *h, struct af_results *out)
{
	static const struct af_column columns[] = {
	    {"Period", AF_CELL_NS}, {"Strength", AF_CELL_PERCENT}, {"A minute", AF_CELL_COUNT}};
	struct af_facts *f = &out->facts;
	struct af_table *t = af_facts_table(f, "periods", "What repeats itself", columns, 3);
	const struct af_period period = heat_period(h);
	const double ns = period.lag;

	if (period.strength <= 0) {
		t->note = "nothing that stands out";
		return;
	}
	struct af_cell *c = af_table_row(f, t);
	c[0].value = af_facts_count(ns);
	c[1].value = af_facts_count(period.strength * 1e4);
	c[2].value = af_facts_count(60e9 / ns);
	t->note = af_facts_text(f, "a pattern repeats every %s, %.1f times a second",
	                        af_facts_ns(f, af_facts_count(ns)), 1e9 / ns);
}

void heat_tables(struct heat *h, const struct af_world *w, struct af_results *out)
{
	heat_bins_settle(&h->cells);
	table_about(h, w, out);
	table_cells(h, w, out);
	table_periods(h, out);
}
