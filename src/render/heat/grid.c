#include "render/heat/grid.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/time/heat.h"
#include "base/arena.h"

static const struct af_table *table_named(const struct af_facts *f, const char *name)
{
	const struct af_table *t = f->first;

	while (t && strcmp(t->name, name) != 0)
		t = t->next;
	return t;
}

static void grid_fill(struct heat_grid *g, const struct af_table *heat)
{
	for (uint32_t r = 0; r < heat->nr_rows && g->gpu; r++)
		g->timed |= heat->cells[(size_t)r * heat->nr_columns + AF_HEAT_TIME].value != 0;
	for (uint32_t r = 0; r < heat->nr_rows; r++) {
		const struct af_cell *c = &heat->cells[(size_t)r * heat->nr_columns];
		uint64_t value = c[g->timed ? AF_HEAT_TIME : AF_HEAT_COUNT].value;
		if (c[AF_HEAT_COLUMN].value >= g->nr_columns)
			continue;
		g->cells[c[AF_HEAT_COLUMN].value * g->nr_rows + c[AF_HEAT_OFFSET].value] = value;
		g->most = value > g->most ? value : g->most;
		g->total += value;
	}
}

bool heat_grid_make(struct heat_grid *g, const struct af_facts *f)
{
	const struct af_table *about = table_named(f, "heat_about");
	const struct af_table *heat = table_named(f, "heat");
	const struct af_table *periods = table_named(f, "periods");

	*g = (struct heat_grid){0};
	if (!about || !about->nr_rows || !heat)
		return false;
	const struct af_cell *is = about->cells;
	g->gpu = !strcmp(is[AF_HEAT_VIEW].text, "gpu");
	g->nr_rows = (uint32_t)is[AF_HEAT_NR_ROWS].value;
	g->nr_columns = (uint32_t)(is[AF_HEAT_NR_COLUMNS].value < AF_HEAT_CELLS / AF_HEAT_ROWS
	                               ? is[AF_HEAT_NR_COLUMNS].value
	                               : AF_HEAT_CELLS / AF_HEAT_ROWS);
	g->period_ns = is[AF_HEAT_PERIOD].value;
	g->from_ns = is[AF_HEAT_FROM].value;
	g->to_ns = is[AF_HEAT_TO].value;
	g->note = periods && periods->nr_rows ? periods->note : NULL;
	g->cells = af_xcalloc((size_t)g->nr_columns * g->nr_rows + 1, sizeof *g->cells);
	grid_fill(g, heat);
	return g->total != 0;
}

void heat_grid_free(struct heat_grid *g)
{
	free(g->cells);
	*g = (struct heat_grid){0};
}

uint32_t heat_grid_shade(uint64_t value, uint64_t most, uint32_t shades)
{
	double part = most ? (double)value / (double)most : 0;

	return value ? 1 + (uint32_t)(part * (shades - 2) + 0.5) : 0;
}
