/* OpenCL programs and kernels: their ids, names, and the binaries that are kept in the trace. */
#include "inject/opencl/opencl.h"

#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/keep.h"
#include "inject/core/kernels.h"
#include "inject/intel/placed.h"
#include "inject/intel/zebin.h"

enum {
	PROGRAM_DEVICES = 64, /* a program's binaries are kept for as many devices */
	KERNEL_NAME_BYTES = 4096,
};

/* In the value of a program: its binaries were kept since the last build. */
#define PROGRAM_KEPT (1ull << 32)

static struct af_handles opencl_programs = AF_HANDLES_INIT; /* → id, PROGRAM_KEPT */
static struct af_handles opencl_kernels = AF_HANDLES_INIT;  /* → id */
/* By name, not by handle: programs make the same kernel over and over. */
static struct af_kernels kernels = AF_KERNELS_INIT;

uint32_t af_opencl_program_id(void)
{
	return af_inject_new_id(AF_ID_PROGRAM);
}

/* A handle that comes back is another program. */
static uint32_t program_new(cl_program handle)
{
	uint32_t id = af_inject_new_id(AF_ID_PROGRAM);

	af_handles_set(&opencl_programs, (uintptr_t)handle, id);
	af_opencl_program_made(handle);
	return id;
}

uint32_t af_opencl_program(cl_program handle)
{
	uint64_t known = af_handles_get(&opencl_programs, (uintptr_t)handle);

	if (!known && handle)
		known = af_handles_claim(&opencl_programs, (uintptr_t)handle,
		                         af_inject_new_id(AF_ID_PROGRAM));
	return (uint32_t)known;
}

static bool recording(const void *handle)
{
	if (!handle || !af_inject_session())
		return false;
	af_opencl_check_fork();
	return true;
}

static cl_program CL_API_CALL opencl_create_program(cl_context context, cl_uint count,
                                                    const char **strings, const size_t *lengths,
                                                    cl_int *errcode_ret)
{
	cl_program program =
	    af_opencl_next.clCreateProgramWithSource(context, count, strings, lengths, errcode_ret);
	if (!recording(program))
		return program;

	/* The driver took the strings, so they are good; a length of 0 means NUL-terminated. */
	size_t size = 0;
	for (cl_uint i = 0; i < count; i++)
		size += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	char *text = size ? af_pages(size, 0) : NULL, *p = text;
	for (cl_uint i = 0; text && i < count; i++) {
		size_t len = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
		memcpy(p, strings[i], len);
		p += len;
	}
	af_program_define(program_new(program), 0, AF_OBJECT_SOURCE, text, size, "");
	if (text)
		munmap(text, size);
	return program;
}

static cl_program CL_API_CALL opencl_create_program_with_il(cl_context context, const void *il,
                                                            size_t length, cl_int *errcode_ret)
{
	cl_program program =
	    AF_IN_OPENCL(af_opencl_next.clCreateProgramWithIL(context, il, length, errcode_ret));

	if (recording(program))
		af_program_define(program_new(program), 0, AF_OBJECT_IL, il, length, "");
	return program;
}

static cl_program CL_API_CALL opencl_create_program_with_binary(
    cl_context context, cl_uint num_devices, const cl_device_id *devices, const size_t *lengths,
    const unsigned char **binaries, cl_int *status, cl_int *errcode_ret)
{
	cl_program program = AF_IN_OPENCL(af_opencl_next.clCreateProgramWithBinary(
	    context, num_devices, devices, lengths, binaries, status, errcode_ret));
	if (!recording(program))
		return program;

	uint32_t id = program_new(program);
	for (cl_uint i = 0; i < num_devices; i++) {
		const struct af_opencl_device *d = af_opencl_device(devices[i]);
		af_program_define(id, d ? d->id : 0, AF_OBJECT_BINARY, binaries[i], lengths[i], "");
	}
	return program;
}

static cl_program CL_API_CALL opencl_create_program_with_built_in(cl_context context,
                                                                  cl_uint num_devices,
                                                                  const cl_device_id *devices,
                                                                  const char *names,
                                                                  cl_int *errcode_ret)
{
	cl_program program = af_opencl_next.clCreateProgramWithBuiltInKernels(
	    context, num_devices, devices, names, errcode_ret);

	if (recording(program))
		af_program_define(program_new(program), 0, AF_OBJECT_BINARY, NULL, 0, "");
	return program;
}

/* The queries that copy a program's binaries. */
struct program_binaries {
	cl_uint nr;
	cl_device_id devices[PROGRAM_DEVICES];
	size_t sizes[PROGRAM_DEVICES];
	unsigned char *data[PROGRAM_DEVICES]; /* into the scratch memory */
};

