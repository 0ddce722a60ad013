/* The panes of functions: the heaviest, and who calls one and what it calls. */
#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "analyse/functions/top.h"
#include "analyse/tree/ids.h"
#include "analyse/tree/table.h"
#include "base/arena.h"
#include "cmd/tui/tui.h"
#include "render/text/tables.h"

enum { WEIGHT_COLUMNS = 12, SHARE_COLUMNS = 9, KIND_COLUMNS = 10, WIDE = 110 };

static const struct af_top_row *top_row(const struct tui *t, uint32_t row)
{
	return AF_ROW_AT(struct af_top_row, t->top_table, row);
}

static enum af_frame kind_of(const char *word)
{
	return af_kind_of(word, AF_FRAME_END);
}

static uint64_t key_of(const char *name, const char *kind)
{
	uint64_t key = af_mix(af_scatter_bytes(name, strlen(name)) + (uint64_t)kind_of(kind));

	return key ? key : 1;
}

static bool is_found(const struct tui *t, const char *name)
{
	struct af_hits h = t->found;
	const struct af_tree *tree = t->shown;
	size_t len;

	for (uint32_t i = 1; h.is && i < tree->nr_names; i++) {
		const char *text = h.is[i] ? af_tree_label(tree, i, &len) : NULL;
		if (text && strlen(name) == len && !memcmp(text, name, len))
			return true;
	}
	return false;
}

static int put_cell(int y, int x, int columns, enum af_cell_unit unit, uint64_t value,
                    unsigned look)
{
	struct af_buf text = {0}, cell = {0};

	af_cell_text(&text, unit, value);
	af_buf_fmt(&cell, "%*s ", columns - 1, text.data);
	tui_put(y, x, columns, cell.data, AF_FRAME_END, look);
	af_buf_free(&text);
	af_buf_free(&cell);
	return x + columns;
}

static void top_head(const struct tui *t, const struct tui_area *a)
{
	char line[200];

	snprintf(line, sizeof line, "%*s%*s%*s%*s  %s%s", WEIGHT_COLUMNS - 1,
	         t->by_total ? "Self" : "Self v", SHARE_COLUMNS, "", WEIGHT_COLUMNS,
	         t->by_total ? "Total v" : "Total", SHARE_COLUMNS, "",
	         a->columns >= WIDE ? "Kind      " : "", "Function");
	tui_put(a->y, a->x, a->columns, line, AF_FRAME_END, TUI_FAINT);
}

static void top_draw(struct tui *t, const struct tui_area *a)
{
	int page = a->rows - 1;

	top_head(t, a);
	for (uint32_t r = 0; t->function && r < t->top.nr; r++)
		if (key_of(top_row(t, r)->function.text, top_row(t, r)->kind.text) == t->function)
			t->top.at = r;
	tui_list_fit(&t->top, page);
	for (int i = 0; i < page && t->top.first + (uint32_t)i < t->top.nr; i++) {
		uint32_t r = t->top.first + (uint32_t)i;
		const struct af_top_row *c = top_row(t, r);
		enum af_cell_unit unit = af_tree_unit(t->forward, t->weight);
		unsigned at = r == t->top.at ? TUI_AT : 0;
		int y = a->y + 1 + i, x = a->x;
		x = put_cell(y, x, WEIGHT_COLUMNS, unit, c->self.value, at);
		x = put_cell(y, x, SHARE_COLUMNS, AF_CELL_PERCENT, c->self_share.value, at);
		x = put_cell(y, x, WEIGHT_COLUMNS, unit, c->total.value, at);
		x = put_cell(y, x, SHARE_COLUMNS, AF_CELL_PERCENT, c->total_share.value, at);
		if (a->columns >= WIDE) {
			tui_put(y, x, KIND_COLUMNS, c->kind.text, AF_FRAME_END, at | TUI_FAINT);
			x += KIND_COLUMNS;
		}
		tui_put(y, x, a->columns - x, c->function.text, kind_of(c->kind.text),
		        at | (is_found(t, c->function.text) ? TUI_FOUND : 0));
	}
}

static void top_take(struct tui *t)
{
	if (!t->top.nr)
		return;
	const struct af_top_row *c = top_row(t, t->top.at);
	t->function = key_of(c->function.text, c->kind.text);
	t->calls.nr = 0;
}

static bool top_next(struct tui *t, int step)
{
	for (uint32_t k = 1; k <= t->top.nr; k++) {
		uint32_t r = (t->top.at + (step > 0 ? k : t->top.nr - k)) % t->top.nr;
		if (!is_found(t, top_row(t, r)->function.text))
			continue;
		t->top.at = r;
		top_take(t);
		return true;
	}
	return false;
}

static bool top_key(struct tui *t, int key, const struct tui_area *a)
{
	if (tui_list_key(&t->top, key, a->rows - 1)) {
		top_take(t);
		return true;
	}
	switch (key) {
	case 's':
		t->by_total = !t->by_total;
		tui_remake(t);
		return true;
	case '\r':
	case '\n':
	case KEY_ENTER:
		top_take(t);
		t->pane = TUI_CALLS;
		return true;
	case 'n':
	case 'N':
		if (*t->search && !top_next(t, key == 'n' ? 1 : -1))
			tui_say(t, "no function of this table matches");
		return true;
	}
	return false;
}

