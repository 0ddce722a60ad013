/*
 * cuda_profiles [linked|dlsym] [ROUNDS] [early]: a program with a profiler of its own, as PyTorch's
 * and XLA's are: it subscribes to CUPTI, hands out buffers and counts the records that it gets.
 *
 * Truth: each of ROUNDS (3) rounds launches k1 50 times with its profiler on, and k2 20 times with
 * it off, both before and after; those of every other round are not waited for when it starts. The
 * profiler has to get 50 kernels k1 a round, no k2, with stamps of its own clock, and callbacks of
 * 50 launches. What it got is the truth's profile.*. "linked" is linked with libcupti as PyTorch
 * is, "dlsym" looks its functions up as XLA does; "early": it subscribes before CUDA is started.
 */
#include "cuda_setup.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BUFFER_BYTES = 8 << 10,
	KERNEL = 10,
	LAUNCH_ID = 307,
	OVERHEAD = 17,
	LIMIT_REACHED = 12,
	PROFILED = 50,
	OTHERS = 20,
};

typedef void (*request_fn)(uint8_t **, size_t *, size_t *);
typedef void (*complete_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);
typedef uint64_t (*clock_fn)(void);

#define CUPTI(P)                                                                                   \
	P(cuptiSubscribe, (void **, callback_fn, void *))                                          \
	P(cuptiUnsubscribe, (void *))                                                              \
	P(cuptiEnableCallback, (uint32_t, void *, uint32_t, uint32_t))                             \
	P(cuptiActivityRegisterCallbacks, (request_fn, complete_fn))                               \
	P(cuptiActivityRegisterTimestampCallback, (clock_fn))                                      \
	P(cuptiActivityEnable, (uint32_t))                                                         \
	P(cuptiActivityDisable, (uint32_t))                                                        \
	P(cuptiActivityFlushAll, (uint32_t))                                                       \
	P(cuptiActivityGetNextRecord, (const uint8_t *, size_t, const uint8_t **))

#define DECLARE(name, params) uint32_t name params;
CUPTI(DECLARE)
#undef DECLARE

static struct {
#define POINTER(name, params) uint32_t(*name) params;
	CUPTI(POINTER)
#undef POINTER
} cupti;

