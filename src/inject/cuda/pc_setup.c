/*
 * Configures CUPTI's PC sampling: buffers, the period, the mode; and puts its refusals into words.
 */
#include "inject/cuda/pc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/core/inject.h"
#include "inject/cuda/cuda.h"

#define EXPORT __attribute__((visibility("default")))

/* CUdevice_attribute */
enum { ATTRIBUTE_CLOCK_KHZ = 13, ATTRIBUTE_PROCESSORS = 16 };

enum {
	PERIOD_LEAST = 5, /* CUPTI's bounds, as powers of two */
	PERIOD_MOST = 31,
	PERIOD_BLIND = 20, /* where the driver does not tell how large the device is */
	SCRATCH_BYTES = 16 << 20,
	SLEEP_MS = 20,
	/* The device's buffer lies in the host's memory, pinned; a sample takes about 30 bytes. */
	HARDWARE_BYTES_LEAST = 64 << 20,
	HARDWARE_BYTES_MOST = 512 << 20,
	SAMPLE_BYTES = 32,
};

struct af_cupti_pc_functions af_cupti_pc;

bool af_pc_resolve(void *library, const char **missing)
{
#define AF_P(name, params)                                                                         \
	af_cupti_pc.name = (__typeof__(af_cupti_pc.name))dlsym(library, "cupti" #name);            \
	if (!af_cupti_pc.name) {                                                                   \
		*missing = "cupti" #name;                                                          \
		return false;                                                                      \
	}
	AF_CUPTI_PC_FUNCTIONS(AF_P)
#undef AF_P
	return true;
}

struct af_cupti_pc_data *af_pc_buffer(size_t nr, uint32_t nr_reasons)
{
	struct af_cupti_pc_data *data = calloc(1, sizeof *data);
	struct af_cupti_pc *pcs = calloc(nr, sizeof *pcs);
	struct af_cupti_pc_stall *stalls = calloc(nr * nr_reasons, sizeof *stalls);

	if (!data || !pcs || !stalls) {
		free(data);
		free(pcs);
		free(stalls);
		return NULL;
	}
	*data = (struct af_cupti_pc_data){.size = sizeof *data, .nr_max = nr, .pcs = pcs};
	for (size_t i = 0; i < nr; i++)
		pcs[i] = (struct af_cupti_pc){.size = sizeof *pcs,
		                              .nr_stalls = nr_reasons,
		                              .stalls = stalls + i * nr_reasons};
	return data;
}

void af_pc_buffer_empty(struct af_cupti_pc_data *data, uint32_t nr_reasons)
{
	for (size_t i = 0; i < data->nr && i < data->nr_max; i++)
		data->pcs[i].nr_stalls = nr_reasons;
	data->nr = data->nr_remaining = 0;
	data->samples = data->dropped = data->other = 0;
	data->full = 0;
}

/* Cycles of all processors of a device in a second; 0: not known. */
static double device_cycles(uint32_t ordinal)
{
	uint32_t (*ask)(int *, int, int) = af_cuda_driver("cuDeviceGetAttribute");
	int khz = 0, processors = 0;

	if (!ask || ask(&khz, ATTRIBUTE_CLOCK_KHZ, (int)ordinal) ||
	    ask(&processors, ATTRIBUTE_PROCESSORS, (int)ordinal) || khz <= 0 || processors <= 0)
		return 0;
	return 1e3 * khz * processors;
}

/* So that the device brings about as many samples as are asked for when all of it is busy. */
static uint32_t period_for(double cycles, uint64_t samples)
{
	uint32_t period = PERIOD_LEAST;

	if (cycles <= 0 || !samples)
		return PERIOD_BLIND;
	/* To the nearest: half a power of two is 1.41. */
	while (period < PERIOD_MOST && cycles / (double)(1ull << period) > 1.41 * (double)samples)
		period++;
	return period;
}

/* For a second of a device that is busy as a whole; exact ones are read after each window. */
static size_t hardware_bytes(const struct af_pc_device *d)
{
	uint64_t bytes = d->exact ? 0 : d->samples_second * SAMPLE_BYTES;

	return bytes < HARDWARE_BYTES_LEAST  ? HARDWARE_BYTES_LEAST
	       : bytes > HARDWARE_BYTES_MOST ? HARDWARE_BYTES_MOST
	                                     : bytes;
}

static enum af_cupti_result settings_apply(const struct af_pc_device *d)
{
	struct af_cupti_pc_setting s[] = {
	    {.attribute = AF_CUPTI_PC_MODE,
	     .value.number = d->exact ? AF_CUPTI_PC_SERIALIZED : AF_CUPTI_PC_CONTINUOUS},
	    {.attribute = AF_CUPTI_PC_PERIOD, .value.number = d->period},
	    {.attribute = AF_CUPTI_PC_BUFFER, .value.buffer = d->kept},
	    {.attribute = AF_CUPTI_PC_SCRATCH_BYTES, .value.bytes = SCRATCH_BYTES},
	    {.attribute = AF_CUPTI_PC_HARDWARE_BYTES, .value.bytes = hardware_bytes(d)},
	    {.attribute = AF_CUPTI_PC_SLEEP_MS, .value.number = SLEEP_MS},
	    {.attribute = AF_CUPTI_PC_START_STOP, .value.number = d->by_windows},
	};
	struct af_cupti_pc_settings all = {sizeof all, NULL, d->context, sizeof s / sizeof *s, s};

	return af_cupti_pc.PCSamplingSetConfigurationAttribute(&all);
}

static const char *refusal_fix(uint32_t rc)
{
	switch (rc) {
	case AF_CUPTI_PRIVILEGES:
		return "only root may (in a container: --cap-add SYS_ADMIN), or everybody with "
		       "the driver option NVreg_RestrictProfilingToAdminUsers=0 "
		       "(ERR_NVGPUCTRPERM)";
	case AF_CUPTI_HARDWARE_BUSY:
		return "another profiler samples this GPU: pause DCGM (dcgmi profmon --pause), "
		       "end ncu, nsys or the other aflame";
	case AF_CUPTI_MIG_DEVICE:
		return "a slice of a GPU (MIG) cannot be sampled: use a GPU without MIG";
	case AF_CUPTI_VIRTUALIZED:
	case AF_CUPTI_VIRTUAL_PRIVILEGES:
		return "the hypervisor must allow profiling of its virtual GPUs";
	case AF_CUPTI_CONFIDENTIAL:
		return "not while confidential computing protects the GPU";
	case AF_CUPTI_NOT_SUPPORTED:
		return "this GPU, or its mode (MIG, vGPU), cannot be sampled: Turing and later "
		       "can";
	case AF_CUPTI_OUT_OF_MEMORY:
		return "there is no memory for it: give fewer samples a second";
	default:
		return "CUPTI fails at it";
	}
}

void af_pc_refusal(uint32_t rc, const char *what, char *words, size_t size)
{
	const char *text = NULL;

	if (af_cupti.GetResultString(rc, &text) || !text)
		text = "unknown error";
	snprintf(words, size, "%s (%s from %s)", refusal_fix(rc), text, what);
}

uint32_t af_pc_disable(struct af_pc_device *d)
{
	struct af_cupti_pc_context c = {sizeof c, NULL, atomic_exchange(&d->enabled, NULL)};

	return c.context ? af_cupti_pc.PCSamplingDisable(&c) : 0;
}

uint32_t af_pc_start(struct af_pc_device *d)
{
	struct af_cupti_pc_context c = {sizeof c, NULL, d->context};

	return af_cupti_pc.PCSamplingStart(&c);
}

uint32_t af_pc_stop(struct af_pc_device *d)
{
	struct af_cupti_pc_context c = {sizeof c, NULL, d->context};

	return af_cupti_pc.PCSamplingStop(&c);
}

static bool buffers_make(struct af_pc_device *d)
{
	if (!d->data)
		d->data = af_pc_buffer(AF_PC_INSTRUCTIONS, d->nr_reasons);
	if (!d->kept)
		d->kept = af_pc_buffer(d->exact ? AF_PC_KEPT_EXACT : AF_PC_KEPT, d->nr_reasons);
	return d->data && d->kept;
}

/* The steps after Enable. */
static bool enabled_set_up(struct af_pc_device *d, char *words, size_t size)
{
	if (!d->nr_reasons && !af_pc_reasons_define(d)) {
		snprintf(words, size, "CUPTI does not list its stall reasons");
		return false;
	}
	if (!buffers_make(d)) {
		snprintf(words, size, "no memory for what is read");
		return false;
	}
	uint32_t rc = settings_apply(d);
	if (rc)
		af_pc_refusal(rc, "cuptiPCSamplingSetConfigurationAttribute", words, size);
	return !rc;
}

bool af_pc_enable(struct af_pc_device *d, char *words, size_t size)
{
	struct af_cupti_pc_context c = {sizeof c, NULL, d->context};

	if (!d->period)
		d->period = period_for(device_cycles(d->ordinal), d->samples_second);
	uint32_t rc = af_cupti_pc.PCSamplingEnable(&c);
	if (rc) {
		af_pc_refusal(rc, "cuptiPCSamplingEnable", words, size);
		return false;
	}
	atomic_store(&d->enabled, d->context);
	if (enabled_set_up(d, words, size))
		return true;
	af_pc_disable(d);
	return false;
}

static bool probe_context(void *context, char *words, size_t size)
{
	struct af_cupti_pc_context c = {sizeof c, NULL, context};
	size_t nr = 0;
	struct af_cupti_pc_nr_reasons count = {sizeof count, NULL, context, &nr};
	uint32_t rc = af_cupti_pc.PCSamplingEnable(&c);

	if (rc) {
		af_pc_refusal(rc, "cuptiPCSamplingEnable", words, size);
		return false;
	}
	rc = af_cupti_pc.PCSamplingGetNumStallReasons(&count);
	af_cupti_pc.PCSamplingDisable(&c);
	if (rc)
		af_pc_refusal(rc, "cuptiPCSamplingGetNumStallReasons", words, size);
	else
		snprintf(words, size, "the first GPU tells %zu reasons to stall", nr);
	return !rc;
}

/*
 * For `aflame doctor`, in a child of its own where aflame_cuda_probe found CUPTI to work (and left
 * it resolved): would GPUs be sampled? Tries it in a context of the first one.
 */
EXPORT int aflame_cuda_pc_probe(char *words, size_t size);
int aflame_cuda_pc_probe(char *words, size_t size)
{
	const char *missing = "";
	void *context = NULL;
	uint32_t (*retain)(void **, int) = af_cuda_driver("cuDevicePrimaryCtxRetain");
	uint32_t (*release)(int) = af_cuda_driver("cuDevicePrimaryCtxRelease_v2");
	uint32_t rc;

	if (!af_pc_resolve(af_cuda_library(), &missing)) {
		snprintf(words, size, "this CUPTI has no %s", missing);
		return 0;
	}
	if (!retain || !release)
		return 0;
	rc = retain(&context, 0);
	if (rc) {
		snprintf(words, size, "no context can be made on the first GPU (CUDA error %u)",
		         rc);
		return 0;
	}
	bool works = probe_context(context, words, size);
	release(0);
	return works;
}
