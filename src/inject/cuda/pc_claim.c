/* Lets one process of a recording sample a GPU at a time, through the session's page. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/map.h"
#include "inject/core/inject.h"
#include "inject/cuda/cuda.h"
#include "inject/cuda/pc.h"

/*
 * Two processes that sample one GPU are not refused by CUPTI: each gets samples, and every launch
 * takes a quarter of a second (13.0, on an H200). So the processes of a recording see to it.
 */

/*
 * The same in all processes, whatever CUDA_VISIBLE_DEVICES leaves them. It is 32 bits of what the
 * vendor numbers GPUs by: were those of two GPUs the same, one of them would not be sampled.
 */
static uint64_t device_hash(uint32_t ordinal)
{
	uint32_t (*ask)(uint8_t *, int) = af_cuda_driver("cuDeviceGetUuid");
	uint8_t uuid[16] = {(uint8_t)ordinal};

	if (ask)
		ask(uuid, (int)ordinal);
	return af_hash(uuid, sizeof uuid) << 32;
}

static bool is_alive(uint64_t claim)
{
	return !kill((pid_t)(uint32_t)claim, 0) || errno != ESRCH;
}

/* Somebody who still runs; a slot of one who does not is free. */
static bool is_taken(struct af_session *session, uint64_t hash)
{
	for (uint32_t i = 0; i < AF_GPUS_SAMPLED; i++) {
		uint64_t there = atomic_load(&session->gpus_sampled[i]);
		if (there && !((there ^ hash) >> 32) && is_alive(there))
			return true;
	}
	return false;
}

uint64_t af_pc_claim(uint32_t ordinal)
{
	struct af_session *session = af_inject_session();
	uint64_t hash = device_hash(ordinal), mine = hash | (uint32_t)getpid();
	int saved = errno;
	bool got = false;

	if (!session || is_taken(session, hash)) {
		errno = saved;
		return 0;
	}
	for (uint32_t i = 0; i < AF_GPUS_SAMPLED && !got; i++) {
		uint64_t there = atomic_load(&session->gpus_sampled[i]);
		if (!there || !is_alive(there))
			got =
			    atomic_compare_exchange_strong(&session->gpus_sampled[i], &there, mine);
	}
	errno = saved;
	return got ? mine : 0;
}

void af_pc_unclaim(uint64_t claim)
{
	struct af_session *session = af_inject_session();

	for (uint32_t i = 0; session && claim && i < AF_GPUS_SAMPLED; i++)
		atomic_compare_exchange_strong(&session->gpus_sampled[i], &(uint64_t){claim}, 0);
}
