/*
 * The calls of api_call.c as events of LTTng-UST, by a preloaded library: as one event a call, or
 * with -DTWO_EVENTS as an entry and an exit. For tests/bench/api.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "api_lttng_tp.h"

#include <dlfcn.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

typedef int32_t (*call)(void *);

#ifdef TWO_EVENTS
static int32_t traced(call next, void *memobj)
{
	lttng_ust_tracepoint(bench, call_entry, memobj);
	int32_t result = next(memobj);

	lttng_ust_tracepoint(bench, call_exit, result);
	return result;
}
#else
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* LTTng gives the event its time; the duration needs the time of the entry, and of the exit. */
static int32_t traced(call next, void *memobj)
{
	uint64_t begin_ns = now_ns();
	int32_t result = next(memobj);

	lttng_ust_tracepoint(bench, call, 0, 0, now_ns() - begin_ns, 0, result != 0, result,
	                     memobj);
	return result;
}
#endif

EXPORT int32_t clRetainMemObject(void *memobj)
{
	static call next;

	if (!next)
		next = (call)dlsym(RTLD_NEXT, "clRetainMemObject");
	return traced(next, memobj);
}

EXPORT int32_t clReleaseMemObject(void *memobj)
{
	static call next;

	if (!next)
		next = (call)dlsym(RTLD_NEXT, "clReleaseMemObject");
	return traced(next, memobj);
}
