#include "base/system/threads.h"

#include <sched.h>
#include <stdlib.h>

uint32_t af_threads_allowed(void)
{
	const char *text = getenv("AFLAME_JOBS");
	char *end = NULL;
	unsigned long nr = text ? strtoul(text, &end, 10) : 0;
	cpu_set_t set;

	if (!nr || *end)
		nr = sched_getaffinity(0, sizeof set, &set) ? 1 : (unsigned long)CPU_COUNT(&set);
	return nr < 1 ? 1 : nr < AF_THREADS_MOST ? (uint32_t)nr : AF_THREADS_MOST;
}
