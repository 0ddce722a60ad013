/*
 * graphs plain|clone|update|conditional|threads: a graph captured in one function and replayed in a
 * loop by another; a clone of it; one that is updated between two loops, so that the same nodes
 * mean other kernels; one whose kernels are in the body of a conditional node; one that two threads
 * replay.
 */
#include "truth.h"

#include <thread>

enum { REPLAYS = 50 };

static cudaStream_t stream;

CALLPATH void captures_pair(void)
{
	k1<<<1, 1, 0, stream>>>(5000);
	k2<<<1, 1, 0, stream>>>(5000);
}

/* Other work in each node: of one that stays as it was an update says nothing. */
CALLPATH void captures_other(void)
{
	k2<<<1, 1, 0, stream>>>(6000);
	k2<<<1, 1, 0, stream>>>(6000);
}

CALLPATH void captures_body(void)
{
	k2<<<1, 1, 0, stream>>>(5000);
}

CALLPATH void replays(cudaGraphExec_t exec)
{
	for (int i = 0; i < REPLAYS; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
}

CALLPATH void replays_again(cudaGraphExec_t exec)
{
	for (int i = 0; i < REPLAYS; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
}

static cudaGraph_t captured(void (*what)(void))
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	what();
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphExec_t made_ready(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void plain(void)
{
	replays(made_ready(captured(captures_pair)));
	truth_graph.push_back({"replays", "captures_pair", "k1", REPLAYS});
	truth_graph.push_back({"replays", "captures_pair", "k2", REPLAYS});
}

static void cloned(void)
{
	cudaGraph_t clone, graph = captured(captures_pair);
	cudaGraphExec_t exec = made_ready(graph);

	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphDestroy(graph));
	replays_again(made_ready(clone));
	replays(exec);
	for (const char *replay : {"replays", "replays_again"}) {
		truth_graph.push_back({replay, "captures_pair", "k1", REPLAYS});
		truth_graph.push_back({replay, "captures_pair", "k2", REPLAYS});
	}
}

static void updated(void)
{
	cudaGraphExec_t exec = made_ready(captured(captures_pair));
	cudaGraphExecUpdateResultInfo result = {};

	replays(exec);
	CHECK(cudaGraphExecUpdate(exec, captured(captures_other), &result));
	replays_again(exec);
	truth_graph.push_back({"replays", "captures_pair", "k1", REPLAYS});
	truth_graph.push_back({"replays", "captures_pair", "k2", REPLAYS});
	truth_graph.push_back({"replays_again", "captures_other", "k2", 2 * REPLAYS});
}

static void conditional(void)
{
#if CUDART_VERSION >= 12040
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams parameters = {cudaGraphNodeTypeConditional};
	cudaGraph_t graph, body;
	cudaGraphNode_t node;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	parameters.conditional.handle = handle;
	parameters.conditional.type = cudaGraphCondTypeIf;
	parameters.conditional.size = 1;
#if CUDART_VERSION >= 13000
	CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &parameters));
#else
	CHECK(cudaGraphAddNode(&node, graph, NULL, 0, &parameters));
#endif
	body = parameters.conditional.phGraph_out[0];
	CHECK(cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0,
	                                    cudaStreamCaptureModeRelaxed));
	captures_body();
	CHECK(cudaStreamEndCapture(stream, &body));
	replays(made_ready(graph));
	truth_graph.push_back({"replays", "captures_body", "k2", REPLAYS});
#else
	SKIP("no conditional nodes before CUDA 12.4");
#endif
}

static void by_threads(void)
{
	cudaGraph_t graph = captured(captures_pair);
	cudaGraphExec_t first = made_ready(graph), second = made_ready(graph);
	std::thread one(replays, first), two(replays_again, second);

	one.join();
	two.join();
	for (const char *replay : {"replays", "replays_again"}) {
		truth_graph.push_back({replay, "captures_pair", "k1", REPLAYS});
		truth_graph.push_back({replay, "captures_pair", "k2", REPLAYS});
	}
}

int main(int argc, char **argv)
{
	const std::string what = argc > 1 ? argv[1] : "plain";

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	if (what == "plain")
		plain();
	else if (what == "clone")
		cloned();
	else if (what == "update")
		updated();
	else if (what == "conditional")
		conditional();
	else if (what == "threads")
		by_threads();
	else
		return 2;
	CHECK(cudaDeviceSynchronize());
	truth_print();
	return 0;
}
