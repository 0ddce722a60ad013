#include "inject/cuda/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "api/models/cuda_functions.h"
#include "inject/core/inject.h"
#include "inject/core/keep.h"
#include "inject/cuda/autograd.h"
#include "inject/cuda/calls.h"
#include "inject/cuda/client.h"
#include "inject/cuda/pc.h"

#define EXPORT __attribute__((visibility("default")))

struct af_cupti af_cupti;

static struct {
	void *library, *subscriber;
	_Atomic uint32_t epoch; /* of the process it is on in; 0: off */
	_Atomic uint32_t fatal; /* CUPTI has ended itself */
	bool updates_reported;
	_Atomic bool wants[AF_CLIENT_DOMAINS][AF_CLIENT_IDS];
	bool always[AF_CLIENT_IDS]; /* of the driver's API: a plain recording needs these */
	uint32_t how_changes;       /* of the session, when the callbacks were last enabled by it */
} cuda;

bool af_cuda_updates_reported(void)
{
	return cuda.updates_reported;
}

bool af_cuda_on(void)
{
	return atomic_load_explicit(&cuda.epoch, memory_order_relaxed) == af_inject_fork_epoch() &&
	       af_inject_session();
}

void *af_cuda_library(void)
{
	return cuda.library;
}

void *af_cuda_subscriber(void)
{
	return cuda.subscriber;
}

bool af_cuda_wants(uint32_t domain, uint32_t id)
{
	return domain < AF_CLIENT_DOMAINS && id < AF_CLIENT_IDS && cuda.wants[domain][id];
}

static void module_loaded(const struct af_cupti_module *m)
{
	if (!m->cubin || !m->size)
		return;
	uint32_t program = af_inject_new_id(AF_ID_PROGRAM);
	af_program_define(program, 0, AF_OBJECT_NATIVE, m->cubin, m->size, "");
	af_cuda_pc_module(program, m);
}

static void resource(uint32_t id, const struct af_cupti_resource_data *r,
                     const struct af_regs *regs)
{
	switch (id) {
	case AF_CUPTI_CONTEXT_CREATED:
		af_cuda_pc_context(r->context);
		af_cuda_thread_start();
		af_autograd_poll();
		break;
	case AF_CUPTI_CONTEXT_DESTROY_STARTING:
		af_cuda_pc_context_ends(r->context);
		break;
	case AF_CUPTI_MODULE_LOADED:
		module_loaded(r->what);
		af_autograd_poll();
		break;
	case AF_CUPTI_MODULE_UNLOAD_STARTING:
		af_cuda_pc_module_ends(r->context);
		break;
	case AF_CUPTI_GRAPHNODE_CREATED:
	case AF_CUPTI_GRAPHNODE_CLONED:
	case AF_CUPTI_GRAPHNODE_UPDATED:
		af_cuda_graph(id, r->what, regs);
		break;
	default:
		break;
	}
}

/* Callbacks that sampling needs also after recording, to end well. */
static void sampling(uint32_t domain, uint32_t id, const void *data)
{
	const struct af_cupti_call *call = data;
	const struct af_cupti_resource_data *r = data;

	if (domain == AF_CUPTI_DRIVER_API)
		af_cuda_call_gate(id, call->site);
	else if (domain == AF_CUPTI_RESOURCE && id == AF_CUPTI_CONTEXT_DESTROY_STARTING)
		af_cuda_pc_context_gone(r->context);
}

static void cuda_callback(void *arg, uint32_t domain, uint32_t id, const void *data)
{
	struct af_regs regs;
	(void)arg;

	AF_REGS_CALLER(&regs);
	if (__builtin_expect(atomic_load_explicit(&af_client_is_there, memory_order_relaxed), 0) &&
	    af_client_callback(domain, id, data))
		return;
	if (af_pc_gate_is_used())
		sampling(domain, id, data);
	if (!af_cuda_on())
		return;
	bool traced = domain <= AF_CUPTI_RUNTIME_API && af_cuda_trace(domain, id, data, &regs);
	if (domain == AF_CUPTI_DRIVER_API)
		af_cuda_call(id, data, &regs, traced);
	else if (domain == AF_CUPTI_RESOURCE)
		resource(id, data, &regs);
	else if (domain == AF_CUPTI_STATE && id == AF_CUPTI_FATAL_ERROR &&
	         !atomic_exchange(&cuda.fatal, 1))
		af_inject_note("cuda", "stopped: CUPTI met a fatal error and ended itself");
}

