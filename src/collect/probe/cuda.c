/*
 * Whether CUDA programs can be recorded here: the driver is started in a child, and there the
 * library that would be in the program says what it would do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "collect/probe/ask.h"
#include "collect/probe/collect.h"

/* The child's answer. */
struct cuda_found {
	bool want_samples; /* asked */
	bool driver, library, works, samples;
	int status; /* CUresult of cuInit */
	int nr_devices;
	char device[128];
	char words[400], sampling[400];
};

static const char *library_path = "libaflame.so";

void af_collect_library(const char *path)
{
	library_path = path;
}

static void devices_ask(void *cuda, struct cuda_found *f)
{
	int (*count)(int *) = (__typeof__(count))dlsym(cuda, "cuDeviceGetCount");
	int (*name)(char *, int, int) = (__typeof__(name))dlsym(cuda, "cuDeviceGetName");

	if (count && count(&f->nr_devices))
		f->nr_devices = 0;
	if (f->nr_devices && name)
		name(f->device, sizeof f->device - 1, 0);
}

static void cuda_ask(void *answer)
{
	struct cuda_found *f = answer;
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(unsigned) = cuda ? (__typeof__(init))dlsym(cuda, "cuInit") : NULL;

	f->driver = init != NULL;
	if (!init)
		return;
	f->status = init(0);
	if (f->status)
		return;
	devices_ask(cuda, f);
	void *ours = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
	int (*probe)(char *, size_t) =
	    ours ? (__typeof__(probe))dlsym(ours, "aflame_cuda_probe") : NULL;
	f->library = probe != NULL;
	f->works = probe && probe(f->words, sizeof f->words);
	int (*samples)(char *, size_t) =
	    f->works && f->want_samples ? (__typeof__(samples))dlsym(ours, "aflame_cuda_pc_probe")
					: NULL;
	f->samples = samples && samples(f->sampling, sizeof f->sampling);
}

static int cuda_found(struct cuda_found *f, struct af_err *err)
{
	int rc = af_ask(cuda_ask, f, sizeof *f, "the NVIDIA driver", "see dmesg, nvidia-smi", err);

	if (rc)
		return rc;
	if (!f->driver)
		return af_fail_plain(err, -ENOENT,
		                     "no NVIDIA driver (libcuda.so.1): install it, or give the "
		                     "container its GPUs (--gpus all)");
	if (f->status || !f->nr_devices)
		return af_fail_plain(err, -ENODEV,
		                     "the NVIDIA driver finds no GPU (CUDA error %d): see "
		                     "nvidia-smi; in a container give --gpus all",
		                     f->status ? f->status : 100);
	if (!f->library)
		return af_fail_plain(err, -ENOENT, "cannot load %s", library_path);
	f->words[sizeof f->words - 1] = f->device[sizeof f->device - 1] = 0;
	f->sampling[sizeof f->sampling - 1] = 0;
	return f->works ? 0 : af_fail_plain(err, -ENOTSUP, "%s", f->words);
}

int af_cuda_probe(char *words, size_t size, struct af_err *err)
{
	struct cuda_found f = {0};
	int rc = cuda_found(&f, err);

	if (!rc)
		snprintf(words, size, "%d device%s (%s); %s", f.nr_devices,
		         f.nr_devices == 1 ? "" : "s", f.device, f.words);
	return rc;
}

int af_cuda_pc_probe(char *words, size_t size, struct af_err *err)
{
	struct cuda_found f = {.want_samples = true};
	int rc = cuda_found(&f, err);

	if (!rc && !f.samples)
		rc = af_fail_plain(err, -ENOTSUP, "%s", f.sampling);
	if (!rc)
		snprintf(words, size, "%s", f.sampling);
	return rc;
}
