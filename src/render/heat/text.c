/* A heat map for a terminal. */
#include <inttypes.h>

#include "render/heat/grid.h"
#include "render/heat/heat.h"
#include "render/text/tables.h"

enum { LABEL = 10, TICK = 10, CELL_MOST = 4 };

static const char ramp[] = " .:-=+*#%@";

/* From light to dark, for each character of the ramp: of the 256 colours that terminals know. */
static const uint8_t backgrounds[] = {0, 230, 229, 223, 216, 209, 203, 196, 160, 124};
static const uint8_t inks[] = {0, 0, 0, 0, 0, 0, 15, 15, 15, 15};

static void put_cell(struct af_buf *b, uint32_t shade, uint32_t wide, bool colour)
{
	bool ink = colour && shade;

	if (ink)
		af_buf_fmt(b, "\033[48;5;%um\033[38;5;%um", backgrounds[shade], inks[shade]);
	for (uint32_t i = 0; i < wide; i++)
		af_buf_char(b, ramp[shade]);
	if (ink)
		af_buf_str(b, "\033[0m");
}

/* A time within a column, in the unit that suits it. */
static void put_offset(struct af_buf *b, uint64_t ns, uint64_t period_ns)
{
	const bool ms = period_ns >= 100000000, us = period_ns >= 100000;
	uint64_t unit_ns = ms ? 1000000 : us ? 1000 : 1;

	af_buf_fmt(b, "%*" PRIu64 " %s ", LABEL - 4, ns / unit_ns, ms ? "ms" : us ? "us" : "ns");
}

static uint64_t pair_at(const struct heat_grid *g, uint32_t column, uint32_t row)
{
	const uint64_t *cells = &g->cells[(size_t)column * g->nr_rows];

	return cells[row] + (row + 1 < g->nr_rows ? cells[row + 1] : 0);
}

static uint64_t most_pair(const struct heat_grid *g)
{
	uint64_t most = 0;

	for (uint32_t column = 0; column < g->nr_columns; column++)
		for (uint32_t row = 0; row < g->nr_rows; row += 2)
			if (pair_at(g, column, row) > most)
				most = pair_at(g, column, row);
	return most;
}

/* When every tenth column begins, as far as there is room to say so. */
static void put_ticks(struct af_buf *b, const struct heat_grid *g, uint32_t first, uint32_t end,
                      uint32_t wide)
{
	int digits = g->period_ns >= 1000000000  ? 0
	             : g->period_ns >= 100000000 ? 1
	             : g->period_ns >= 1000000   ? 3
	                                         : 5;
	size_t line = b->len + LABEL;

	af_buf_fmt(b, "%*s", LABEL, "");
	for (uint32_t column = first; column < end; column += (TICK + wide - 1) / wide) {
		double s = (double)(g->from_ns + column * g->period_ns) / 1e9;
		size_t at = line + (size_t)(column - first) * wide;
		if (at < b->len)
			continue;
		af_buf_fmt(b, "%*s", (int)(at - b->len), "");
		af_buf_fmt(b, "%.*f s", digits, s);
		af_buf_char(b, ' ');
	}
	b->len--;
	af_buf_char(b, '\n');
}

static void put_block(struct af_buf *b, const struct heat_grid *g, uint32_t first, uint32_t end,
                      uint64_t most, uint32_t wide, bool colour)
{
	uint32_t nr_lines = (g->nr_rows + 1) / 2;

	for (uint32_t line = nr_lines; line--;) {
		if (line % 5 == 0)
			put_offset(b, 2 * line * (g->period_ns / g->nr_rows), g->period_ns);
		else
			af_buf_fmt(b, "%*s", LABEL, "");
		for (uint32_t column = first; column < end; column++) {
			uint64_t pair = pair_at(g, column, 2 * line);
			put_cell(b, heat_grid_shade(pair, most, sizeof ramp - 1), wide, colour);
		}
		af_buf_char(b, '\n');
	}
	put_ticks(b, g, first, end, wide);
}

static void put_about(struct af_buf *b, const struct heat_grid *g, uint64_t most)
{
	af_buf_str(b, g->timed ? "When devices were busy: columns of "
	              : g->gpu ? "When instructions of devices were sampled: columns of "
	                       : "When threads were on a CPU: columns of ");
	af_cell_text(b, AF_CELL_NS, g->period_ns);
	af_buf_str(b, ", `@` is ");
	af_cell_text(b, g->timed ? AF_CELL_NS : AF_CELL_COUNT, most);
	af_buf_str(b, g->timed ? " of " : " samples of ");
	af_cell_text(b, g->timed ? AF_CELL_NS : AF_CELL_COUNT, g->total);
	af_buf_str(b, " in ");
	af_cell_text(b, AF_CELL_NS, 2 * (g->period_ns / g->nr_rows));
	af_buf_str(b, "\n\n");
}

void af_heat_text(struct af_buf *b, const struct af_tables *f, uint32_t width, bool colour)
{
	struct heat_grid g;
	uint32_t room = width > LABEL + TICK ? width - LABEL : TICK;

	if (heat_grid_make(&g, f)) {
		uint64_t most = most_pair(&g);
		uint32_t wide = g.nr_columns < room ? room / g.nr_columns : 1;
		wide = wide > CELL_MOST ? CELL_MOST : wide;
		put_about(b, &g, most);
		for (uint32_t first = 0; first < g.nr_columns; first += room / wide) {
			uint32_t end = first + room / wide;
			end = end < g.nr_columns ? end : g.nr_columns;
			put_block(b, &g, first, end, most, wide, colour);
			af_buf_char(b, '\n');
		}
		af_buf_fmt(b, "%s%s\n", g.note ? "Periodic: " : "Nothing periodic stands out.",
		           g.note ? g.note : "");
	}
	heat_grid_free(&g);
}