static const char *result_text(enum af_cupti_result rc)
{
	const char *text = NULL;

	return af_cupti.GetResultString(rc, &text) || !text ? "unknown error" : text;
}

/* The meaning of CUPTI's refusal, and its cure. */
static void refusal(enum af_cupti_result rc, char *words, size_t size)
{
	const char *fix = "";

	if (rc == AF_CUPTI_OTHER_SUBSCRIBER)
		fix = ": another profiler has CUPTI (nsys, torch.profiler, DCGM); run without it";
	else if (rc == AF_CUPTI_PRIVILEGES)
		fix = ": allow it with the driver option NVreg_RestrictProfilingToAdminUsers=0, or "
		      "run as root";
	else if (rc == AF_CUPTI_VIRTUALIZED)
		fix = ": the hypervisor must allow profiling of its virtual GPUs";
	snprintf(words, size, "CUPTI refused (%s)%s", result_text(rc), fix);
}

/* Kinds that the program's own profiler enabled stay on. */
static uint32_t callback_enable(bool on, uint32_t domain, uint32_t id)
{
	uint32_t rc = AF_CUPTI_SUCCESS;

	if (on || !af_client_wants(domain, id))
		rc = af_cupti.EnableCallback(on, cuda.subscriber, domain, id);
	cuda.wants[domain][id] = on && !rc;
	return rc;
}

/* Ids that this CUPTI does not have are refused, which does no harm. */
static void traced_enable(bool on)
{
	const struct af_session *session = af_inject_session();

	if (session)
		cuda.how_changes =
		    atomic_load_explicit(&session->how_changes, memory_order_acquire);
	for (uint32_t domain = AF_CUPTI_DRIVER_API; domain <= AF_CUPTI_RUNTIME_API; domain++) {
		for (uint32_t id = 1; id < AF_CLIENT_IDS; id++) {
			bool always = domain == AF_CUPTI_DRIVER_API && cuda.always[id];
			bool wants = on && (always || af_cuda_trace_wants(domain, id));
			if (wants != cuda.wants[domain][id])
				callback_enable(wants, domain, id);
		}
	}
}

void af_cuda_trace_poll(void)
{
	const struct af_session *session = af_inject_session();

	if (session && session->how_changes != cuda.how_changes)
		traced_enable(true);
}

/* The last two are for sampling. */
static void callbacks_enable(bool on, bool samples)
{
	static const uint32_t resources[] = {
	    AF_CUPTI_CONTEXT_CREATED,          AF_CUPTI_MODULE_LOADED,
	    AF_CUPTI_GRAPHNODE_CREATED,        AF_CUPTI_GRAPHNODE_CLONED,
	    AF_CUPTI_CONTEXT_DESTROY_STARTING, AF_CUPTI_MODULE_UNLOAD_STARTING};
	unsigned nr = sizeof resources / sizeof *resources - (samples ? 0 : 2);

	/* One that this CUPTI does not know yet is left out. */
	cuda.updates_reported = !callback_enable(on, AF_CUPTI_RESOURCE, AF_CUPTI_GRAPHNODE_UPDATED);
#define AF_F(id, name, category) cuda.always[id] = true;
	AF_CUDA_FUNCTIONS(AF_F)
#undef AF_F
	traced_enable(on);
	for (unsigned i = 0; i < nr; i++)
		callback_enable(on, AF_CUPTI_RESOURCE, resources[i]);
	callback_enable(on, AF_CUPTI_STATE, AF_CUPTI_FATAL_ERROR);
}

