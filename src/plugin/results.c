#include "plugin/results.h"

#include <stdlib.h>
#include <string.h>

void af_plugin_results_free(struct af_plugin_results *r)
{
	for (uint32_t i = 0; i < r->nr_trees; i++)
		af_tree_close(&r->trees[i].tree);
	free(r->trees);
	af_tree_close(&r->stacks);
	free(r->tracks);
	free(r->slices);
	free(r->points);
	af_tables_free(&r->tables);
	af_strtab_free(&r->names);
	af_arena_free(&r->arena);
	*r = (struct af_plugin_results){0};
}

static const char *keep(struct af_plugin_results *r, const char *text)
{
	return af_arena_strdup(&r->arena, text, strlen(text));
}

struct af_plugin_tree *af_plugin_tree_add(struct af_plugin_results *r, const char *name,
                                          const char *title, const struct af_tree_weight *weights,
                                          uint32_t nr)
{
	AF_GROW(r->trees, r->nr_trees, r->cap_trees);
	struct af_plugin_tree *t = &r->trees[r->nr_trees++];

	*t = (struct af_plugin_tree){.name = keep(r, name), .title = keep(r, title)};
	for (uint32_t w = 0; w < nr; w++)
		t->weights[w] =
		    (struct af_tree_weight){keep(r, weights[w].name), keep(r, weights[w].unit), 0};
	af_tree_open(&t->tree, t->weights, nr);
	return t;
}

struct af_plugin_tree *af_plugin_tree_find(const struct af_plugin_results *r, const char *name)
{
	for (uint32_t i = 0; i < r->nr_trees; i++)
		if (!strcmp(r->trees[i].name, name))
			return &r->trees[i];
	return NULL;
}
