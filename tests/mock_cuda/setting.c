/* Shared by the mocks of the driver and of CUPTI: the environment, and the clock. */
#include "mock_cuda.h"

#include <stdlib.h>
#include <time.h>

uint64_t mock_setting(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

uint64_t mock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