void af_cuda_stop(void)
{
	callbacks_enable(false, true);
	af_cuda_activity_stop();
}

void *af_cuda_driver(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return driver ? dlsym(driver, name) : NULL;
}

static int driver_version(void)
{
	uint32_t (*get)(int *) = af_cuda_driver("cuDriverGetVersion");
	int version = 0;

	return get && !get(&version) ? version : 0;
}

/*
 * Subscribe to @library, or where that is NULL to the CUPTI that is found: *@words says what was
 * loaded, or what went wrong.
 */
static bool cupti_open(void *library, char *words, size_t size)
{
	char path[512];
	uint32_t version = 0;
	int driver = driver_version();

	if (!driver && !library) {
		snprintf(words, size, "no NVIDIA driver (libcuda.so.1)");
		return false;
	}
	cuda.library = library ? library : af_cuda_find(driver, path, sizeof path);
	if (!cuda.library) {
		snprintf(words, size, "%s", path);
		return false;
	}
	if (!af_cuda_resolve(cuda.library, words, size))
		return false;
	enum af_cupti_result rc = af_cupti.Subscribe(&cuda.subscriber, cuda_callback, NULL);
	if (rc) {
		refusal(rc, words, size);
		return false;
	}
	af_cupti.GetVersion(&version);
	if (library)
		snprintf(words, size, "CUPTI %u, the program's own profiler's", version);
	else
		snprintf(words, size, "CUPTI %u from %s, driver for CUDA %d.%d", version, path,
		         driver / 1000, driver % 1000 / 10);
	return true;
}

static void cupti_close(void)
{
	af_cupti.Unsubscribe(cuda.subscriber);
	cuda.subscriber = NULL;
}

/* The recorder may see the calls from outside, without what devices do. */
static void cuda_give_up(const char *words)
{
	char why[512];

	snprintf(why, sizeof why, "not recorded: %.490s", words);
	af_inject_note("cuda", why);
	if (af_inject_session()->flags & AF_SESSION_KERNEL)
		af_inject_ask(AF_ASK_CUDA_OUTSIDE);
}

/* Once: whoever comes first. */
static void cuda_start(void *library)
{
	static _Atomic uint32_t called;
	char words[1024];

	if (atomic_exchange(&called, 1))
		return;
	if (!cupti_open(library, words, sizeof words)) {
		cuda_give_up(words);
		return;
	}
	enum af_cupti_result rc = af_cuda_activity_start();
	if (rc) {
		refusal(rc, words, sizeof words);
		cuda_give_up(words);
		cupti_close();
		return;
	}
	af_inject_note("cuda", words);
	af_cuda_functions_define();
	af_client_open(cuda.library);
	atomic_store(&cuda.epoch, af_inject_fork_epoch());
	callbacks_enable(true, af_cuda_pc_start(cuda.library));
	af_autograd_start();
}

static bool is_asked_for(void)
{
	const struct af_session *session = af_inject_start() ? af_inject_session() : NULL;

	return session && session->flags & AF_SESSION_CUDA;
}

/*
 * The driver's entry point (CUDA_INJECTION64_PATH): called once, in the first cuInit of the
 * process. What it returns, 1 for success, the driver does not act upon.
 */
EXPORT int InitializeInjection(void);
int InitializeInjection(void)
{
	if (is_asked_for())
		cuda_start(NULL);
	return 1;
}

bool af_cuda_start_early(void *library)
{
	if (is_asked_for())
		cuda_start(library);
	return af_client_is_open();
}

/*
 * For `aflame doctor`, in a child of its own that has called cuInit: would CUDA be recorded? @words
 * gets what with, or why not. The same code as in a recorded program, so the answer is true.
 */
EXPORT int aflame_cuda_probe(char *words, size_t size);
int aflame_cuda_probe(char *words, size_t size)
{
	if (!cupti_open(NULL, words, size))
		return 0;
	cupti_close();
	return 1;
}
