/*
 * cuda_graphs [REPLAYS [SHORTER]]: graphs captured, cloned, updated and replayed.
 *
 * Truth: capture_first() puts k1 (50 us), a fill and k2 (20 us) into a graph, k2 on a second stream
 * that joined the capture by an event. replay_original() replays it REPLAYS (5) times,
 * replay_clone() an executable of its clone twice as often. Then the first executable is updated
 * from a graph that capture_second() captured, with k3 (30 us) for k1 and k4 (10 us) for k2, and
 * replay_updated() replays it REPLAYS times. An update with a graph of other topology fails.
 * host_function() is a node of a fourth graph, with k1, which is launched once.
 */
#include "cuda_setup.h"

static struct cuda cuda;
static struct CUstream_st *main_stream, *side_stream;
static uint64_t buffer;
static int host_calls;
static uint64_t shorter;

static void host_function(void *arg)
{
	++*(int *)arg;
}

__attribute__((noinline)) static void capture_side(struct CUfunc_st *kernel, uint64_t ns)
{
	struct CUevent_st *fork, *join;

	CUDA_CHECK(cuEventCreate(&fork, 0));
	CUDA_CHECK(cuEventCreate(&join, 0));
	CUDA_CHECK(cuEventRecord(fork, main_stream));
	CUDA_CHECK(cuStreamWaitEvent(side_stream, fork, 0));
	cuda_launch(kernel, side_stream, ns / shorter);
	CUDA_CHECK(cuEventRecord(join, side_stream));
	CUDA_CHECK(cuStreamWaitEvent(main_stream, join, 0));
	CUDA_CHECK(cuEventDestroy_v2(fork));
	CUDA_CHECK(cuEventDestroy_v2(join));
}

static void capture_begin(void)
{
	CUDA_CHECK(cuStreamBeginCapture_v2(main_stream, CUDA_CAPTURE_THREAD_LOCAL));
}

static struct CUgraph_st *capture_end(void)
{
	struct CUgraph_st *graph;

	CUDA_CHECK(cuStreamEndCapture(main_stream, &graph));
	return graph;
}

__attribute__((noinline)) static struct CUgraph_st *capture_first(void)
{
	capture_begin();
	cuda_launch(cuda.k[0], main_stream, 50000 / shorter);
	CUDA_CHECK(cuMemsetD32Async(buffer, 1, 1024, main_stream));
	capture_side(cuda.k[1], 20000);
	return capture_end();
}

__attribute__((noinline)) static struct CUgraph_st *capture_second(void)
{
	capture_begin();
	cuda_launch(cuda.k[2], main_stream, 30000 / shorter);
	CUDA_CHECK(cuMemsetD32Async(buffer, 2, 1024, main_stream));
	capture_side(cuda.k[3], 10000);
	return capture_end();
}

__attribute__((noinline)) static struct CUgraph_st *capture_host(void)
{
	capture_begin();
	cuda_launch(cuda.k[0], main_stream, 50000 / shorter);
	CUDA_CHECK(cuLaunchHostFunc(main_stream, host_function, &host_calls));
	return capture_end();
}

static struct CUgraphExec_st *instantiate(struct CUgraph_st *graph)
{
	struct CUgraphExec_st *exec;

	CUDA_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static void replay(struct CUgraphExec_st *exec, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		CUDA_CHECK(cuGraphLaunch(exec, main_stream));
	CUDA_CHECK(cuStreamSynchronize(main_stream));
	cuda_truth("graph_launches", times);
}

__attribute__((noinline)) static void replay_original(struct CUgraphExec_st *exec, uint64_t times)
{
	replay(exec, times);
	cuda_truth("count.replay_original", 3 * times);
	cuda_truth("k1", times);
	cuda_truth("k2", times);
	cuda_truth("fills", times);
}

__attribute__((noinline)) static void replay_clone(struct CUgraphExec_st *exec, uint64_t times)
{
	replay(exec, times);
	cuda_truth("count.replay_clone", 3 * times);
	cuda_truth("k1", times);
	cuda_truth("k2", times);
	cuda_truth("fills", times);
}

__attribute__((noinline)) static void replay_updated(struct CUgraphExec_st *exec, uint64_t times)
{
	replay(exec, times);
	cuda_truth("count.replay_updated", 3 * times);
	cuda_truth("k3", times);
	cuda_truth("k4", times);
	cuda_truth("fills", times);
}

__attribute__((noinline)) static void replay_host(struct CUgraphExec_st *exec)
{
	replay(exec, 1);
	cuda_truth("count.replay_host", 1);
	cuda_truth("k1", 1);
}

int main(int argc, char **argv)
{
	const uint64_t replays = cuda_number(argc, argv, 1, 5);
	struct cuda_update_result result = {0};
	struct CUgraph_st *graphs[4];
	struct CUgraphExec_st *execs[3];

	shorter = cuda_number(argc, argv, 2, 1);
	cuda_open(&cuda, 0);
	main_stream = cuda_stream();
	side_stream = cuda_stream();
	CUDA_CHECK(cuMemAlloc_v2(&buffer, 4096));
	graphs[0] = capture_first();
	execs[0] = instantiate(graphs[0]);
	CUDA_CHECK(cuGraphClone(&graphs[1], graphs[0]));
	execs[1] = instantiate(graphs[1]);
	replay_original(execs[0], replays);
	replay_clone(execs[1], 2 * replays);
	graphs[2] = capture_second();
	CUDA_CHECK(cuGraphExecUpdate_v2(execs[0], graphs[2], &result));
	replay_updated(execs[0], replays);
	graphs[3] = capture_host();
	execs[2] = instantiate(graphs[3]);
	if (cuGraphExecUpdate_v2(execs[0], graphs[3], &result) != CUDA_UPDATE_FAILURE)
		return 2;
	replay_host(execs[2]);
	for (int i = 0; i < 4; i++)
		CUDA_CHECK(cuGraphDestroy(graphs[i]));
	for (int i = 0; i < 3; i++)
		CUDA_CHECK(cuGraphExecDestroy(execs[i]));
	CUDA_CHECK(cuMemFree_v2(buffer));
	cuda_close(&cuda);
	cuda_truth("captured", 8);
	cuda_truth_print();
	return host_calls == 1 ? 0 : 3;
}
