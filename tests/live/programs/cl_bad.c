/*
 * cl_bad WAY: calls of OpenCL as no program should make them, each followed by proper ones.
 *
 *	nulls      pointers and objects that must not be NULL
 *	crashes    the same in a call that dies of it, by SIGSEGV
 *	edges      arrays and strings that end where the memory does, in calls that fail before they
 *	           look at them
 *	long       a string of 1 MB
 *	nested     the callback of clBuildProgram calls OpenCL
 *	event      the callback of an event, on a thread of the driver's, calls OpenCL
 *	longjmp    the callback leaves clBuildProgram by longjmp()
 *	fork       the callback forks, and the child calls OpenCL
 *	exits      the callback ends the process
 *	pthread    the callback ends its thread, which is inside of clBuildProgram
 *	cancelled  a thread is cancelled inside of clWaitForEvents
 *	blocks     waits in clWaitForEvents for ever, after a line on standard output
 *	dies       kills itself with SIGKILL while a thread is in clWaitForEvents
 *	copies     copies standard input to standard output, with a call for each byte
 *
 * Truth: the last calls of a way that goes on are five of clGetPlatformIDs with num_entries 7.
 * Exit status: 55; of "exits" 7.
 */
#include "burn.h"
#include "cl_setup.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST = 5, LAST_ENTRIES = 7, LONG = 1 << 20, DIMS = 1000, STATUS = 55, ENDED = 7 };

static const char source[] = "kernel void k(global uint *a) { a[get_global_id(0)] = 1; }\n";
static const char *way;
static struct cl cl;
static jmp_buf back;

static bool is_way(const char *name)
{
	return !strcmp(way, name);
}

static void last_calls(void)
{
	cl_platform_id ids[LAST_ENTRIES];

	for (int i = 0; i < LAST; i++)
		CL_CHECK(clGetPlatformIDs(LAST_ENTRIES, ids, NULL));
}

/* @size bytes that are the last before memory that is not there. */
static void *at_edge(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
	    mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(two + page, page);
	memset(two, 'x', page);
	return two + page - size;
}

static void expect_error(cl_int rc, const char *what)
{
	if (rc == CL_SUCCESS) {
		fprintf(stderr, "%s works\n", what);
		exit(3);
	}
}

static void nulls(cl_command_queue queue, cl_kernel kernel)
{
	cl_int rc;

	expect_error(clGetPlatformIDs(0, NULL, NULL), "clGetPlatformIDs");
	expect_error(clGetDeviceIDs(cl.platform, CL_DEVICE_TYPE_ALL, 0, NULL, NULL),
	             "clGetDeviceIDs");
	expect_error(clEnqueueNDRangeKernel(queue, kernel, 0, NULL, NULL, NULL, 0, NULL, NULL),
	             "clEnqueueNDRangeKernel");
	expect_error(clEnqueueReadBuffer(NULL, NULL, CL_TRUE, 0, 4, NULL, 3, NULL, NULL),
	             "clEnqueueReadBuffer");
	expect_error(clWaitForEvents(0, NULL), "clWaitForEvents");
	clCreateProgramWithSource(cl.context, 0, NULL, NULL, &rc);
	expect_error(rc, "clCreateProgramWithSource");
	clCreateKernel(NULL, NULL, &rc);
	expect_error(rc, "clCreateKernel");
	clCreateBuffer(NULL, 0, 0, NULL, NULL);
	expect_error(clReleaseMemObject(NULL), "clReleaseMemObject");
}

static void edges(cl_command_queue queue, cl_kernel kernel)
{
	const size_t *sizes = at_edge(3 * sizeof *sizes);
	cl_int rc;

	expect_error(clEnqueueNDRangeKernel(queue, kernel, DIMS, NULL, sizes, NULL, 0, NULL, NULL),
	             "clEnqueueNDRangeKernel");
	expect_error(clSetKernelArg(NULL, 0, 100, at_edge(4)), "clSetKernelArg");
	clCreateKernel(NULL, at_edge(10), &rc);
	expect_error(rc, "clCreateKernel");
	clCreateKernel(NULL, (const char *)0x10, &rc);
	expect_error(rc, "clCreateKernel");
}

