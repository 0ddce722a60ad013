/*
 * The names and nodes of slices in report.html. While slices come, the trees may not be there yet,
 * so names and stacks are kept as the timeline knows them. At the end each is looked up once.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/strtab.h"
#include "render/html/time_private.h"

/* While names are looked up. */
struct names {
	struct html_pack *pack;
	const struct af_slices *all;
	struct af_map by_name; /* id of the slices' names and kind of frame → id of the pack */
	struct names_view {
		const struct html_tree *tree;
		struct html_nodes nodes;
	} views[HTML_TIME_VIEWS];
};

/* A sample has the name and kind of its innermost frame. */
static enum af_frame name_frame(const struct af_slices *all, const struct html_time_what *s)
{
	if (s->kind == AF_SLICE_RUN && s->stack)
		return af_tree_frame(all->stacks, all->stacks->nodes[s->stack].name);
	return html_time_kinds[s->kind].frame;
}

static uint32_t name_of(struct names *n, const struct html_time_what *s)
{
	const struct af_slices *all = n->all;
	enum af_frame frame = name_frame(all, s);
	const char *text = all->names->strings[s->name];
	size_t len = all->names->lens[s->name], leaf_len;
	uint32_t leaf = s->kind == AF_SLICE_RUN ? all->stacks->nodes[s->stack].name : 0;
	bool fresh;
	uint64_t *slot = af_map_at(&n->by_name,
	                           leaf ? 1ull << 63 | (uint64_t)leaf << 32 | s->name
	                                : (uint64_t)s->name << 8 | frame,
	                           &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	const char *leaf_text = af_tree_text(all->stacks, leaf, &leaf_len);
	if (leaf && leaf_len == len && !memcmp(leaf_text, text, len))
		*slot = html_pack_frame(n->pack, all->stacks, leaf);
	else
		*slot = html_pack_name(n->pack, text, len, frame);
	return (uint32_t)*slot;
}

/* Weight without a stack goes to the root, so that sums are complete. */
static uint32_t node_of(struct names *n, const struct html_time_what *s)
{
	int view = html_time_kinds[s->kind].view;

	if (view < 0 || !n->views[view].tree || (!s->stack && !html_time_kinds[s->kind].weighs))
		return 0;
	return html_nodes_of(&n->views[view].nodes, n->pack, n->all->stacks, s->stack) + 1;
}

static void names_open(struct names *n)
{
	for (const struct html_tree *tree = n->pack->first; tree; tree = tree->next)
		for (int v = 0; v < HTML_TIME_VIEWS; v++)
			if (!n->views[v].tree && !strcmp(tree->label, html_time_views[v])) {
				n->views[v].tree = tree;
				html_nodes_open(&n->views[v].nodes, tree);
			}
}

static void names_close(struct names *n)
{
	for (int v = 0; v < HTML_TIME_VIEWS; v++)
		html_nodes_free(&n->views[v].nodes);
	af_map_free(&n->by_name);
}

void html_time_names(struct html_time *t, struct html_pack *pack, const struct af_slices *all)
{
	struct names n = {.pack = pack, .all = all};

	if (!t->nr_whats)
		return;
	names_open(&n);
	for (uint32_t i = 0; i < t->nr; i++)
		t->tracks[i].meanings =
		    af_xcalloc((size_t)t->tracks[i].nr_whats + 1, sizeof(struct html_what));
	for (uint32_t i = 0; i < t->nr_whats; i++) {
		const struct html_time_what *s = &t->whats[i];
		struct html_time_track *track = &t->tracks[s->track];
		struct html_what *is = &track->meanings[s->at];
		is->name = name_of(&n, s);
		is->node = node_of(&n, s);
		const struct html_tree *tree =
		    is->node ? n.views[html_time_kinds[s->kind].view].tree : NULL;
		track->named |= !tree || tree->names[is->node - 1] != is->name;
	}
	for (int v = 0; v < HTML_TIME_VIEWS; v++)
		t->has_view[v] = n.views[v].tree != NULL;
	names_close(&n);
}

void html_time_ranks(struct html_time *t, const struct html_pack *pack)
{
	for (uint32_t i = 0; i < t->nr_whats; i++) {
		const struct html_time_what *s = &t->whats[i];
		struct html_what *is = &t->tracks[s->track].meanings[s->at];
		is->name = pack->rank[is->name];
	}
}
