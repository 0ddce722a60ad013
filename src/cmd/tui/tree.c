/* The pane of the tree, whose frames open and close. */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/table.h"
#include "base/arena.h"
#include "cmd/tui/tui.h"
#include "render/text/label.h"
#include "render/text/tables.h"

enum { TREE_NUMBERS = 34, TREE_MARK = 2 };

static bool is_open(const struct tui *t, uint32_t node)
{
	const uint64_t *open = af_map_get(&t->open, t->paths[node]);

	return !node || (open && *open);
}

static void set_open(struct tui *t, uint32_t node, bool open)
{
	if (node)
		*af_map_at(&t->open, t->paths[node], NULL) = open;
}

/* Children with any weight: how many, and the heaviest. */
static uint32_t children_of(const struct tui *t, uint32_t node, uint32_t *heaviest)
{
	const struct af_tree *tree = t->shown;
	const uint64_t *total = tree->total[t->weight];
	uint32_t nr = 0;

	*heaviest = 0;
	for (uint32_t c = tree->nodes[node].first_child; c; c = tree->nodes[c].next_sibling) {
		if (!total[c])
			continue;
		nr++;
		if (!*heaviest || total[c] > total[*heaviest])
			*heaviest = c;
	}
	return nr;
}

/* A node with a single child is opened with it. */
static void open_chain(struct tui *t, uint32_t node)
{
	uint32_t child;

	do {
		set_open(t, node, true);
		if (children_of(t, node, &child) != 1)
			break;
		node = child;
	} while (node);
}

/* The heaviest path, down to its end. */
static void open_hottest(struct tui *t, uint32_t node)
{
	uint32_t child;

	while (children_of(t, node, &child)) {
		set_open(t, node, true);
		node = child;
	}
	tui_select(t, node);
}

struct by_weight {
	uint64_t total;
	uint32_t node, place;
};

static int weight_order(const void *a, const void *b)
{
	const struct by_weight *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->place < y->place ? -1 : 1;
}

static void row_add(struct tui *t, uint32_t node, uint32_t depth)
{
	uint32_t cap = t->cap_rows;

	AF_GROW(t->rows, t->tree.nr, cap);
	AF_GROW(t->row_depths, t->tree.nr, t->cap_rows);
	t->rows[t->tree.nr] = node;
	t->row_depths[t->tree.nr++] = depth;
}

/* Nodes that wait to be listed, the next one last. */
struct waiting {
	struct by_weight *items;
	uint32_t *depths;
	uint32_t nr, cap;
};

static void wait_children(const struct tui *t, struct waiting *w, uint32_t node, uint32_t depth)
{
	const struct af_tree *tree = t->shown;
	uint32_t first = w->nr, nr = 0;

	for (uint32_t c = tree->nodes[node].first_child; c; c = tree->nodes[c].next_sibling) {
		if (!tree->total[t->weight][c])
			continue;
		uint32_t cap = w->cap;
		AF_GROW(w->items, w->nr, cap);
		AF_GROW(w->depths, w->nr, w->cap);
		w->depths[w->nr] = depth;
		w->items[w->nr++] =
		    (struct by_weight){t->by_name ? 0 : tree->total[t->weight][c], c, nr++};
	}
	if (!nr)
		return;
	AF_SORT(w->items + first, nr, weight_order);
	for (uint32_t i = 0; i < nr / 2; i++) {
		struct by_weight swap = w->items[first + i];
		w->items[first + i] = w->items[w->nr - 1 - i];
		w->items[w->nr - 1 - i] = swap;
	}
}

static void tree_rows(struct tui *t)
{
	struct waiting w = {0};

	t->tree.nr = 0;
	wait_children(t, &w, 0, 0);
	while (w.nr) {
		uint32_t node = w.items[--w.nr].node, depth = w.depths[w.nr];
		if (t->paths[node] == t->node)
			t->tree.at = t->tree.nr;
		row_add(t, node, depth);
		if (is_open(t, node))
			wait_children(t, &w, node, depth + 1);
	}
	free(w.items);
	free(w.depths);
}

/* Where the function that is looked at weighs most. */
static uint32_t node_of_function(const struct tui *t)
{
	const struct af_tree *tree = t->shown;
	const uint64_t *total = tree->total[t->weight];
	uint32_t name = 0, best = 0;

	for (uint32_t i = 1; t->function && !name && i < tree->nr_names; i++)
		if (tui_name_key(tree, i) == t->function)
			name = i;
	for (uint32_t n = 1; name && n < tree->nr; n++)
		if (tree->nodes[n].name == name && total[n] && (!best || total[n] > total[best]))
			best = n;
	return best;
}

void tui_tree_reveal(struct tui *t)
{
	uint32_t node = tui_node(t, t->node), child;

	if (!node || tui_name_key(t->shown, t->shown->nodes[node].name) != t->function)
		node = node_of_function(t);
	if (!node && children_of(t, 0, &child)) {
		open_chain(t, child);
		node = child;
	}
	tui_select(t, node);
	for (uint32_t up = t->shown->nodes[node].parent; up; up = t->shown->nodes[up].parent)
		set_open(t, up, true);
}

static void tree_line(const struct tui *t, struct af_buf *b, uint32_t node)
{
	const struct af_tree *tree = t->shown;
	enum af_cell_unit unit = af_tree_unit(tree, t->weight);
	struct af_buf share = {0}, total = {0}, self = {0};

	af_label_percent(&share, tree->total[t->weight][node], tree->total[t->weight][0]);
	af_cell_text(&total, unit, tree->total[t->weight][node]);
	af_cell_text(&self, unit, tree->self[t->weight][node]);
	af_buf_fmt(b, "%8s %12s %12s ", share.data, total.data,
	           tree->self[t->weight][node] ? self.data : "");
	af_buf_free(&share);
	af_buf_free(&total);
	af_buf_free(&self);
}

