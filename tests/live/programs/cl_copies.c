/*
 * cl_copies [SCALE]: every kind of transfer, with known bytes.
 *
 * Truth: the number of calls and bytes of each kind is printed as truth calls.KIND and bytes.KIND,
 * for write, read, copy, write_rect, read_rect, copy_rect, fill, map, unmap, migrate and, where the
 * device has shared virtual memory, svm_memcpy, svm_fill, svm_map, svm_unmap. A rectangle counts
 * its own bytes, not the pitch; an unmap counts none. Everything is enqueued by a function named
 * enqueue_KIND (maps and unmaps by map_and_unmap, the SVM kinds by enqueue_svm).
 *
 * Exit status: 0, or 1 when the data are wrong afterwards.
 */
#include "burn.h"
#include "cl_setup.h"

#include <string.h>

enum { SIZE = 1 << 20, NR_KINDS = 15, QUARTER = SIZE / 4 };

enum kind {
	WRITE,
	READ,
	COPY,
	WRITE_RECT,
	READ_RECT,
	COPY_RECT,
	FILL,
	MAP,
	UNMAP,
	MIGRATE,
	SVM_MEMCPY,
	SVM_FILL,
	SVM_MAP,
	SVM_UNMAP,
};

static const char *const kind_names[NR_KINDS] = {
    [WRITE] = "write",
    [READ] = "read",
    [COPY] = "copy",
    [WRITE_RECT] = "write_rect",
    [READ_RECT] = "read_rect",
    [COPY_RECT] = "copy_rect",
    [FILL] = "fill",
    [MAP] = "map",
    [UNMAP] = "unmap",
    [MIGRATE] = "migrate",
    [SVM_MEMCPY] = "svm_memcpy",
    [SVM_FILL] = "svm_fill",
    [SVM_MAP] = "svm_map",
    [SVM_UNMAP] = "svm_unmap",
};

static struct {
	long calls, bytes;
} truth[NR_KINDS];

static unsigned char host[SIZE], back[SIZE];
static cl_command_queue queue;
static cl_mem a, b;
static int wrong;

/* A rectangle of 64 rows by 128 bytes in 2 slices, in a buffer with rows of 256 bytes. */
static const size_t region[3] = {128, 64, 2};
static const size_t device_origin[3] = {64, 8, 0}, host_origin[3] = {0, 0, 0};
enum {
	RECT_BYTES = 128 * 64 * 2,
	ROW = 256,
	SLICE = 256 * 128,
	HOST_ROW = 128,
	HOST_SLICE = 128 * 64
};

static void count(enum kind kind, long bytes)
{
	truth[kind].calls++;
	truth[kind].bytes += bytes;
}

APART static void enqueue_write(void)
{
	CL_CHECK(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, SIZE, host, 0, NULL, NULL));
	count(WRITE, SIZE);
	CL_CHECK(clEnqueueWriteBuffer(queue, a, CL_FALSE, QUARTER, QUARTER, host + QUARTER, 0, NULL,
	                              NULL));
	count(WRITE, QUARTER);
}

APART static void enqueue_copy(void)
{
	CL_CHECK(clEnqueueCopyBuffer(queue, a, b, 0, 0, SIZE, 0, NULL, NULL));
	count(COPY, SIZE);
}

APART static void enqueue_read(void)
{
	memset(back, 0, sizeof back);
	CL_CHECK(clEnqueueReadBuffer(queue, b, CL_FALSE, 0, SIZE, back, 0, NULL, NULL));
	count(READ, SIZE);
	CL_CHECK(clFinish(queue));
	wrong |= memcmp(host, back, SIZE);
	CL_CHECK(clEnqueueReadBuffer(queue, b, CL_TRUE, 100, 300, back, 0, NULL, NULL));
	count(READ, 300);
}

APART static void enqueue_write_rect(void)
{
	CL_CHECK(clEnqueueWriteBufferRect(queue, a, CL_FALSE, device_origin, host_origin, region,
	                                  ROW, SLICE, HOST_ROW, HOST_SLICE, host, 0, NULL, NULL));
	count(WRITE_RECT, RECT_BYTES);
}

APART static void enqueue_copy_rect(void)
{
	CL_CHECK(clEnqueueCopyBufferRect(queue, a, b, device_origin, device_origin, region, ROW,
	                                 SLICE, ROW, SLICE, 0, NULL, NULL));
	count(COPY_RECT, RECT_BYTES);
}

