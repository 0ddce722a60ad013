/*
 * Stacks of samples and calls as nodes of one tree: a plug-in gets the node's number, and its
 * frames on request.
 */
#include <stdlib.h>

#include "analyse/flame/work.h"
#include "analyse/frames/frames.h"
#include "base/arena.h"
#include "plugin/private.h"

void plugin_stacks_open(struct plugin_host *h)
{
	static const struct af_tree_weight none[] = {{"none", ""}};

	af_tree_open(&h->stacks, none, 1);
	af_tree_keep_locations(&h->stacks);
	flame_scratch_open(&h->scratch, true);
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

uint32_t plugin_stack_call(struct plugin_host *h, uint32_t process, uint32_t path,
                           uint32_t function)
{
	bool fresh;

	if (!path)
		return 0;
	uint64_t *slot = af_map_at(&h->by_call, (uint64_t)path << 32 | function, &fresh);
	if (fresh)
		*slot = call_make(h, process, path, function);
	return (uint32_t)*slot;
}

/* As in a flame graph of devices; a work without a descriptor is in none. */
uint32_t plugin_stack_work(struct plugin_host *h, const struct af_work *work)
{
	static const struct af_query query = {.group = AF_GROUP_NONE};
	bool fresh;

	if (!work->descriptor)
		return plugin_stack_call(h, work->process, work->path, work->function);
	struct af_launch_group_key is = af_launch_group_key(&h->world, work);
	is.device = is.kernel = is.queue = 0; /* no frame below the kernel's has them */
	if (is.op == AF_OP_GRAPH)             /* the frame of the graph is the work's own */
		is.node = 0;
	uint64_t *slot = af_keys_at(&h->by_work, &is, sizeof is, &fresh);
	if (fresh)
		*slot = flame_group_stack(&h->stacks, &h->scratch, &h->world, &is, &query);
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
