/*
 * streams: two host threads, three streams each, so many launches on each of the six. One thread
 * launches k1 only, the other k2 only, and neither's stack has the other's function.
 */
#include "truth.h"

#include <thread>

enum { STREAMS = 3, LAUNCHES = 100 };

CALLPATH void thread_one(cudaStream_t *stream)
{
	for (int i = 0; i < LAUNCHES * STREAMS; i++)
		k1<<<1, 1, 0, stream[i % STREAMS]>>>(5000);
}

CALLPATH void thread_two(cudaStream_t *stream)
{
	for (int i = 0; i < LAUNCHES * STREAMS; i++)
		k2<<<1, 1, 0, stream[i % STREAMS]>>>(5000);
}

int main(void)
{
	cudaStream_t stream[2 * STREAMS];

	for (auto &s : stream)
		CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	std::thread one(thread_one, stream), two(thread_two, stream + STREAMS);
	one.join();
	two.join();
	CHECK(cudaDeviceSynchronize());
	launched("thread_one", "k1", LAUNCHES * STREAMS);
	launched("thread_two", "k2", LAUNCHES * STREAMS);
	fact("queues", 2 * STREAMS);
	fact("each_queue", LAUNCHES);
	fact("threads", 2);
	truth_print();
	return 0;
}