/* Returns the scratch memory, NULL when there is nothing; *@size_ret its size. */
static unsigned char *binaries_get(cl_program program, struct program_binaries *b, size_t *size_ret)
{
	size_t size = 0, bytes;

	if (af_opencl_next.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof b->nr, &b->nr,
	                                    NULL) ||
	    !b->nr || b->nr > PROGRAM_DEVICES)
		return NULL;
	bytes = b->nr * sizeof b->devices[0];
	if (af_opencl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, bytes, b->devices, NULL))
		return NULL;
	bytes = b->nr * sizeof b->sizes[0];
	if (af_opencl_next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, bytes, b->sizes,
	                                    NULL))
		return NULL;
	for (cl_uint i = 0; i < b->nr; i++)
		size += b->sizes[i];
	unsigned char *memory = size ? af_pages(size, 0) : NULL;
	if (!memory)
		return NULL;

	unsigned char *p = memory;
	for (cl_uint i = 0; i < b->nr; i++) {
		b->data[i] = b->sizes[i] ? p : NULL;
		p += b->sizes[i];
	}
	*size_ret = size;
	bytes = b->nr * sizeof b->data[0];
	if (!af_opencl_next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, bytes, b->data, NULL))
		return memory;
	munmap(memory, size);
	return NULL;
}

static bool program_in_progress(cl_program program)
{
	cl_device_id devices[PROGRAM_DEVICES];
	cl_build_status status = CL_BUILD_NONE;
	size_t size = 0;

	return af_opencl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices,
	                                       &size) ||
	       !size ||
	       af_opencl_next.clGetProgramBuildInfo(program, devices[0], CL_PROGRAM_BUILD_STATUS,
	                                            sizeof status, &status, NULL) ||
	       status == CL_BUILD_IN_PROGRESS;
}

/* Intel's binaries have the code that the device runs, with its lines. */
static enum af_object_form binary_form(const void *data, size_t size)
{
	return af_zebin_is(data, size) ? AF_OBJECT_NATIVE : AF_OBJECT_BINARY;
}

/*
 * Keep what a build made. A build that goes on behind a callback is met again when the first
 * kernel is made of it.
 */
static void program_keep(cl_program program, const char *options)
{
	struct program_binaries b;
	uint32_t id = af_opencl_program(program);
	size_t size = 0;

	if (program_in_progress(program))
		return;
	unsigned char *memory = binaries_get(program, &b, &size);
	for (cl_uint i = 0; memory && i < b.nr; i++) {
		const struct af_opencl_device *d = af_opencl_device(b.devices[i]);
		if (b.sizes[i])
			af_program_define(id, d ? d->id : 0, binary_form(b.data[i], b.sizes[i]),
			                  b.data[i], b.sizes[i], options ? options : "");
	}
	if (memory)
		munmap(memory, size);
	af_handles_set(&opencl_programs, (uintptr_t)program, id | PROGRAM_KEPT);
}

static cl_int CL_API_CALL opencl_build_program(cl_program program, cl_uint num_devices,
                                               const cl_device_id *devices, const char *options,
                                               void(CL_CALLBACK *notify)(cl_program, void *),
                                               void *user_data)
{
	cl_int rc = AF_IN_OPENCL(af_opencl_next.clBuildProgram(program, num_devices, devices,
	                                                       options, notify, user_data));
	if (!rc && recording(program))
		program_keep(program, options);
	return rc;
}

static cl_int CL_API_CALL opencl_compile_program(cl_program program, cl_uint num_devices,
                                                 const cl_device_id *devices, const char *options,
                                                 cl_uint num_headers, const cl_program *headers,
                                                 const char **include_names,
                                                 void(CL_CALLBACK *notify)(cl_program, void *),
                                                 void *user_data)
{
	cl_int rc = AF_IN_OPENCL(af_opencl_next.clCompileProgram(program, num_devices, devices,
	                                                         options, num_headers, headers,
	                                                         include_names, notify, user_data));
	if (!rc && recording(program))
		program_keep(program, options);
	return rc;
}

static cl_program CL_API_CALL opencl_link_program(cl_context context, cl_uint num_devices,
                                                  const cl_device_id *devices, const char *options,
                                                  cl_uint num_programs, const cl_program *programs,
                                                  void(CL_CALLBACK *notify)(cl_program, void *),
                                                  void *user_data, cl_int *errcode_ret)
{
	cl_program program = AF_IN_OPENCL(
	    af_opencl_next.clLinkProgram(context, num_devices, devices, options, num_programs,
	                                 programs, notify, user_data, errcode_ret));
	if (recording(program)) {
		program_new(program);
		program_keep(program, options);
	}
	return program;
}

/* clGetKernelInfo of Intel's driver knows these (opencl/source/kernel/kernel_info_cl.h). */
enum {
	KERNEL_BINARY_PROGRAM_INTEL = 0x407D,
	KERNEL_BINARY_GPU_ADDRESS_INTEL = 0x10010,
};

/* The device that @program's only binary is for. */
static const struct af_opencl_device *program_device(const struct program_binaries *b)
{
	return b->nr == 1 ? af_opencl_device(b->devices[0]) : NULL;
}

