/*
 * A way of our own to see CUDA calls, for tests/bench/api_ways: preloaded, it interposes dlsym and
 * dlvsym, hands out wrappers in place of a few functions of the driver, also from what
 * cuGetProcAddress returns, and exports the same names for programs that are linked with -lcuda or
 * with the shared runtime. A wrapper counts and calls the real function.
 *
 *	API_WAYS_CLOCK=1   wrappers read the clock before and after the call
 *	API_WAYS_REPORT=1  at the end: which module asked for the driver's functions, by which way
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* The ways to a function of the driver: each has wrappers of its own, as the pointers differ. */
enum way { LINKED, DLSYM, DLVSYM, PROC, WAYS };
static const char *const way_names[WAYS] = {"linked", "dlsym", "dlvsym", "cuGetProcAddress"};

enum domain { DRIVER, RUNTIME, DOMAINS };

struct dim3 {
	unsigned x, y, z;
};

#define DRIVER_FUNCTIONS(F)                                                                        \
	F(cuCtxGetCurrent, (void **context), (context))                                            \
	F(cuLaunchKernel,                                                                          \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,        \
	   unsigned bz, unsigned shared, void *stream, void **params, void **extra),               \
	  (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra))                       \
	F(cuLaunchKernelEx, (const void *config, void *function, void **params, void **extra),     \
	  (config, function, params, extra))                                                       \
	F(cuGraphLaunch, (void *exec, void *stream), (exec, stream))

#define RUNTIME_FUNCTIONS(F)                                                                       \
	F(cudaGetDevice, (int *device), (device))                                                  \
	F(cudaLaunchKernel,                                                                        \
	  (const void *function, struct dim3 grid, struct dim3 block, void **params,               \
	   size_t shared, void *stream),                                                           \
	  (function, grid, block, params, shared, stream))                                         \
	F(cudaLaunchKernelExC, (const void *config, const void *function, void **params),          \
	  (config, function, params))                                                              \
	F(cudaGraphLaunch, (void *exec, void *stream), (exec, stream))

static uint64_t seen[DOMAINS], launches[DOMAINS], clock_sum;
static int clocks, report;

