/*
 * The tree as indented text, for terminals and for reading by programs and agents: share, weight,
 * name. Frames below half a percent are summed up in one line a parent, so nothing is hidden.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "render/render.h"
#include "render/text/label.h"

static void text_line(struct af_buf *b, const struct af_tree *t, uint32_t w, uint64_t value,
                      uint32_t depth, const struct af_picture *p)
{
	struct af_buf cell = {0};

	af_label_percent(&cell, value, t->total[w][0]);
	af_buf_fmt(b, "%8s  ", cell.data);
	cell.len = 0;
	af_label_weight(&cell, &t->weights[w], value, p);
	af_buf_fmt(b, "%16s  %*s", cell.data, (int)(2 * depth), "");
	af_buf_free(&cell);
}

/* The weight of those children of @node that are not printed. */
static uint64_t text_small(const struct af_tree *t, uint32_t w, uint32_t node,
                           const uint8_t *chosen, uint32_t *nr)
{
	uint64_t sum = 0;

	*nr = 0;
	for (uint32_t c = t->nodes[node].first_child; c; c = t->nodes[c].next_sibling)
		if (!chosen[c] && t->total[w][c] && t->nodes[c].name != AF_TREE_GAP) {
			sum += t->total[w][c];
			++*nr;
		}
	return sum;
}

static void text_node(struct af_buf *b, const struct af_tree *t, uint32_t w, uint32_t node,
                      uint32_t depth, const uint8_t *chosen, const struct af_picture *p)
{
	size_t len;
	uint32_t nr;
	const char *text = af_label_text(t, node, &len);

	if (!node && p->root) {
		text = p->root;
		len = strlen(text);
	}

	if (t->nodes[node].name == AF_TREE_GAP && node)
		return;
	text_line(b, t, w, t->total[w][node], depth, p);
	af_buf_terminal(b, text, len, ""); /* a name must not command the terminal */
	af_buf_char(b, '\n');
	uint64_t small = text_small(t, w, node, chosen, &nr);
	if (!nr)
		return;
	text_line(b, t, w, small, depth + 1, p);
	af_buf_fmt(b, "(%u smaller)\n", nr);
}

static void text_rest(struct af_buf *b, const struct af_tree *t, uint32_t w,
                      const struct af_tree_rest *rest, const struct af_picture *p)
{
	if (!p->rest || !rest->left_out)
		return;
	af_buf_str(b, "… and ");
	af_label_commas(b, rest->left_out);
	af_buf_str(b, " more frames of ");
	af_label_commas(b, (uint64_t)rest->left_out + rest->frames);
	af_buf_str(b, ", weighing ");
	af_label_weight(b, &t->weights[w], rest->left_self, p);
	af_buf_fmt(b, " themselves; %s\n", p->rest);
}

/* Frames of half a percent and more, unless another width or a number is asked for. */
static struct af_tree_cut text_cut(const struct af_picture *p, uint64_t total)
{
	double percent = p->min_width_percent && p->min_width > 0 ? p->min_width : 0.5;

	if (p->all_frames || p->frames)
		return (struct af_tree_cut){.min = 1, .limit = p->frames};
	return (struct af_tree_cut){.min = (uint64_t)(percent / 100 * (double)total) + 1};
}

static int text_tree(struct af_render *r, const struct af_tree *tree, struct af_err *err)
{
	const struct af_picture *p = r->picture;
	struct af_tree reversed = {0};
	const struct af_tree *t = tree;
	struct af_buf out = {0};
	uint32_t depth = 0;
	int w = af_picture_weight(p, tree, err);

	if (w < 0)
		return w;
	if (p->reverse) {
		af_tree_reverse(&reversed, tree);
		t = &reversed;
	}
	const struct af_tree_cut cut = text_cut(p, t->total[w][0]);
	struct af_tree_rest rest;
	scope_free uint8_t *chosen = af_tree_choose(t, (uint32_t)w, &cut, &rest);
	if (p->title)
		af_buf_fmt(&out, "%s\n", p->title);
	text_node(&out, t, (uint32_t)w, 0, 0, chosen, p);
	for (uint32_t i = 0; (i = af_tree_next(t, i, i && !chosen[i], &depth));)
		if (chosen[i])
			text_node(&out, t, (uint32_t)w, i, depth, chosen, p);
	text_rest(&out, t, (uint32_t)w, &rest, p);
	int rc = af_buf_flush(&out, r->fd);
	af_buf_free(&out);
	af_tree_close(&reversed);
	return rc ? af_fail(err, rc, "writing the tree") : 0;
}

const struct af_format af_format_text = {
    .name = "text",
    .extension = ".txt",
    .summary = "indented tree for terminals",
    .tree = text_tree,
};
