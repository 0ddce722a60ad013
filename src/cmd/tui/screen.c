/* The only file that knows ncurses. */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/tui/tui.h"
#include "render/svg/palette.h"
#include "render/text/columns.h"

enum { PAIR_TEXT = 1, PAIR_ON = PAIR_TEXT + AF_FRAME_END, RGB_CUBE = 16 };

static SCREEN *screen;
static bool has_colours;

static int level_of(unsigned value)
{
	return value < 48 ? 0 : value < 115 ? 1 : ((int)value - 35) / 40;
}

/* The nearest of the terminal's colours. */
static short colour_of(uint32_t rgb)
{
	unsigned r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;

	if (COLORS >= 256)
		return (short)(RGB_CUBE + 36 * level_of(r) + 6 * level_of(g) + level_of(b));
	unsigned most = r > g ? r : g, least = most / 3 * 2;
	most = most > b ? most : b;
	least = most / 3 * 2;
	return (short)((r > least) | (g > least) << 1 | (b > least) << 2);
}

static void colours_open(void)
{
	const char *no = getenv("NO_COLOR");

	has_colours = !(no && *no) && has_colors() && start_color() != ERR;
	if (!has_colours)
		return;
	use_default_colors();
	for (int f = 0; f < AF_FRAME_END; f++) {
		short colour = colour_of(af_palette_kind((enum af_frame)f));
		init_pair((short)(PAIR_TEXT + f), colour, -1);
		init_pair((short)(PAIR_ON + f), COLOR_BLACK, colour);
	}
}

int tui_screen_open(struct af_err *err)
{
	const char *term = getenv("TERM");

	/* Names are UTF-8, whatever the terminal's user speaks. */
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return af_fail_plain(err, -ENOTTY,
		                     "TERM=%s is unknown on this machine: try TERM=xterm, or "
		                     "`aflame report`, which prints the same",
		                     term ? term : "");
	set_term(screen);
	cbreak();
	noecho();
	nonl();
	set_escdelay(25);
	keypad(stdscr, TRUE);
	curs_set(0);
	colours_open();
	return 0;
}

void tui_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

struct tui_area tui_screen_size(void)
{
	struct tui_area a = {0};

	getmaxyx(stdscr, a.rows, a.columns);
	return a;
}

void tui_screen_clear(void)
{
	erase();
}

void tui_screen_show(void)
{
	refresh();
}

int tui_screen_key(int wait_ms)
{
	timeout(wait_ms);
	int key = getch();
	return key == ERR ? -1 : key;
}

static void put(int y, int x, int columns, const char *text, attr_t attributes)
{
	struct af_buf b = {0};

	if (columns <= 0)
		return;
	af_columns_text(&b, text, (size_t)columns, true);
	attrset(attributes);
	mvaddstr(y, x, b.data ? b.data : "");
	attrset(A_NORMAL);
	af_buf_free(&b);
}

static attr_t look_of(unsigned look)
{
	attr_t a = A_NORMAL;

	a |= look & TUI_BOLD ? A_BOLD : 0;
	a |= look & (TUI_AT | TUI_BAR) ? A_REVERSE : 0;
	a |= look & TUI_FOUND ? A_UNDERLINE | A_BOLD : 0;
	a |= look & TUI_FAINT ? A_DIM : 0;
	return a;
}

void tui_put(int y, int x, int columns, const char *text, enum af_frame frame, unsigned look)
{
	attr_t a = look_of(look);

	if (has_colours && frame < AF_FRAME_END)
		a |= COLOR_PAIR(PAIR_TEXT + (int)frame);
	put(y, x, columns, text, a);
}

void tui_put_on(int y, int x, int columns, const char *text, enum af_frame frame, unsigned look)
{
	attr_t a = look_of(look);

	if (has_colours && frame < AF_FRAME_END)
		a |= COLOR_PAIR(PAIR_ON + (int)frame);
	else
		a ^= A_REVERSE;
	put(y, x, columns, text, a);
}
