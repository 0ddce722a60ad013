/* Frames of the SVG: where they are, what they are called, and how much of that fits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/difference/difference.h"
#include "analyse/names/name_forms.h"
#include "base/arena.h"
#include "render/svg/svg.h"
#include "render/text/label.h"

enum {
	SVG_MIN_CHARS = 3 /* a shorter text says nothing */
};

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

static void layout_add(struct svg_layout *l, struct svg_frame frame)
{
	AF_GROW(l->frames, l->nr, l->cap);
	l->frames[l->nr++] = frame;
	if (frame.depth > l->depth)
		l->depth = frame.depth;
}

/* A frame's own weight comes first, then its children: the layout of sorted folded lines. */
void svg_place(struct svg_layout *l, const struct svg *s, const struct af_tree *t)
{
	const uint64_t *total = t->total[s->weight], *self = t->self[s->weight];
	uint64_t *next = af_xcalloc((size_t)af_tree_depth(t) + 2, sizeof *next);
	uint32_t depth = 0;

	layout_add(l, (struct svg_frame){.width = s->total});
	next[1] = self[0];
	for (uint32_t i = 0; (i = af_tree_next(t, i, i && total[i] < s->min, &depth));) {
		struct svg_frame f = {i, depth, next[depth], total[i]};

		next[depth] = add_capped(f.start, f.width);
		next[depth + 1] = add_capped(f.start, self[i]);
		if (f.width >= s->min && f.width && t->nodes[i].name != AF_TREE_GAP &&
		    next[depth] <= s->total)
			layout_add(l, f);
	}
	free(next);
}

/* A row of text is legible at @SVG_LOW pixels; @SVG_SCREEN is what a browser shows of a page. */
enum { SVG_LOW = 12, SVG_SCREEN = 860, SVG_AROUND = 130 };

void svg_fit(struct svg *s)
{
	struct svg_layout *l = &s->layout;
	uint32_t rows = l->depth + 1, most = (SVG_SCREEN - SVG_AROUND) / SVG_LOW, nr = 0;
	double height = floor((double)(SVG_SCREEN - SVG_AROUND) / rows);

	if (height >= s->frame_height)
		return;
	s->frame_height = height > SVG_LOW ? height : SVG_LOW;
	if (!(s->picture->font_size > 0) && s->font_size > s->frame_height - 2) {
		s->font_size = s->frame_height - 2;
		s->char_width = svg_char_width(s);
	}
	if (rows <= most)
		return;
	for (uint32_t i = 0; i < l->nr; i++) {
		if (l->frames[i].depth < most)
			l->frames[nr++] = l->frames[i];
		else if (l->frames[i].depth == most)
			s->cut = add_capped(s->cut, l->frames[i].width);
	}
	s->rows_cut = rows - most;
	l->nr = nr;
	l->depth = most - 1;
}

/* Grey where it is the same, a darker grey where it may be chance. */
static uint32_t svg_look_color(const struct svg *s, const struct af_tree *t, uint32_t node)
{
	const struct af_difference_look *look = s->picture->look;
	const struct af_change c = af_difference_node(look, t, node, look->by_self);
	int64_t size = c.size < INT64_MAX ? (int64_t)c.size : INT64_MAX;

	if (!node || !c.size)
		return af_palette_delta(0, s->most, false);
	return c.certain ? af_palette_delta(c.less ? -size : size, s->most, s->picture->negate)
	                 : SVG_NOISE;
}

uint32_t svg_color(struct svg *s, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);

	if (s->picture->look && s->picture->differential)
		return svg_look_color(s, t, node);
	if (s->picture->differential) {
		int64_t delta = node ? (int64_t)(t->total[1][node] - t->total[0][node]) : 0;
		return af_palette_delta(delta, s->most, s->picture->negate);
	}
	if (!node)
		return af_palette_root(&s->palette);
	return af_palette_color(&s->palette, text, len, af_tree_frame(t, t->nodes[node].name));
}

static void counts_change(struct svg *s, uint64_t before, uint64_t after)
{
	af_buf_char(&s->out, after < before ? '-' : '+');
	af_label_percent(&s->out, after < before ? before - after : after - before, s->total);
}

static void counts_poll(struct svg *s, const struct af_tree *t, uint32_t node)
{
	const struct af_difference_look *look = s->picture->look;
	const struct af_change whole = af_difference_node(look, t, node, false);
	const struct af_change own = af_difference_node(look, t, node, true);

	af_buf_fmt(&s->out, "; %s, ", af_change_name(&whole));
	counts_change(s, whole.before, whole.after);
	af_buf_fmt(&s->out, ", own %s, ", af_change_name(&own));
	counts_change(s, own.before, own.after);
}

void svg_counts(struct svg *s, const struct af_tree *t, uint32_t node)
{
	uint64_t value = t->total[s->weight][node];

	af_buf_char(&s->out, '(');
	af_label_weight(&s->out, &t->weights[s->weight], value, s->picture);
	const char *time = strcmp(t->weights[s->weight].unit, "ns") ? NULL : s->picture->measured;
	if (time)
		af_buf_fmt(&s->out, " %.*s", (int)strcspn(time, ","), time);
	af_buf_str(&s->out, ", ");
	if (!node && value == s->total)
		af_buf_str(&s->out, "100%");
	else
		af_label_percent(&s->out, value, s->total);
	if (s->picture->differential && s->picture->look) {
		counts_poll(s, t, node);
	} else if (s->picture->differential) {
		af_buf_str(&s->out, "; change ");
		counts_change(s, t->total[0][node], t->total[1][node]);
		af_buf_str(&s->out, ", own ");
		counts_change(s, t->self[0][node], t->self[1][node]);
	}
	af_buf_char(&s->out, ')');
}

