/*
 * cuda_threads [THREADS [GENERATIONS]]: threads that come and go, all with CUDA work of their own.
 *
 * Truth: GENERATIONS (4) times THREADS (6) threads; each of them launches k1 of 1 us 200 times from
 * plain() into a stream of its own, captures k2 and k3 of 1 us into a graph in captured() and
 * replays it 20 times from replayed(), and allocates, fills and frees 4096 bytes 20 times in
 * filled(). Every other generation has a context of its own for each thread, which is destroyed
 * with the thread.
 */
#include "cuda_setup.h"

#include <pthread.h>

enum { LAUNCHES = 200, REPLAYS = 20, FILLS = 20, THREADS_MAX = 64, SPIN_NS = 1000 };

static struct cuda shared;
static uint64_t generation;

__attribute__((noinline)) static void plain(const struct cuda *cuda, struct CUstream_st *stream)
{
	for (int i = 0; i < LAUNCHES; i++)
		cuda_launch(cuda->k[0], stream, SPIN_NS);
}

__attribute__((noinline)) static struct CUgraph_st *captured(const struct cuda *cuda,
                                                             struct CUstream_st *stream)
{
	struct CUgraph_st *graph;

	CUDA_CHECK(cuStreamBeginCapture_v2(stream, CUDA_CAPTURE_THREAD_LOCAL));
	cuda_launch(cuda->k[1], stream, SPIN_NS);
	cuda_launch(cuda->k[2], stream, SPIN_NS);
	CUDA_CHECK(cuStreamEndCapture(stream, &graph));
	return graph;
}

__attribute__((noinline)) static void replayed(struct CUgraph_st *graph, struct CUstream_st *stream)
{
	struct CUgraphExec_st *exec;

	CUDA_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < REPLAYS; i++)
		CUDA_CHECK(cuGraphLaunch(exec, stream));
	CUDA_CHECK(cuStreamSynchronize(stream));
	CUDA_CHECK(cuGraphExecDestroy(exec));
	CUDA_CHECK(cuGraphDestroy(graph));
}

__attribute__((noinline)) static void filled(struct CUstream_st *stream)
{
	for (int i = 0; i < FILLS; i++) {
		uint64_t memory;

		CUDA_CHECK(cuMemAllocAsync(&memory, 4096, stream));
		CUDA_CHECK(cuMemsetD32Async(memory, 1, 1024, stream));
		CUDA_CHECK(cuMemFreeAsync(memory, stream));
	}
}

static void *thread_run(void *arg)
{
	struct cuda own = shared;
	struct CUstream_st *stream;
	(void)arg;

	if (generation % 2)
		cuda_open(&own, 0);
	CUDA_CHECK(cuCtxSetCurrent(own.context));
	stream = cuda_stream();
	plain(&own, stream);
	replayed(captured(&own, stream), stream);
	filled(stream);
	CUDA_CHECK(cuStreamSynchronize(stream));
	CUDA_CHECK(cuStreamDestroy_v2(stream));
	if (generation % 2)
		cuda_close(&own);
	return NULL;
}

int main(int argc, char **argv)
{
	const uint64_t nr = cuda_number(argc, argv, 1, 6);
	const uint64_t generations = cuda_number(argc, argv, 2, 4);
	pthread_t threads[THREADS_MAX];

	if (nr > THREADS_MAX)
		return 2;
	cuda_open(&shared, 0);
	for (generation = 0; generation < generations; generation++) {
		for (uint64_t i = 0; i < nr; i++)
			pthread_create(&threads[i], NULL, thread_run, NULL);
		for (uint64_t i = 0; i < nr; i++)
			pthread_join(threads[i], NULL);
	}
	cuda_close(&shared);
	cuda_truth("k1", nr * generations * LAUNCHES);
	cuda_truth("k2", nr * generations * REPLAYS);
	cuda_truth("k3", nr * generations * REPLAYS);
	cuda_truth("fills", nr * generations * FILLS);
	cuda_truth_print();
	return 0;
}
