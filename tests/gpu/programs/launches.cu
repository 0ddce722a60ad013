/*
 * launches [N]: the time that a launch takes the host, each one measured, from a call path DEPTH
 * deep. With N: so many, then `truth`. Without: a worker that reads lines `N` and answers each by a
 * line
 * {"p50": ns, "p99": ns, "mean": ns, "user": ns, "system": ns}, until its input ends.
 */
#include "truth.h"

#include <algorithm>
#include <sys/resource.h>
#include <time.h>

enum { DEPTH = 16, BATCH = 256 };

extern "C" __global__ void empty(void)
{
}

static std::vector<unsigned> took;

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

CALLPATH void launches(int depth, int n)
{
	if (depth) {
		launches(depth - 1, n);
		return;
	}
	while (n--) {
		const unsigned long long start = now_ns();

		empty<<<1, 1>>>();
		took.push_back((unsigned)(now_ns() - start));
	}
}

static void run(long n)
{
	took.clear();
	took.reserve(n);
	/* Never so many that the queue is full: that would be the GPU's time. */
	for (long left = n; left > 0; left -= BATCH) {
		launches(DEPTH, (int)std::min(left, (long)BATCH));
		CHECK(cudaDeviceSynchronize());
	}
}

static unsigned long long ns_of(struct timeval t)
{
	return t.tv_sec * 1000000000ull + t.tv_usec * 1000ull;
}

static void answer(long n)
{
	struct rusage before, after;
	double sum = 0;

	getrusage(RUSAGE_SELF, &before);
	run(n);
	getrusage(RUSAGE_SELF, &after);
	for (unsigned ns : took)
		sum += ns;
	std::sort(took.begin(), took.end());
	printf("{\"p50\": %u, \"p99\": %u, \"mean\": %.1f, \"user\": %.1f, \"system\": %.1f}\n",
	       took[n / 2], took[n * 99 / 100], sum / n,
	       (double)(ns_of(after.ru_utime) - ns_of(before.ru_utime)) / n,
	       (double)(ns_of(after.ru_stime) - ns_of(before.ru_stime)) / n);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long n;

	if (argc > 1) {
		n = atol(argv[1]);
		run(n);
		launched("launches", "empty", n);
		truth_print();
		return 0;
	}
	run(2000);
	printf("ready\n");
	fflush(stdout);
	while (scanf("%ld", &n) == 1 && n > 0)
		answer(n);
	return 0;
}
