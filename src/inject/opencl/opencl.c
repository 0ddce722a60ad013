#include "inject/opencl/opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "inject/core/inject.h"

#define EXPORT __attribute__((visibility("default")))

struct _cl_icd_dispatch af_opencl_next;

static struct _cl_icd_dispatch opencl_wrappers;
static _Atomic uint32_t opencl_initialised;
static _Atomic uint32_t opencl_epoch; /* of the process our tables belong to */

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name,
                                                      size_t param_value_size, void *param_value,
                                                      size_t *param_value_size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "aflame";
	const void *value;
	size_t size;

	if (param_name == CL_LAYER_API_VERSION) {
		value = &version;
		size = sizeof version;
	} else if (param_name == CL_LAYER_NAME) {
		value = name;
		size = sizeof name;
	} else {
		return CL_INVALID_VALUE;
	}
	if (param_value) {
		if (param_value_size < size)
			return CL_INVALID_VALUE;
		memcpy(param_value, value, size);
	}
	if (param_value_size_ret)
		*param_value_size_ret = size;
	return CL_SUCCESS;
}

/* The tables are arrays of pointers of one size: an entry we wrap must exist below. */
static void wrappers_drop_missing(void)
{
	void **ours = (void **)&opencl_wrappers;
	void *const *theirs = (void *const *)&af_opencl_next;

	for (size_t i = 0; i < sizeof opencl_wrappers / sizeof *ours; i++) {
		if (!theirs[i])
			ours[i] = NULL;
	}
}

/*
 * The loader must stay mapped: we call through it at exit, when the program may long have closed
 * it. (Loaders never close their drivers.)
 */
static void loader_pin(void)
{
	Dl_info info;

	if (dladdr((void *)af_opencl_next.clGetEventInfo, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void opencl_wrap(cl_uint num_entries, const cl_icd_dispatch *target)
{
	size_t size = num_entries * sizeof(void *);

	if (size > sizeof af_opencl_next)
		size = sizeof af_opencl_next;
	memcpy(&af_opencl_next, target, size);
	loader_pin();
	atomic_store(&opencl_epoch, af_inject_fork_epoch());
	af_opencl_wrap_devices(&opencl_wrappers);
	af_opencl_wrap_queues(&opencl_wrappers);
	af_opencl_wrap_programs(&opencl_wrappers);
	af_opencl_wrap_native(&opencl_wrappers);
	af_opencl_wrap_releases(&opencl_wrappers);
	af_opencl_wrap_enqueues(&opencl_wrappers);
	af_opencl_wrap_waits(&opencl_wrappers);
	af_opencl_wrap_extensions(&opencl_wrappers);
	wrappers_drop_missing();
	af_opencl_wrap_calls(&opencl_wrappers);
	/* In the child our tables are emptied before it can start a second thread. */
	pthread_atfork(NULL, NULL, af_opencl_check_fork);
}

/*
 * A second loader in the process gets the same wrappers: objects carry their driver's table, so
 * the first loader's entry points serve them as well.
 */
EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries,
                                                   const cl_icd_dispatch *target_dispatch,
                                                   cl_uint *num_entries_ret,
                                                   const cl_icd_dispatch **layer_dispatch_ret)
{
	cl_uint ours = sizeof opencl_wrappers / sizeof(void *);
	uint32_t first = 0;

	if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
		return CL_INVALID_VALUE;
	*num_entries_ret = num_entries < ours ? num_entries : ours;
	*layer_dispatch_ret = &opencl_wrappers;

	const struct af_session *session = af_inject_start() ? af_inject_session() : NULL;
	if (!session || !(session->flags & AF_SESSION_OPENCL))
		return CL_SUCCESS; /* all entries NULL: calls pass us by */
	if (atomic_compare_exchange_strong(&opencl_initialised, &first, 1))
		opencl_wrap(num_entries, target_dispatch);
	return CL_SUCCESS;
}

void af_opencl_check_fork(void)
{
	af_inject_check_fork();
	uint32_t ours = atomic_load_explicit(&opencl_epoch, memory_order_relaxed);
	uint32_t now = af_inject_fork_epoch();

	if (__builtin_expect(ours == now, 1))
		return;
	if (!atomic_compare_exchange_strong(&opencl_epoch, &ours, now))
		return;
	af_opencl_devices_after_fork();
	af_opencl_queues_after_fork();
	af_opencl_programs_after_fork();
	af_opencl_releases_after_fork();
	af_opencl_work_after_fork();
}
