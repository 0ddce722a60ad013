/*
 * The start of the mocked driver, and what every call of it goes through. Like the real one, the
 * first cuInit of a process loads what CUDA_INJECTION64_PATH names and calls InitializeInjection(),
 * and a process that was forked after that gets nothing but CUDA_ERROR_NOT_INITIALIZED.
 */
#include "mock_cuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t mock_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic(const struct mock_tool *) driver_tool;
static atomic_int driver_pid; /* of the process that called cuInit, 0 before */
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;
static __thread struct mock_call *driver_call;

void mock_set_tool(const struct mock_tool *tool)
{
	atomic_store(&driver_tool, tool);
}

const struct mock_tool *mock_tool(void)
{
	return atomic_load(&driver_tool);
}

struct mock_call *mock_current_call(void)
{
	return driver_call;
}

static bool driver_is_ours(void)
{
	return atomic_load(&driver_pid) == getpid();
}

bool mock_enter(struct mock_call *call)
{
	const struct mock_tool *tool = mock_tool();

	if (!driver_is_ours()) {
		call->result = CUDA_NOT_INITIALIZED;
		return false;
	}
	call->context = mock_context();
	call->outer = driver_call;
	driver_call = call;
	if (tool)
		tool->enter(call);
	return true;
}

int mock_leave(struct mock_call *call, int result)
{
	const struct mock_tool *tool = mock_tool();

	call->result = (uint32_t)result;
	call->context = mock_context();
	if (tool)
		tool->leave(call);
	driver_call = call->outer;
	return (int)call->result;
}

void mock_resource(enum mock_resource what, struct CUctx_st *context, void *handle, void *data)
{
	const struct mock_tool *tool = mock_tool();

	if (tool)
		tool->resource(what, context, handle, data);
}

static void driver_inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*initialize)(void) = NULL;

	atomic_store(&driver_pid, getpid());
	if (library)
		*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}

static int driver_init(void)
{
	mock_resource(MOCK_INIT_FINISHED, NULL, NULL, NULL);
	return CUDA_OK;
}

int cuInit(unsigned flags)
{
	struct {
		unsigned flags;
	} params = {flags};

	if (flags)
		return CUDA_INVALID_VALUE;
	if (!mock_nr_devices())
		return CUDA_NO_DEVICE;
	pthread_once(&driver_once, driver_inject);
	MOCK_CALL(1, &params, driver_init());
}

static int driver_version(int *version)
{
	if (!version)
		return CUDA_INVALID_VALUE;
	*version = (int)mock_setting("MOCK_CUDA_VERSION", 13000);
	return CUDA_OK;
}

int cuDriverGetVersion(int *version)
{
	MOCK_CALL(2, &version, driver_version(version));
}

int cuGetErrorName(int error, const char **name)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
	    {CUDA_OK, "CUDA_SUCCESS"},
	    {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
	    {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
	    {CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
	    {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
	    {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
	    {CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
	    {CUDA_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
	    {CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
	    {CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
	    {CUDA_NOT_READY, "CUDA_ERROR_NOT_READY"},
	    {CUDA_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
	    {CUDA_UPDATE_FAILURE, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].error == error) {
			*name = names[i].name;
			return CUDA_OK;
		}
	}
	*name = NULL;
	return CUDA_INVALID_VALUE;
}
