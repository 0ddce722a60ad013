/*
 * The flame graph in characters: a row a depth, callers above what they call, widths in proportion
 * to weight. A frame narrower than a column is not drawn; zooming in shows it.
 */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/names/name_forms.h"
#include "analyse/tree/table.h"
#include "base/arena.h"
#include "cmd/tui/tui.h"
#include "render/text/label.h"

static void frame_add(struct tui *t, uint32_t node, uint32_t depth, int x, int columns)
{
	AF_GROW(t->frames, t->nr_frames, t->cap_frames);
	t->frames[t->nr_frames++] = (struct tui_frame){node, depth, x, columns};
}

/* The columns before @weight of @all in @columns: the same for ends and beginnings, so no gaps. */
static int columns_of(uint64_t weight, uint64_t all, int columns)
{
	return (int)((unsigned __int128)weight * (unsigned)columns / (all ? all : 1));
}

/* Children of a drawn frame, whose left end is @from of the whole. */
struct placing {
	uint32_t node, depth;
	uint64_t from;
};

static void place_children(struct tui *t, const struct placing *p, struct placing **todo,
                           uint32_t *nr, uint32_t *cap, uint64_t all, int columns)
{
	const struct af_tree *tree = t->shown;
	uint64_t from = p->from;

	for (uint32_t c = tree->nodes[p->node].first_child; c; c = tree->nodes[c].next_sibling) {
		uint64_t total = tree->total[t->weight][c];
		int x = columns_of(from, all, columns);
		int end = columns_of(from + total, all, columns);
		if (end > x) {
			frame_add(t, c, p->depth + 1, x, end - x);
			AF_GROW(*todo, *nr, *cap);
			(*todo)[(*nr)++] = (struct placing){c, p->depth + 1, from};
		}
		from += total;
	}
}

static int frame_order(const void *a, const void *b)
{
	const struct tui_frame *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->x - y->x;
}

/* All that is wide enough, by depth and from left to right. */
static void flame_place(struct tui *t, int columns)
{
	const struct af_tree *tree = t->shown;
	uint32_t zoom = tui_node(t, t->zoom), nr = 0, cap = 0, above = 0;
	struct placing *todo = NULL;

	t->nr_frames = 0;
	for (uint32_t up = zoom; up; up = tree->nodes[up].parent)
		above++;
	for (uint32_t up = zoom, depth = above; depth; depth--, up = tree->nodes[up].parent)
		frame_add(t, up, depth, 0, columns);
	frame_add(t, 0, 0, 0, columns);
	AF_GROW(todo, nr, cap);
	todo[nr++] = (struct placing){zoom, above, 0};
	while (nr) {
		struct placing p = todo[--nr];
		place_children(t, &p, &todo, &nr, &cap, tree->total[t->weight][zoom], columns);
	}
	free(todo);
	AF_SORT(t->frames, t->nr_frames, frame_order);
}

/* Where the frame that is looked at is among those that are drawn, or its nearest caller. */
static uint32_t flame_at(struct tui *t)
{
	const struct af_tree *tree = t->shown;

	for (uint32_t node = tui_node(t, t->node); node; node = tree->nodes[node].parent)
		for (uint32_t i = 0; i < t->nr_frames; i++)
			if (t->frames[i].node == node)
				return i;
	for (uint32_t i = 0; i < t->nr_frames; i++)
		if (t->frames[i].node)
			return i;
	return 0;
}

