#include "analyse/flame/scratch.h"

#include <stdlib.h>

#include "analyse/frames/frames.h"
#include "base/arena.h"

void flame_scratch_open(struct flame_scratch *s, bool locations)
{
	static const struct af_tree_weight none = {"none", ""};

	*s = (struct flame_scratch){0};
	af_tree_open(&s->tree, &none, 1);
	if (locations)
		af_tree_keep_locations(&s->tree);
}

void flame_scratch_close(struct flame_scratch *s)
{
	af_tree_close(&s->tree);
	free(s->of_path);
	free(s->names);
	af_map_free(&s->by_capture);
	*s = (struct flame_scratch){0};
}

uint32_t flame_scratch_call(struct flame_scratch *s, const struct af_world *w, uint32_t path)
{
	AF_REACH(s->of_path, path, s->cap_paths);
	if (!s->of_path[path])
		s->of_path[path] = af_frames_call(&s->tree, w, 0, path) + 1;
	return s->of_path[path] - 1;
}

/* A name may get another module later, when it is met in a second one. */
static uint32_t name_in(struct flame_scratch *s, struct af_tree *t, uint32_t name)
{
	const char *module = af_tree_module(&s->tree, name);

	AF_REACH(s->names, name, s->cap_names);
	struct flame_scratch_name *known = &s->names[name];
	if (!known->name || known->module != module)
		*known = (struct flame_scratch_name){af_tree_name_like(t, &s->tree, name, 0) + 1,
		                                     module};
	return known->name - 1;
}

uint32_t flame_scratch_copy(struct flame_scratch *s, struct af_tree *t, uint32_t to, uint32_t above,
                            uint32_t node)
{
	if (node == above)
		return to;
	to = flame_scratch_copy(s, t, to, above, s->tree.nodes[node].parent);
	return af_tree_child(t, to, name_in(s, t, s->tree.nodes[node].name));
}

static uint32_t node_depth(const struct af_tree *t, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = t->nodes[node].parent)
		depth++;
	return depth;
}

uint32_t flame_scratch_common(const struct flame_scratch *s, uint32_t a, uint32_t b)
{
	const struct af_tree *t = &s->tree;
	uint32_t depth_a = node_depth(t, a), depth_b = node_depth(t, b);

	for (; depth_a > depth_b; depth_a--)
		a = t->nodes[a].parent;
	for (; depth_b > depth_a; depth_b--)
		b = t->nodes[b].parent;
	while (a != b) {
		a = t->nodes[a].parent;
		b = t->nodes[b].parent;
	}
	return a;
}
