#include "render/heat/grid.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/time/heat.h"
#include "base/arena.h"

static void grid_fill(struct heat_grid *g, const struct af_table *heat)
{
	for (uint32_t r = 0; r < heat->nr_rows && g->gpu; r++)
		g->timed |= AF_ROW_AT(struct af_heat_cell_row, heat, r)->time_ns.value != 0;
	for (uint32_t r = 0; r < heat->nr_rows; r++) {
		const struct af_heat_cell_row *c = AF_ROW_AT(struct af_heat_cell_row, heat, r);
		uint64_t value = g->timed ? c->time_ns.value : c->count.value;
		if (c->column.value >= g->nr_columns)
			continue;
		g->cells[c->column.value * g->nr_rows + c->row.value] = value;
		g->most = value > g->most ? value : g->most;
		g->total += value;
	}
}

bool heat_grid_make(struct heat_grid *g, const struct af_tables *f)
{
	const struct af_table *about = af_tables_find(f, "heat_about");
	const struct af_table *heat = af_tables_find(f, "heat");
	const struct af_table *periods = af_tables_find(f, "periods");

	*g = (struct heat_grid){0};
	if (!about || !about->nr_rows || !heat)
		return false;
	const struct af_heat_about_row *is = AF_ROW_AT(struct af_heat_about_row, about, 0);
	g->gpu = !strcmp(is->view.text, "gpu");
	g->nr_rows = (uint32_t)is->rows.value;
	g->nr_columns = (uint32_t)(is->columns.value < AF_HEAT_CELLS / AF_HEAT_ROWS
	                               ? is->columns.value
	                               : AF_HEAT_CELLS / AF_HEAT_ROWS);
	g->period_ns = is->period_ns.value;
	g->from_ns = is->from_ns.value;
	g->to_ns = is->to_ns.value;
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
