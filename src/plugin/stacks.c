/*
 * Stacks of samples and calls as nodes of one tree: a plug-in gets the node's number, and its
 * frames on request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "base/arena.h"
#include "plugin/private.h"

void plugin_stacks_open(struct plugin_host *h)
{
	static const struct af_tree_weight none[] = {{"none", ""}};

	af_tree_open(&h->stacks, none, 1);
	af_tree_keep_locations(&h->stacks);
}

uint32_t plugin_stack_sample(struct plugin_host *h, const struct af_stack_location *at)
{
	uint32_t location = af_stack_locations_number(&h->locations, at);

	AF_REACH(h->by_location, location, h->cap_locations);
	if (!h->by_location[location])
		h->by_location[location] = af_frames_node(&h->stacks, &h->world, at);
	return h->by_location[location];
}

static uint32_t call_make(struct plugin_host *h, uint32_t process, uint32_t path, uint32_t function)
{
	uint32_t node = af_frames_process(&h->stacks, &h->world, process);

	node = af_frames_call(&h->stacks, &h->world, node, path);
	if (!function || !*h->world.functions[function].name)
		return node;
	return af_frames_under(&h->stacks, node, h->world.functions[function].name,
	                       AF_FRAME_NATIVE);
}

/* The graph that was launched, and who captured this node of it. */
static uint32_t graph_make(struct plugin_host *h, uint32_t stack, uint32_t node)
{
	char text[32];

	snprintf(text, sizeof text, "[graph %u]", h->world.nodes[node].graph);
	stack = af_frames_under(&h->stacks, stack, text, AF_FRAME_GPU);
	return af_frames_call(&h->stacks, &h->world, stack, af_world_node_path(&h->world, node));
}

uint32_t plugin_stack_call(struct plugin_host *h, uint32_t process, uint32_t path,
                           uint32_t function, uint32_t node)
{
	bool fresh;

	if (!path)
		return 0;
	uint64_t *slot = af_map_at(&h->by_call, (uint64_t)path << 32 | function, &fresh);
	if (fresh)
		*slot = call_make(h, process, path, function);
	uint32_t stack = (uint32_t)*slot;
	if (!node)
		return stack;
	slot = af_map_at(&h->by_call, 1ull << 63 | (uint64_t)stack << 32 | node, &fresh);
	if (fresh)
		*slot = graph_make(h, stack, node);
	return (uint32_t)*slot;
}

uint32_t plugin_stack_copy(struct plugin_host *h, struct plugin_tree *t, struct af_tree *to,
                           uint32_t node, uint32_t stack)
{
	uint32_t *missing = NULL, nr = 0, cap = 0, at = stack;
	const uint64_t *known = NULL;

	while (at && !(known = af_map_get(&t->nodes, (uint64_t)node << 32 | at))) {
		AF_GROW(missing, nr, cap);
		missing[nr++] = at;
		at = h->stacks.nodes[at].parent;
	}
	uint32_t place = at && known ? (uint32_t)*known : node;
	while (nr) {
		at = missing[--nr];
		uint32_t name = af_tree_name_like(to, &h->stacks, h->stacks.nodes[at].name, 0);
		place = af_tree_child(to, place, name);
		*af_map_at(&t->nodes, (uint64_t)node << 32 | at, NULL) = place;
	}
	free(missing);
	return place;
}
