/* Finds and loads the libcupti that fits the driver and the program. */
#include "inject/cuda/cuda.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Two copies of CUPTI in one process do not go together: whichever the program loads, or would load
 * later, is the one to take. PyTorch, JAX and CuPy bring theirs as packages beside them, so those
 * come before the machine's own toolkit.
 */

struct search {
	void *found;
	char path[PATH_MAX];     /* of it */
	char tried[PATH_MAX];    /* the last one that was there and could not be loaded */
	char packages[PATH_MAX]; /* …/site-packages of the running Python, or "" */
};

static bool search_take(struct search *s, const char *path, int flags)
{
	s->found = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
	if (!s->found)
		return false;
	snprintf(s->path, sizeof s->path, "%s", path);
	struct link_map *map = NULL;
	if (!dlinfo(s->found, RTLD_DI_LINKMAP, &map) && map && *map->l_name)
		snprintf(s->path, sizeof s->path, "%s", map->l_name);
	return true;
}

/*
 * dlopen's message is kept for files that exist: a library that lacks another is worth reporting.
 */
static bool search_file(struct search *s, const char *format, const char *where, int major)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof path, format, where, major) >= sizeof path ||
	    access(path, R_OK))
		return false;
	if (search_take(s, path, 0))
		return true;
	const char *why = dlerror();
	snprintf(s->tried, sizeof s->tried, "%.4000s", why ? why : path);
	return false;
}

static bool is_cupti(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "libcupti.so", 11);
}

/* One of the mapped libraries; also learns where Python's packages are. */
static int search_mapped(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
	struct search *s = arg;
	(void)size;

	if (!info->dlpi_name)
		return 0;
	if (is_cupti(info->dlpi_name))
		snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
	for (unsigned i = 0; i < 2 && !*s->packages; i++) {
		const char *at = strstr(info->dlpi_name, folders[i]);
		if (at)
			snprintf(s->packages, sizeof s->packages, "%.*s",
			         (int)(at - info->dlpi_name) + (int)strlen(folders[i]) - 1,
			         info->dlpi_name);
	}
	return 0;
}

/* NVIDIA's packages: one folder for all since 13, before that one for each library. */
static bool search_packages(struct search *s, int major)
{
	if (!*s->packages)
		return false;
	if (major >= 13)
		return search_file(s, "%s/nvidia/cu13/lib/libcupti.so.%d", s->packages, major);
	return search_file(s, "%s/nvidia/cuda_cupti/lib/libcupti.so.%d", s->packages, major);
}

static bool search_loader(struct search *s, int major)
{
	char name[32];

	snprintf(name, sizeof name, "libcupti.so.%d", major);
	return search_take(s, name, 0);
}

static bool search_toolkit(struct search *s, const char *home, int major)
{
	return home && *home &&
	       (search_file(s, "%s/extras/CUPTI/lib64/libcupti.so.%d", home, major) ||
	        search_file(s, "%s/lib64/libcupti.so.%d", home, major) ||
	        search_file(s, "%s/targets/x86_64-linux/lib/libcupti.so.%d", home, major));
}

static bool search_local(struct search *s, int major)
{
	char home[300];
	struct dirent *e;
	bool found = false;
	DIR *dir = opendir("/usr/local");

	while (dir && !found && (e = readdir(dir))) {
		if (strncmp(e->d_name, "cuda", 4))
			continue;
		snprintf(home, sizeof home, "/usr/local/%s", e->d_name);
		found = search_toolkit(s, home, major);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool search_major(struct search *s, int major)
{
	return search_packages(s, major) || search_loader(s, major) ||
	       search_toolkit(s, getenv("CUDA_HOME"), major) ||
	       search_toolkit(s, getenv("CUDA_PATH"), major) || search_local(s, major);
}

void *af_cuda_find(int driver_version, char *words, size_t size)
{
	struct search s = {0};
	int driver = driver_version / 1000;

	dl_iterate_phdr(search_mapped, &s);
	if (*s.path && search_take(&s, s.path, RTLD_NOLOAD)) {
		snprintf(words, size, "%s", s.path);
		return s.found;
	}
	/* The driver's own, then older ones, which it serves as well. */
	for (int major = driver < AF_CUPTI_LAST_MAJOR ? driver : AF_CUPTI_LAST_MAJOR;
	     major >= 12 && !s.found; major--)
		search_major(&s, major);
	if (s.found)
		snprintf(words, size, "%s", s.path);
	else if (*s.tried)
		snprintf(words, size, "CUPTI cannot be loaded: %.300s", s.tried);
	else
		snprintf(words, size,
		         "no libcupti.so.%d: pip install nvidia-cuda-cupti, or set CUDA_HOME to a "
		         "CUDA toolkit",
		         driver);
	return s.found;
}

bool af_cuda_resolve(void *library, char *words, size_t size)
{
	uint32_t version = 0;

#define AF_P(name, params)                                                                         \
	af_cupti.name = (__typeof__(af_cupti.name))dlsym(library, "cupti" #name);                  \
	if (!af_cupti.name) {                                                                      \
		snprintf(words, size, "CUPTI lacks cupti" #name ": 12.4 or later is needed");      \
		return false;                                                                      \
	}
	AF_CUPTI_FUNCTIONS(AF_P)
#undef AF_P
	if (af_cupti.GetVersion(&version) || version < AF_CUPTI_12_4) {
		snprintf(words, size, "CUPTI is older than 12.4: install that of the driver");
		return false;
	}
	if (version >= (AF_CUPTI_LAST_MAJOR + 1) * 10000u) {
		snprintf(words, size, "CUPTI %u is newer than this aflame knows (13.x)",
		         version / 10000);
		return false;
	}
	return true;
}
