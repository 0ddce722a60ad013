/* The screen around the panes, and the keys that are the same in all of them. */
#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "analyse/tree/table.h"
#include "cmd/output/picture.h"
#include "cmd/tui/tui.h"
#include "render/text/label.h"
#include "render/text/tables.h"

enum { HEAD_ROWS = 2, FOOT_ROWS = 2, LEAST_ROWS = 7, LEAST_COLUMNS = 40, LOOK_MS = 200 };

static const struct tui_pane *const panes[] = {
    [TUI_TOP] = &tui_pane_top,     [TUI_TREE] = &tui_pane_tree, [TUI_CALLS] = &tui_pane_calls,
    [TUI_FLAME] = &tui_pane_flame, [TUI_RUN] = &tui_pane_run,
};

static struct tui_area pane_area(const struct tui *t)
{
	struct tui_area a = tui_screen_size();

	a.y = HEAD_ROWS + (t->warning != NULL);
	a.rows -= a.y + FOOT_ROWS;
	return a;
}

static const char *step_word(char verb)
{
	return verb == 'f' ? "only from" : verb == 'h' ? "hidden" : "stacks with";
}

/* The trace, what is shown of it, and how much that is. */
static void head_draw(const struct tui *t, int columns)
{
	enum af_cell_unit unit = af_tree_unit(t->forward, t->weight);
	uint64_t total = t->forward->total[t->weight][0];
	struct af_buf b = {0};

	const char *slash = strrchr(t->dir, '/');
	af_buf_fmt(&b, " %s  ", slash && slash[1] ? slash + 1 : t->dir);
	if (t->member)
		af_buf_fmt(&b, "%s  ", t->member->label);
	else if (t->set.nr)
		af_buf_fmt(&b, "%llu ranks  ", (unsigned long long)t->results.members);
	af_buf_fmt(&b, "%s by %s: ", af_view_names[t->view],
	           af_weight_title(t->view, t->forward->weights[t->weight].name, t->results.has));
	af_cell_text(&b, unit, total);
	if (t->nr_steps) {
		af_buf_str(&b, " of ");
		af_cell_text(&b, unit, t->view_tree->total[t->weight][0]);
	}
	if (*t->search) {
		af_buf_fmt(&b, "  /%s/ ", t->search);
		af_label_percent(&b, t->found_total, total);
	}
	if (*t->live)
		af_buf_fmt(&b, "  %s", t->live);
	tui_put(0, 0, columns, b.data, AF_FRAME_END, TUI_BAR);
	af_buf_free(&b);
}

static void tabs_draw(const struct tui *t, int columns)
{
	struct af_buf b = {0};
	char tab[32];
	int x = 0;

	tui_put(1, 0, columns, "", AF_FRAME_END, TUI_PLAIN);
	for (int i = 0; i < TUI_PANES; i++) {
		int width = snprintf(tab, sizeof tab, " %d %s ", i + 1, panes[i]->name);
		tui_put(1, x, width, tab, AF_FRAME_END, i == t->pane ? TUI_BAR : TUI_PLAIN);
		x += width;
	}
	af_buf_str(&b, t->reverse ? " from callee to caller;" : "");
	for (uint32_t i = 0; i < t->nr_steps; i++)
		af_buf_fmt(&b, " %s %s;", step_word(t->steps[i].verb), t->steps[i].words);
	if (b.len)
		tui_put(1, x + 1, columns - x - 1, b.data, AF_FRAME_END, TUI_FAINT);
	af_buf_free(&b);
}

