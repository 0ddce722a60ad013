#include "inject/cuda/pc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/system/clock.h"
#include "inject/core/inject.h"
#include "inject/cuda/cuda.h"

enum {
	READ_MS = 250,
	EXACT_MS = 20, /* exact: so long of each so many kernels run one after the other */
	EXACT_EVERY_MS = 200,
	EXACT_READ_MS = 50, /* there is not room for the instructions of many kernels */
	AGAIN_MS = 5,
	OFF_TRIES = 100,
	LOCK_MS = 200,  /* what a callback waits at most */
	QUIET_MS = 300, /* nothing is read beside modules that go, or have just gone */
};

static struct {
	pthread_mutex_t lock; /* of the devices, and of reading */
	struct af_pc_device devices[AF_PC_DEVICES_MAX];
	_Atomic uint32_t on; /* asked for, and this CUPTI has it */
	_Atomic uint32_t nr; /* devices that are sampled */
	_Atomic uint64_t quiet_until_ns;
	_Atomic uint64_t next_ns; /* when the thread reads */
	bool exact, whole, reported_second;
} pc = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool pc_lock(void)
{
	struct timespec until = af_clock_after(CLOCK_REALTIME, LOCK_MS * 1000000ul);

	return !pthread_mutex_timedlock(&pc.lock, &until);
}

static void pc_unlock(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < AF_PC_DEVICES_MAX; i++)
		nr += pc.devices[i].context != NULL;
	atomic_store(&pc.nr, nr);
	pthread_mutex_unlock(&pc.lock);
}

bool af_cuda_pc_start(void *library)
{
	const struct af_session *session = af_inject_session();
	const char *missing = "";
	char words[100];

	if (!session || !(session->flags & AF_SESSION_GPU_SAMPLES))
		return false;
	if (!af_pc_resolve(library, &missing)) {
		snprintf(words, sizeof words, "no samples: this CUPTI has no %s", missing);
		af_inject_note("cuda.samples", words);
		return false;
	}
	pc.exact = session->flags & AF_SESSION_GPU_EXACT;
	const char *how = getenv("AFLAME_GPU_EXACT");
	pc.whole = how && !strcmp(how, "whole");
	atomic_store(&pc.on, 1);
	return true;
}

static struct af_pc_device *device_of(const void *context)
{
	for (uint32_t i = 0; context && i < AF_PC_DEVICES_MAX; i++)
		if (pc.devices[i].context == context)
			return &pc.devices[i];
	return NULL;
}

void af_cuda_pc_context(void *context)
{
	uint32_t ordinal = 0;

	if (!atomic_load(&pc.on) || af_cupti.GetDeviceId(context, &ordinal) ||
	    ordinal >= AF_PC_DEVICES_MAX || !pc_lock())
		return;
	struct af_pc_device *d = &pc.devices[ordinal];
	d->device = af_cuda_device(ordinal);
	d->ordinal = ordinal;
	d->exact = pc.exact;
	d->by_windows = pc.exact && !pc.whole;
	if (d->context && !pc.reported_second) {
		pc.reported_second = true;
		af_inject_note("cuda.samples", "of one context of a device only, the first: CUPTI "
		                               "samples one at a time");
	}
	if (!d->context && !d->is_broken && atomic_load(&pc.on)) {
		af_pc_begin(d, context);
		atomic_store(&pc.next_ns, af_now_ns() + READ_MS * 1000000ull);
	}
	pc_unlock();
}

/* CUPTI takes down what goes with it. */
void af_cuda_pc_context_gone(void *context)
{
	for (uint32_t i = 0; i < AF_PC_DEVICES_MAX; i++) {
		void *there = context;
		atomic_compare_exchange_strong(&pc.devices[i].enabled, &there, NULL);
	}
}

void af_cuda_pc_context_ends(void *context)
{
	if (!atomic_load(&pc.nr) || !pc_lock())
		return;
	struct af_pc_device *d = device_of(context);
	if (d)
		af_pc_end(d);
	pc_unlock();
}

void af_cuda_pc_module(uint32_t program, const struct af_cupti_module *m)
{
	struct af_cupti_cubin_crc c = {sizeof c, m->size, m->cubin, 0};

	if (atomic_load(&pc.on) && !af_cupti_pc.GetCubinCrc(&c))
		af_pc_crc_define(program, c.crc);
}

void af_cuda_pc_module_ends(void *context)
{
	if (!atomic_load(&pc.nr) || !pc_lock())
		return;
	struct af_pc_device *d = device_of(context);
	if (d) {
		atomic_store(&pc.quiet_until_ns, af_now_ns() + QUIET_MS * 1000000ull);
		af_pc_kept_read(d);
		af_pc_read(d);
	}
	pc_unlock();
}

static void all_read(void)
{
	for (uint32_t i = 0; i < AF_PC_DEVICES_MAX; i++)
		if (pc.devices[i].context)
			af_pc_read(&pc.devices[i]);
}

/* Milliseconds until the next time. */
static uint32_t device_turn(struct af_pc_device *d)
{
	if (d->by_windows && !af_pc_window_turn(d))
		return AGAIN_MS;
	if (d->by_windows)
		return d->in_window ? EXACT_MS : EXACT_EVERY_MS - EXACT_MS;
	/* A module that has just gone was read before. */
	if (af_now_ns() >= atomic_load(&pc.quiet_until_ns))
		af_pc_read(d);
	return d->exact ? EXACT_READ_MS : READ_MS;
}

static uint32_t all_turn(void)
{
	uint32_t least = READ_MS;

	for (uint32_t i = 0; i < AF_PC_DEVICES_MAX; i++) {
		struct af_pc_device *d = &pc.devices[i];
		if (!d->context)
			continue;
		uint32_t ms = device_turn(d);
		least = ms < least ? ms : least;
		if (d->context)
			af_pc_adapt(d);
	}
	return least;
}

uint32_t af_cuda_pc_interval_ms(void)
{
	uint64_t now_ns = af_now_ns(), next_ns = atomic_load(&pc.next_ns);

	if (!atomic_load(&pc.nr))
		return 0;
	return next_ns > now_ns ? (uint32_t)((next_ns - now_ns) / 1000000) + 1 : 1;
}

void af_cuda_pc_read(void)
{
	uint64_t now_ns = af_now_ns();

	if (!atomic_load(&pc.nr) || now_ns < atomic_load(&pc.next_ns))
		return;
	pthread_mutex_lock(&pc.lock);
	atomic_store(&pc.next_ns, now_ns + all_turn() * 1000000ull);
	pc_unlock();
}

/* The process is about to become another program. */
void af_cuda_pc_read_now(void)
{
	if (!atomic_load(&pc.nr))
		return;
	pthread_mutex_lock(&pc.lock);
	all_read();
	pc_unlock();
}

void af_cuda_pc_off(void)
{
	if (!af_pc_gate_is_used())
		return;
	for (int tries = 0; tries < OFF_TRIES; tries++) {
		if (!af_pc_gate_close())
			continue;
		for (uint32_t i = 0; i < AF_PC_DEVICES_MAX; i++)
			af_pc_disable(&pc.devices[i]);
		af_pc_gate_open();
		return;
	}
}

void af_cuda_pc_last(void)
{
	if (!atomic_exchange(&pc.on, 0) || !atomic_load(&pc.nr))
		return;
	pthread_mutex_lock(&pc.lock);
	for (uint32_t i = 0; i < AF_PC_DEVICES_MAX; i++)
		if (pc.devices[i].context)
			af_pc_end(&pc.devices[i]);
	pc_unlock();
}
