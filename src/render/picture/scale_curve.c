#include "render/picture/scale_curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/scale/scale.h"
#include "analyse/table/group_by.h"
#include "render/picture/picture.h"
#include "render/text/tables.h"

enum { WIDTH = 1000, HEIGHT = 860, LINES = 8, LINE_CHARS = 132, NAME_CHARS = 44 };
enum { LEFT = 80, RIGHT = 980, TOP = 110, MIDDLE = 390, LOWER = 480, BOTTOM = 820 };
enum { FIRST_END = 500, SECOND = 590, PARTS_END = 590, LEGEND = 620 };

#define INK "#334455"
#define FAINT "#9aa5b1"
#define LEAST 0.005 /* of the run: what loses less has no line */

static const char *const colors[LINES] = {"#cc3322", "#2e8b57", "#8844bb", "#d9a400",
                                          "#3a9fbf", "#c0578a", "#5a6f2a", "#667788"};

/* The sets, and the rows of any table that get a line. */
struct curve {
	struct af_buf *b;
	bool weak;
	uint32_t nr; /* sets */
	double ranks[AF_SCALE_SETS], wall[AF_SCALE_SETS], efficiency[AF_SCALE_SETS];
	const struct af_scale_part_row *lines[LINES];
	double times[LINES][AF_SCALE_SETS];
	uint32_t nr_lines;
};

/* A rectangle with axes: x is logarithmic, y is, too, unless it is a percentage. */
struct panel {
	uint32_t x0, y0, x1, y1;
	double least, most; /* of y */
	double first, last; /* of x */
	bool percent;
};

static double ideal_at(const struct curve *c, double first, uint32_t i)
{
	return c->weak ? first : first * c->ranks[0] / c->ranks[i];
}

static double x_of(const struct panel *p, double ranks)
{
	double part = p->last > p->first ? log(ranks / p->first) / log(p->last / p->first) : 0.5;

	return p->x0 + part * (p->x1 - p->x0);
}

static double y_of(const struct panel *p, double value)
{
	double part =
	    p->percent ? value / p->most : log(value / p->least) / log(p->most / p->least);

	return p->y1 - part * (p->y1 - p->y0);
}

/* text */

/* At most @most characters of UTF-8, of which the last ones count. */
static void text_end(char *to, size_t size, const char *text, size_t most)
{
	size_t len = strlen(text), from = 0, chars = 0;

	for (from = len; from && chars < most; chars++)
		for (from--; from && (text[from] & 0xc0) == 0x80;)
			from--;
	snprintf(to, size, "%s%s", from ? "…" : "", text + from);
}

/* @text in lines of some LINE_CHARS, from @y on. */
static void text_lines(struct curve *c, uint32_t y, const char *text)
{
	char line[LINE_CHARS * 4];

	for (uint32_t i = 0; *text && i < 3; i++, y += 16) {
		size_t len = strlen(text), at = len < LINE_CHARS ? len : LINE_CHARS;
		while (at < len && at && text[at] != ' ')
			at--;
		at = at ? at : len < LINE_CHARS ? len : LINE_CHARS;
		snprintf(line, sizeof line, "%.*s", (int)at, text);
		af_picture_text(c->b, LEFT, y, " fill=\"" INK "\"", line);
		text += at + (text[at] == ' ');
	}
}

/* axes */

/* The power of ten at or below @value; 1 where there is none. */
static double power_below(double value)
{
	double power = 1;

	if (!(value > 0))
		return power;
	while (power > value)
		power /= 10;
	while (power * 10 <= value)
		power *= 10;
	return power;
}

