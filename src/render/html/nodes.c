#include "render/html/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/cursor.h"

/* The stack left the tree: what lies deeper is that node too. */
#define NODES_ENDED (1u << 31)

/* Its children are in the map. */
#define NODES_LISTED (1u << 31)

static uint64_t child_key(uint32_t parent, uint32_t name)
{
	return (uint64_t)parent << 32 | name;
}

void html_nodes_open(struct html_nodes *n, const struct html_tree *tree)
{
	uint32_t *path = af_xcalloc((size_t)tree->depth + 2, sizeof *path);
	struct af_cursor at = af_buf_cursor(&tree->depths);
	uint32_t nr_open = 0; /* nodes of the path that may have more below them */

	n->tree = tree;
	n->ends = af_xcalloc((size_t)tree->nr_nodes + 1, sizeof *n->ends);
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		for (uint32_t back = (uint32_t)af_cursor_uleb(&at); back; back--)
			n->ends[path[--nr_open]] = i;
		path[nr_open++] = i;
	}
	while (nr_open)
		n->ends[path[--nr_open]] = tree->nr_nodes;
	free(path);
}

static uint32_t nodes_end(const struct html_nodes *n, uint32_t node)
{
	return n->ends[node] & ~NODES_LISTED;
}

/* Most nodes of a tree are below those that stacks of a timeline reach. */
static void nodes_list(struct html_nodes *n, uint32_t parent)
{
	uint32_t end = n->ends[parent];

	if (end & NODES_LISTED)
		return;
	n->ends[parent] |= NODES_LISTED;
	for (uint32_t i = parent + 1; i < end; i = nodes_end(n, i))
		*af_map_at(&n->children, child_key(parent, n->tree->names[i]), NULL) = i;
}

void html_nodes_free(struct html_nodes *n)
{
	af_map_free(&n->children);
	free(n->ends);
	free(n->of);
	free(n->ids);
	*n = (struct html_nodes){0};
}

static uint32_t nodes_name(struct html_nodes *n, struct html_pack *pack,
                           const struct af_tree *stacks, uint32_t name)
{
	AF_REACH(n->ids, name, n->nr_ids);
	if (!n->ids[name])
		n->ids[name] = html_pack_frame(pack, stacks, name);
	return n->ids[name];
}

/* The child of @parent with the name, 0 for none. Most nodes have one child. */
static uint32_t nodes_child(struct html_nodes *n, uint32_t parent, uint32_t name)
{
	uint32_t first = parent + 1, end = nodes_end(n, parent);

	if (first == end)
		return 0;
	if (n->tree->names[first] == name)
		return first;
	if (nodes_end(n, first) == end)
		return 0;
	nodes_list(n, parent);
	const uint64_t *child = af_map_get(&n->children, child_key(parent, name));
	return child ? (uint32_t)*child : 0;
}

static uint32_t nodes_step(struct html_nodes *n, struct html_pack *pack,
                           const struct af_tree *stacks, uint32_t node)
{
	uint32_t parent = n->of[stacks->nodes[node].parent], name = stacks->nodes[node].name;

	if (parent & NODES_ENDED)
		return parent;
	uint32_t id = nodes_name(n, pack, stacks, name);
	uint32_t child = nodes_child(n, parent - 1, id);
	return child ? child + 1 : parent | NODES_ENDED;
}

uint32_t html_nodes_of(struct html_nodes *n, struct html_pack *pack, const struct af_tree *stacks,
                       uint32_t node)
{
	uint32_t known = node, nr = 0, cap = 0, *path = NULL;

	AF_REACH(n->of, node, n->cap); /* parents have lower ids */
	n->of[0] = 1;
	for (; !n->of[known]; known = stacks->nodes[known].parent) {
		AF_GROW(path, nr, cap);
		path[nr++] = known;
	}
	while (nr) {
		uint32_t next = path[--nr];
		n->of[next] = nodes_step(n, pack, stacks, next);
	}
	free(path);
	return (n->of[node] & ~NODES_ENDED) - 1;
}