/* All of the name of the frame that is looked at: elsewhere it is cut. */
static void detail_draw(const struct tui *t, const struct tui_area *a)
{
	uint32_t node = tui_node(t, t->node);
	const struct af_tree *tree = t->shown;
	struct af_buf b = {0};
	size_t len;

	if ((t->pane != TUI_FLAME && t->pane != TUI_TREE) || !node)
		return;
	const char *text = af_tree_label(tree, tree->nodes[node].name, &len);
	enum af_cell_unit unit = af_tree_unit(tree, t->weight);
	af_label_percent(&b, tree->total[t->weight][node], tree->total[t->weight][0]);
	af_buf_str(&b, " ");
	af_cell_text(&b, unit, tree->total[t->weight][node]);
	af_buf_str(&b, ", itself ");
	af_cell_text(&b, unit, tree->self[t->weight][node]);
	af_buf_fmt(&b, ", %s: ", af_frame_name(af_tree_frame(tree, tree->nodes[node].name)));
	af_buf_add(&b, text, len);
	af_buf_str(&b, "");
	tui_put(a->rows - 2, 0, a->columns, b.data, AF_FRAME_END, TUI_PLAIN);
	af_buf_free(&b);
}

static const char *const help_lines[] = {
    "1 to 5, Tab       Top, Tree, Callers, Flame, Run (the summary's tables)",
    "v w               the next view; the next weight of it",
    "/ n N             search by a regular expression, in capitals or not; next; previous",
    "                  the share of stacks with a match is in the first line, each once",
    "f h k             focus: stacks from the chosen function on; hide it: its weight is its",
    "                  callers'; keep the stacks with a match of the search",
    "u U               undo the last of these; all of them",
    "r                 Tree and Flame from callees to their callers, and back",
    "c                 callers and callees of the chosen function",
    "R < >             of a folder of ranks: a rank by its number, or all; the rank before; next",
    "s                 Top: by self or total; Tree: by weight or name",
    "up down PgUp PgDn g G     to another row",
    "",
    "Top      Enter    its callers and callees",
    "Tree     Enter, Space: open or close; left right: close, open, to the caller;",
    "         * opens the heaviest path; - closes all",
    "Callers  Enter    go to that function; Backspace: back. Callers stand above, the heaviest",
    "                  nearest; a function inside itself counts once",
    "Flame    arrows   to the caller, the widest callee, the frames beside; Enter zooms,",
    "                  Backspace zooms out, g shows all",
    "",
    "q        quit     Numbers are those of `aflame report`.",
};

static void help_draw(const struct tui_area *a)
{
	int nr = (int)(sizeof help_lines / sizeof *help_lines);

	for (int i = 0; i < a->rows && i < nr; i++)
		tui_put(a->y + i, 1, a->columns - 1, help_lines[i], AF_FRAME_END, TUI_PLAIN);
}

static void draw(struct tui *t)
{
	struct tui_area screen = tui_screen_size(), a = pane_area(t);
	char status[TUI_STATUS + 64];

	tui_screen_clear();
	if (screen.rows < LEAST_ROWS || screen.columns < LEAST_COLUMNS) {
		tui_put(0, 0, screen.columns, "too small", AF_FRAME_END, TUI_PLAIN);
		tui_screen_show();
		return;
	}
	if (t->help)
		help_draw(&a);
	else
		panes[t->pane]->draw(t, &a);
	head_draw(t, screen.columns);
	tabs_draw(t, screen.columns);
	if (t->warning)
		tui_put(HEAD_ROWS, 0, screen.columns, t->warning, AF_FRAME_END, TUI_FOUND);
	if (!t->help)
		detail_draw(t, &screen);
	if (*t->reported)
		snprintf(status, sizeof status, " %s", t->reported);
	else
		snprintf(status, sizeof status, " %s  v:view w:weight /:find ?:help q:quit",
		         t->help ? "any key: back" : panes[t->pane]->keys);
	tui_put(screen.rows - 1, 0, screen.columns, status, AF_FRAME_END, TUI_BAR);
	tui_screen_show();
}

