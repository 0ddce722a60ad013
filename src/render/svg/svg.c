/*
 * The SVG flame graph: one file that opens anywhere, readable without its script. Layout, labels
 * and meaning are those of flamegraph.pl, so that pictures of both can be compared; code, script
 * and colours are our own. The document is: header, frames, footer, script with its data.
 */
#include "render/svg/svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/difference/difference.h"
#include "base/arena.h"
#include "base/err.h"
#include "render/embed/embed.h"
#include "render/text/label.h"

AF_EMBED(svg_style);

enum { SVG_PAD = 10, SVG_VANISHED = 20, SVG_MAX_WIDTH = 1000000 };

static void svg_text(struct svg *s, double x, double y, const char *attributes, const char *text)
{
	af_buf_str(&s->out, "<text x=\"");
	af_label_fixed(&s->out, x, 0);
	af_buf_str(&s->out, "\" y=\"");
	af_label_fixed(&s->out, y, 0);
	af_buf_fmt(&s->out, "\" %s>", attributes);
	af_label_xml(&s->out, text, strlen(text));
	af_buf_str(&s->out, "</text>\n");
}

static void svg_button(struct svg *s, double x, const char *action, const char *text,
                       const char *help, bool end)
{
	af_buf_fmt(&s->out, "<g class=\"needs-script\"><title>%s</title>", help);
	struct af_buf attributes = {0};
	af_buf_fmt(&attributes, "class=\"button\" data-do=\"%s\"%s", action,
	           end ? " text-anchor=\"end\"" : "");
	svg_text(s, x, s->font_size * 2, attributes.data, text);
	af_buf_str(&s->out, "</g>");
	af_buf_free(&attributes);
}

/* The user's title, or the kind of picture and what its widths are. */
static void svg_title(struct af_buf *b, const struct af_picture *p)
{
	af_buf_str(b, p->title        ? p->title
	              : p->flamechart ? "Flame Chart"
	              : p->inverted   ? "Icicle Graph"
	                              : "Flame Graph");
	if (!p->title && p->measured)
		af_buf_fmt(b, ": %s", p->measured);
}

static void svg_head(struct svg *s)
{
	const struct af_picture *p = s->picture;
	struct af_buf *b = &s->out;
	const char *font = p->font_type ? p->font_type : "Verdana";

	af_buf_str(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg class=\"");
	/* A background that was asked for is not for the dark theme to change. */
	af_buf_str(b, p->bgcolors ? "aflame light\" width=\"" : "aflame\" width=\"");
	af_label_fixed(b, s->width, 0);
	af_buf_str(b, "\" height=\"");
	af_label_fixed(b, s->height, 0);
	af_buf_str(b, "\" viewBox=\"0 0 ");
	af_label_fixed(b, s->width, 0);
	af_buf_char(b, ' ');
	af_label_fixed(b, s->height, 0);
	af_buf_str(b, "\" xmlns=\"http://www.w3.org/2000/svg\"");
	if (p->attributes)
		af_buf_str(b, " xmlns:xlink=\"http://www.w3.org/1999/xlink\"");
	af_buf_str(b, " font-family=\"");
	af_label_xml(b, font, strlen(font));
	af_buf_str(b, ", 'DejaVu Sans', sans-serif\" font-size=\"");
	af_label_fixed(b, s->font_size, s->font_size == floor(s->font_size) ? 0 : 2);
	af_buf_str(b, "\">\n<!-- Flame graph made by aflame " AFLAME_VERSION " -->\n");
	if (p->notes) {
		af_buf_str(b, "<desc>");
		af_label_xml(b, p->notes, strlen(p->notes));
		af_buf_str(b, "</desc>\n");
	}
	af_buf_str(b, "<style>\n");
	af_buf_add(b, af_embed_svg_style, af_embed_svg_style_size);
	af_buf_fmt(b, "svg.aflame { --top: #%06x; --bottom: #%06x; }\n", s->palette.background[0],
	           s->palette.background[1]);
	af_buf_str(b, "</style>\n<defs><linearGradient id=\"af-back\" x1=\"0\" y1=\"0\" x2=\"0\" "
	              "y2=\"1\"><stop class=\"stop-top\" offset=\"5%\"/><stop "
	              "class=\"stop-bottom\" offset=\"95%\"/></linearGradient></defs>\n"
	              "<rect class=\"back\" width=\"100%\" height=\"100%\" "
	              "fill=\"url(#af-back)\"/>\n");
}

