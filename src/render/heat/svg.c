/* A heat map as SVG: rectangles by shade, so that each colour is named once. */
#include <stdio.h>
#include <string.h>

#include "render/heat/grid.h"
#include "render/heat/heat.h"
#include "render/picture/picture.h"
#include "render/text/tables.h"

enum { LEFT = 70, TOP = 46, BELOW = 70, RIGHT = 20, CELL = 8, SHADES = 17, TITLES = 20000 };
enum { WIDTH = 1200, WIDTH_LEAST = 600 };

/* The layout of the picture. */
struct heat_svg {
	struct heat_grid g;
	struct af_buf *b;
	uint32_t wide; /* of a cell, in pixels */
	uint32_t width, height;
};

/* From the colour of paper over orange to dark red: darker is more, whatever eyes see in it. */
static void shade_color(struct af_buf *b, uint32_t shade)
{
	static const int stops[3][3] = {{255, 243, 224}, {247, 129, 32}, {110, 0, 20}};
	const uint32_t half = (SHADES - 1) / 2;
	const int *from = stops[shade > half], *to = stops[(shade > half) + 1];
	int part = (int)(shade > half ? shade - half : shade), whole = (int)half;

	af_buf_fmt(b, "#%02x%02x%02x", (unsigned)(from[0] + (to[0] - from[0]) * part / whole),
	           (unsigned)(from[1] + (to[1] - from[1]) * part / whole),
	           (unsigned)(from[2] + (to[2] - from[2]) * part / whole));
}

static void svg_cell(struct heat_svg *s, uint32_t column, uint32_t row, uint64_t value, bool titled)
{
	const struct heat_grid *g = &s->g;
	uint64_t each_ns = g->period_ns / g->nr_rows;
	uint64_t start_ns = g->from_ns + column * g->period_ns + row * each_ns;

	af_buf_fmt(s->b, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"",
	           LEFT + column * s->wide, TOP + (g->nr_rows - 1 - row) * CELL, s->wide, CELL);
	if (!titled) {
		af_buf_str(s->b, "/>\n");
		return;
	}
	af_buf_fmt(s->b, "><title>%.6f s to %.6f s: ", (double)start_ns / 1e9,
	           (double)(start_ns + each_ns) / 1e9);
	af_cell_text(s->b, g->timed ? AF_CELL_NS : AF_CELL_COUNT, value);
	af_buf_str(s->b, g->timed ? " busy</title></rect>\n" : " samples</title></rect>\n");
}

static uint32_t svg_used(const struct heat_grid *g)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < (size_t)g->nr_columns * g->nr_rows; i++)
		nr += g->cells[i] != 0;
	return nr;
}

static void svg_cells(struct heat_svg *s)
{
	const struct heat_grid *g = &s->g;
	bool titled = svg_used(g) <= TITLES;

	for (uint32_t shade = 1; shade < SHADES; shade++) {
		af_buf_str(s->b, "<g fill=\"");
		shade_color(s->b, shade);
		af_buf_str(s->b, "\">\n");
		for (size_t i = 0; i < (size_t)g->nr_columns * g->nr_rows; i++)
			if (heat_grid_shade(g->cells[i], g->most, SHADES) == shade)
				svg_cell(s, (uint32_t)(i / g->nr_rows), (uint32_t)(i % g->nr_rows),
				         g->cells[i], titled);
		af_buf_str(s->b, "</g>\n");
	}
}

/* Every fifth of a column, and each column that is as far from the last one as text is wide. */
static void svg_axes(struct heat_svg *s)
{
	const struct heat_grid *g = &s->g;
	uint32_t bottom = TOP + g->nr_rows * CELL, step = 1;
	char text[64];

	for (uint32_t i = 0; i <= 5; i++) {
		snprintf(text, sizeof text, "%g ms", (double)g->period_ns * i / 5e6);
		af_picture_text(s->b, LEFT - 6, bottom - g->nr_rows * CELL * i / 5 + 4,
		                " text-anchor=\"end\"", text);
	}
	while (step * s->wide < 80)
		step = step % 10 ? step * (step % 5 ? 5 : 2) : step * 5;
	for (uint32_t column = 0; column < g->nr_columns; column += step) {
		snprintf(text, sizeof text, "%g s",
		         (double)(g->from_ns + column * g->period_ns) / 1e9);
		af_picture_text(s->b, LEFT + column * s->wide, bottom + 18, "", text);
	}
	af_buf_fmt(s->b,
	           "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"none\" "
	           "stroke=\"#888888\"/>\n",
	           LEFT, TOP, g->nr_columns * s->wide, g->nr_rows * CELL);
}

static void svg_foot(struct heat_svg *s)
{
	const struct heat_grid *g = &s->g;
	struct af_buf text = {0};

	af_buf_str(&text, "Columns of ");
	af_cell_text(&text, AF_CELL_NS, g->period_ns);
	af_buf_str(&text, ", read from the bottom; the darkest cell has ");
	af_cell_text(&text, g->timed ? AF_CELL_NS : AF_CELL_COUNT, g->most);
	af_buf_str(&text, g->timed ? " of device time." : " samples.");
	af_picture_text(s->b, LEFT, s->height - 30, "", text.data);
	text.len = 0;
	af_buf_fmt(&text, "Periodic: %s.", g->note ? g->note : "nothing that stands out");
	af_picture_text(s->b, LEFT, s->height - 12, "", text.data);
	af_buf_free(&text);
	af_buf_str(s->b, "</svg>\n");
}

void af_heat_svg(struct af_buf *b, const struct af_tables *f, const char *title)
{
	struct heat_svg s = {.b = b};

	heat_grid_make(&s.g, f);
	uint32_t nr = s.g.nr_columns ? s.g.nr_columns : 1;
	s.wide = WIDTH / nr > 24 ? 24 : WIDTH / nr < 2 ? 2 : WIDTH / nr;
	s.width = LEFT + RIGHT + (nr * s.wide > WIDTH_LEAST ? nr * s.wide : WIDTH_LEAST);
	s.height = TOP + BELOW + s.g.nr_rows * CELL;
	af_picture_begin(b, s.width, s.height, 12, LEFT, title);
	svg_cells(&s);
	if (s.g.nr_rows)
		svg_axes(&s);
	svg_foot(&s);
	heat_grid_free(&s.g);
}
