/*
 * cl_errors: calls that must fail, and go on failing in the same way under a profiler.
 *
 * Truth: each of the calls below returns the error that the OpenCL 1.2 specification gives, makes
 * no event (what it was to fill is untouched or NULL), and runs nothing; the number of failed calls
 * is printed. Ten valid launches of fine lie between them and are the only device work.
 *
 * The device's compiler may write to standard error. A NULL kernel, and a NULL wait list with a
 * count, are left out: PoCL 3.1 crashes on them.
 *
 * Exit status: 0, or 1 when an error is not the expected one or an event was made.
 */
#include "burn.h"
#include "cl_setup.h"

enum { ITEMS = 64 };

static const char source[] =
    "kernel void fine(global uint *a) { a[get_global_id(0)] += 1; }\n"
    "kernel void never(global uint *a, uint x) { a[get_global_id(0)] = x; }\n";

static cl_command_queue queue;
static cl_event untouched;
static cl_kernel fine;
static int nr_failed, wrong;

static void expect(cl_int got, cl_int want, const char *what)
{
	nr_failed += got != CL_SUCCESS;
	/* A driver may store NULL on failure, as NVIDIA's does from some point on. */
	if (got == want && (!untouched || untouched == (cl_event)0x5a5a))
		return;
	fprintf(stderr, "%s: error %d instead of %d, event %p\n", what, got, want,
	        (void *)untouched);
	wrong = 1;
}

#define EXPECT(want, call) expect((call), (want), #call)

static void launch_fine(void)
{
	cl_launch(queue, fine, ITEMS, 0);
}

APART static void bad_launches(const struct cl *cl)
{
	const size_t items = ITEMS, too_many = (size_t)1 << 30;
	cl_kernel never = cl_kernel_with(cl, "never", NULL);

	launch_fine();
	EXPECT(CL_INVALID_COMMAND_QUEUE,
	       clEnqueueNDRangeKernel(NULL, fine, 1, NULL, &items, NULL, 0, NULL, &untouched));
	launch_fine();
	EXPECT(CL_INVALID_WORK_DIMENSION,
	       clEnqueueNDRangeKernel(queue, fine, 4, NULL, &items, NULL, 0, NULL, &untouched));
	launch_fine();
	EXPECT(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel(queue, fine, 1, NULL, &too_many,
	                                                          &too_many, 0, NULL, &untouched));
	launch_fine();
	EXPECT(CL_INVALID_KERNEL_ARGS,
	       clEnqueueNDRangeKernel(queue, never, 1, NULL, &items, NULL, 0, NULL, &untouched));
	launch_fine();
	EXPECT(CL_INVALID_VALUE, clWaitForEvents(0, NULL));
	launch_fine();
	CL_CHECK(clReleaseKernel(never));
}

APART static void bad_copies(cl_mem mem)
{
	cl_uint host[ITEMS];

	EXPECT(CL_INVALID_MEM_OBJECT, clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, sizeof host,
	                                                  host, 0, NULL, &untouched));
	launch_fine();
	EXPECT(CL_INVALID_VALUE,
	       clEnqueueReadBuffer(queue, mem, CL_TRUE, 4, sizeof host, host, 0, NULL, &untouched));
	launch_fine();
	EXPECT(CL_INVALID_VALUE, clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, sizeof host, NULL, 0,
	                                              NULL, &untouched));
	launch_fine();
	EXPECT(CL_MEM_COPY_OVERLAP,
	       clEnqueueCopyBuffer(queue, mem, mem, 0, 4, 64, 0, NULL, &untouched));
	launch_fine();
}

APART static void bad_objects(const struct cl *cl)
{
	const char *broken = "kernel void broken( { }\n";
	cl_program program;
	cl_int rc = 0;

	EXPECT(CL_INVALID_ARG_INDEX, clSetKernelArg(fine, 7, sizeof rc, &rc));
	clCreateKernel(cl->program, "missing", &rc);
	EXPECT(CL_INVALID_KERNEL_NAME, rc);
	clCreateBuffer(cl->context, CL_MEM_READ_WRITE, 0, NULL, &rc);
	EXPECT(CL_INVALID_BUFFER_SIZE, rc);
	program = clCreateProgramWithSource(cl->context, 1, &broken, NULL, &rc);
	cl_check(rc, "clCreateProgramWithSource");
	EXPECT(CL_BUILD_PROGRAM_FAILURE, clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
	CL_CHECK(clReleaseProgram(program));
}

int main(void)
{
	cl_uint host[ITEMS] = {0};
	struct cl cl;
	cl_mem mem;

	cl_open(&cl, source);
	queue = cl_queue(&cl, 0);
	mem = cl_buffer(&cl, sizeof host);
	CL_CHECK(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	fine = cl_kernel_with(&cl, "fine", (struct cl_arg[]){CL_ARG(mem), {0, NULL}});
	untouched = (cl_event)0x5a5a;
	bad_launches(&cl);
	bad_copies(mem);
	bad_objects(&cl);
	CL_CHECK(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	wrong |= host[0] != 10 || host[ITEMS - 1] != 10;
	truth_number("failed_calls", nr_failed);
	truth_number("launches", host[0]);
	CL_CHECK(clReleaseKernel(fine));
	CL_CHECK(clReleaseMemObject(mem));
	CL_CHECK(clReleaseCommandQueue(queue));
	cl_close(&cl);
	return wrong;
}
