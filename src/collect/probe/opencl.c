/*
 * Whether OpenCL programs can be recorded here. The loader, and above all the drivers that it
 * brings in, are looked at in a child: they may crash, hang, or write to standard output.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "collect/probe/ask.h"
#include "collect/probe/collect.h"

enum {
	PLATFORMS_MAX = 16,
	/* OpenCL 3.0 and cl_loader_info; the headers are not needed to record. */
	CL_PLATFORM_VERSION = 0x0901,
	CL_PLATFORM_NAME = 0x0902,
	CL_ICDL_VERSION = 2,
	CL_ICDL_NAME = 3,
	CL_ICDL_VENDOR = 4,
};

#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFull

/* The child's answer. */
struct opencl_found {
	bool loader, layers;
	uint32_t nr_platforms;
	uint32_t nr_devices;
	char scratch[32]; /* a directory; asked with, not answered */
	char loader_name[64];
	char platforms[256];
};

struct opencl_loader {
	void *library;
	int (*platforms)(uint32_t, void **, uint32_t *);
	int (*platform_info)(void *, uint32_t, size_t, void *, size_t *);
	int (*devices)(void *, uint64_t, uint32_t, void **, uint32_t *);
	void *(*extension)(const char *);
};

/* A loader that takes layers reads their names from this variable; its code must hold the name. */
static bool loader_takes_layers(const struct opencl_loader *l)
{
	static const char name[] = "OPENCL_LAYERS";
	struct link_map *map = NULL;
	struct af_file f;

	if (dlinfo(l->library, RTLD_DI_LINKMAP, &map) || af_file_map(&f, map->l_name, NULL))
		return false;
	bool found = f.data && memmem(f.data, f.size, name, sizeof name);
	af_file_unmap(&f);
	return found;
}

/* ocl-icd and Khronos' loader give themselves the same name. */
static void loader_name(const struct opencl_loader *l, char *name, size_t size)
{
	int (*info)(uint32_t, size_t, void *, size_t *) =
	    l->extension ? (__typeof__(info))l->extension("clGetICDLoaderInfoOCLICD") : NULL;
	char what[64] = "", version[32] = "", vendor[64] = "";

	if (!info || info(CL_ICDL_NAME, sizeof what, what, NULL) ||
	    info(CL_ICDL_VERSION, sizeof version, version, NULL) ||
	    info(CL_ICDL_VENDOR, sizeof vendor, vendor, NULL)) {
		snprintf(name, size, "OpenCL loader");
		return;
	}
	bool ocl_icd = !strncasecmp(vendor, "OCL Icd", 7);
	snprintf(name, size, "%.40s %.20s", ocl_icd ? "ocl-icd" : what, version);
}

/* "NAME VERSION, N devices" for one platform. */
static void platform_describe(const struct opencl_loader *l, void *platform, struct opencl_found *f)
{
	char name[128] = "unnamed platform", version[128] = "";
	size_t used = strlen(f->platforms);
	uint32_t nr = 0;

	l->platform_info(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
	l->platform_info(platform, CL_PLATFORM_VERSION, sizeof version, version, NULL);
	name[sizeof name - 1] = version[sizeof version - 1] = 0;
	/* "OpenCL 3.0 PoCL 3.1  Linux, LLVM …": how it was built is too much. */
	version[strcspn(version, ",")] = 0;
	char *rest = strstr(version, "  ");
	if (rest)
		*rest = 0;
	if (l->devices(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &nr))
		nr = 0;
	f->nr_devices += nr;
	snprintf(f->platforms + used, sizeof f->platforms - used, "%s%s (%s), %u device%s",
	         used ? "; " : "", name, version, nr, nr == 1 ? "" : "s");
}

static void loader_ask(struct opencl_found *f)
{
	struct opencl_loader l = {.library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL)};
	void *platforms[PLATFORMS_MAX];

	f->loader = l.library != NULL;
	if (!f->loader)
		return;
	l.platforms = (__typeof__(l.platforms))dlsym(l.library, "clGetPlatformIDs");
	l.platform_info = (__typeof__(l.platform_info))dlsym(l.library, "clGetPlatformInfo");
	l.devices = (__typeof__(l.devices))dlsym(l.library, "clGetDeviceIDs");
	l.extension = (__typeof__(l.extension))dlsym(l.library, "clGetExtensionFunctionAddress");
	f->layers = loader_takes_layers(&l);
	if (!l.platforms || !l.platform_info || !l.devices)
		return;
	if (l.platforms(PLATFORMS_MAX, platforms, &f->nr_platforms))
		f->nr_platforms = 0;
	loader_name(&l, f->loader_name, sizeof f->loader_name);
	for (uint32_t i = 0; i < f->nr_platforms && i < PLATFORMS_MAX; i++)
		platform_describe(&l, platforms[i], f);
}

static void opencl_ask(void *answer)
{
	struct opencl_found *f = answer;

	unsetenv("OPENCL_LAYERS");
	/* PoCL leaves files in its cache even when nothing is compiled. */
	setenv("POCL_CACHE_DIR", f->scratch, 1);
	loader_ask(f);
}

int af_opencl_probe(char *words, size_t size, struct af_err *err)
{
	struct opencl_found f = {0};
	/* Ours, and not what comes back from the child: it is removed. */
	char scratch[sizeof f.scratch] = "/tmp/aflame-probe-XXXXXX";

	if (!mkdtemp(scratch))
		return af_fail(err, -errno, "cannot make %s", scratch);
	memcpy(f.scratch, scratch, sizeof scratch);
	int rc =
	    af_ask(opencl_ask, &f, sizeof f, "an OpenCL driver", "see /etc/OpenCL/vendors", err);
	af_remove_tree(scratch);
	if (rc)
		return rc;
	if (!f.loader)
		return af_fail_plain(err, -ENOENT,
		                     "no OpenCL loader: apt install ocl-icd-libopencl1");
	if (!f.layers)
		return af_fail_plain(err, -ENOTSUP,
		                     "the OpenCL loader knows no layers: ocl-icd 2.3.0 or later, "
		                     "or Khronos' loader 3.0 or later, is needed");
	if (!f.nr_platforms)
		return af_fail_plain(err, -ENODEV,
		                     "no OpenCL platform: apt install pocl-opencl-icd");
	f.loader_name[sizeof f.loader_name - 1] = f.platforms[sizeof f.platforms - 1] = 0;
	snprintf(words, size, "%s, %u platform%s: %s", f.loader_name, f.nr_platforms,
	         f.nr_platforms == 1 ? "" : "s", f.platforms);
	return 0;
}
