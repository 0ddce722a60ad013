/*
 * The SDK hands records over when a buffer is full. So that what is in a buffer is in the trace
 * within a second, a thread of our own asks for it, and reads the clocks.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "inject/api/api.h"
#include "inject/core/inject.h"
#include "inject/rocm/rocm.h"
#include "inject/sampler/exec.h"
#include "inject/sampler/starts.h"

static struct {
	pthread_mutex_t lock; /* while the SDK is asked */
	uint64_t buffer;
	bool ended;
} fetcher = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool fetch(bool last)
{
	pthread_mutex_lock(&fetcher.lock);
	bool asks = !fetcher.ended && af_rocm_is_on();
	if (asks) {
		af_rocm_sdk.flush_buffer(fetcher.buffer);
		af_rocm_clocks_write();
	}
	fetcher.ended |= last;
	pthread_mutex_unlock(&fetcher.lock);
	return asks;
}

static void *fetcher_run(void *arg)
{
	const struct timespec wait = {.tv_sec = AF_SESSION_FLUSH_MS / 1000,
	                              .tv_nsec = AF_SESSION_FLUSH_MS % 1000 * 1000000L};

	(void)arg;
	af_api_mute();
	prctl(PR_SET_NAME, "aflame");
	do
		nanosleep(&wait, NULL);
	while (fetch(false));
	return NULL;
}

/* Work that is not in the trace now will not come: the process ends, or the SDK has ended. */
void af_rocm_last(void)
{
	if (af_rocm_is_on() && fetch(true))
		af_rocm_works_end();
}

/* Another program takes this one's place, unless that fails. */
static void fetch_before_exec(void)
{
	if (af_rocm_is_on() && !af_inject_in_vfork_child())
		fetch(false);
}

void af_rocm_thread_start(uint64_t buffer)
{
	fetcher.buffer = buffer;
	(void)af_starts_own(fetcher_run);
	(void)!at_quick_exit(af_rocm_last);
	af_exit_await(af_rocm_last);
	af_exec_await(fetch_before_exec);
}
