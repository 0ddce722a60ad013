/*
 * Graphs, made by capturing streams. A graph's nodes run one after the other when it is replayed,
 * whatever their edges. An executable graph has a clone of its own, whose ids the records of its
 * work carry; an update gives that clone's nodes new work and leaves their ids. Ids are unique in
 * the process: a node's is its graph's in the high half and its place in the low one.
 */
#include "mock_cuda.h"

#include <stdlib.h>

static uint32_t graph_last_id;

static struct CUgraph_st *graph_new(void)
{
	struct CUgraph_st *g = calloc(1, sizeof(*g));

	if (!g)
		abort();
	pthread_mutex_lock(&mock_lock);
	g->id = ++graph_last_id;
	pthread_mutex_unlock(&mock_lock);
	return g;
}

static struct CUgraphNode_st *graph_add(struct CUgraph_st *graph, const struct mock_work *work)
{
	struct CUgraphNode_st *n = calloc(1, sizeof(*n));

	if (!n)
		abort();
	n->graph = graph;
	n->work = *work;
	pthread_mutex_lock(&mock_lock);
	n->index = graph->nr_nodes++;
	if (graph->last)
		graph->last->next = n;
	else
		graph->nodes = n;
	graph->last = n;
	pthread_mutex_unlock(&mock_lock);
	return n;
}

/* CUgraphNodeType */
static uint32_t graph_node_type(const struct CUgraphNode_st *node)
{
	switch (node->work.op) {
	case MOCK_COPY:
	case MOCK_PEER:
		return 1;
	case MOCK_FILL:
		return 2;
	case MOCK_HOST:
		return 3;
	default:
		return 0;
	}
}

static void graph_tell(enum mock_resource what, struct CUgraphNode_st *node,
                       struct CUgraphNode_st *original)
{
	struct mock_graph_data data = {
	    .graph = node->graph,
	    .original_graph = original ? original->graph : NULL,
	    .node = node,
	    .original_node = original,
	    .node_type = graph_node_type(node),
	};

	mock_resource(what, mock_context(), NULL, &data);
}

int mock_graph_append(struct CUstream_st *stream, const struct mock_work *work)
{
	graph_tell(MOCK_GRAPHNODE_CREATED, graph_add(stream->capture, work), NULL);
	return CUDA_OK;
}

static struct CUgraph_st *graph_clone(struct CUgraph_st *original)
{
	struct CUgraph_st *g = graph_new();
	struct mock_graph_data data = {.graph = g, .original_graph = original};

	for (struct CUgraphNode_st *n = original->nodes; n; n = n->next)
		graph_tell(MOCK_GRAPHNODE_CLONED, graph_add(g, &n->work), n);
	mock_resource(MOCK_GRAPH_CLONED, mock_context(), NULL, &data);
	return g;
}

static int graph_begin_capture(struct CUstream_st *handle)
{
	struct CUstream_st *stream = handle ? mock_stream(handle) : NULL;
	struct mock_graph_data data = {0};

	if (!stream)
		return CUDA_CAPTURE_UNSUPPORTED; /* the default stream cannot be captured */
	if (stream->capture)
		return CUDA_INVALID_VALUE;
	stream->capture = data.graph = graph_new();
	stream->began_capture = true;
	mock_resource(MOCK_GRAPH_CREATED, stream->context, NULL, &data);
	return CUDA_OK;
}

int cuStreamBeginCapture_v2(struct CUstream_st *stream, int mode)
{
	struct {
		struct CUstream_st *stream;
		int mode;
	} params = {stream, mode};

	MOCK_CALL(539, &params, graph_begin_capture(stream));
}

static int graph_end_capture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	if (!graph || !stream || !stream->capture || !stream->began_capture)
		return CUDA_INVALID_VALUE;
	*graph = stream->capture;
	stream->began_capture = false;
	pthread_mutex_lock(&mock_lock);
	for (struct CUstream_st *s = stream->context->streams; s; s = s->next)
		if (s->capture == *graph)
			s->capture = NULL;
	pthread_mutex_unlock(&mock_lock);
	return CUDA_OK;
}

int cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	struct {
		struct CUstream_st *stream;
		struct CUgraph_st **graph;
	} params = {stream, graph};

	MOCK_CALL(497, &params, graph_end_capture(stream, graph));
}

static int graph_copy(struct CUgraph_st **clone, struct CUgraph_st *original)
{
	if (!clone || !original)
		return CUDA_INVALID_VALUE;
	*clone = graph_clone(original);
	return CUDA_OK;
}

int cuGraphClone(struct CUgraph_st **clone, struct CUgraph_st *original)
{
	struct {
		struct CUgraph_st **clone, *original;
	} params = {clone, original};

	MOCK_CALL(523, &params, graph_copy(clone, original));
}