/* Grid lines at 1, 2 and 5 of each decade, at fewer where these are many, and at more else. */
static void axis_times(struct curve *c, const struct panel *p)
{
	static const double steps[] = {1, 2, 5, 1.5, 3, 4, 6, 8};
	double decades = log10(p->most / p->least);
	uint32_t nr = decades > 2.5 ? 1 : decades > 1 ? 3 : sizeof steps / sizeof *steps;
	struct af_buf text = {0};

	for (double power = power_below(p->least); power <= p->most; power *= 10)
		for (uint32_t i = 0; i < nr; i++) {
			double value = power * steps[i];
			if (value < p->least * 0.999 || value > p->most * 1.001)
				continue;
			double y = y_of(p, value);
			af_buf_fmt(c->b,
			           "<path d=\"M%u %.1fH%u\" stroke=\"#e4e8ec\" fill=\"none\"/>\n",
			           p->x0, y, p->x1);
			text.len = 0;
			af_cell_text(&text, AF_CELL_NS, af_tables_count(value));
			af_picture_text(c->b, p->x0 - 6, (uint32_t)y + 4,
			                " text-anchor=\"end\" fill=\"" INK "\"", text.data);
		}
	af_buf_free(&text);
}

static void axis_percent(struct curve *c, const struct panel *p)
{
	char text[32];
	double step = p->most > 150 ? 50 : 20;

	while (p->most > 10 * step)
		step *= 2;
	for (double value = 0; value <= p->most + 0.5; value += step) {
		double y = y_of(p, value);
		af_buf_fmt(c->b, "<path d=\"M%u %.1fH%u\" stroke=\"#e4e8ec\" fill=\"none\"/>\n",
		           p->x0, y, p->x1);
		snprintf(text, sizeof text, "%.0f %%", value);
		af_picture_text(c->b, p->x0 - 6, (uint32_t)y + 4,
		                " text-anchor=\"end\" fill=\"" INK "\"", text);
	}
}

/* The numbers of ranks, as far as they have room. */
static void axis_ranks(struct curve *c, const struct panel *p)
{
	double last = -100;
	char text[32];

	for (uint32_t i = 0; i < c->nr; i++) {
		double x = x_of(p, c->ranks[i]);
		if (x - last < 34)
			continue;
		last = x;
		af_buf_fmt(c->b, "<path d=\"M%.1f %uv5\" stroke=\"" FAINT "\" fill=\"none\"/>\n", x,
		           p->y1);
		snprintf(text, sizeof text, "%.0f", c->ranks[i]);
		af_picture_text(c->b, (uint32_t)x, p->y1 + 18,
		                " text-anchor=\"middle\" fill=\"" INK "\"", text);
	}
	af_picture_text(c->b, (p->x0 + p->x1) / 2, p->y1 + 34,
	                " text-anchor=\"middle\" fill=\"" INK "\"", "ranks");
}

static void panel_begin(struct curve *c, const struct panel *p, const char *title)
{
	af_picture_text(c->b, p->x0, p->y0 - 12, " font-weight=\"bold\"", title);
	if (p->percent)
		axis_percent(c, p);
	else
		axis_times(c, p);
	axis_ranks(c, p);
	af_buf_fmt(c->b,
	           "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"none\" "
	           "stroke=\"" FAINT "\"/>\n",
	           p->x0, p->y0, p->x1 - p->x0, p->y1 - p->y0);
}

/* lines */

/* Points without a value, which a logarithm does not have either, are left out. */
static void line_draw(struct curve *c, const struct panel *p, const double *values,
                      const char *color, const char *more)
{
	bool any = false;

	af_buf_str(c->b, "<path d=\"");
	for (uint32_t i = 0; i < c->nr; i++) {
		if (!p->percent && values[i] < 1)
			continue;
		af_buf_fmt(c->b, "%c%.1f %.1f", any ? 'L' : 'M', x_of(p, c->ranks[i]),
		           y_of(p, values[i]));
		any = true;
	}
	af_buf_fmt(c->b, "\" stroke=\"%s\" fill=\"none\"%s/>\n", color, more);
}

