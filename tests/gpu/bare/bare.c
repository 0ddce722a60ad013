/*
 * The second baseline: what CUPTI itself costs. Loaded as CUDA_INJECTION64_PATH, it subscribes to
 * the driver functions that aflame subscribes to (at the level minimal: src/api/models/cuda.rules),
 * with a callback that does nothing, takes kernel records and throws the buffers away. No stacks,
 * no trace.
 */
#include "cuda_functions.h"

#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_SIZE = 1 << 20, FLUSH_MS = 1000 };

static const unsigned functions[] = {
#define CBID(id, name, does) id,
    AF_CUDA_FUNCTIONS(CBID)
#undef CBID
};

static void CUPTIAPI called(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *data)
{
	(void)arg, (void)domain, (void)id, (void)data;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = aligned_alloc(64, BUFFER_SIZE);
	*size = *buffer ? BUFFER_SIZE : 0;
	*max = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                              size_t valid)
{
	(void)context, (void)stream, (void)size, (void)valid;
	free(buffer);
}

/* The driver calls it as it starts. */
int InitializeInjection(void);
int InitializeInjection(void)
{
	CUpti_SubscriberHandle subscriber;
	CUptiResult rc = cuptiSubscribe(&subscriber, called, NULL);

	/* A CUPTI that is older than a function refuses its number: so it does for aflame. */
	for (unsigned i = 0; !rc && i < sizeof functions / sizeof *functions; i++)
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, functions[i]);
	if (!rc)
		rc = cuptiActivityRegisterCallbacks(request, complete);
	if (!rc)
		rc = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (!rc)
		rc = cuptiActivityFlushPeriod(FLUSH_MS);
	if (rc) {
		fprintf(stderr, "bare: CUPTI error %d\n", rc);
		return 0;
	}
	return 1;
}