bool tui_ask(struct tui *t, const char *question, char *words, size_t size)
{
	size_t len = 0;

	words[0] = 0;
	for (;;) {
		tui_say(t, "%s%.150s_   (Enter, or Esc)", question, words);
		draw(t);
		int key = tui_screen_key(-1);
		if (key == 27) {
			t->reported[0] = 0;
			return false;
		}
		if (key == '\r' || key == '\n' || key == KEY_ENTER)
			break;
		if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len) {
			do
				len--;
			while (len && (words[len] & 0xc0) == 0x80);
			words[len] = 0;
		} else if (key >= ' ' && key < 256 && key != 127 && len + 1 < size) {
			words[len++] = (char)key;
			words[len] = 0;
		}
	}
	t->reported[0] = 0;
	return true;
}

/* The chosen function's name. */
static bool chosen(struct tui *t, char *words, size_t size)
{
	uint32_t name = tui_function(t);

	if (!name)
		return false;
	const struct af_name_key f = af_name_key_of(t->forward, name);
	struct af_buf b = {0};
	af_function_words(&b, t->forward, &f);
	bool fits = b.len < size;
	if (fits && b.len)
		memcpy(words, b.data, b.len);
	words[fits ? b.len : 0] = 0;
	af_buf_free(&b);
	return fits;
}

static void filter_by(struct tui *t, char verb)
{
	char words[TUI_WORDS];

	if (verb == 'k' && *t->search)
		tui_step_add(t, verb, t->search);
	else if (verb == 'k')
		tui_say(t, "search first: / and words");
	else if (chosen(t, words, sizeof words))
		tui_step_add(t, verb, words);
	else
		tui_say(t, "choose a function first, of a name that is not too long");
}

static void undo(struct tui *t, bool all)
{
	if (!t->nr_steps) {
		tui_say(t, "nothing to undo");
		return;
	}
	t->nr_steps = all ? 0 : t->nr_steps - 1;
	tui_remake(t);
}

static bool key_of_state(struct tui *t, int key)
{
	char words[TUI_WORDS];

	switch (key) {
	case 'v':
		tui_next_view(t);
		return true;
	case 'w':
		tui_next_weight(t);
		return true;
	case 'r':
		t->reverse = !t->reverse;
		t->node = t->zoom = 0;
		tui_remake(t);
		return true;
	case 'f':
	case 'h':
	case 'k':
		filter_by(t, (char)key);
		return true;
	case 'u':
	case 'U':
		undo(t, key == 'U');
		return true;
	case '/':
		if (tui_ask(t, "search: ", words, sizeof words))
			tui_search(t, words);
		return true;
	}
	return false;
}

static void key_take(struct tui *t, int key)
{
	const struct tui_area a = pane_area(t);

	t->reported[0] = 0;
	if (t->help) {
		t->help = false;
		return;
	}
	if (key == 'q') {
		t->quit = true;
	} else if (key == '?' || key == KEY_F(1)) {
		t->help = true;
	} else if (key >= '1' && key < '1' + TUI_PANES) {
		t->pane = key - '1';
	} else if (key == '\t') {
		t->pane = (t->pane + 1) % TUI_PANES;
	} else if (key == 'c' && t->pane != TUI_RUN) {
		t->calls.nr = 0;
		t->pane = TUI_CALLS;
	} else if (!tui_ranks_key(t, key) && !key_of_state(t, key) &&
	           !panes[t->pane]->key(t, key, &a)) {
		if (key != KEY_RESIZE && key != 27)
			tui_say(t, "no such key here: ? says which there are");
	}
}

int tui_main(const char *dir, const struct tui_options *o, struct af_err *err)
{
	struct tui t = {.dir = dir, .options = o};
	int rc = tui_load(&t, err);

	if (!rc)
		rc = tui_screen_open(err);
	while (!rc && !t.quit) {
		draw(&t);
		int key = tui_screen_key(o->live && !t.watch.ended ? LOOK_MS : -1);
		if (key >= 0)
			key_take(&t, key);
		else if (o->live && !t.watch.ended)
			rc = tui_reload(&t, err);
		else
			break; /* the terminal is gone */
	}
	tui_screen_close();
	tui_state_free(&t);
	return rc;
}
