/* Another tool of rocprofiler-sdk's, a mock: it counts records, and prints how many at the end. */
#include <stdio.h>

#include "mock_sdk.h"

mock_configure rocprofiler_configure;

static uint64_t buffer, nr, nr_numbered;

static void full(uint64_t context, uint64_t which, struct mock_header **headers, size_t count,
                 void *data, uint64_t drop_count)
{
	(void)context, (void)which, (void)data, (void)drop_count;
	nr += count;
	for (size_t i = 0; i < count; i++)
		nr_numbered += ((struct mock_copy *)headers[i]->payload)->external_id != 0;
}

static int initialize(void (*end)(struct mock_client), void *data)
{
	uint64_t context;

	(void)end, (void)data;
	return rocprofiler_create_context(&context) ||
	       rocprofiler_create_buffer(context, 65536, 32768, 1, full, NULL, &buffer) ||
	       rocprofiler_configure_buffer_tracing_service(context, 10, NULL, 0, buffer) ||
	       rocprofiler_configure_buffer_tracing_service(context, 11, NULL, 0, buffer) ||
	       rocprofiler_start_context(context);
}

static void finalize(void *data)
{
	(void)data;
	rocprofiler_flush_buffer(buffer);
	printf("tool %llu %llu\n", (unsigned long long)nr, (unsigned long long)nr_numbered);
}

struct mock_tool *rocprofiler_configure(uint32_t version, const char *words, uint32_t priority,
                                        struct mock_client *client)
{
	static struct mock_tool tool = {
	    .size = sizeof tool, .initialize = initialize, .finalize = finalize};

	(void)version, (void)words, (void)priority;
	client->name = "mock";
	return &tool;
}