/*
 * Where Intel's driver has put the kernel's code. Drivers refuse what they do not know. Of binaries
 * that are no zebins the driver says how long a kernel's code is.
 */
static void kernel_place(cl_kernel kernel, cl_program program, const char *name)
{
	struct af_zebin_kernel k = {0};
	struct program_binaries b;
	uint64_t address = 0;
	size_t size = 0;

	if (af_opencl_next.clGetKernelInfo(kernel, KERNEL_BINARY_GPU_ADDRESS_INTEL, sizeof address,
	                                   &address, NULL) ||
	    !address)
		return;
	unsigned char *memory = binaries_get(program, &b, &size);
	const struct af_opencl_device *d = memory ? program_device(&b) : NULL;
	if (d && !af_zebin_kernel(b.data[0], b.sizes[0], name, &k)) {
		size_t bytes = 0;
		if (!af_opencl_next.clGetKernelInfo(kernel, KERNEL_BINARY_PROGRAM_INTEL, 0, NULL,
		                                    &bytes))
			k.size = bytes;
	}
	/* Code that is gone may have been at this place. */
	af_opencl_codes_tidy(true);
	if (d)
		af_placed_put(af_opencl_program(program), d->id, name, address, &k);
	if (memory)
		munmap(memory, size);
}

/* Ask the driver what a kernel is called and belongs to. */
static uint32_t kernel_register(cl_kernel kernel)
{
	cl_program program = NULL;
	char name[KERNEL_NAME_BYTES] = "";

	af_opencl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
	if (af_opencl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name,
	                                   NULL))
		name[0] = 0;
	name[sizeof name - 1] = 0;
	uint32_t id = af_kernel_id(&kernels, NULL, af_opencl_program(program), name, strlen(name));
	af_handles_set(&opencl_kernels, (uintptr_t)kernel, id);
	kernel_place(kernel, program, name);
	return id;
}

uint32_t af_opencl_kernel(cl_kernel kernel)
{
	uint32_t id = (uint32_t)af_handles_get(&opencl_kernels, (uintptr_t)kernel);

	return id || !kernel ? id : kernel_register(kernel);
}

static void program_keep_late(cl_program program)
{
	if (!(af_handles_get(&opencl_programs, (uintptr_t)program) & PROGRAM_KEPT))
		program_keep(program, NULL);
}

static cl_kernel CL_API_CALL opencl_create_kernel(cl_program program, const char *name,
                                                  cl_int *errcode_ret)
{
	cl_kernel kernel = AF_IN_OPENCL(af_opencl_next.clCreateKernel(program, name, errcode_ret));

	if (recording(kernel)) {
		program_keep_late(program);
		kernel_register(kernel);
		af_opencl_kernel_made(kernel, program);
	}
	return kernel;
}

static cl_int CL_API_CALL opencl_create_kernels(cl_program program, cl_uint room,
                                                cl_kernel *kernels, cl_uint *nr_ret)
{
	cl_uint nr = 0;
	cl_int rc =
	    AF_IN_OPENCL(af_opencl_next.clCreateKernelsInProgram(program, room, kernels, &nr));

	if (!rc && nr_ret)
		*nr_ret = nr;
	if (rc || !kernels || !recording(program))
		return rc;
	program_keep_late(program);
	for (cl_uint i = 0; i < nr && i < room; i++) {
		kernel_register(kernels[i]);
		af_opencl_kernel_made(kernels[i], program);
	}
	return rc;
}

static cl_kernel CL_API_CALL opencl_clone_kernel(cl_kernel source, cl_int *errcode_ret)
{
	cl_kernel kernel = AF_IN_OPENCL(af_opencl_next.clCloneKernel(source, errcode_ret));

	if (recording(kernel)) {
		kernel_register(kernel);
		cl_program program = NULL;
		af_opencl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program,
		                               NULL);
		af_opencl_kernel_made(kernel, program);
	}
	return kernel;
}

void af_opencl_wrap_programs(struct _cl_icd_dispatch *d)
{
	d->clCreateProgramWithSource = opencl_create_program;
	d->clCreateProgramWithIL = opencl_create_program_with_il;
	d->clCreateProgramWithBinary = opencl_create_program_with_binary;
	d->clCreateProgramWithBuiltInKernels = opencl_create_program_with_built_in;
	d->clBuildProgram = opencl_build_program;
	d->clCompileProgram = opencl_compile_program;
	d->clLinkProgram = opencl_link_program;
	d->clCreateKernel = opencl_create_kernel;
	d->clCreateKernelsInProgram = opencl_create_kernels;
	d->clCloneKernel = opencl_clone_kernel;
}

void af_opencl_programs_after_fork(void)
{
	af_handles_after_fork(&opencl_programs);
	af_handles_after_fork(&opencl_kernels);
	af_handles_after_fork(&kernels.ids);
	af_placed_after_fork();
}
