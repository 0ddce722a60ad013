/*
 * Kernels as a driver for the host's processors makes them: shared objects that it loads. They are
 * files in a cache, and looked at when recording ends; but where the cache is off (PoCL:
 * POCL_KERNEL_CACHE=0) a file goes with its program, so what was sampled of it is kept before that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"
#include "inject/core/inject.h"
#include "inject/core/keep.h"
#include "inject/opencl/opencl.h"
#include "inject/walk/modules.h"

enum { NATIVE_BYTES = 16 << 20 };

static _Atomic uint32_t native_seen; /* modules that were looked at */

/*
 * The function that PoCL makes of a kernel, by whose name it calls the file. False: not its file.
 */
static bool native_function(const struct af_module *m, char *name, size_t size)
{
	size_t path = strnlen(m->path, sizeof m->path);
	const char *slash = memrchr(m->path, '/', path);
	size_t len = slash ? path - (size_t)(slash + 1 - m->path) : 0;

	return len > 3 && !memcmp(m->path + path - 3, ".so", 3) &&
	       snprintf(name, size, "_pocl_kernel_%.*s_workgroup", (int)len - 3, slash + 1) <
	           (int)size;
}

/* Bytes of @fd into @data; the file may be cut off by now, so it is not mapped. */
static size_t native_read(int fd, char *data, size_t size)
{
	size_t at = 0;
	ssize_t n;

	while (at < size && (n = read(fd, data + at, size - at)) > 0)
		at += (size_t)n;
	return at;
}

static void native_keep(const struct af_module *m)
{
	char function[sizeof m->path + 32];
	struct stat st;

	if (!native_function(m, function, sizeof function))
		return;
	int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	bool fits = fd >= 0 && !fstat(fd, &st) && st.st_size > 0 && st.st_size <= NATIVE_BYTES;
	char *data = fits ? af_pages((size_t)st.st_size, 0) : NULL;
	if (data) {
		size_t size = native_read(fd, data, (size_t)st.st_size);
		if (memmem(data, size, function, strlen(function) + 1))
			af_program_define(af_opencl_program_id(), 0, AF_OBJECT_NATIVE, data, size,
			                  "");
		munmap(data, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
}

/* Code that the driver loaded; it does not show of which program. */
static void native_keep_new(void)
{
	uint32_t i = atomic_load(&native_seen);
	int saved = errno;

	while (i < af_modules_nr()) {
		const struct af_module *m = af_module_at(i);
		/* If two threads are here, one takes it. */
		if (atomic_compare_exchange_strong(&native_seen, &i, i + 1)) {
			if (m && m->elf_header)
				native_keep(m);
			i++;
		}
	}
	errno = saved;
}

static cl_int CL_API_CALL opencl_release_program(cl_program program)
{
	if (program && af_inject_session()) {
		af_opencl_check_fork();
		if (af_inject_recording())
			native_keep_new();
		af_opencl_program_released(program);
	}
	return af_opencl_next.clReleaseProgram(program);
}

void af_opencl_wrap_native(struct _cl_icd_dispatch *d)
{
	d->clReleaseProgram = opencl_release_program;
}