APART static void enqueue_read_rect(void)
{
	memset(back, 0, RECT_BYTES);
	CL_CHECK(clEnqueueReadBufferRect(queue, b, CL_TRUE, device_origin, host_origin, region, ROW,
	                                 SLICE, HOST_ROW, HOST_SLICE, back, 0, NULL, NULL));
	count(READ_RECT, RECT_BYTES);
	wrong |= memcmp(host, back, RECT_BYTES);
}

APART static void enqueue_fill(void)
{
	const cl_uint pattern = 0x01020304;

	CL_CHECK(clEnqueueFillBuffer(queue, b, &pattern, sizeof pattern, QUARTER, QUARTER, 0, NULL,
	                             NULL));
	count(FILL, QUARTER);
}

/* Maps a range, checks or changes it, and unmaps it. */
APART static void map_and_unmap(cl_map_flags flags, size_t first, size_t size)
{
	cl_int rc;
	unsigned char *at =
	    clEnqueueMapBuffer(queue, b, CL_TRUE, flags, first, size, 0, NULL, NULL, &rc);

	cl_check(rc, "clEnqueueMapBuffer");
	count(MAP, (long)size);
	if (flags == CL_MAP_READ)
		wrong |= at[0] != 4 || at[1] != 3 || at[size - 1] != 1;
	else
		memset(at, 9, size);
	CL_CHECK(clEnqueueUnmapMemObject(queue, b, at, 0, NULL, NULL));
	count(UNMAP, 0);
}

APART static void enqueue_map(void)
{
	map_and_unmap(CL_MAP_READ, QUARTER, QUARTER);
	map_and_unmap(CL_MAP_WRITE_INVALIDATE_REGION, 0, 4096);
	CL_CHECK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, 4096, back, 0, NULL, NULL));
	count(READ, 4096);
	wrong |= back[0] != 9 || back[4095] != 9;
}

APART static void enqueue_migrate(void)
{
	CL_CHECK(
	    clEnqueueMigrateMemObjects(queue, 1, &a, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
	count(MIGRATE, SIZE);
	CL_CHECK(clEnqueueMigrateMemObjects(queue, 1, &a, 0, 0, NULL, NULL));
	count(MIGRATE, SIZE);
}

APART static void enqueue_svm(const struct cl *cl)
{
	const cl_uint pattern = 0x05050505;
	cl_device_svm_capabilities can = 0;
	unsigned char *shared;

	clGetDeviceInfo(cl->device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL);
	if (!(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
		return;
	shared = clSVMAlloc(cl->context, CL_MEM_READ_WRITE, 65536, 0);
	if (!shared)
		cl_check(CL_OUT_OF_RESOURCES, "clSVMAlloc");
	CL_CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, shared, host, 65536, 0, NULL, NULL));
	count(SVM_MEMCPY, 65536);
	CL_CHECK(clEnqueueSVMMemFill(queue, shared + 32768, &pattern, sizeof pattern, 32768, 0,
	                             NULL, NULL));
	count(SVM_FILL, 32768);
	CL_CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, shared, 65536, 0, NULL, NULL));
	count(SVM_MAP, 65536);
	wrong |= memcmp(shared, host, 32768) || shared[32768] != 5 || shared[65535] != 5;
	CL_CHECK(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
	count(SVM_UNMAP, 0);
	CL_CHECK(clFinish(queue));
	clSVMFree(cl->context, shared);
}

int main(int argc, char **argv)
{
	const int rounds = (int)(20 * burn_scale(argc, argv));
	struct cl cl;

	for (int i = 0; i < SIZE; i++)
		host[i] = (unsigned char)(i * 31 + i / 251);
	cl_open(&cl, "kernel void unused(void) {}\n");
	queue = cl_queue(&cl, 0);
	a = cl_buffer(&cl, SIZE);
	b = cl_buffer(&cl, SIZE);
	for (int i = 0; i < rounds; i++) {
		enqueue_write();
		enqueue_copy();
		enqueue_read();
		enqueue_write_rect();
		enqueue_copy_rect();
		enqueue_read_rect();
		enqueue_fill();
		enqueue_map();
		enqueue_migrate();
		enqueue_svm(&cl);
		CL_CHECK(clFinish(queue));
	}
	for (int i = 0; i < NR_KINDS; i++)
		if (truth[i].calls)
			printf("truth calls.%s %ld\ntruth bytes.%s %ld\n", kind_names[i],
			       truth[i].calls, kind_names[i], truth[i].bytes);
	CL_CHECK(clReleaseMemObject(a));
	CL_CHECK(clReleaseMemObject(b));
	CL_CHECK(clReleaseCommandQueue(queue));
	cl_close(&cl);
	return wrong != 0;
}