/* A colour and what it means; @x moves behind them. */
static void legend_item(struct svg *s, double *x, double y, uint32_t rgb, const char *text)
{
	af_buf_fmt(&s->out,
	           "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" rx=\"2\" "
	           "fill=\"#%06x\"/>",
	           (int)*x, (int)(y - 9), rgb);
	svg_text(s, *x + 14, y, "class=\"legend\"", text);
	*x += 30 + s->char_width * (double)strlen(text);
}

/* The meaning of each colour, in the row above the frames. */
static void svg_legend(struct svg *s, double y)
{
	bool used[AF_FRAME_END] = {0};
	double x = s->pad;

	for (uint32_t i = 1; i < s->layout.nr; i++)
		used[af_tree_frame(s->tree, s->tree->nodes[s->layout.frames[i].node].name)] = true;
	for (enum af_frame f = 0; f < AF_FRAME_END; f++)
		if (used[f])
			legend_item(s, &x, y, af_palette_kind(f), af_frame_name(f));
	af_buf_char(&s->out, '\n');
}

/* Differences: stacks that are not in the picture, because their width after is nothing. */

static bool svg_vanished(const struct af_tree *t, uint32_t node)
{
	uint32_t parent = t->nodes[node].parent;

	return t->total[0][node] && !t->total[1][node] && (!parent || t->total[1][parent]);
}

static void svg_path(struct svg *s, uint32_t node)
{
	const struct af_tree *t = s->tree;
	uint32_t depth = 0;

	for (uint32_t i = node; i; i = t->nodes[i].parent)
		depth++;
	uint32_t *path = af_xcalloc(depth, sizeof *path);
	for (uint32_t i = node, d = depth; i; i = t->nodes[i].parent)
		path[--d] = i;
	for (uint32_t d = 0; d < depth; d++) {
		size_t len;
		const char *text = af_label_text(t, path[d], &len);
		af_buf_str(&s->out, d ? ";" : "");
		af_label_xml(&s->out, text, len);
	}
	free(path);
}

/* The largest ones in @top, by weight before; returns how many there are at all. */
static uint32_t svg_find_vanished(const struct svg *s, uint32_t *top, uint64_t *sum)
{
	const struct af_tree *t = s->tree;
	uint32_t nr = 0, depth = 0;

	for (uint32_t i = 0; (i = af_tree_next(t, i, i && !t->total[1][i], &depth));) {
		if (!svg_vanished(t, i))
			continue;
		*sum += t->total[0][i];
		uint32_t k = nr < SVG_VANISHED ? nr : SVG_VANISHED;
		for (nr++; k > 0 && t->total[0][top[k - 1]] < t->total[0][i]; k--)
			if (k < SVG_VANISHED)
				top[k] = top[k - 1];
		if (k < SVG_VANISHED)
			top[k] = i;
	}
	return nr;
}

/* How many of all that vanished are more than chance. */
static uint32_t svg_vanished_sure(const struct svg *s)
{
	const struct af_tree *t = s->tree;
	uint32_t nr = 0, depth = 0;

	for (uint32_t i = 0; (i = af_tree_next(t, i, i && !t->total[1][i], &depth));)
		nr +=
		    svg_vanished(t, i) && af_difference_node(s->picture->look, t, i, false).certain;
	return nr;
}

/* The same of a difference: the scale ends at the largest change. */
static void svg_difference_legend(struct svg *s, double y)
{
	const struct af_tree_weight *weight = &s->tree->weights[s->weight];
	int64_t most = s->most < INT64_MAX ? (int64_t)s->most : INT64_MAX;
	bool time = !strcmp(weight->unit, "ns"), negate = s->picture->negate;
	uint32_t top[SVG_VANISHED];
	uint64_t sum = 0;
	struct af_buf text = {0};
	double x = s->pad;

	for (int less = 1; less >= 0; less--) {
		text.len = 0;
		af_buf_str(&text, time ? (less ? "faster" : "slower, or new")
		                       : (less ? "less" : "more, or new"));
		af_buf_fmt(&text, ": up to %c", less ? '-' : '+');
		af_label_weight(&text, weight, s->most, s->picture);
		if (most)
			legend_item(s, &x, y,
			            af_palette_delta(less ? -most : most, s->most, negate),
			            text.data);
		if (less)
			legend_item(s, &x, y, af_palette_delta(0, s->most, negate), "same");
		if (less && s->picture->look)
			legend_item(s, &x, y, SVG_NOISE, "within noise");
	}
	af_buf_free(&text);
	if (svg_find_vanished(s, top, &sum))
		svg_text(s, x, y, "class=\"legend\"", "gone: without a width, see Vanished");
}

