/* The SDK is found and configured: by itself, as HIP loads it for a tool, or because we make it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "inject/core/inject.h"
#include "inject/rocm/rocm.h"
#include "inject/rocm/shared.h"

enum { BUFFER_BYTES = 1 << 20, VERSION_LEAST = 600 };

struct af_rocm_sdk af_rocm_sdk;

static struct {
	_Atomic uint32_t asked, noted; /* no bool: riscv64 exchanges words alone */
	_Atomic bool on;
	uint32_t epoch; /* of the process that it is on in */
	uint32_t version, priority;
	char why[300]; /* it is not on */
} rocm;

bool af_rocm_is_on(void)
{
	return atomic_load_explicit(&rocm.on, memory_order_acquire) && !af_inject_is_forked() &&
	       rocm.epoch == af_inject_fork_epoch();
}

/* A user who looks for kernels in the trace reads where they come from, or why there are none. */
static void note(void)
{
	char words[400];

	if (atomic_exchange(&rocm.noted, 1))
		return;
	if (!atomic_load(&rocm.on))
		snprintf(words, sizeof words, "calls alone, no times of kernels and copies: %s",
		         rocm.why);
	else
		snprintf(words, sizeof words,
		         "kernels and copies timed by rocprofiler-sdk %u.%u.%u%s",
		         rocm.version / 10000, rocm.version / 100 % 100, rocm.version % 100,
		         rocm.priority ? ", beside another tool" : "");
	af_inject_note("collector.hip", words);
}

