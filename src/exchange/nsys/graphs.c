/*
 * Nsight Systems' export: graphs of device work. The upper half of a node's id is its graph's
 * number. The thread and the time at which a node was made lead to the call that made it.
 */
#include "base/arena.h"
#include "exchange/nsys/nsys.h"

enum { GRAPH_SHIFT = 32 };
enum { GRAPH_THREAD = 1, GRAPH_NODE, GRAPH_ORIGINAL, GRAPH_WHOLE };

uint32_t nsys_graph_node(struct import_nsys *in, uint32_t space, int64_t id)
{
	struct af_builder *d = in->builder;
	bool fresh;

	if (id <= 0)
		return 0;
	uint64_t *slot = af_keys_at(&in->graph_nodes, AF_KEY(space, (uint64_t)id), &fresh);
	if (fresh) {
		AF_GROW(d->graph_nodes, d->nr_graph_nodes, d->cap_graph_nodes);
		d->graph_nodes[d->nr_graph_nodes++] =
		    (struct af_builder_graph_node){.graph = (uint32_t)(id >> GRAPH_SHIFT)};
		*slot = d->nr_graph_nodes;
	}
	return (uint32_t)*slot;
}

int64_t nsys_graph_whole(const struct sqlite_rows *rows, int column)
{
	int64_t graph = sqlite_int(rows, column, 0);

	return graph > 0 && graph <= INT32_MAX ? graph << GRAPH_SHIFT : 0;
}

/*
 * Each mention of a node is a row of its own: first the clone, then the node that it is a clone of.
 */
static void take_node(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_slice s = {.thread = UINT32_MAX};
	int64_t id = sqlite_int(rows, GRAPH_NODE, 0), thread = sqlite_int(rows, GRAPH_THREAD, 0);
	uint32_t space = nsys_space(in, thread);

	/* The first node of a graph that was timed as a whole stands for it. */
	if (!id)
		id = nsys_graph_whole(rows, GRAPH_WHOLE);
	uint32_t node = nsys_graph_node(in, space, id);
	uint32_t original = nsys_graph_node(in, space, sqlite_int(rows, GRAPH_ORIGINAL, 0));
	if (!node || !sqlite_has(rows, GRAPH_THREAD) || !nsys_time(in, rows, &s.start_ns))
		return;
	if (original && original != node)
		in->builder->graph_nodes[node - 1].original = original;
	s.thread = nsys_thread(in, thread);
	s.correlation = node - 1;
	if (s.thread != UINT32_MAX)
		af_builder_slice(in->builder, AF_BUILDER_NODE, &s);
}

void nsys_graphs(struct import_nsys *in)
{
	static const char *const columns[] = {
	    "start", "globalTid", "graphNodeId", "originalGraphNodeId", "graphId", NULL};

	/* Before 2024, one table had the columns of both. */
	nsys_table(in, "CUDA_GRAPH_EVENTS", NULL, columns, take_node);
	nsys_table(in, "CUDA_GRAPH_NODE_EVENTS", NULL, columns, take_node);
}
