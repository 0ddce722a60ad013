/*
 * cuda_streams [LAUNCHES]: two contexts, the second on another device where there is one, with two
 * streams each, used by a thread a context and at the end by one thread in turn.
 *
 * Truth: in each context's first stream LAUNCHES (20) times k1 of 20 us from in_first(), in its
 * second k2 of 10 us from in_second(). Then in_turn() launches k3 of 5 us, LAUNCHES times, on the
 * default stream of each context by turns. after_event() launches k4 in the second stream of the
 * first context once, after an event of the first stream that has 2 ms of k1 before it.
 */
#include "cuda_setup.h"

#include <pthread.h>

enum { CONTEXTS = 2 };

static struct cuda cudas[CONTEXTS];
static struct CUstream_st *streams[CONTEXTS][2];
static uint64_t launches;

__attribute__((noinline)) static void in_first(int context)
{
	cuda_launch(cudas[context].k[0], streams[context][0], 20000);
}

__attribute__((noinline)) static void in_second(int context)
{
	cuda_launch(cudas[context].k[1], streams[context][1], 10000);
}

static void *context_run(void *arg)
{
	const int context = *(int *)arg;

	CUDA_CHECK(cuCtxSetCurrent(cudas[context].context));
	for (uint64_t i = 0; i < launches; i++) {
		in_first(context);
		in_second(context);
	}
	CUDA_CHECK(cuCtxSynchronize());
	return NULL;
}

__attribute__((noinline)) static void in_turn(int context)
{
	CUDA_CHECK(cuCtxSetCurrent(cudas[context].context));
	cuda_launch(cudas[context].k[2], NULL, 5000);
}

__attribute__((noinline)) static void after_event(void)
{
	struct CUevent_st *event;

	CUDA_CHECK(cuCtxSetCurrent(cudas[0].context));
	CUDA_CHECK(cuEventCreate(&event, 0));
	cuda_launch(cudas[0].k[0], streams[0][0], 2000000);
	CUDA_CHECK(cuEventRecord(event, streams[0][0]));
	CUDA_CHECK(cuStreamWaitEvent(streams[0][1], event, 0));
	cuda_launch(cudas[0].k[3], streams[0][1], 1000);
	CUDA_CHECK(cuEventSynchronize(event));
	CUDA_CHECK(cuStreamSynchronize(streams[0][1]));
	CUDA_CHECK(cuEventDestroy_v2(event));
}

int main(int argc, char **argv)
{
	pthread_t threads[CONTEXTS];
	int index[CONTEXTS];

	launches = cuda_number(argc, argv, 1, 20);
	for (int i = 0; i < CONTEXTS; i++) {
		index[i] = i;
		cuda_open(&cudas[i], i && cuda_nr_devices() > 1);
		streams[i][0] = cuda_stream();
		streams[i][1] = cuda_stream();
	}
	for (int i = 0; i < CONTEXTS; i++)
		pthread_create(&threads[i], NULL, context_run, &index[i]);
	for (int i = 0; i < CONTEXTS; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t i = 0; i < launches; i++)
		for (int c = 0; c < CONTEXTS; c++)
			in_turn(c);
	for (int c = 0; c < CONTEXTS; c++) {
		CUDA_CHECK(cuCtxSetCurrent(cudas[c].context));
		CUDA_CHECK(cuCtxSynchronize());
	}
	after_event();
	cuda_truth("devices", (uint64_t)cuda_nr_devices() > 1 ? 2 : 1);
	for (int i = 0; i < CONTEXTS; i++)
		cuda_close(&cudas[i]);
	cuda_truth("k1", CONTEXTS * launches + 1);
	cuda_truth("k2", CONTEXTS * launches);
	cuda_truth("k3", CONTEXTS * launches);
	cuda_truth("k4", 1);
	cuda_truth("launches", 3 * CONTEXTS * launches + 2);
	cuda_truth_print();
	return 0;
}