const struct tui_pane tui_pane_top = {
    .name = "Top",
    .keys = "Enter:callers s:sort f:focus h:hide",
    .draw = top_draw,
    .key = top_key,
};

/* Callers above, the function, callees below, as rows of one list. */
static void calls_make(struct tui *t)
{
	struct af_tree up, down;
	struct af_hits h = {.nr = 1};
	uint32_t name = tui_function(t);

	t->callers_table = t->callees_table = NULL;
	t->calls = (struct tui_list){0};
	if (!name)
		return;
	h.is = af_xcalloc(t->forward->nr_names + 1, sizeof *h.is);
	h.is[name] = 1;
	af_tree_callers(&up, t->forward, &h);
	af_tree_callees(&down, t->forward, &h);
	if (up.total[t->weight][0]) {
		t->callers_table =
		    af_tree_first_table(&t->tables, &up, t->weight, "[no caller]", "callers", "");
		t->callees_table =
		    af_tree_first_table(&t->tables, &down, t->weight, "[itself]", "callees", "");
		t->calls.at = t->callers_table->nr_rows;
		t->calls.nr = t->calls.at + 1 + t->callees_table->nr_rows;
	}
	af_tree_close(&up);
	af_tree_close(&down);
	af_hits_free(&h);
}

/* The cells of a row of the list; NULL: the function itself. */
static const struct af_first_row *calls_row(const struct tui *t, uint32_t r)
{
	uint32_t above = t->callers_table->nr_rows;

	if (r == above)
		return NULL;
	/* The heaviest caller is next to the function. */
	return r < above ? AF_ROW_AT(struct af_first_row, t->callers_table, above - 1 - r)
	                 : AF_ROW_AT(struct af_first_row, t->callees_table, r - above - 1);
}

static void calls_own(struct tui *t, int y, const struct tui_area *a, unsigned look)
{
	uint32_t name = tui_function(t);
	uint64_t total, self;
	struct af_buf line = {0};
	struct af_hits h = {.is = af_xcalloc(t->forward->nr_names + 1, 1), .nr = 1};
	size_t len;
	const char *text = af_tree_label(t->forward, name, &len);

	h.is[name] = 1;
	af_hits_weight(t->forward, &h, t->weight, &total, &self);
	af_buf_fmt(&line, "%.*s: ", (int)len, text);
	af_cell_text(&line, af_tree_unit(t->forward, t->weight), total);
	af_buf_str(&line, " in all, ");
	af_cell_text(&line, af_tree_unit(t->forward, t->weight), self);
	af_buf_str(&line, " itself");
	tui_put(y, a->x, a->columns, line.data, af_tree_frame(t->forward, name), look | TUI_BOLD);
	af_buf_free(&line);
	af_hits_free(&h);
}

static void calls_draw(struct tui *t, const struct tui_area *a)
{
	if (!t->function && t->top.nr)
		top_take(t);
	if (!t->calls.nr)
		calls_make(t);
	if (!t->calls.nr) {
		tui_put(a->y, a->x, a->columns,
		        "No such function in this view: choose one in Top (1) or Tree (2)",
		        AF_FRAME_END, TUI_FAINT);
		return;
	}
	tui_list_fit(&t->calls, a->rows);
	for (int i = 0; i < a->rows && t->calls.first + (uint32_t)i < t->calls.nr; i++) {
		uint32_t r = t->calls.first + (uint32_t)i, above = t->callers_table->nr_rows;
		const struct af_first_row *c = calls_row(t, r);
		unsigned at = r == t->calls.at ? TUI_AT : 0;
		int x = a->x;
		if (!c) {
			calls_own(t, a->y + i, a, at);
			continue;
		}
		x = put_cell(a->y + i, x, WEIGHT_COLUMNS, af_tree_unit(t->forward, t->weight),
		             c->weight.value, at);
		x = put_cell(a->y + i, x, SHARE_COLUMNS, AF_CELL_PERCENT, c->share.value, at);
		tui_put(a->y + i, x, 4, r < above ? "<- " : "-> ", AF_FRAME_END, at | TUI_FAINT);
		tui_put(a->y + i, x + 3, a->columns - x - 3, c->function.text,
		        kind_of(c->kind.text),
		        at | (is_found(t, c->function.text) ? TUI_FOUND : 0));
	}
}

/* Go to the function of the row. */
static void calls_enter(struct tui *t)
{
	const struct af_first_row *c = t->calls.nr ? calls_row(t, t->calls.at) : NULL;

	if (!c || !c->id.text || !*c->id.text)
		return;
	if (t->nr_back == TUI_BACK)
		memmove(t->back, t->back + 1, --t->nr_back * sizeof *t->back);
	t->back[t->nr_back++] = t->function;
	t->function = key_of(c->function.text, c->kind.text);
	t->calls.nr = 0;
}

static bool calls_key(struct tui *t, int key, const struct tui_area *a)
{
	if (tui_list_key(&t->calls, key, a->rows))
		return true;
	switch (key) {
	case '\r':
	case '\n':
	case KEY_ENTER:
		calls_enter(t);
		return true;
	case KEY_BACKSPACE:
	case 127:
	case '\b':
		if (t->nr_back) {
			t->function = t->back[--t->nr_back];
			t->calls.nr = 0;
		}
		return true;
	}
	return false;
}

const struct tui_pane tui_pane_calls = {
    .name = "Callers",
    .keys = "Enter:go there Backspace:back",
    .draw = calls_draw,
    .key = calls_key,
};