/* Not exact where threads meet, and without the price of a locked instruction. */
static inline void count(uint64_t *n)
{
	__atomic_store_n(n, __atomic_load_n(n, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the real dlsym and dlvsym, by the tables of libc */

struct wanted {
	const char *name;
	void *found;
};

static int object_search(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Dyn) *d = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const uint32_t *hash = NULL;
	struct wanted *w = arg;
	(void)size;

	if (!strstr(info->dlpi_name, "/libc.so.6") && !strstr(info->dlpi_name, "/libdl.so.2"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			names = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			hash = (const void *)d->d_un.d_ptr;
	}
	if (!symbols || !names || !hash)
		return 0;
	const uint32_t *buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + hash[0];
	for (uint32_t b = 0; b < hash[0]; b++)
		for (uint32_t i = buckets[b]; i >= hash[1]; i++) {
			if (symbols[i].st_value && !strcmp(names + symbols[i].st_name, w->name)) {
				w->found = (void *)(info->dlpi_addr + symbols[i].st_value);
				return 1;
			}
			if (chain[i - hash[1]] & 1)
				break;
		}
	return 0;
}

static void *libc_function(const char *name)
{
	struct wanted w = {name, NULL};

	dl_iterate_phdr(object_search, &w);
	if (!w.found)
		abort();
	return w.found;
}

static void *(*real_dlsym)(void *, const char *);
static void *(*real_dlvsym)(void *, const char *, const char *);

/* Other libraries may look symbols up before our constructor has run. */
static void reals_find(void)
{
	if (!real_dlvsym)
		real_dlvsym = (__typeof__(real_dlvsym))libc_function("dlvsym");
	if (!real_dlsym)
		real_dlsym = (__typeof__(real_dlsym))libc_function("dlsym");
}

static void *next(const char *name)
{
	reals_find();
	void *function = real_dlsym(RTLD_NEXT, name);
	if (!function) {
		fprintf(stderr, "api_ways: no real %s\n", name);
		abort();
	}
	return function;
}

/* ---- the wrappers */

#define WRAPPED(domain, is_launch, call)                                                           \
	do {                                                                                       \
		uint64_t begin_ns = 0;                                                             \
		count(&seen[domain]);                                                              \
		if (is_launch)                                                                     \
			count(&launches[domain]);                                                  \
		if (clocks)                                                                        \
			begin_ns = now_ns();                                                       \
		uint32_t rc_ = call;                                                               \
		if (clocks)                                                                        \
			clock_sum += now_ns() - begin_ns;                                          \
		return rc_;                                                                        \
	} while (0)

#define IS_LAUNCH(name) (strstr(#name, "Launch") != NULL)

/* One instance for each way but the linked one, which finds its real function at the first call. */
#define INSTANCE(name, way, params, words)                                                         \
	static uint32_t(*real_##way##_##name) params;                                              \
	static uint32_t way##_##name params                                                        \
	{                                                                                          \
		WRAPPED(DRIVER, IS_LAUNCH(name), real_##way##_##name words);                       \
	}

#define EXPORTED(name, domain, params, words)                                                      \
	EXPORT uint32_t name params;                                                               \
	EXPORT uint32_t name params                                                                \
	{                                                                                          \
		static uint32_t(*real) params;                                                     \
		if (__builtin_expect(!real, 0))                                                    \
			real = (__typeof__(real))next(#name);                                      \
		WRAPPED(domain, IS_LAUNCH(name), real words);                                      \
	}

#define F(name, params, words)                                                                     \
	INSTANCE(name, DLSYM, params, words)                                                       \
	INSTANCE(name, DLVSYM, params, words)                                                      \
	INSTANCE(name, PROC, params, words)                                                        \
	EXPORTED(name, DRIVER, params, words)
DRIVER_FUNCTIONS(F)
#undef F
#define F(name, params, words) EXPORTED(name, RUNTIME, params, words)
RUNTIME_FUNCTIONS(F)
#undef F

static const struct row {
	const char *name;
	void *exported, *wrapper[WAYS], **real[WAYS];
} rows[] = {
#define F(name, params, words)                                                                     \
	{#name,                                                                                    \
	 (void *)name,                                                                             \
	 {NULL, (void *)DLSYM_##name, (void *)DLVSYM_##name, (void *)PROC_##name},                 \
	 {NULL, (void **)&real_DLSYM_##name, (void **)&real_DLVSYM_##name,                         \
	  (void **)&real_PROC_##name}},
    DRIVER_FUNCTIONS(F)
#undef F
};

enum { ROWS = sizeof rows / sizeof *rows };

static uint64_t conflicts;

/* The wrapper of @function; itself where none fits, as where a second copy of it is handed out. */
static void *wrap(const char *name, void *function, enum way way)
{
	for (int i = 0; i < ROWS; i++) {
		if (!function || strcmp(rows[i].name, name))
			continue;
		if (function == rows[i].exported)
			function = real_dlsym(RTLD_NEXT, name);
		if (*rows[i].real[way] && *rows[i].real[way] != function) {
			conflicts++;
			return function;
		}
		*rows[i].real[way] = function;
		return function ? rows[i].wrapper[way] : NULL;
	}
	return function;
}

/* ---- who asks */

static struct ask {
	char module[64];
	enum way way;
	unsigned nr;
	char first[32], last[32];
} asks[256];
static unsigned nr_asks;
static pthread_mutex_t asks_lock = PTHREAD_MUTEX_INITIALIZER;

static void asked(void *caller, enum way way, const char *name)
{
	Dl_info info;
	const char *path = dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "?";
	const char *slash = strrchr(path, '/'), *module = slash ? slash + 1 : path;
	unsigned i = 0;

	pthread_mutex_lock(&asks_lock);
	while (i < nr_asks && (asks[i].way != way || strncmp(asks[i].module, module, 63)))
		i++;
	if (i < sizeof asks / sizeof *asks) {
		struct ask *a = &asks[i];
		a->way = way;
		snprintf(a->module, sizeof a->module, "%s", module);
		if (i == nr_asks) {
			nr_asks++;
			snprintf(a->first, sizeof a->first, "%s", name);
		}
		snprintf(a->last, sizeof a->last, "%s", name);
		a->nr++;
	}
	pthread_mutex_unlock(&asks_lock);
}

static int is_driver_name(const char *name)
{
	return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* ---- cuGetProcAddress */

static uint32_t (*real_get)(const char *, void **, int, uint64_t);
static uint32_t (*real_get_v2)(const char *, void **, int, uint64_t, void *);
static uint32_t get(const char *name, void **function, int version, uint64_t flags);
static uint32_t get_v2(const char *name, void **function, int version, uint64_t flags,
                       void *status);

/* cuGetProcAddress itself, which is also had from cuGetProcAddress. */
static void *wrap_any(const char *name, void *function, enum way way, int version)
{
	int is_get = !strcmp(name, "cuGetProcAddress");

	if (function && (!strcmp(name, "cuGetProcAddress_v2") || (is_get && version >= 12000))) {
		real_get_v2 = (__typeof__(real_get_v2))function;
		return (void *)get_v2;
	}
	if (function && is_get) {
		real_get = (__typeof__(real_get))function;
		return (void *)get;
	}
	return wrap(name, function, way);
}

static uint32_t get(const char *name, void **function, int version, uint64_t flags)
{
	uint32_t rc = real_get(name, function, version, flags);

	asked(__builtin_return_address(0), PROC, name);
	if (!rc && function)
		*function = wrap_any(name, *function, PROC, version);
	return rc;
}

static uint32_t get_v2(const char *name, void **function, int version, uint64_t flags, void *status)
{
	uint32_t rc = real_get_v2(name, function, version, flags, status);

	asked(__builtin_return_address(0), PROC, name);
	if (!rc && function)
		*function = wrap_any(name, *function, PROC, version);
	return rc;
}

EXPORT uint32_t cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
EXPORT uint32_t cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
	if (!real_get)
		real_get = (__typeof__(real_get))next("cuGetProcAddress");
	return get(name, function, version, flags);
}

EXPORT uint32_t cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                                    void *status);
EXPORT uint32_t cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                                    void *status)
{
	if (!real_get_v2)
		real_get_v2 = (__typeof__(real_get_v2))next("cuGetProcAddress_v2");
	return get_v2(name, function, version, flags, status);
}

/* ---- dlsym and dlvsym: the real one is jumped to, so that it sees who called */

EXPORT void *dlsym(void *handle, const char *name)
{
	if (__builtin_expect(!real_dlsym, 0))
		reals_find();
	if (!is_driver_name(name) || handle == RTLD_NEXT)
		return real_dlsym(handle, name);
	asked(__builtin_return_address(0), DLSYM, name);
	return wrap_any(name, real_dlsym(handle, name), DLSYM, 0);
}

EXPORT void *dlvsym(void *handle, const char *name, const char *version)
{
	if (__builtin_expect(!real_dlvsym, 0))
		reals_find();
	if (!is_driver_name(name) || handle == RTLD_NEXT)
		return real_dlvsym(handle, name, version);
	asked(__builtin_return_address(0), DLVSYM, name);
	return wrap_any(name, real_dlvsym(handle, name, version), DLVSYM, 0);
}

/* ---- the beginning and the end */

EXPORT uint64_t api_ways_seen_own(int domain);
EXPORT uint64_t api_ways_seen_own(int domain)
{
	return seen[domain];
}

__attribute__((constructor)) static void begin(void)
{
	reals_find();
	clocks = getenv("API_WAYS_CLOCK") != NULL;
	report = getenv("API_WAYS_REPORT") != NULL;
}

__attribute__((destructor)) static void end(void)
{
	if (!report || !nr_asks)
		return;
	for (unsigned i = 0; i < nr_asks; i++)
		fprintf(stderr, "api_ways asked %s %s %u %s %s\n", asks[i].module,
		        way_names[asks[i].way], asks[i].nr, asks[i].first, asks[i].last);
	fprintf(stderr, "api_ways own launches: driver %lu runtime %lu, not wrapped %lu\n",
	        launches[DRIVER], launches[RUNTIME], conflicts);
}