static void frame_draw(const struct tui *t, const struct tui_area *a, int y,
                       const struct tui_frame *f, bool at)
{
	const struct af_tree *tree = t->shown;
	uint32_t name = tree->nodes[f->node].name;
	enum af_frame kind = f->node ? af_tree_frame(tree, name) : AF_FRAME_PROCESS;
	bool found = t->found.is && f->node && t->found.is[name];
	struct af_buf text = {0};
	size_t len;
	const char *label = af_label_text(tree, f->node, &len);
	/* An edge on the left, where there is room for one. */
	int edge = f->x && f->columns > 2;

	af_name_fit(&text, label, len, (size_t)(f->columns - edge));
	af_buf_str(&text, "");
	if (edge)
		tui_put_on(y, a->x + f->x, 1, "|", kind, TUI_FAINT);
	tui_put_on(y, a->x + f->x + edge, f->columns - edge,
	           f->columns - edge > 1 ? text.data
	           : at                  ? "*"
	           : f->columns > 1      ? "|"
	                                 : "",
	           kind, (at ? TUI_AT | TUI_BOLD : 0) | (found ? TUI_FOUND : 0));
	af_buf_free(&text);
}

static void flame_draw(struct tui *t, const struct tui_area *a)
{
	tui_tree_reveal(t);
	flame_place(t, a->columns);
	uint32_t at = flame_at(t), depth = t->frames[at].depth;
	uint32_t rows = a->rows > 0 ? (uint32_t)a->rows : 1;

	if (depth < t->flame_first)
		t->flame_first = depth;
	if (depth >= t->flame_first + rows)
		t->flame_first = depth - rows + 1;
	for (uint32_t i = 0; i < t->nr_frames; i++) {
		const struct tui_frame *f = &t->frames[i];
		if (f->depth >= t->flame_first && f->depth < t->flame_first + rows)
			frame_draw(t, a, a->y + (int)(f->depth - t->flame_first), f, i == at);
	}
}

/* The frame beside, or the widest of those that this one calls. */
static uint32_t flame_move(struct tui *t, int key)
{
	uint32_t at = flame_at(t), best = 0;
	const struct tui_frame *f = &t->frames[at];

	if (key == KEY_UP)
		return t->shown->nodes[f->node].parent;
	if (key == KEY_LEFT)
		return at && f[-1].depth == f->depth ? f[-1].node : 0;
	if (key == KEY_RIGHT)
		return at + 1 < t->nr_frames && f[1].depth == f->depth ? f[1].node : 0;
	int widest = 0;
	for (uint32_t i = 0; i < t->nr_frames; i++) {
		const struct tui_frame *c = &t->frames[i];
		if (c->depth != f->depth + 1 || t->shown->nodes[c->node].parent != f->node)
			continue;
		if (c->columns > widest) {
			widest = c->columns;
			best = c->node;
		}
	}
	return best;
}

static void flame_next(struct tui *t, bool back)
{
	uint32_t at = flame_at(t), nr = t->nr_frames;

	for (uint32_t k = 1; t->found.is && k <= nr; k++) {
		uint32_t node = t->frames[(at + (back ? nr - k : k)) % nr].node;
		if (!node || !t->found.is[t->shown->nodes[node].name])
			continue;
		tui_select(t, node);
		return;
	}
	tui_say(t, "no frame that is wide enough matches: Top and Tree have all");
}

static bool flame_key(struct tui *t, int key, const struct tui_area *a)
{
	uint32_t node;

	flame_place(t, a->columns);
	switch (key) {
	case KEY_UP:
	case KEY_DOWN:
	case KEY_LEFT:
	case KEY_RIGHT:
		node = flame_move(t, key);
		if (node)
			tui_select(t, node);
		return true;
	case '\r':
	case '\n':
	case KEY_ENTER:
		t->zoom = t->node;
		return true;
	case KEY_BACKSPACE:
	case 127:
	case '\b':
		node = tui_node(t, t->zoom);
		node = node ? t->shown->nodes[node].parent : 0;
		t->zoom = node ? t->paths[node] : 0;
		return true;
	case KEY_HOME:
	case 'g':
		t->zoom = 0;
		return true;
	case 'n':
	case 'N':
		flame_next(t, key == 'N');
		return true;
	}
	return false;
}

const struct tui_pane tui_pane_flame = {
    .name = "Flame",
    .keys = "arrows Enter:zoom Backspace:out g:all",
    .draw = flame_draw,
    .key = flame_key,
};
