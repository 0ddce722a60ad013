/*
 * Whether Level Zero programs can be recorded here: the loader and its drivers are started in a
 * child with the loader's tracing layer on, as in a recorded program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/probe/ask.h"
#include "collect/probe/collect.h"
#include "collect/zet/abi.h"

enum {
	DRIVERS_MAX = 16,
	DEVICES_MAX = 64,
	STYPE_TRACER_DESC = 1,
};

/* The child's answer. */
struct ze_found {
	bool loader, traces, user_refused;
	uint32_t status, tracer; /* of zeInit; of zelTracerCreate */
	uint32_t nr_devices;
	char device[128];
};

static void devices_ask(void *ze, struct ze_found *f)
{
	uint32_t (*drivers)(uint32_t *, void **) = (__typeof__(drivers))dlsym(ze, "zeDriverGet");
	uint32_t (*devices)(void *, uint32_t *, void **) =
	    (__typeof__(devices))dlsym(ze, "zeDeviceGet");
	uint32_t (*properties)(void *, struct zet_device_properties *) =
	    (__typeof__(properties))dlsym(ze, "zeDeviceGetProperties");
	void *all[DRIVERS_MAX], *of_one[DEVICES_MAX];
	uint32_t nr = 0;

	/* Drivers (22.43) do not correct a number that is larger than theirs. */
	if (!drivers || !devices || !properties || drivers(&nr, NULL))
		return;
	nr = nr < DRIVERS_MAX ? nr : DRIVERS_MAX;
	if (drivers(&nr, all))
		return;
	for (uint32_t i = 0; i < nr && i < DRIVERS_MAX; i++) {
		uint32_t nr_devices = 0;
		struct zet_device_properties p = {.is = AF_ZET_IS_DEVICE};
		if (devices(all[i], &nr_devices, NULL) || !nr_devices)
			continue;
		nr_devices = nr_devices < DEVICES_MAX ? nr_devices : DEVICES_MAX;
		if (devices(all[i], &nr_devices, of_one))
			continue;
		if (!f->nr_devices && !properties(of_one[0], &p))
			snprintf(f->device, sizeof f->device, "%.*s", (int)sizeof f->device - 1,
			         p.name);
		f->nr_devices += nr_devices;
	}
}

static void tracer_ask(void *ze, struct ze_found *f)
{
	struct {
		uint32_t stype;
		const void *next;
		void *user;
	} desc = {.stype = STYPE_TRACER_DESC};
	uint32_t (*create)(const void *, void **) =
	    (__typeof__(create))dlsym(ze, "zelTracerCreate");
	void *tracer = NULL;

	f->tracer = create ? create(&desc, &tracer) : 0;
	f->traces = create && !f->tracer;
}

static void ze_ask(void *answer)
{
	struct ze_found *f = answer;
	const char *set = getenv("ZE_ENABLE_TRACING_LAYER");

	f->user_refused = set && strcmp(set, "1");
	if (!set)
		setenv("ZE_ENABLE_TRACING_LAYER", "1", 1);
	void *ze = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	uint32_t (*init)(uint32_t) = ze ? (__typeof__(init))dlsym(ze, "zeInit") : NULL;
	f->loader = init != NULL;
	if (!init)
		return;
	f->status = init(0);
	if (f->status)
		return;
	devices_ask(ze, f);
	tracer_ask(ze, f);
}

int af_ze_probe(char *words, size_t size, struct af_err *err)
{
	struct ze_found f = {0};
	int rc = af_ask(ze_ask, &f, sizeof f, "a Level Zero driver", "see dmesg", err);

	if (rc)
		return rc;
	f.device[sizeof f.device - 1] = 0;
	if (!f.loader)
		return af_fail_plain(
		    err, -ENOENT, "no Level Zero loader (libze_loader.so.1): apt install libze1");
	if (f.status || !f.nr_devices)
		return af_fail_plain(
		    err, -ENODEV,
		    "Level Zero finds no device (error 0x%x): install its driver "
		    "(libze_intel_gpu.so.1: apt install intel-opencl-icd, or "
		    "libze-intel-gpu1), and see that /dev/dri/renderD* may be used",
		    f.status ? f.status : 0x78000001);
	if (f.user_refused)
		return af_fail_plain(
		    err, -ENOTSUP,
		    "ZE_ENABLE_TRACING_LAYER keeps the loader's tracing layer off: "
		    "unset it");
	if (!f.traces)
		return af_fail_plain(err, -ENOTSUP,
		                     "the loader's tracing layer cannot be used (error 0x%x): "
		                     "install libze_tracing_layer.so.1 of the loader's version",
		                     f.tracer);
	snprintf(words, size, "%u device%s (%s); traced by the loader's layer", f.nr_devices,
	         f.nr_devices == 1 ? "" : "s", f.device);
	return 0;
}