static void svg_list_vanished(struct svg *s, double y)
{
	uint32_t top[SVG_VANISHED];
	uint64_t sum = 0;
	uint32_t nr = svg_find_vanished(s, top, &sum);
	struct af_buf *b = &s->out;

	if (!nr)
		return;
	af_buf_str(b, "<g class=\"vanished\"><title>");
	for (uint32_t i = 0; i < nr && i < SVG_VANISHED; i++) {
		svg_path(s, top[i]);
		af_buf_str(b, " (");
		af_label_weight(b, &s->tree->weights[0], s->tree->total[0][top[i]], s->picture);
		af_buf_str(b, ")\n");
	}
	if (nr > SVG_VANISHED)
		af_buf_fmt(b, "and %u more\n", nr - SVG_VANISHED);
	af_buf_fmt(b, "</title><text x=\"%d\" y=\"%d\">", (int)s->pad, (int)y);
	af_buf_fmt(b, "Vanished: %u stack%s, ", nr, nr == 1 ? "" : "s");
	af_label_weight(b, &s->tree->weights[0], sum, s->picture);
	if (s->picture->look)
		af_buf_fmt(b, "; %u of them more than noise", svg_vanished_sure(s));
	af_buf_str(b, "</text></g>\n");
}

/* Reports the frames and rows that are not in the picture. */
static void svg_left_out(struct svg *s, double y)
{
	struct af_buf text = {0};

	if (s->picture->hidden) {
		svg_text(s, s->pad, y, "class=\"left-out\"", s->picture->hidden);
		y += s->font_size * 1.5;
	}
	if (s->rows_cut) {
		af_buf_fmt(&text, "Cut off: the %u deepest rows, which hold ", s->rows_cut);
		af_label_percent(&text, s->cut, s->total);
		af_buf_str(&text, "; --height 16 draws them.");
		svg_text(s, s->pad, y, "class=\"left-out\"", text.data);
	}
	af_buf_free(&text);
}

static void svg_header(struct svg *s)
{
	double middle = s->width / 2, y = s->font_size * 2, end = s->width - s->pad;

	struct af_buf title = {0};

	svg_title(&title, s->picture);
	svg_text(s, middle, y, "class=\"title\" style=\"font-size:1.4em\"", title.data);
	af_buf_free(&title);
	svg_button(s, s->pad, "reset", "Reset Zoom", "Show all again (Esc)", false);
	svg_button(s, end, "search", "Search",
	           "Find frames by regular expression (Ctrl-F, F3 or /)", true);
	svg_button(s, end - s->char_width * 8, "case", "ic", "Ignore case when searching (Ctrl-I)",
	           true);
	svg_button(s, end - s->char_width * 12, "dark", "dark", "Dark or light (d)", true);
	svg_button(s, end - s->char_width * 18, "flip", "flip", "Flames or icicles (i)", true);
	svg_button(s, end - s->char_width * 23, "reverse", "reverse",
	           "Callers below callees, or the other way round (r)", true);
	if (s->picture->subtitle) {
		y += s->font_size * 2;
		svg_text(s, middle, y, "class=\"title subtitle\"", s->picture->subtitle);
	}
	y += s->font_size * 2;
	if (s->picture->differential) {
		svg_difference_legend(s, y);
		y += s->font_size * 1.5;
		svg_list_vanished(s, y);
	} else if (s->legend) {
		svg_legend(s, y);
	}
	if (s->picture->differential || s->legend)
		y += s->font_size * 1.5;
	svg_left_out(s, y);
}

static void svg_footer(struct svg *s)
{
	double y = s->height - s->bottom / 2 + s->font_size * 0.35;

	svg_text(s, s->pad, y, "class=\"details\"", " ");
	svg_text(s, s->width - s->pad, y, "class=\"matched\" text-anchor=\"end\"", " ");
}