static bool functions_resolve(void *library)
{
#define AF_P(name, parameters)                                                                     \
	af_rocm_sdk.name = (__typeof__(af_rocm_sdk.name))dlsym(library, "rocprofiler_" #name);     \
	if (!af_rocm_sdk.name) {                                                                   \
		snprintf(rocm.why, sizeof rocm.why,                                                \
		         "rocprofiler-sdk %u.%u.%u lacks rocprofiler_" #name                       \
		         ": install that of ROCm 6.4 or later",                                    \
		         rocm.version / 10000, rocm.version / 100 % 100, rocm.version % 100);      \
		return false;                                                                      \
	}
	AF_ROCM_FUNCTIONS(AF_P)
#undef AF_P
	return true;
}

/* Another library of the program may have functions of these names: those of the caller's. */
static bool functions_find(const void *caller)
{
	Dl_info info;
	void *library =
	    dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	if (!library) {
		snprintf(rocm.why, sizeof rocm.why, "rocprofiler-sdk is in no library");
		return false;
	}
	return functions_resolve(library);
}

static bool step(const char *what, int rc)
{
	if (rc)
		snprintf(rocm.why, sizeof rocm.why,
		         "rocprofiler-sdk %u.%u.%u refused %s (status %d): is another profiler "
		         "using it? Run without that one",
		         rocm.version / 10000, rocm.version / 100 % 100, rocm.version % 100, what,
		         rc);
	return !rc;
}

static bool services_configure(uint64_t *context, uint64_t *buffer)
{
	static const int requests[] = {AF_ROCM_REQUEST_KERNEL, AF_ROCM_REQUEST_COPY};
	const struct af_rocm_sdk *s = &af_rocm_sdk;
	void *code =
	    rocm.version < AF_ROCM_WITH_ANCESTOR ? (void *)af_rocm_code : (void *)af_rocm_code_1;

	return step("a context", s->create_context(context)) &&
	       step("a buffer", s->create_buffer(*context, BUFFER_BYTES, BUFFER_BYTES / 2,
	                                         AF_ROCM_LOSSLESS, af_rocm_buffer, NULL, buffer)) &&
	       step("kernels", s->configure_buffer_tracing_service(
				   *context, AF_ROCM_BUFFERED_KERNEL, NULL, 0, *buffer)) &&
	       step("copies", s->configure_buffer_tracing_service(*context, AF_ROCM_BUFFERED_COPY,
	                                                          NULL, 0, *buffer)) &&
	       step("names of kernels",
	            s->configure_callback_tracing_service(*context, AF_ROCM_CALLBACK_CODE_OBJECT,
	                                                  NULL, 0, code, NULL)) &&
	       step("numbers of works", s->configure_external_correlation_id_request_service(
					    *context, requests, 2, af_rocm_request, NULL));
}

static int initialize(void *end, void *arg)
{
	uint64_t context = 0, buffer = 0;

	(void)end, (void)arg;
	rocm.epoch = af_inject_fork_epoch();
	bool done = services_configure(&context, &buffer);
	if (done) {
		af_rocm_devices_define(rocm.version);
		/* The first code object may come before start_context() returns. */
		atomic_store_explicit(&rocm.on, true, memory_order_release);
		done = step("to start", af_rocm_sdk.start_context(context));
		atomic_store(&rocm.on, done);
	}
	note();
	if (done)
		af_rocm_thread_start(buffer);
	return done ? 0 : -1;
}

/* The SDK has waited for its queues, and still hands records over. */
static void finalize(void *arg)
{
	(void)arg;
	af_rocm_last();
}

static struct af_rocm_tool *configure(uint32_t version, uint32_t priority,
                                      struct af_rocm_client *client, const void *caller)
{
	static struct af_rocm_tool tool = {
	    .size = sizeof tool, .initialize = initialize, .finalize = finalize};

	if (atomic_exchange(&rocm.asked, 1) || !af_inject_start() || !af_inject_session())
		return NULL;
	rocm.version = version;
	rocm.priority = priority;
	client->name = "aflame";
	if (version < VERSION_LEAST)
		snprintf(rocm.why, sizeof rocm.why,
		         "rocprofiler-sdk %u.%u.%u is older than 0.6: install that of ROCm 6.4 or "
		         "later",
		         version / 10000, version / 100 % 100, version % 100);
	else if (functions_find(caller))
		return &tool;
	note();
	return NULL;
}

/* The one beside the runtime, else one that the loader finds. NULL: there is none. */
static void *library_open(const void *runtime)
{
	static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0",
	                                    "librocprofiler-sdk.so"};
	char path[4096];
	Dl_info info;

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		const char *slash = dladdr(runtime, &info) ? strrchr(info.dli_fname, '/') : NULL;
		int len = slash ? (int)(slash - info.dli_fname + 1) : 0;
		void *library = NULL;
		if (len && snprintf(path, sizeof path, "%.*s%s", len, info.dli_fname, names[i]) <
		               (int)sizeof path)
			library = dlopen(path, RTLD_NOW);
		if (!library)
			library = dlopen(names[i], RTLD_NOW);
		if (library)
			return library;
	}
	return NULL;
}

static void start(const void *runtime, af_rocm_configure_function *ours)
{
	if (!atomic_load(&rocm.asked) && af_inject_start() && af_inject_session()) {
		void *library = library_open(runtime);
		int (*force)(af_rocm_configure_function *) =
		    library ? (__typeof__(force))dlsym(library, "rocprofiler_force_configure")
			    : NULL;
		int rc = force ? force(ours) : 0;
		if (!library)
			snprintf(rocm.why, sizeof rocm.why,
			         "no librocprofiler-sdk.so here (install ROCm's rocprofiler-sdk)");
		else if (!atomic_load(&rocm.asked))
			snprintf(rocm.why, sizeof rocm.why,
			         "rocprofiler-sdk did not ask for tools (status %d): it was "
			         "configured before",
			         rc);
	}
	note();
}

__attribute__((visibility("default"))) const struct af_rocm_shared *aflame_rocm(uint32_t version)
{
	static const struct af_rocm_shared shared = {.configure = configure, .start = start};

	return version == AF_ROCM_SHARED_VERSION ? &shared : NULL;
}
