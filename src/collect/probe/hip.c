/*
 * Whether HIP programs can be recorded here: AMD's runtime is loaded in a child, which also asks it
 * for devices.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "collect/probe/ask.h"
#include "collect/probe/collect.h"

/* The child's answer. */
struct hip_found {
	bool runtime, has_count;
	int status; /* of hipGetDeviceCount */
	int nr_devices, version;
	char name[32]; /* of the library */
	bool sdk;
};

static void *runtime_open(struct hip_found *f)
{
	static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
	                                    "libamdhip64.so.5", "libamdhip64.so"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		void *hip = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (!hip)
			continue;
		f->runtime = true;
		snprintf(f->name, sizeof f->name, "%s", names[i]);
		return hip;
	}
	return NULL;
}

/* The library that times kernels lies beside the runtime, or where the loader finds it. */
static bool sdk_is_there(const void *runtime)
{
	static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0",
	                                    "librocprofiler-sdk.so"};
	char path[PATH_MAX];
	Dl_info info;

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		const char *slash = dladdr(runtime, &info) ? strrchr(info.dli_fname, '/') : NULL;
		int len = slash ? (int)(slash - info.dli_fname + 1) : 0;
		snprintf(path, sizeof path, "%.*s%s", len, len ? info.dli_fname : "", names[i]);
		if (dlopen(path, RTLD_LAZY) || dlopen(names[i], RTLD_LAZY))
			return true;
	}
	return false;
}

static void hip_ask(void *answer)
{
	struct hip_found *f = answer;
	void *hip = runtime_open(f);
	int (*count)(int *) = hip ? (__typeof__(count))dlsym(hip, "hipGetDeviceCount") : NULL;
	int (*version)(int *) =
	    hip ? (__typeof__(version))dlsym(hip, "hipRuntimeGetVersion") : NULL;

	f->has_count = count != NULL;
	if (!count)
		return;
	f->sdk = sdk_is_there((const void *)count);
	f->status = count(&f->nr_devices);
	if (!f->status && version && version(&f->version))
		f->version = 0;
}

int af_hip_probe(char *words, size_t size, struct af_err *err)
{
	struct hip_found f = {0};
	int rc = af_ask(hip_ask, &f, sizeof f, "AMD's HIP runtime", "see dmesg", err);

	if (rc)
		return rc;
	f.name[sizeof f.name - 1] = 0;
	if (!f.runtime)
		return af_fail_plain(
		    err, -ENOENT,
		    "no HIP runtime (libamdhip64.so): install ROCm's hip-runtime-amd, or "
		    "apt install libamdhip64-5");
	if (!f.has_count)
		return af_fail_plain(err, -ENOTSUP,
		                     "%s is no HIP runtime: it has no hipGetDeviceCount", f.name);
	if (f.status || f.nr_devices < 1)
		return af_fail_plain(err, -ENODEV,
		                     "%s finds no device (error %d): load amdgpu, and see that "
		                     "/dev/kfd and /dev/dri/renderD* may be used (groups render, "
		                     "video)",
		                     f.name, f.status ? f.status : 100);
	snprintf(words, size, "%d device%s, %s %d.%d: calls with their arguments; %s", f.nr_devices,
	         f.nr_devices == 1 ? "" : "s", f.name, f.version / 10000000,
	         f.version / 100000 % 100,
	         f.sdk ? "kernels and copies timed by rocprofiler-sdk"
	               : "no times of kernels (install ROCm's rocprofiler-sdk)");
	return 0;
}