static void line_points(struct curve *c, const struct panel *p, const double *values,
                        const char *color, const char *name)
{
	for (uint32_t i = 0; i < c->nr; i++) {
		if (!p->percent && values[i] < 1)
			continue;
		af_buf_fmt(c->b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>",
		           x_of(p, c->ranks[i]), y_of(p, values[i]), color);
		af_buf_xml(c->b, name, strlen(name));
		af_buf_fmt(c->b, ", %.0f rank%s: ", c->ranks[i], c->ranks[i] > 1 ? "s" : "");
		if (p->percent)
			af_buf_fmt(c->b, "%.1f %%", values[i]);
		else
			af_cell_text(c->b, AF_CELL_NS, af_tables_count(values[i]));
		af_buf_str(c->b, "</title></circle>\n");
	}
}

/* Make room for @value and, if it is the first one of a line, for where it would be ideally. */
static void reach(const struct curve *c, struct panel *p, double value, bool first)
{
	const double values[] = {value, first ? ideal_at(c, value, c->nr - 1) : value};

	for (uint32_t i = 0; i < 2; i++) {
		if (values[i] < 1)
			continue;
		p->least = p->most <= 0 || values[i] < p->least ? values[i] : p->least;
		p->most = values[i] > p->most ? values[i] : p->most;
	}
}

/* A little more than the values, and never nothing. */
static void panel_round(struct panel *p)
{
	p->least = p->most > 0 ? p->least * 0.8 : 1;
	p->most = p->most > 0 ? p->most * 1.25 : 10;
}

static void ideal_draw(struct curve *c, const struct panel *p, double first, const char *color,
                       const char *more)
{
	double ideal[AF_SCALE_SETS] = {0};

	for (uint32_t i = 0; i < c->nr; i++)
		ideal[i] = ideal_at(c, first, i);
	line_draw(c, p, ideal, color, more);
}

static void wall_panel(struct curve *c)
{
	struct panel p = {LEFT, TOP,         FIRST_END,           MIDDLE, 0,
	                  0,    c->ranks[0], c->ranks[c->nr - 1], false};

	for (uint32_t i = 0; i < c->nr; i++)
		reach(c, &p, c->wall[i], !i);
	panel_round(&p);
	panel_begin(c, &p, "Wall time (dashed: ideal)");
	ideal_draw(c, &p, c->wall[0], FAINT, " stroke-dasharray=\"6 4\" stroke-width=\"1.5\"");
	line_draw(c, &p, c->wall, "#1f77b4", " stroke-width=\"2\"");
	line_points(c, &p, c->wall, "#1f77b4", "wall time");
}

static void efficiency_panel(struct curve *c)
{
	struct panel p = {SECOND, TOP, RIGHT, MIDDLE, 0, 100, c->ranks[0], c->ranks[c->nr - 1],
	                  true};
	double limit[AF_SCALE_SETS] = {0}, whole[AF_SCALE_SETS] = {0};

	for (uint32_t i = 0; i < c->nr; i++) {
		limit[i] = AF_SCALE_EFFICIENT / 100.0;
		whole[i] = 100;
		p.most = c->efficiency[i] > p.most ? c->efficiency[i] : p.most;
	}
	p.most *= 1.05;
	panel_begin(c, &p, "Efficiency (dashed: ideal; dotted: what counts as scaling)");
	line_draw(c, &p, whole, FAINT, " stroke-dasharray=\"6 4\" stroke-width=\"1.5\"");
	line_draw(c, &p, limit, "#cc3322", " stroke-dasharray=\"2 4\"");
	line_draw(c, &p, c->efficiency, "#1f77b4", " stroke-width=\"2\"");
	line_points(c, &p, c->efficiency, "#1f77b4", "efficiency");
}

/* A line's name, and below it its kind, its exponent and where it stops scaling. */
static void legend_row(struct curve *c, uint32_t i, uint32_t y)
{
	const struct af_scale_part_row *row = c->lines[i];
	char name[NAME_CHARS * 4 + 8], stops[48] = "";
	struct af_buf text = {0};

	text_end(name, sizeof name, row->name.text, NAME_CHARS);
	af_buf_fmt(c->b, "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
	           LEGEND, y - 10, colors[i]);
	af_picture_text(c->b, LEGEND + 18, y, "", name);
	if (row->stops_at.value)
		snprintf(stops, sizeof stops, "; stops at %llu ranks",
		         (unsigned long long)row->stops_at.value);
	af_buf_fmt(&text, "%s; a rank loses ", row->kind.text);
	af_cell_text(&text, AF_CELL_NS, row->lost_ns.value);
	af_buf_fmt(&text, "%s%s%s", *row->exponent.text ? "; exponent " : "", row->exponent.text,
	           stops);
	af_picture_text(c->b, LEGEND + 18, y + 15, " fill=\"" INK "\"", text.data);
	af_buf_free(&text);
}

