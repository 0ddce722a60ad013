/*
 * CUPTI's callbacks of API calls, for tests/bench/api_ways: the driver loads this library in cuInit
 * (CUDA_INJECTION64_PATH). A callback counts, and nothing else.
 *
 *	API_WAYS_CUPTI=W   `subscribe` enables nothing; `driver`, `runtime` or `both` the four
 *	                   functions that are measured; `all` every function of both domains;
 *	                   `launches` every launch of both
 *	API_WAYS_CLOCK=1   each callback reads the clock
 *	API_WAYS_REPORT=1  the counts at the end
 */
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { DOMAINS = 2, DRIVER = 0, RUNTIME = 1 };

static uint64_t seen[DOMAINS], clock_sum;
static int clocks, report;

static inline void count(uint64_t *n)
{
	__atomic_store_n(n, __atomic_load_n(n, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static void CUPTIAPI callback(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
	const CUpti_CallbackData *call = data;
	struct timespec t;
	(void)arg;
	(void)id;

	if (clocks) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		clock_sum += (uint64_t)t.tv_nsec;
	}
	if (call->callbackSite == CUPTI_API_ENTER)
		count(&seen[domain == CUPTI_CB_DOMAIN_RUNTIME_API ? RUNTIME : DRIVER]);
}

static const uint32_t driver_measured[] = {
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
};
static const uint32_t runtime_measured[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
};
static const uint32_t driver_launches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};
static const uint32_t runtime_launches[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
};

static void check(CUptiResult rc, const char *call)
{
	if (rc) {
		fprintf(stderr, "api_ways: %s: CUPTI error %d\n", call, (int)rc);
		exit(2);
	}
}

static void enable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                   const uint32_t *ids, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		check(cuptiEnableCallback(1, subscriber, domain, ids[i]), "cuptiEnableCallback");
}

#define ENABLE(domain, ids) enable(subscriber, domain, ids, sizeof(ids) / sizeof *(ids))

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjection(void)
{
	const char *what = getenv("API_WAYS_CUPTI");
	CUpti_SubscriberHandle subscriber;
	int both, all;

	if (!what)
		return 1;
	clocks = getenv("API_WAYS_CLOCK") != NULL;
	report = getenv("API_WAYS_REPORT") != NULL;
	both = !strcmp(what, "both");
	all = !strcmp(what, "all");
	check(cuptiSubscribe(&subscriber, callback, NULL), "cuptiSubscribe");
	if (both || !strcmp(what, "driver"))
		ENABLE(CUPTI_CB_DOMAIN_DRIVER_API, driver_measured);
	if (both || !strcmp(what, "runtime"))
		ENABLE(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_measured);
	if (all) {
		check(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), "driver");
		check(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API), "runtime");
	}
	if (!strcmp(what, "launches")) {
		ENABLE(CUPTI_CB_DOMAIN_DRIVER_API, driver_launches);
		ENABLE(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_launches);
	}
	return 1;
}

EXPORT uint64_t api_ways_seen_cupti(int domain);
EXPORT uint64_t api_ways_seen_cupti(int domain)
{
	return seen[domain];
}

__attribute__((destructor)) static void end(void)
{
	if (report)
		fprintf(stderr, "api_ways cupti launches: driver %lu runtime %lu\n",
		        (unsigned long)seen[DRIVER], (unsigned long)seen[RUNTIME]);
}
