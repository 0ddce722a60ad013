/* The functions behind ours: where the program's HIP runtime is. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inject/api/behind.h"
#include "inject/hip/calls.h"
#include "inject/rocm/shared.h"

static const char prefix[] = "libamdhip64";

/* hip_runtime_api.h of HIP 6.4 (AMD). */
typedef int proc_address(const char *symbol, void **function, int version, uint64_t flags,
                         int *status);
static _Atomic(proc_address *) real_proc_address;

/* From libaflame.so, where it is in the process. */
extern const struct af_rocm_shared *aflame_rocm(uint32_t version)
    __attribute__((weak, visibility("default")));

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	return af_api_lent->enter(c, kind, how, sp);
}

/* hipErrorNoDevice. */
static int absent(void)
{
	return 100;
}

static const char *absent_text(void)
{
	return "hipErrorNoDevice";
}

/* The functions that return a text. */
static bool returns_text(const char *name)
{
	static const char *const names[] = {"hipGetErrorName", "hipGetErrorString", "hipApiName",
	                                    "hipKernelNameRef", "hipKernelNameRefByPtr"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Our wrapper of that name, or NULL. */
static void *wrapper(const char *name)
{
	Dl_info us;
	void *library;

	if (strncmp(name, "hip", 3) || !dladdr((void *)af_hip_next, &us))
		return NULL;
	library = dlopen(us.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	void *found = dlsym(library, name);
	dlclose(library);
	Dl_info is;
	return found && dladdr(found, &is) && is.dli_fbase == us.dli_fbase ? found : NULL;
}

/* The runtime's hipGetProcAddress, but for functions that we stand before. */
static int proc_address_ours(const char *symbol, void **function, int version, uint64_t flags,
                             int *status)
{
	int rc = real_proc_address(symbol, function, version, flags, status);

	if (rc || !symbol || !function || !*function)
		return rc;
	void *ours = wrapper(symbol);
	/* A function of another version than the one that its name leads to is left alone. */
	if (ours && af_api_behind_us(prefix, symbol) == *function)
		*function = ours;
	return rc;
}

void af_hip_borrow(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, af_api_borrow);
}

static const struct af_rocm_shared *rocm(void)
{
	return aflame_rocm ? aflame_rocm(AF_ROCM_SHARED_VERSION) : NULL;
}

/* The SDK, and whoever loads it, searches for tools by this name. */
AF_API_EXPORT struct af_rocm_tool *rocprofiler_configure(uint32_t version, const char *words,
                                                         uint32_t priority,
                                                         struct af_rocm_client *client)
{
	const struct af_rocm_shared *lent = rocm();

	(void)words;
	return lent ? lent->configure(version, priority, client, __builtin_return_address(0))
	            : NULL;
}

/*
 * The SDK starts before the program's first call of HIP, of which @runtime is a function. Calls
 * that come from the SDK itself meanwhile go straight on.
 */
static const void *runtime;
static void begin(void)
{
	const struct af_rocm_shared *lent = rocm();

	if (lent)
		lent->start(runtime, rocprofiler_configure);
}

static void begin_once(const void *next)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static __thread bool begins;

	af_hip_borrow();
	if (begins || !next)
		return;
	begins = true;
	__atomic_store_n(&runtime, next, __ATOMIC_RELAXED);
	pthread_once(&once, begin);
	begins = false;
}

void af_hip_next(void **slot, const char *name)
{
	void *next = af_api_behind_us(prefix, name);

	begin_once(next);
	af_api_attach();
	if (next && !strcmp(name, "hipGetProcAddress")) {
		real_proc_address = (proc_address *)next;
		next = (void *)proc_address_ours;
	}
	if (!next)
		next = returns_text(name) ? (void *)absent_text : (void *)absent;
	__atomic_store_n(slot, next, __ATOMIC_RELEASE);
}
