/* The current view: a tree by a weight, filtered; and the matches of a search in it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions/top.h"
#include "analyse/tree/filter.h"
#include "base/arena.h"
#include "cmd/output/picture.h"
#include "cmd/shared/load.h"
#include "cmd/tui/tui.h"

void tui_say(struct tui *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->reported, sizeof t->reported, fmt, ap);
	va_end(ap);
}

/* By the seeded hash: nobody's names can be made to share one (base/hash.h). */
uint64_t tui_name_key(const struct af_tree *tree, uint32_t name)
{
	size_t len;
	const char *text = af_tree_label(tree, name, &len);
	uint64_t key = af_mix(af_scatter_bytes(text, len) + (uint64_t)af_tree_frame(tree, name));

	return key ? key : 1;
}

uint32_t tui_function(const struct tui *t)
{
	for (uint32_t i = 1; i < t->forward->nr_names; i++)
		if (tui_name_key(t->forward, i) == t->function)
			return i;
	return 0;
}

uint32_t tui_node(const struct tui *t, uint64_t path)
{
	for (uint32_t n = 1; path && n < t->shown->nr; n++)
		if (t->paths[n] == path)
			return n;
	return 0;
}

void tui_select(struct tui *t, uint32_t node)
{
	t->node = node ? t->paths[node] : 0;
	if (node)
		t->function = tui_name_key(t->shown, t->shown->nodes[node].name);
}

static bool view_has(const struct tui *t, int view, uint32_t weight)
{
	const struct af_tree *tree = &t->results.trees[view];

	return tree->nr > 1 && weight < tree->nr_weights && tree->total[weight][0];
}

/* The view of all is left empty where it is the same as another. */
static int view_real(const struct tui *t, int view)
{
	if (view == AF_VIEW_ALL && t->results.trees[view].nr <= 1)
		return t->results.trees[AF_VIEW_CPU].nr > 1 ? AF_VIEW_CPU : AF_VIEW_GPU;
	return view;
}

bool tui_choose_view(struct tui *t, int view, const char *weight)
{
	view = view_real(t, view);
	const struct af_tree *tree = &t->results.trees[view];
	int w = weight ? af_tree_weight(tree, weight) : -1;

	if (!weight && view < AF_VIEW_WAKERS) {
		uint32_t has = t->results.has[view] & AF_HAS_COUNTED;
		for (uint32_t i = 0; i < tree->nr_weights; i++)
			has |= (uint32_t)view_has(t, view, i) << i;
		w = (int)af_weight_default(has);
	} else if (!weight) {
		w = 0;
	}
	if (w < 0 || !view_has(t, view, (uint32_t)w))
		return false;
	t->view = view;
	t->weight = (uint32_t)w;
	return true;
}

void tui_next_view(struct tui *t)
{
	const char *weight = t->view_tree->weights[t->weight].name;

	for (int i = 1; i <= AF_VIEWS; i++) {
		int view = (t->view + i) % AF_VIEWS;
		if (t->results.trees[view].nr <= 1)
			continue;
		if (tui_choose_view(t, view, weight) || tui_choose_view(t, view, NULL))
			break;
	}
	tui_remake(t);
}

void tui_next_weight(struct tui *t)
{
	for (uint32_t i = 1; i <= t->view_tree->nr_weights; i++) {
		uint32_t w = (t->weight + i) % t->view_tree->nr_weights;
		if (!view_has(t, t->view, w))
			continue;
		t->weight = w;
		break;
	}
	tui_remake(t);
}

void tui_step_add(struct tui *t, char verb, const char *words)
{
	if (t->nr_steps == TUI_STEPS) {
		tui_say(t, "%u steps are enough: u undoes one", TUI_STEPS);
		return;
	}
	struct tui_step *s = &t->steps[t->nr_steps++];
	s->verb = verb;
	snprintf(s->words, sizeof s->words, "%s", words);
	tui_remake(t);
	if (t->forward->total[t->weight][0])
		return;
	t->nr_steps--;
	tui_say(t, "nothing would be left");
	tui_remake(t);
}

/* Texts stay the view's own, so what is in between may go. */
static void filter_by(struct tui *t)
{
	af_tree_close(&t->filtered);
	t->forward = t->view_tree;
	for (uint32_t i = 0; i < t->nr_steps; i++) {
		const struct tui_step *s = &t->steps[i];
		struct af_tree next = {0};
		struct af_hits h;
		if (s->verb == 'k')
			af_hits_match(&h, t->forward, s->words);
		else
			af_hits_find(&h, t->forward, s->words);
		if (s->verb == 'f')
			af_tree_focus(&next, t->forward, &h);
		else if (s->verb == 'h')
			af_tree_hide(&next, t->forward, &h);
		else
			af_tree_keep(&next, t->forward, &h);
		af_hits_free(&h);
		af_tree_close(&t->filtered);
		t->filtered = next;
		t->forward = &t->filtered;
	}
}

static void make_paths(struct tui *t)
{
	free(t->paths);
	t->paths = af_xcalloc(t->shown->nr + 1, sizeof *t->paths);
	for (uint32_t n = 1; n < t->shown->nr; n++) {
		const struct af_tree_node *node = &t->shown->nodes[n];
		uint64_t name = tui_name_key(t->shown, node->name);
		t->paths[n] = af_mix(t->paths[node->parent] * 0x9e3779b97f4a7c15ull + name);
	}
}

static void make_top(struct tui *t)
{
	const char *weight = t->forward->weights[t->weight].name;

	af_tables_free(&t->tables);
	t->callers_table = t->callees_table = NULL;
	if (t->by_total)
		af_top_by_total(&t->tables, t->forward, t->weight, NULL, weight, "");
	else
		af_top_table(&t->tables, t->forward, t->weight, weight, "", 0);
	t->top_table = t->tables.first;
	t->top.nr = t->top_table ? t->top_table->nr_rows : 0;
}

void tui_remake(struct tui *t)
{
	t->view_tree = &t->results.trees[t->view];
	filter_by(t);
	af_tree_close(&t->reversed);
	t->shown = t->forward;
	if (t->reverse) {
		af_tree_reverse(&t->reversed, t->forward);
		t->shown = &t->reversed;
	}
	make_paths(t);
	make_top(t);
	t->warning = af_load_warning(&t->results, t->view, t->view_tree->weights[t->weight].name);
	tui_search(t, t->search);
	t->calls.nr = 0;
	tui_tree_reveal(t);
}

void tui_search(struct tui *t, const char *words)
{
	uint64_t self;

	if (words != t->search)
		snprintf(t->search, sizeof t->search, "%s", words);
	af_hits_free(&t->found);
	t->found_total = 0;
	if (!*t->search)
		return;
	af_hits_match(&t->found, t->forward, t->search);
	af_hits_weight(t->forward, &t->found, t->weight, &t->found_total, &self);
	if (t->shown == t->forward)
		return;
	af_hits_free(&t->found);
	af_hits_match(&t->found, t->shown, t->search);
}

void tui_state_free(struct tui *t)
{
	af_hits_free(&t->found);
	af_tree_close(&t->filtered);
	af_tree_close(&t->reversed);
	af_tables_free(&t->tables);
	af_buf_free(&t->run_text);
	af_map_free(&t->open);
	free(t->paths);
	free(t->rows);
	free(t->row_depths);
	free(t->frames);
	tui_ranks_close(t);
	af_results_close(&t->results);
}
