/*
 * A heat map as a grid, which its formats draw.
 */
#ifndef AF_RENDER_HEAT_GRID_H
#define AF_RENDER_HEAT_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"

struct heat_grid {
	bool gpu;
	bool timed; /* cells are time of devices, else samples */
	uint32_t nr_rows, nr_columns;
	uint64_t period_ns, from_ns, to_ns;
	uint64_t *cells; /* column by column, the lowest row first: samples, or busy ns */
	uint64_t most, total;
	const char *note; /* what is periodic */
};

/* False when there is nothing to draw. Free it either way. */
bool heat_grid_make(struct heat_grid *g, const struct af_tables *f);
void heat_grid_free(struct heat_grid *g);

/* The shade of a value, from 0 (nothing) to @shades - 1 (the most). */
uint32_t heat_grid_shade(uint64_t value, uint64_t most, uint32_t shades);

#endif