/* CUpti_CallbackData: only its beginning is of interest. */
struct call {
	uint32_t site;
	const char *function;
	const void *params, *result;
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Buffers that CUPTI has; the profiler is taken down at the end of the process. */
static int nr_given, is_down;
static uint64_t nr_k1, nr_others, nr_badly_stamped, nr_launches, nr_forgotten, from;

/* A clock of its own: three ticks a nanosecond. */
static uint64_t ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 3 * ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

static void request(uint8_t **buffer, size_t *size, size_t *nr_max)
{
	pthread_mutex_lock(&lock);
	if (is_down)
		abort();
	nr_given++;
	pthread_mutex_unlock(&lock);
	*buffer = aligned_alloc(64, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*nr_max = 0;
}

static uint64_t u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void kernel_read(const uint8_t *record)
{
	const uint64_t start = u64(record + 16), end = u64(record + 24);
	const char *name = (const char *)(uintptr_t)u64(record + 104);

	if (strcmp(name, "k1"))
		nr_others++;
	else
		nr_k1++;
	/* k1 takes 20 us, 60,000 ticks: what the mock makes of them at first is not exact. */
	if (start < from || end > ticks() || end - start < 30000 || end - start > 120000)
		nr_badly_stamped++;
}

/* The buffer is the profiler's: it came from request() and is freed. */
static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	const uint8_t *record = NULL;
	uint32_t kind;
	(void)context, (void)stream;

	pthread_mutex_lock(&lock);
	if (size != BUFFER_BYTES || is_down)
		abort();
	nr_given--;
	while (!cupti.cuptiActivityGetNextRecord(buffer, valid, &record)) {
		memcpy(&kind, record, sizeof(kind));
		if (kind == KERNEL)
			kernel_read(record);
		else if (kind != OVERHEAD)
			nr_others++;
	}
	pthread_mutex_unlock(&lock);
	free(buffer);
}

/* As XLA: it remembers the call's begin in the word that CUPTI keeps for it. */
static void called(void *arg, uint32_t domain, uint32_t id, const void *data)
{
	const struct call *call = data;

	if (arg != &nr_launches || domain != 1 || id != LAUNCH_ID)
		abort();
	pthread_mutex_lock(&lock);
	if (!call->site)
		*call->data = 0xaf1a3e;
	else if (*call->data != 0xaf1a3e)
		nr_forgotten++;
	else
		nr_launches++;
	pthread_mutex_unlock(&lock);
}

static void cupti_find(int by_name)
{
	void *library = by_name ? dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL) : NULL;

#define FIND(name, params)                                                                         \
	cupti.name = by_name ? (__typeof__(cupti.name))dlsym(library, #name) : name;
	CUPTI(FIND)
#undef FIND
}

static void check(uint32_t rc, const char *what)
{
	if (rc)
		fprintf(stderr, "the program's own profiler: %s: error %u\n", what, rc);
}
#define CHECK(name, ...) check(cupti.name(__VA_ARGS__), #name)

static void profile_start(void *subscriber)
{
	from = ticks();
	CHECK(cuptiActivityRegisterTimestampCallback, ticks);
	CHECK(cuptiActivityRegisterCallbacks, request, complete);
	CHECK(cuptiActivityEnable, OVERHEAD);
	CHECK(cuptiActivityEnable, KERNEL);
	CHECK(cuptiEnableCallback, 1, subscriber, 1, LAUNCH_ID);
}

static void profile_stop(void *subscriber)
{
	CHECK(cuptiEnableCallback, 0, subscriber, 1, LAUNCH_ID);
	CHECK(cuptiActivityDisable, KERNEL);
	CHECK(cuptiActivityDisable, OVERHEAD);
	/* As Kineto: without a buffer there is nothing to wait for. */
	pthread_mutex_lock(&lock);
	const int given = nr_given;
	pthread_mutex_unlock(&lock);
	if (given)
		CHECK(cuptiActivityFlushAll, 1);
}

/* As the destructors of Kineto's objects: they come before what was registered earlier. */
static void profile_down(void)
{
	pthread_mutex_lock(&lock);
	is_down = 1;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void launch_profiled(struct cuda *cuda, struct CUstream_st *stream)
{
	for (int i = 0; i < PROFILED; i++)
		cuda_launch(cuda->k[0], stream, 20000);
	CUDA_CHECK(cuStreamSynchronize(stream));
	usleep(10000); /* the mock asks for a buffer by a thread of its own */
	cuda_truth("k1", PROFILED);
}

__attribute__((noinline)) static void launch_others(struct cuda *cuda, struct CUstream_st *stream)
{
	for (int i = 0; i < OTHERS; i++)
		cuda_launch(cuda->k[1], stream, 50000);
	cuda_truth("k2", OTHERS);
}

int main(int argc, char **argv)
{
	const uint64_t rounds = cuda_number(argc, argv, 2, 3);
	const int early = argc > 3;
	void *subscriber = NULL;
	struct cuda cuda;

	if (!early)
		cuda_open(&cuda, 0);
	cupti_find(argc > 1 && !strcmp(argv[1], "dlsym"));
	CHECK(cuptiSubscribe, &subscriber, called, &nr_launches);
	if (early)
		cuda_open(&cuda, 0);
	struct CUstream_st *stream = cuda_stream();
	atexit(profile_down);
	for (uint64_t i = 0; i < rounds; i++) {
		launch_others(&cuda, stream);
		if (i % 2)
			CUDA_CHECK(cuStreamSynchronize(stream));
		profile_start(subscriber);
		launch_profiled(&cuda, stream);
		profile_stop(subscriber);
		launch_others(&cuda, stream);
		CUDA_CHECK(cuStreamSynchronize(stream));
	}
	CHECK(cuptiUnsubscribe, subscriber);
	cuda_close(&cuda);
	cuda_truth("profile.k1", nr_k1);
	cuda_truth("profile.others", nr_others);
	cuda_truth("profile.badly_stamped", nr_badly_stamped);
	cuda_truth("profile.launches", nr_launches);
	cuda_truth("profile.forgotten", nr_forgotten);
	cuda_truth_print();
	return 0;
}