static int graph_instantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph)
{
	struct mock_graph_data data = {.graph = graph};
	struct CUgraphExec_st *e;

	if (!exec || !graph)
		return CUDA_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return CUDA_OUT_OF_MEMORY;
	e->own = graph_clone(graph);
	pthread_mutex_lock(&mock_lock);
	e->id = ++graph_last_id;
	pthread_mutex_unlock(&mock_lock);
	data.exec = *exec = e;
	mock_resource(MOCK_GRAPHEXEC_CREATED, mock_context(), NULL, &data);
	return CUDA_OK;
}

int cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
                                unsigned long long flags)
{
	struct {
		struct CUgraphExec_st **exec;
		struct CUgraph_st *graph;
		unsigned long long flags;
	} params = {exec, graph, flags};

	MOCK_CALL(643, &params, graph_instantiate(exec, graph));
}

/* One piece of work as long as all of the graph's; its host functions are called behind it. */
static int graph_enqueue_whole(struct CUstream_st *stream, const struct CUgraph_st *graph)
{
	struct mock_work whole = {.op = MOCK_GRAPH, .graph = graph->id};
	int rc;

	for (const struct CUgraphNode_st *n = graph->nodes; n; n = n->next)
		whole.duration_ns += n->work.duration_ns;
	rc = mock_enqueue(stream, &whole);
	for (const struct CUgraphNode_st *n = graph->nodes; n && !rc; n = n->next)
		if (n->work.op == MOCK_HOST)
			rc = mock_enqueue(stream, &n->work);
	return rc;
}

static int graph_launch(const struct CUgraphExec_st *exec, struct CUstream_st *handle)
{
	struct CUstream_st *stream = mock_stream(handle);
	const struct mock_tool *tool = mock_tool();
	int rc = CUDA_OK;

	if (!exec || !stream)
		return CUDA_INVALID_HANDLE;
	if (stream->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&mock_lock);
	if (tool && tool->wants_graphs_whole()) {
		rc = graph_enqueue_whole(stream, exec->own);
	} else {
		for (const struct CUgraphNode_st *n = exec->own->nodes; n && !rc; n = n->next) {
			struct mock_work work = n->work;

			work.graph = exec->own->id;
			work.node = (uint64_t)exec->own->id << 32 | n->index;
			rc = mock_enqueue(stream, &work);
		}
	}
	pthread_mutex_unlock(&mock_lock);
	return rc;
}

int cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	struct {
		struct CUgraphExec_st *exec;
		struct CUstream_st *stream;
	} params = {exec, stream};

	MOCK_CALL(514, &params, graph_launch(exec, stream));
}

static int graph_update(struct CUgraphExec_st *exec, struct CUgraph_st *graph,
                        struct cuda_update_result *result)
{
	struct CUgraphNode_st *own, *new;

	if (!exec || !graph || !result)
		return CUDA_INVALID_VALUE;
	*result = (struct cuda_update_result){0};
	own = exec->own->nodes;
	for (new = graph->nodes; own &&new && own->work.op == new->work.op; new = new->next)
		own = own->next;
	if (own || new) {
		result->result = 2; /* CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED */
		return CUDA_UPDATE_FAILURE;
	}
	own = exec->own->nodes;
	for (new = graph->nodes; new; new = new->next, own = own->next) {
		own->work = new->work;
		graph_tell(MOCK_GRAPHNODE_UPDATED, new, own);
	}
	return CUDA_OK;
}

int cuGraphExecUpdate_v2(struct CUgraphExec_st *exec, struct CUgraph_st *graph,
                         struct cuda_update_result *result)
{
	struct {
		struct CUgraphExec_st *exec;
		struct CUgraph_st *graph;
		struct cuda_update_result *result;
	} params = {exec, graph, result};

	MOCK_CALL(696, &params, graph_update(exec, graph, result));
}

static void graph_free(struct CUgraph_st *graph)
{
	struct CUgraphNode_st *next;

	for (struct CUgraphNode_st *n = graph->nodes; n; n = next) {
		next = n->next;
		free(n);
	}
	free(graph);
}

static int graph_destroy(struct CUgraph_st *graph)
{
	struct mock_graph_data data = {.graph = graph};

	if (!graph)
		return CUDA_INVALID_VALUE;
	mock_resource(MOCK_GRAPH_DESTROY_STARTING, mock_context(), NULL, &data);
	graph_free(graph);
	return CUDA_OK;
}

int cuGraphDestroy(struct CUgraph_st *graph)
{
	MOCK_CALL(517, &graph, graph_destroy(graph));
}

static int graph_exec_destroy(struct CUgraphExec_st *exec)
{
	struct mock_graph_data data = {.exec = exec};

	if (!exec)
		return CUDA_INVALID_VALUE;
	mock_resource(MOCK_GRAPHEXEC_DESTROY_STARTING, mock_context(), NULL, &data);
	graph_free(exec->own);
	free(exec);
	return CUDA_OK;
}

int cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
	MOCK_CALL(516, &exec, graph_exec_destroy(exec));
}
