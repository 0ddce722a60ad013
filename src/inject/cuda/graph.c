/* Nodes of CUDA graphs: which call made each, and which node each is a copy of (GRAPH_NODE). */
#include "inject/cuda/cuda.h"

#include "inject/core/handles.h"
#include "inject/core/inject.h"

/*
 * A record of a graph's work names a node of the copy that the executable graph has of its own.
 * Nodes are announced as they are made: by the call that captures or adds one, with its stack; by a
 * clone, with the node it is a copy of, and making an executable graph clones too. An update of an
 * executable graph keeps its nodes and gives them another origin: CUPTI tells of each since 13.0.
 * Before that who captured them is not known any more, and who updated the graph stands for it.
 */

static struct af_handles nodes = AF_HANDLES_INIT; /* CUPTI's id + 1 → ours */

uint32_t af_cuda_node(uint64_t node)
{
	if (!node)
		return 0;
	uint64_t known = af_handles_get(&nodes, node + 1);
	if (known)
		return (uint32_t)known;
	return (uint32_t)af_handles_claim(&nodes, node + 1, af_inject_new_id(AF_ID_NODE));
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;

	return node && !af_cupti.GetGraphNodeId(node, &id) ? id : 0;
}

static void node_write(uint64_t node, uint64_t original, const struct af_regs *regs)
{
	uint32_t ours = af_cuda_node(node), theirs = af_cuda_node(original);
	struct af_thread_context *t = ours ? af_thread_enter() : NULL;

	if (!t)
		return;
	af_stream_put(&t->stream, graph_node, af_now_ns(), .node = ours,
	              .graph = (uint32_t)(node >> 32), .original = theirs,
	              .callpath = theirs ? 0 : af_thread_callpath(t, regs));
	af_thread_leave(t);
}

void af_cuda_graph(uint32_t id, const struct af_cupti_graph *g, const struct af_regs *regs)
{
	if (id == AF_CUPTI_GRAPHNODE_CREATED)
		node_write(node_id(g->node), 0, regs);
	else if (id == AF_CUPTI_GRAPHNODE_CLONED)
		node_write(node_id(g->node), node_id(g->original_node), regs);
	else if (id == AF_CUPTI_GRAPHNODE_UPDATED)
		/* Here `original` is the node that stays, `node` the one it is now like. */
		node_write(node_id(g->original_node), node_id(g->node), regs);
}

struct update {
	uint32_t graph;
	const struct af_regs *regs;
};

static void node_updated(void *arg, uint64_t key, uint64_t ours)
{
	const struct update *u = arg;
	uint64_t node = key - 1;
	(void)ours;

	if (node >> 32 == u->graph)
		node_write(node, 0, u->regs);
}

void af_cuda_graph_updated(void *exec, const struct af_regs *regs)
{
	struct update u = {.regs = regs};

	if (exec && !af_cupti.GetGraphExecId(exec, &u.graph) && u.graph)
		af_handles_each(&nodes, node_updated, &u);
}