static void tree_row(const struct tui *t, const struct tui_area *a, int y, uint32_t row,
                     uint32_t hidden)
{
	const struct af_tree *tree = t->shown;
	uint32_t node = t->rows[row], name = tree->nodes[node].name, child;
	uint32_t depth = t->row_depths[row] > hidden ? t->row_depths[row] - hidden : 0;
	unsigned at = row == t->tree.at ? TUI_AT : 0;
	struct af_buf b = {0};
	char mark[3] = "  ";
	size_t len;
	const char *text = af_tree_label(tree, name, &len);
	int x = a->x + TREE_NUMBERS + (int)depth;

	if (children_of(t, node, &child))
		mark[0] = is_open(t, node) ? '-' : '+';
	tree_line(t, &b, node);
	tui_put(y, a->x, a->columns, b.data, AF_FRAME_END, at);
	tui_put(y, x, TREE_MARK, mark, AF_FRAME_END, at | TUI_BOLD);
	b.len = 0;
	af_buf_add(&b, text, len);
	af_buf_str(&b, "");
	tui_put(y, x + TREE_MARK, a->columns - x - TREE_MARK, b.data, af_tree_frame(tree, name),
	        at | (t->found.is && t->found.is[name] ? TUI_FOUND : 0));
	af_buf_free(&b);
}

/* The selection of another pane is shown here as well. */
static void tree_settle(struct tui *t)
{
	uint32_t node = tui_node(t, t->node);

	if (!node || tui_name_key(t->shown, t->shown->nodes[node].name) != t->function)
		tui_tree_reveal(t);
}

static void tree_draw(struct tui *t, const struct tui_area *a)
{
	int page = a->rows - 1, room = a->columns - TREE_NUMBERS - TREE_MARK;

	tree_settle(t);
	tree_rows(t);
	tui_list_fit(&t->tree, page);
	tui_put(a->y, a->x, a->columns,
	        t->reverse ? "   Share        Total    Self here   Function, its callers below it"
	                   : "   Share        Total         Self   Frame, what it calls below it",
	        AF_FRAME_END, TUI_FAINT);
	/* Deep frames are moved to the left, as far as the one that is looked at needs it. */
	uint32_t depth = t->tree.nr ? t->row_depths[t->tree.at] : 0, indent = (uint32_t)room / 3;
	uint32_t hidden = room > 0 && depth > indent ? depth - indent : 0;
	for (int i = 0; i < page && t->tree.first + (uint32_t)i < t->tree.nr; i++)
		tree_row(t, a, a->y + 1 + i, t->tree.first + (uint32_t)i, hidden);
}

/* The next frame that matches, in the order of the tree. */
static void tree_next(struct tui *t, bool back)
{
	const struct af_tree *tree = t->shown;
	uint32_t *order = af_xcalloc(tree->nr + 1, sizeof *order);
	uint32_t nr = 0, depth = 0, at = 0, node = tui_node(t, t->node);

	for (uint32_t i = 0; (i = af_tree_next(tree, i, false, &depth));) {
		at = i == node ? nr : at;
		order[nr++] = i;
	}
	for (uint32_t k = 1; t->found.is && k <= nr; k++) {
		uint32_t i = order[(at + (back ? nr - k : k)) % nr];
		if (!t->found.is[tree->nodes[i].name] || !tree->total[t->weight][i])
			continue;
		tui_select(t, i);
		tui_tree_reveal(t);
		free(order);
		return;
	}
	free(order);
	tui_say(t, "no frame matches");
}

static void tree_sideways(struct tui *t, int key)
{
	uint32_t node = tui_node(t, t->node), child;
	bool open = node && is_open(t, node) && children_of(t, node, &child);

	if (key == KEY_LEFT && open)
		set_open(t, node, false);
	else if (key == KEY_LEFT && t->shown->nodes[node].parent)
		tui_select(t, t->shown->nodes[node].parent);
	else if (key == KEY_RIGHT && open && children_of(t, node, &child))
		tui_select(t, child);
	else if (key == KEY_RIGHT)
		open_chain(t, node);
}

static bool tree_key(struct tui *t, int key, const struct tui_area *a)
{
	uint32_t node = tui_node(t, t->node);

	if (tui_list_key(&t->tree, key, a->rows - 1)) {
		if (t->tree.nr)
			tui_select(t, t->rows[t->tree.at]);
		return true;
	}
	switch (key) {
	case KEY_LEFT:
	case KEY_RIGHT:
		tree_sideways(t, key);
		return true;
	case '\r':
	case '\n':
	case KEY_ENTER:
	case ' ':
		if (is_open(t, node))
			set_open(t, node, false);
		else
			open_chain(t, node);
		return true;
	case '*':
		open_hottest(t, node);
		return true;
	case '-':
		af_map_free(&t->open);
		t->node = 0;
		tui_tree_reveal(t);
		return true;
	case 's':
		t->by_name = !t->by_name;
		tui_say(t, "children in the order of their %s", t->by_name ? "names" : "weights");
		return true;
	case 'n':
	case 'N':
		tree_next(t, key == 'N');
		return true;
	}
	return false;
}

const struct tui_pane tui_pane_tree = {
    .name = "Tree",
    .keys = "Enter:open *:hottest c:callers s:sort",
    .draw = tree_draw,
    .key = tree_key,
};
