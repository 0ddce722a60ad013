/* Moving about in rows, and the pane of the run's tables, which is nothing else. */
#include <curses.h>
#include <string.h>

#include "cmd/shared/summary.h"
#include "cmd/tui/tui.h"

bool tui_list_key(struct tui_list *l, int key, int page)
{
	int64_t at = l->at, nr = l->nr, step = page > 1 ? page - 1 : 1;

	switch (key) {
	case KEY_UP:
		at--;
		break;
	case KEY_DOWN:
		at++;
		break;
	case KEY_PPAGE:
	case 'b' & 31:
		at -= step;
		break;
	case KEY_NPAGE:
	case 'f' & 31:
		at += step;
		break;
	case KEY_HOME:
	case 'g':
		at = 0;
		break;
	case KEY_END:
	case 'G':
		at = nr - 1;
		break;
	default:
		return false;
	}
	at = at < nr ? at : nr - 1;
	l->at = at > 0 ? (uint32_t)at : 0;
	return true;
}

void tui_list_fit(struct tui_list *l, int page)
{
	uint32_t rows = page > 0 ? (uint32_t)page : 1;

	if (l->at >= l->nr)
		l->at = l->nr ? l->nr - 1 : 0;
	if (l->first > l->at)
		l->first = l->at;
	if (l->at >= l->first + rows)
		l->first = l->at - rows + 1;
	if (l->first + rows > l->nr)
		l->first = l->nr > rows ? l->nr - rows : 0;
}

enum { RUN_TABLE_ROWS = 100 };

static void run_make(struct tui *t)
{
	if (!t->run_text.data)
		af_summary_text(&t->run_text, &t->results.tables, false, RUN_TABLE_ROWS,
		                "`aflame report --limit 0` shows all");
	t->run.nr = 0;
	for (const char *p = t->run_text.data; p && *p; p = strchr(p, '\n') + 1)
		t->run.nr++;
}

static void run_draw(struct tui *t, const struct tui_area *a)
{
	const char *p;
	uint32_t row = 0;

	run_make(t);
	tui_list_fit(&t->run, a->rows);
	for (p = t->run_text.data; p && *p && row < t->run.first + (uint32_t)a->rows; row++) {
		size_t len = strcspn(p, "\n");
		if (row >= t->run.first) {
			struct af_buf line = {0};
			af_buf_add(&line, p, len);
			af_buf_str(&line, "");
			bool title = len && *p != ' ';
			tui_put(a->y + (int)(row - t->run.first), a->x, a->columns, line.data,
			        AF_FRAME_END,
			        (title ? TUI_BOLD : 0) | (row == t->run.at ? TUI_AT : 0));
			af_buf_free(&line);
		}
		p += len + 1;
	}
}

static bool run_key(struct tui *t, int key, const struct tui_area *a)
{
	return tui_list_key(&t->run, key, a->rows);
}

const struct tui_pane tui_pane_run = {
    .name = "Run",
    .keys = "up down PgUp PgDn",
    .draw = run_draw,
    .key = run_key,
};
