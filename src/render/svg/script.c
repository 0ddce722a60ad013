/*
 * The data that the script needs: exact places of the frames (pixels in the document are rounded),
 * and, for small trees, the reversed tree as columns. Larger trees are left without the reverse
 * button rather than doubled: SVG_REVERSE_NODES is about what adds 1 MB.
 */
#include "render/svg/svg.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "render/embed/embed.h"
#include "render/text/label.h"

AF_EMBED(names_js);
AF_EMBED(svg_script);

enum { SVG_REVERSE_NODES = 20000 };

/*
 * A JSON string that is also XML text: markup characters and the code points that XML forbids are
 * escaped, which JSON reads back as themselves.
 */
static void script_string(struct svg *s, const char *text, size_t len)
{
	struct af_buf json = {0};

	af_buf_json(&json, text, len);
	for (size_t i = 0; i < json.len; i++) {
		unsigned char c = (unsigned char)json.data[i];
		if (c == '&' || c == '>')
			af_buf_fmt(&s->out, "\\u%04x", c);
		else if (c == 0xef && i + 2 < json.len && (unsigned char)json.data[i + 1] == 0xbf &&
		         ((unsigned char)json.data[i + 2] & 0xfe) == 0xbe) {
			af_buf_str(&s->out, "\\ufffd");
			i += 2;
		} else
			af_buf_char(&s->out, (char)c);
	}
	af_buf_free(&json);
}

/* Places fit a double: shifted when the total is beyond 2^53. */
static unsigned script_shift(const struct svg *s)
{
	unsigned shift = 0;

	while (s->total >> shift >= 1ull << 53)
		shift++;
	return shift;
}

static void script_places(struct svg *s, const struct svg_layout *l)
{
	unsigned shift = script_shift(s);
	struct af_buf *b = &s->out;

	af_buf_str(b, "[");
	for (uint32_t i = 0; i < l->nr; i++) {
		const struct svg_frame *f = &l->frames[i];
		uint64_t start = f->start >> shift;

		af_buf_str(b, i ? "," : "");
		af_buf_u64(b, f->depth);
		af_buf_char(b, ',');
		af_buf_u64(b, start);
		af_buf_char(b, ',');
		af_buf_u64(b, ((f->start + f->width) >> shift) - start);
		if (i % 16 == 15)
			af_buf_char(b, '\n');
	}
	af_buf_str(b, "]");
}

/* The part of the title behind the name, for each frame. */
static void script_counts(struct svg *s, const struct af_tree *t, uint32_t node)
{
	size_t start = s->out.len;
	struct af_buf text = {0};

	svg_counts(s, t, node);
	af_buf_add(&text, s->out.data + start, s->out.len - start);
	s->out.len = start;
	script_string(s, text.data, text.len);
	af_buf_free(&text);
}

/* "name":"value" */
static void script_pair(struct svg *s, const char *name, const char *value)
{
	char last = s->out.data[s->out.len - 1];

	af_buf_fmt(&s->out, last == '{' ? "\"%s\":" : ",\"%s\":", name);
	script_string(s, value, strlen(value));
}

static void script_pairs(struct svg *s, const struct af_frame_attributes *a, bool of_link)
{
	af_buf_str(&s->out, of_link ? ",\"a\":{" : "\"g\":{");
	for (const struct af_attribute *i = a->first; i; i = i->next)
		if (i->of_link == of_link)
			script_pair(s, i->name, i->value);
	if (of_link) {
		script_pair(s, "href", a->href);
		script_pair(s, "target", a->target ? a->target : "_top");
	}
	af_buf_char(&s->out, '}');
}

/*
 * By the id of a name, its attributes given by the user: the frames of the reverse are made by the
 * script.
 */
