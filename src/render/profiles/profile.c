#include "render/profiles/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* The names of the columns when two trees stand side by side. */
static const char *column_name(const char *label, const char *weight, const char *unit)
{
	static const char *const names[][3] = {
	    {"cpu", "time", "cpu"},
	    {"cpu", "bytes", "cpu-bytes"},
	    {"gpu", "time", "gpu"},
	    {"gpu", "samples", "gpu-samples"},
	};

	for (unsigned i = 0; label && i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i][0], label) && !strcmp(names[i][1], weight))
			return names[i][2];
	return strcmp(weight, "count") != 0 ? weight : unit;
}

void af_profile_add(struct af_profile *p, const struct af_tree *t, const char *label)
{
	if (p->nr_trees == AF_PROFILE_TREES)
		return;
	for (uint32_t w = 0; w < t->nr_weights; w++) {
		if (!t->total[w][0])
			continue;
		p->columns[p->nr_columns++] = (struct af_profile_column){
		    .tree = p->nr_trees,
		    .weight = w,
		    .name = column_name(label, t->weights[w].name, t->weights[w].unit),
		    .unit = t->weights[w].unit,
		    .scale = t->weights[w].scale ? t->weights[w].scale : 1,
		    .total = t->total[w][0],
		};
	}
	p->trees[p->nr_trees++] = t;
}

bool af_profile_has(const struct af_tree *t, uint32_t node)
{
	for (uint32_t w = 0; w < t->nr_weights; w++)
		if (t->self[w][node])
			return true;
	return false;
}

const char *af_profile_text(const struct af_tree *t, uint32_t name, size_t *len)
{
	static const char unnamed[] = "[unnamed]";
	const char *text = af_tree_text(t, name, len);

	if (*len)
		return text;
	*len = sizeof unnamed - 1;
	return unnamed;
}

const char *af_profile_function(const struct af_tree *t, uint32_t name, size_t *len)
{
	const char *function = af_tree_location(t, name)->function;

	if (!function)
		return af_profile_text(t, name, len);
	*len = strlen(function);
	return function;
}

bool af_profile_is_track(const struct af_tree *t, uint32_t node)
{
	switch (af_tree_location(t, t->nodes[node].name)->what) {
	case AF_LOCATION_RANK:
	case AF_LOCATION_THREAD:
	case AF_LOCATION_DEVICE:
	case AF_LOCATION_QUEUE:
		return true;
	default:
		return false;
	}
}

/* By node, whose it is; parents precede children. */
static uint32_t *profile_tracks(const struct af_tree *t)
{
	uint32_t *tracks = af_xcalloc(t->nr, sizeof *tracks);

	for (uint32_t i = 1; i < t->nr; i++) {
		uint32_t parent = t->nodes[i].parent;
		bool process = af_tree_location(t, t->nodes[i].name)->what == AF_LOCATION_PROCESS;
		bool owns = process || af_profile_is_track(t, i);

		tracks[i] = owns && tracks[parent] == parent ? i : tracks[parent];
	}
	return tracks;
}

/* How many of each track, and where the first of each goes. */
static void group_count(struct af_profile_groups *g, const struct af_tree *t,
                        const uint32_t *tracks, uint32_t *group_of)
{
	uint32_t depth = 0, first = 0;

	for (uint32_t i = 0; (i = af_tree_next(t, i, false, &depth));) {
		if (!af_profile_has(t, i))
			continue;
		if (!group_of[tracks[i]]) {
			AF_GROW(g->all, g->nr, g->cap);
			g->all[g->nr++] = (struct af_profile_group){.track = tracks[i]};
			group_of[tracks[i]] = g->nr;
		}
		g->all[group_of[tracks[i]] - 1].nr++;
	}
	for (uint32_t i = 0; i < g->nr; i++) {
		g->all[i].first = first;
		first += g->all[i].nr;
		g->all[i].nr = 0;
	}
}

void af_profile_group(struct af_profile_groups *g, const struct af_tree *t)
{
	uint32_t *tracks = profile_tracks(t), depth = 0;
	uint32_t *group_of = af_xcalloc(t->nr, sizeof *group_of);

	*g = (struct af_profile_groups){.nodes = af_xcalloc(t->nr, sizeof *g->nodes)};
	group_count(g, t, tracks, group_of);
	for (uint32_t i = 0; (i = af_tree_next(t, i, false, &depth));) {
		if (!af_profile_has(t, i))
			continue;
		struct af_profile_group *group = &g->all[group_of[tracks[i]] - 1];
		g->nodes[group->first + group->nr++] = i;
	}
	free(group_of);
	free(tracks);
}

void af_profile_groups_free(struct af_profile_groups *g)
{
	free(g->all);
	free(g->nodes);
	*g = (struct af_profile_groups){0};
}

void af_profile_track_text(struct af_buf *b, const struct af_tree *t, uint32_t track)
{
	size_t len;

	if (!track)
		return;
	if (t->nodes[track].parent) {
		af_profile_track_text(b, t, t->nodes[track].parent);
		af_buf_str(b, ", ");
	}
	const char *text = af_tree_text(t, t->nodes[track].name, &len);
	af_buf_add(b, text, len);
}