/* Bytes of the first @chars characters of UTF-8, whole sequences only. */
static size_t utf8_prefix(const char *s, size_t len, size_t chars)
{
	size_t i = 0;

	while (i < len && (chars || (s[i] & 0xc0) == 0x80))
		if ((s[i++] & 0xc0) != 0x80)
			chars--;
	return i;
}

/* A name that is too long: the option truncate_right keeps its end, else its function stays. */
static void frame_cut(struct svg *s, const char *text, size_t len, size_t chars, size_t room)
{
	struct af_buf cut = {0};

	if (s->picture->truncate_right) {
		size_t skip = utf8_prefix(text, len, chars - room + 1);
		af_buf_str(&cut, "…");
		af_buf_add(&cut, text + skip, len - skip);
	} else {
		af_name_fit(&cut, text, len, room);
	}
	af_label_xml(&s->out, cut.data, cut.len);
	af_buf_free(&cut);
}

/* Cut by the font's average width; the script measures and does better. */
static void frame_text(struct svg *s, const struct svg_frame *f, double x, double y)
{
	size_t len, chars = 0;
	const char *text = af_label_text(s->tree, f->node, &len);
	double room = ((double)f->width * s->unit_px - 6) / s->char_width;

	if (room < SVG_MIN_CHARS)
		return;
	for (size_t i = 0; i < len; i++)
		chars += (text[i] & 0xc0) != 0x80;

	af_buf_str(&s->out, "<text x=\"");
	af_label_fixed(&s->out, x + 3, 1);
	af_buf_str(&s->out, "\" y=\"");
	af_label_fixed(&s->out, y + s->frame_height / 2 + s->font_size * 0.35, 1);
	af_buf_str(&s->out, "\">");
	if ((double)chars <= room)
		af_label_xml(&s->out, text, len);
	else
		frame_cut(s, text, len, chars, (size_t)room);
	af_buf_str(&s->out, "</text>");
}

const struct af_frame_attributes *svg_attributes(const struct svg *s, const struct af_tree *t,
                                                 uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);

	if (!s->picture->attributes)
		return NULL;
	/* The root's kind is of no meaning: its key is "". */
	return af_attributes_get(s->picture->attributes, text, len,
	                         node ? af_tree_frame(t, t->nodes[node].name) : AF_FRAME_NATIVE);
}

static void frame_attribute(struct af_buf *b, const char *name, const char *value)
{
	af_buf_fmt(b, " %s=\"", name);
	af_label_xml(b, value, strlen(value));
	af_buf_char(b, '"');
}

static void frame_attributes(struct af_buf *b, const struct af_frame_attributes *a, bool of_link)
{
	for (const struct af_attribute *i = a->first; i; i = i->next)
		if (i->of_link == of_link)
			frame_attribute(b, i->name, i->value);
}

static void frame_name(struct svg *s, const struct svg_frame *f)
{
	size_t len;
	const char *text = af_label_text(s->tree, f->node, &len);

	af_label_xml(&s->out, text, len);
	af_buf_char(&s->out, ' ');
	svg_counts(s, s->tree, f->node);
}

/* <g>, title, and <a> when it is a link. The script finds a name that the title is not in
 * data-frame. */
static void frame_open(struct svg *s, const struct svg_frame *f,
                       const struct af_frame_attributes *a)
{
	struct af_buf *b = &s->out;

	af_buf_str(b, "<g");
	if (a && a->title) {
		af_buf_str(b, " data-frame=\"");
		frame_name(s, f);
		af_buf_char(b, '"');
	}
	if (a)
		frame_attributes(b, a, false);
	af_buf_str(b, "><title>");
	if (a && a->title)
		af_label_xml(b, a->title, strlen(a->title));
	else
		frame_name(s, f);
	af_buf_str(b, "</title>");
	if (!a || !a->href)
		return;
	af_buf_str(b, "<a");
	frame_attribute(b, "xlink:href", a->href);
	frame_attribute(b, "target", a->target ? a->target : "_top");
	frame_attributes(b, a, true);
	af_buf_char(b, '>');
}

void svg_frames(struct svg *s)
{
	for (uint32_t i = 0; i < s->layout.nr; i++) {
		const struct svg_frame *f = &s->layout.frames[i];
		const struct af_frame_attributes *a = svg_attributes(s, s->tree, f->node);
		double x = s->pad + (double)f->start * s->unit_px;
		double y = s->picture->inverted
		               ? s->top + f->depth * s->frame_height
		               : s->height - s->bottom - (f->depth + 1) * s->frame_height + 1;
		struct af_buf *b = &s->out;

		frame_open(s, f, a);
		af_buf_str(b, "<rect x=\"");
		af_label_fixed(b, x, 2);
		af_buf_str(b, "\" y=\"");
		af_label_fixed(b, y, 0);
		af_buf_str(b, "\" width=\"");
		af_label_fixed(b, (double)f->width * s->unit_px, 2);
		af_buf_str(b, "\" height=\"");
		af_label_fixed(b, s->frame_height - 1, 0);
		af_buf_fmt(b, "\" fill=\"#%06x\" rx=\"2\"/>", svg_color(s, s->tree, f->node));
		frame_text(s, f, x, y);
		af_buf_str(b, a && a->href ? "</a></g>\n" : "</g>\n");
	}
}