static void script_attributes(struct svg *s, const struct af_tree *t, const struct svg_layout *l,
                              const uint32_t *ids)
{
	bool *reported = af_xcalloc(t->nr_names, sizeof *reported);
	bool comma = false;

	af_buf_str(&s->out, ",\n\"attributes\":{");
	for (uint32_t i = 0; i < l->nr; i++) {
		uint32_t node = l->frames[i].node, name = t->nodes[node].name;
		const struct af_frame_attributes *a = svg_attributes(s, t, node);

		if (!a || reported[name])
			continue;
		reported[name] = true;
		af_buf_fmt(&s->out, "%s\"%u\":{", comma ? "," : "", ids[name] - 1);
		comma = true;
		script_pairs(s, a, false);
		if (a->title)
			script_pair(s, "title", a->title);
		if (a->href)
			script_pairs(s, a, true);
		af_buf_char(&s->out, '}');
	}
	af_buf_char(&s->out, '}');
	free(reported);
}

/* Reversed: places, names by id, and by frame the name's id, the colour and the counts. */
static void script_reverse(struct svg *s, const struct af_tree *t, const struct svg_layout *l)
{
	struct af_buf *b = &s->out;
	uint32_t *ids = af_xcalloc(t->nr_names, sizeof *ids);
	uint32_t nr = 0;

	af_buf_str(b, ",\n\"reverse\":{\"places\":");
	script_places(s, l);
	af_buf_str(b, ",\n\"names\":[");
	for (uint32_t i = 0; i < l->nr; i++) {
		uint32_t name = t->nodes[l->frames[i].node].name;
		size_t len;
		if (ids[name])
			continue;
		ids[name] = ++nr;
		const char *text = af_label_text(t, l->frames[i].node, &len);
		af_buf_str(b, nr > 1 ? "," : "");
		script_string(s, text, len);
	}
	af_buf_str(b, "],\n\"frames\":[");
	for (uint32_t i = 0; i < l->nr; i++) {
		uint32_t node = l->frames[i].node;
		af_buf_fmt(b, "%s%u,%u,", i ? "," : "", ids[t->nodes[node].name] - 1,
		           svg_color(s, t, node));
		script_counts(s, t, node);
	}
	af_buf_char(b, ']');
	if (s->picture->attributes)
		script_attributes(s, t, l, ids);
	af_buf_char(b, '}');
	free(ids);
}

static void script_other_way(struct svg *s)
{
	struct af_tree reversed;
	struct svg_layout layout = {0};

	if (s->tree->nr > SVG_REVERSE_NODES || s->tree->ordered)
		return;
	af_tree_reverse(&reversed, s->tree);
	svg_place(&layout, s, &reversed);
	if (layout.nr <= SVG_REVERSE_NODES)
		script_reverse(s, &reversed, &layout);
	free(layout.frames);
	af_tree_close(&reversed);
}

static void script_option(struct svg *s, const char *name, double value)
{
	af_buf_fmt(&s->out, ",\"%s\":", name);
	af_label_fixed(&s->out, value, 3);
}

void svg_script(struct svg *s)
{
	const struct af_picture *p = s->picture;
	const char *name_type = p->name_type ? p->name_type : "Function:";
	const char *search = p->search_color ? p->search_color : "#e600e6";
	struct af_buf *b = &s->out;

	af_buf_str(b, "<script type=\"text/javascript\"><![CDATA[\n(function (data) {\n");
	af_buf_add(b, af_embed_names_js, af_embed_names_js_size);
	af_buf_str(b, "(");
	af_buf_add(b, af_embed_svg_script, af_embed_svg_script_size);
	af_buf_str(b, ")(data);\n})({\"total\":");
	af_buf_u64(b, s->total >> script_shift(s));
	script_option(s, "pad", s->pad);
	script_option(s, "top", s->top);
	script_option(s, "bottom", s->bottom);
	script_option(s, "frameHeight", s->frame_height);
	script_option(s, "fontSize", s->font_size);
	script_option(s, "charWidth", s->char_width);
	script_option(s, "inverted", p->inverted);
	script_option(s, "fluid", p->fluid);
	script_option(s, "keepEnd", p->truncate_right);
	af_buf_str(b, ",\"nameType\":");
	script_string(s, name_type, strlen(name_type));
	af_buf_str(b, ",\"searchColor\":");
	script_string(s, search, strlen(search));
	af_buf_str(b, ",\n\"places\":");
	script_places(s, &s->layout);
	script_other_way(s);
	af_buf_str(b, "});\n]]></script>\n");
}
