/*
 * cl_all_kernels SOURCE NATIVE: builds an OpenCL program on Intel's platform, writes its native
 * binary to NATIVE, prints "NAME ADDRESS" of each kernel, the address as the driver has it, and
 * launches each once. 3: there is no such platform.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY = 256,
	KERNEL_BINARY_GPU_ADDRESS = 0x10010, /* CL_KERNEL_BINARY_GPU_ADDRESS_INTEL */
};

static void check(cl_int rc, const char *call)
{
	if (rc == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", call, rc);
	exit(1);
}

#define CHECK(call) check((call), #call)

static char *text_read(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");

	if (!f)
		exit(2);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	return text;
}

static cl_device_id intel_device(void)
{
	cl_platform_id platforms[16];
	cl_device_id device;
	cl_uint nr = 0;
	char name[256];

	clGetPlatformIDs(16, platforms, &nr);
	for (cl_uint i = 0; i < nr && i < 16; i++)
		if (!clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL) &&
		    strstr(name, "Intel") &&
		    !clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 1, &device, NULL))
			return device;
	exit(3);
}

static void native_write(cl_program program, const char *path)
{
	size_t size;
	FILE *f = fopen(path, "wb");

	CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
	unsigned char *bytes = malloc(size);
	CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		exit(2);
	free(bytes);
}

static void kernel_launch(cl_command_queue queue, cl_kernel kernel, cl_mem buffer)
{
	size_t global = 1024, local = 64;
	cl_ulong address;
	char name[256];
	int n = 64;

	CHECK(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
	CHECK(clGetKernelInfo(kernel, KERNEL_BINARY_GPU_ADDRESS, sizeof address, &address, NULL));
	printf("%s %#" PRIx64 "\n", name, (uint64_t)address);
	CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
	CHECK(clSetKernelArg(kernel, 1, sizeof n, &n));
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
}

int main(int argc, char **argv)
{
	cl_kernel kernels[MANY];
	cl_uint nr = 0;
	cl_int rc;

	if (argc != 3)
		return 2;
	const char *text = text_read(argv[1]);
	cl_device_id device = intel_device();
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	CHECK(rc);
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	CHECK(rc);
	CHECK(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
	native_write(program, argv[2]);
	CHECK(clCreateKernelsInProgram(program, MANY, kernels, &nr));
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &rc);
	CHECK(rc);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 65536, NULL, &rc);
	CHECK(rc);
	for (cl_uint i = 0; i < nr; i++)
		kernel_launch(queue, kernels[i], buffer);
	CHECK(clFinish(queue));
	return 0;
}