static void parts_panel(struct curve *c)
{
	struct panel p = {LEFT, LOWER,       PARTS_END,           BOTTOM, 0,
	                  0,    c->ranks[0], c->ranks[c->nr - 1], false};

	for (uint32_t l = 0; l < c->nr_lines; l++)
		for (uint32_t i = 0; i < c->nr; i++)
			reach(c, &p, c->times[l][i], !i);
	panel_round(&p);
	panel_begin(c, &p, "What loses most: time of a rank (dashed: ideal)");
	for (uint32_t l = 0; l < c->nr_lines; l++) {
		ideal_draw(c, &p, c->times[l][0], colors[l],
		           " stroke-dasharray=\"4 4\" stroke-opacity=\"0.5\"");
		line_draw(c, &p, c->times[l], colors[l], " stroke-width=\"2\"");
		line_points(c, &p, c->times[l], colors[l], c->lines[l]->name.text);
		legend_row(c, l, LOWER + 10 + l * 42);
	}
	if (!c->nr_lines)
		af_picture_text(c->b, LEGEND, LOWER + 10, "", "nothing loses time beyond noise");
}

/* reading the tables */

static void sets_read(struct curve *c, const struct af_table *t)
{
	for (uint32_t i = 0; i < t->nr_rows && i < AF_SCALE_SETS; i++) {
		const struct af_scale_row *row = AF_ROW_AT(struct af_scale_row, t, i);
		c->ranks[i] = row->ranks.value ? (double)row->ranks.value : 1;
		c->wall[i] = (double)row->wall_ns.value;
		c->efficiency[i] = (double)row->efficiency.value / 100;
		c->nr++;
	}
}

/* Rows that lose a part of the run, up to @most lines; rows that stop first come first. */
static void lines_read(struct curve *c, const struct af_table *t, uint32_t most)
{
	int first = t ? af_table_column(t, "rank_ns_1") : -1;

	for (uint32_t r = 0; first >= 0 && r < t->nr_rows && c->nr_lines < most; r++) {
		const struct af_scale_part_row *row = AF_ROW_AT(struct af_scale_part_row, t, r);
		const struct af_cell *cells = (const struct af_cell *)row;
		if (row->lost_ns.value <= row->noise_ns.value ||
		    (double)row->lost_ns.value < LEAST * c->wall[c->nr - 1] ||
		    (uint32_t)first + c->nr > t->nr_columns)
			continue;
		for (uint32_t i = 0; i < c->nr; i++)
			c->times[c->nr_lines][i] = (double)cells[(uint32_t)first + i].value;
		c->lines[c->nr_lines++] = row;
	}
}

void af_scale_curve_svg(struct af_buf *b, const struct af_tables *f, bool weak)
{
	const struct af_table *sets = af_tables_find(f, "scale");
	struct curve c = {.b = b, .weak = weak};

	af_picture_begin(b, WIDTH, HEIGHT, 11, LEFT, sets ? sets->title : "Scaling");
	if (sets && sets->nr_rows) {
		sets_read(&c, sets);
		lines_read(&c, af_tables_find(f, "scale_paths"), LINES - 3);
		lines_read(&c, af_tables_find(f, "scale_calls"), LINES - 1);
		lines_read(&c, af_tables_find(f, "scale_functions"), LINES);
		text_lines(&c, 46, sets->note ? sets->note : "");
		wall_panel(&c);
		efficiency_panel(&c);
		parts_panel(&c);
	}
	af_buf_str(b, "</svg>\n");
}