static uint64_t svg_most_changed(const struct af_tree *t, const struct af_difference_look *look)
{
	uint64_t most = 0;

	for (uint32_t i = 1; look && i < t->nr; i++) {
		struct af_change c = af_difference_node(look, t, i, look->by_self);
		if (c.after && c.certain && c.size > most)
			most = c.size;
	}
	if (look)
		return most;

	for (uint32_t i = 1; i < t->nr; i++) {
		uint64_t a = t->total[0][i], b = t->total[1][i];
		uint64_t size = a > b ? a - b : b - a;
		if (b && size > most)
			most = size;
	}
	return most;
}

double svg_char_width(const struct svg *s)
{
	return s->font_size * (s->picture->font_width > 0 ? s->picture->font_width : 0.59);
}

static int svg_measure(struct svg *s, struct af_err *err)
{
	const struct af_picture *p = s->picture;

	s->width = p->width ? p->width : 1200;
	s->pad = SVG_PAD;
	s->frame_height = p->frame_height ? p->frame_height : 16;
	s->font_size = p->font_size > 0 ? p->font_size : 12;
	s->char_width = svg_char_width(s);
	if (s->width < 4 * s->pad || s->width > SVG_MAX_WIDTH)
		return af_fail_plain(err, -EINVAL, "a picture cannot be %u pixels wide", p->width);
	s->total = s->tree->total[s->weight][0];
	uint64_t scale = s->tree->weights[s->weight].scale;
	double total = p->total * (double)(scale > 1 ? scale : 1);
	if (total > (double)s->total)
		s->total = total < 1.8e19 ? (uint64_t)total : UINT64_MAX;
	s->unit_px = s->total ? (s->width - 2 * s->pad) / (double)s->total : 0;
	double min = p->min_width > 0 ? p->min_width : p->all_frames ? 0 : 0.1;
	if (p->min_width_percent && p->min_width > 0)
		min = min / 100 * (double)s->total;
	else
		min = s->total ? min / s->unit_px : 0;
	s->min = min <= 1 ? 1 : min >= 1.8e19 ? UINT64_MAX : (uint64_t)ceil(min);
	return 0;
}

static int svg_draw(struct svg *s, struct af_err *err)
{
	const struct af_picture *p = s->picture;
	int rc = svg_measure(s, err);

	if (!rc)
		rc = af_palette_open(&s->palette, p, s->tree, err);
	if (rc)
		return rc;
	if (p->differential)
		s->most = svg_most_changed(s->tree, p->look);
	/* Remembered colours need not be by kind. */
	s->legend = !p->colors && !strcmp(af_palette_name(&s->palette), "kind");
	svg_place(&s->layout, s, s->tree);
	if (p->one_screen)
		svg_fit(s);
	s->top = s->font_size * (p->subtitle ? 5 : 3);
	if (s->legend || p->differential)
		s->top += s->font_size * (p->differential ? 3 : 1.5);
	s->top += s->font_size * 1.5 * ((p->hidden != NULL) + (s->rows_cut > 0));
	s->top = ceil(s->top);
	s->bottom = ceil(s->font_size * 2 + 10);
	s->height = s->top + (s->layout.depth + 1) * s->frame_height + s->bottom;
	svg_head(s);
	svg_header(s);
	af_buf_str(&s->out, "<g class=\"frames\">\n");
	svg_frames(s);
	af_buf_str(&s->out, "</g>\n");
	svg_footer(s);
	svg_script(s);
	af_buf_str(&s->out, "</svg>\n");
	return 0;
}

static int svg_tree(struct af_render *r, const struct af_tree *t, struct af_err *err)
{
	struct svg s = {.picture = r->picture, .tree = t};
	struct af_tree reversed = {0};
	int weight = af_picture_weight(r->picture, t, err);

	if (weight < 0)
		return weight;
	s.weight = (uint32_t)weight;
	if (r->picture->reverse) {
		af_tree_reverse(&reversed, t);
		s.tree = &reversed;
	}
	int rc = svg_draw(&s, err);
	if (!rc) {
		rc = af_buf_flush(&s.out, r->fd);
		if (rc)
			af_fail(err, rc, "writing the picture");
	}
	af_buf_free(&s.out);
	free(s.layout.frames);
	af_tree_close(&reversed);
	return rc;
}

const struct af_format af_format_svg = {
    .name = "svg",
    .extension = ".svg",
    .summary = "flame graph as one picture that browsers zoom and search",
    .tree = svg_tree,
};