static void long_string(void)
{
	char *name = malloc(LONG + 1);
	cl_int rc;

	memset(name, 'y', LONG);
	name[LONG] = 0;
	clCreateKernel(cl.program, name, &rc);
	expect_error(rc, "clCreateKernel");
	free(name);
}

static void *end_thread(void *arg)
{
	(void)arg;
	last_calls();
	exit(STATUS);
}

static void CL_CALLBACK built(cl_program program, void *data)
{
	cl_build_status status;
	(void)data;

	CL_CHECK(clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_STATUS, sizeof status,
	                               &status, NULL));
	if (is_way("longjmp"))
		longjmp(back, 1);
	if (is_way("exits"))
		exit(ENDED);
	if (is_way("fork")) {
		pid_t child = fork();
		if (!child) {
			last_calls();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	if (is_way("pthread")) {
		pthread_t thread;
		pthread_create(&thread, NULL, end_thread, NULL);
		pthread_exit(NULL);
	}
}

static void build(void)
{
	if (!setjmp(back))
		CL_CHECK(clBuildProgram(cl.program, 1, &cl.device, "-DX=1", built, NULL));
}

static void *wait_for_ever(void *arg)
{
	cl_event event = arg;

	clWaitForEvents(1, &event);
	return NULL;
}

static void *cancelled_waits(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	return wait_for_ever(arg);
}

static void CL_CALLBACK completed(cl_event event, cl_int status, void *done)
{
	cl_int state;
	(void)status;

	CL_CHECK(
	    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
	atomic_store((atomic_int *)done, 1);
}

static void event_callback(cl_command_queue queue, cl_mem mem)
{
	static atomic_int done;
	const int zero = 0;
	cl_event event;

	CL_CHECK(clEnqueueFillBuffer(queue, mem, &zero, sizeof zero, 0, 64, 0, NULL, &event));
	CL_CHECK(clSetEventCallback(event, CL_COMPLETE, completed, &done));
	CL_CHECK(clFinish(queue));
	while (!atomic_load(&done))
		usleep(1000);
}

static void waits(void)
{
	cl_event event = clCreateUserEvent(cl.context, NULL);
	pthread_t thread;

	if (is_way("blocks")) {
		puts("waiting");
		fflush(stdout);
		wait_for_ever(event);
	}
	pthread_create(&thread, NULL, is_way("dies") ? wait_for_ever : cancelled_waits, event);
	usleep(200000);
	if (is_way("dies")) {
		last_calls();
		kill(getpid(), SIGKILL);
	}
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void copies(void)
{
	cl_platform_id ids[LAST_ENTRIES];
	int c;

	while ((c = getchar()) != EOF) {
		CL_CHECK(clGetPlatformIDs(LAST_ENTRIES, ids, NULL));
		putchar(c);
		if (c == '\n')
			fflush(stdout);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "";
	cl_open(&cl, source);
	cl_command_queue queue = cl_queue(&cl, 0);
	cl_kernel kernel = clCreateKernel(cl.program, "k", NULL);
	cl_mem mem = cl_buffer(&cl, 64);

	CL_CHECK(clSetKernelArg(kernel, 0, sizeof mem, &mem));
	if (is_way("nulls"))
		nulls(queue, kernel);
	else if (is_way("crashes"))
		clEnqueueNDRangeKernel(queue, NULL, 1, NULL, NULL, NULL, 0, NULL, NULL);
	else if (is_way("edges"))
		edges(queue, kernel);
	else if (is_way("long"))
		long_string();
	else if (is_way("copies"))
		copies();
	else if (is_way("event"))
		event_callback(queue, mem);
	else if (is_way("cancelled") || is_way("blocks") || is_way("dies"))
		waits();
	else {
		clReleaseKernel(kernel);
		build();
	}
	if (!is_way("copies"))
		last_calls();
	fflush(stdout);
	_exit(STATUS);
}
