/*
 * Shared by the files of `aflame tui`. After each key the screen is drawn again from this state.
 * All numbers come from the tables and trees that reports come from.
 */
#ifndef AF_CMD_TUI_TUI_H
#define AF_CMD_TUI_TUI_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/set/set.h"
#include "analyse/tree/callers.h"
#include "base/buf.h"
#include "base/map.h"
#include "cmd/record/watch.h"

struct af_err;

struct tui_options {
	bool live;
	const char *view, *weight, *rank;
};

enum { TUI_STEPS = 16, TUI_WORDS = 256, TUI_BACK = 32, TUI_STATUS = 200 };

/* The user's position in a list of rows. */
struct tui_list {
	uint32_t nr, at, first;
};

/* One filter of the tree, which can be undone. */
struct tui_step {
	char verb; /* f: focus, h: hide, k: keep */
	char words[TUI_WORDS];
};

/* A part of the screen. */
struct tui_area {
	int y, x, rows, columns;
};

struct tui_frame { /* drawn in the flame graph */
	uint32_t node, depth;
	int x, columns;
};

struct tui {
	const char *dir;
	const struct tui_options *options;
	struct af_results results;
	struct af_set set;              /* of no member: @dir is one trace */
	const struct af_member *member; /* whose results are shown; NULL: of all */
	struct af_results whole;        /* of all, while those of a member are shown */
	struct af_watch watch;          /* with --live */
	int pane;                       /* TUI_TOP… */
	bool help, quit;
	char reported[TUI_STATUS]; /* in the status line until the next key */
	char live[TUI_STATUS];     /* about a recording that goes on, or "" */
	const char *warning;       /* why the view's shares are not right, or NULL */

	int view;
	uint32_t weight;
	bool by_total, by_name, reverse;
	struct tui_step steps[TUI_STEPS];
	uint32_t nr_steps;

	/* Made by tui_remake(). */
	const struct af_tree *view_tree; /* of the results */
	struct af_tree filtered, reversed;
	const struct af_tree *forward; /* filtered */
	const struct af_tree *shown;   /* the same, or reversed */
	uint64_t *paths;               /* by node of shown: the same path is the same in any tree */
	char search[TUI_WORDS];        /* "": none */
	struct af_hits found;          /* names of shown */
	uint64_t found_total;

	uint64_t function; /* tui_name_key() of the selected one */
	uint64_t node;     /* paths[] of the selected frame */
	uint64_t zoom;     /* of the flame graph's root; 0: all */

	struct tui_list top, tree, calls, run;
	struct af_tables tables; /* tables of top, callers and callees */
	const struct af_table *top_table, *callers_table, *callees_table;
	struct af_map open; /* paths[] → 1: its children are listed */
	uint32_t *rows;     /* nodes of the tree that are listed */
	uint32_t *row_depths, cap_rows;
	uint64_t back[TUI_BACK]; /* functions that were selected before */
	uint32_t nr_back;
	struct tui_frame *frames;
	uint32_t nr_frames, cap_frames;
	uint32_t flame_first; /* depth that is drawn at the top */
	struct af_buf run_text;
};

struct tui_pane {
	const char *name;
	const char *keys; /* for the status line */
	void (*draw)(struct tui *t, const struct tui_area *a);
	/* False: not a key of this pane. */
	bool (*key)(struct tui *t, int key, const struct tui_area *a);
};

enum { TUI_TOP, TUI_TREE, TUI_CALLS, TUI_FLAME, TUI_RUN, TUI_PANES };

extern const struct tui_pane tui_pane_top, tui_pane_tree, tui_pane_calls, tui_pane_flame,
    tui_pane_run;

/* load.c */
struct af_query tui_query(const struct tui_options *o);
int tui_load(struct tui *t, struct af_err *err);
/* Is there a newer copy of a running recording? */
int tui_reload(struct tui *t, struct af_err *err);

/* Show t->results, which are other ones, with the same view if they have it; false: nothing. */
bool tui_show_results(struct tui *t);

/* ranks.c: the ranks of a set. */
int tui_ranks_open(struct tui *t, struct af_err *err);
void tui_ranks_close(struct tui *t);
/* False: not a key for ranks. */
bool tui_ranks_key(struct tui *t, int key);

/* state.c */
bool tui_choose_view(struct tui *t, int view, const char *weight);
void tui_next_view(struct tui *t);
void tui_next_weight(struct tui *t);
void tui_step_add(struct tui *t, char verb, const char *words);
void tui_remake(struct tui *t);
void tui_search(struct tui *t, const char *words);
void tui_state_free(struct tui *t);
/* A key for a function that is the same in all trees. */
uint64_t tui_name_key(const struct af_tree *tree, uint32_t name);
/* The name's id in the tree of top and callers, 0: it is not there. */
uint32_t tui_function(const struct tui *t);
uint32_t tui_node(const struct tui *t, uint64_t path); /* 0: not there */
void tui_select(struct tui *t, uint32_t node);         /* of shown */
void tui_say(struct tui *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* tree.c: select a frame of the selected function, and open its callers. */
void tui_tree_reveal(struct tui *t);

/* screen.c */
int tui_screen_open(struct af_err *err);
void tui_screen_close(void);
struct tui_area tui_screen_size(void);
void tui_screen_clear(void);
void tui_screen_show(void);
/* A key, or -1 after @wait_ms (negative: never). */
int tui_screen_key(int wait_ms);

enum tui_look {
	TUI_PLAIN = 0,
	TUI_BOLD = 1,
	TUI_AT = 2,
	TUI_BAR = 4,
	TUI_FOUND = 8,
	TUI_FAINT = 16
};

/* Text in @columns, cut or filled; @frame (or AF_FRAME_END) gives its colour. */
void tui_put(int y, int x, int columns, const char *text, enum af_frame frame, unsigned look);
/* The same with that colour as background. */
void tui_put_on(int y, int x, int columns, const char *text, enum af_frame frame, unsigned look);

/* list.c */
bool tui_list_key(struct tui_list *l, int key, int page);
void tui_list_fit(struct tui_list *l, int page);

/* main.c */
/* Ask the user for a line of text; false when the user cancels. */
bool tui_ask(struct tui *t, const char *question, char *words, size_t size);

/* Runs the whole tui; restores the terminal before it returns. */
int tui_main(const char *dir, const struct tui_options *o, struct af_err *err);

#endif
