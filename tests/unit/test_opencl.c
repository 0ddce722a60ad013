/*
 * The OpenCL layer between a program (the test) and a driver (the mock). The process records
 * itself: main() makes a session and starts over in it, and what was written is read from the
 * rings.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "opencl_mock.h"
#include "trace/packet.h"
#include "trace/write/session.h"

#define CL(function, ...) layer->function(__VA_ARGS__)

static const struct _cl_icd_dispatch *layer;
static const char *session_dir;

static const char *ring_of(unsigned process)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/s%u-0", session_dir, process);
	return path;
}

/* Everything that the first thread of @process has written, in order; free() it. */
static char *stream_bytes(unsigned process, size_t *len)
{
	size_t size = AF_RING_PAGE + (size_t)AF_RING_SLOTS * AF_SLOT_BYTES;
	int fd = open(ring_of(process), O_RDONLY);
	assert_true(fd >= 0);
	const char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	close(fd);
	uint32_t nr_slots = ((const struct af_ring *)map)->nr_slots;
	char *out = malloc((size_t)nr_slots * AF_SLOT_BYTES);

	*len = 0;
	for (uint64_t seq = 0; seq < nr_slots; seq++) {
		for (uint32_t i = 0; i < nr_slots; i++) {
			const struct af_packet *p =
			    (const void *)(map + AF_RING_PAGE + (size_t)i * AF_SLOT_BYTES);
			if (p->magic != AF_PACKET_MAGIC || p->seq != seq)
				continue;
			size_t bytes = p->content_bits / 8 - sizeof *p;
			memcpy(out + *len, p + 1, bytes);
			*len += bytes;
		}
	}
	munmap((void *)map, size);
	return out;
}

/* The number of events of @kind since @mark; @last gets the fixed part of the last one. */
static unsigned events(size_t mark, enum af_kind kind, void *last, size_t last_size)
{
	size_t len;
	char *bytes = stream_bytes(1, &len);
	unsigned nr = 0;

	for (char *p = bytes + mark; p < bytes + len; p += ((struct af_event_header *)p)->size) {
		if (((struct af_event_header *)p)->kind != kind)
			continue;
		nr++;
		if (last)
			memcpy(last, p + sizeof(struct af_event_header), last_size);
	}
	free(bytes);
	return nr;
}

#define EVENTS(mark, KIND, last) events(mark, AF_KIND_##KIND, last, sizeof *(last))

static size_t mark_now(void)
{
	size_t len;

	free(stream_bytes(1, &len));
	return len;
}

static cl_command_queue queue_new(int device, cl_command_queue_properties properties)
{
	cl_int rc = -1;
	cl_command_queue q =
	    CL(clCreateCommandQueue, NULL, (cl_device_id)&mock_devices[device], properties, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	return q;
}

static cl_kernel kernel_new(const char *name)
{
	return CL(clCreateKernel, NULL, name, NULL);
}

static cl_int launch(cl_command_queue q, cl_kernel k, cl_event *event)
{
	size_t global[2] = {64, 8}, local[2] = {16, 2};

	return CL(clEnqueueNDRangeKernel, q, k, 2, NULL, global, local, 0, NULL, event);
}

static int each_test(void **state)
{
	mock_next_status = CL_COMPLETE;
	mock_enqueue_error = 0;
	mock_nr_events = 0;
	mock_fresh_queues = true;
	return 0;
}

static void missing_entries_stay_missing(void **state)
{
	assert_non_null(layer->clEnqueueNDRangeKernel);
	assert_null(layer->clEnqueueSVMMemcpy);
	assert_null(layer->clGetPlatformIDs);
}

static void profiling_is_forced_and_hidden(void **state)
{
	cl_command_queue q = queue_new(0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_command_queue_properties seen = 0;
	cl_event event;
	cl_ulong stamp;

	assert_true(((struct mock_queue *)q)->properties & CL_QUEUE_PROFILING_ENABLE);
	CL(clGetCommandQueueInfo, q, CL_QUEUE_PROPERTIES, sizeof seen, &seen, NULL);
	assert_int_equal(seen, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	assert_int_equal(launch(q, kernel_new("k"), &event), CL_SUCCESS);
	assert_int_equal(CL(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_END, sizeof stamp,
	                    &stamp, NULL),
	                 CL_PROFILING_INFO_NOT_AVAILABLE);
}

static void profiling_that_was_asked_for_is_given(void **state)
{
	cl_command_queue q = queue_new(0, CL_QUEUE_PROFILING_ENABLE);
	cl_command_queue_properties seen = 0;
	cl_event event;
	cl_ulong stamp = 0;

	CL(clGetCommandQueueInfo, q, CL_QUEUE_PROPERTIES, sizeof seen, &seen, NULL);
	assert_int_equal(seen, CL_QUEUE_PROFILING_ENABLE);
	launch(q, kernel_new("k"), &event);
	assert_int_equal(CL(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_END, sizeof stamp,
	                    &stamp, NULL),
	                 CL_SUCCESS);
	assert_int_equal(stamp, mock_events[0].stamps[3]);
}

static void properties_are_answered_as_they_were_passed(void **state)
{
	cl_queue_properties query[] = {CL_QUEUE_SIZE, 42, 0}, got[8];
	size_t size = 0;
	cl_command_queue q = CL(clCreateCommandQueueWithProperties, NULL,
	                        (cl_device_id)&mock_devices[0], query, NULL);

	assert_true(((struct mock_queue *)q)->properties & CL_QUEUE_PROFILING_ENABLE);
	assert_int_equal(
	    CL(clGetCommandQueueInfo, q, CL_QUEUE_PROPERTIES_ARRAY, sizeof got, got, &size),
	    CL_SUCCESS);
	assert_int_equal(size, sizeof query);
	assert_memory_equal(got, query, sizeof query);
	q = queue_new(0, 0);
	assert_int_equal(
	    CL(clGetCommandQueueInfo, q, CL_QUEUE_PROPERTIES_ARRAY, sizeof got, got, &size),
	    CL_SUCCESS);
	assert_int_equal(size, 0);
}

static void completed_work_has_launch_shape_and_stamps(void **state)
{
	struct af_ev_launch l;
	struct af_ev_descriptor descriptor;
	struct af_ev_work w;
	struct af_ev_kernel k;
	struct af_ev_queue def;
	size_t mark = mark_now();
	cl_command_queue q = queue_new(0, 0);

	assert_int_equal(launch(q, kernel_new("completed"), NULL), CL_SUCCESS);
	assert_int_equal(CL(clFinish, q), CL_SUCCESS);
	assert_int_equal(EVENTS(mark, QUEUE, &def), 1);
	assert_int_equal(EVENTS(mark, KERNEL, &k), 1);
	assert_int_equal(EVENTS(mark, LAUNCH, &l), 1);
	assert_int_equal(EVENTS(mark, DESCRIPTOR, &descriptor), 1);
	assert_int_equal(EVENTS(mark, WORK, &w), 1);
	assert_int_not_equal(l.callpath, 0);
	assert_int_equal(w.correlation, l.correlation);
	assert_int_equal(w.descriptor, descriptor.descriptor);
	assert_int_equal(descriptor.queue, def.queue);
	assert_int_equal(descriptor.kernel, k.kernel);
	assert_int_equal(descriptor.op, AF_OP_KERNEL);
	assert_int_equal(descriptor.global_x * descriptor.global_y * descriptor.global_z, 64 * 8);
	assert_int_equal(descriptor.local_x, 16);
	assert_int_equal(descriptor.local_y, 2);
	assert_int_equal(descriptor.local_z, 1);
	assert_int_equal(w.queued_ns, mock_events[0].stamps[0]);
	assert_int_equal(w.submit_after_ns, 10);
	assert_int_equal(w.start_after_ns, 20);
	assert_int_equal(w.busy_ns, 30);
	assert_int_equal(mock_events[0].refs, 0);
}

/* Two enqueues of which only the second has completed. */
static size_t second_completes(cl_command_queue q)
{
	size_t mark = mark_now();
	cl_kernel k = kernel_new("k");

	mock_next_status = CL_QUEUED;
	launch(q, k, NULL);
	mock_next_status = CL_COMPLETE;
	launch(q, k, NULL);
	CL(clFinish, q);
	return mark;
}

static void in_order_work_waits_for_what_is_before_it(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = second_completes(q);
	struct af_ev_work w;

	assert_int_equal(EVENTS(mark, WORK, &w), 0);
	mock_events[0].status = CL_COMPLETE;
	CL(clFinish, q);
	assert_int_equal(EVENTS(mark, WORK, &w), 2);
	assert_int_equal(w.queued_ns, mock_events[1].stamps[0]);
	assert_int_equal(mock_events[0].refs + mock_events[1].refs, 0);
}

static void out_of_order_work_does_not(void **state)
{
	cl_command_queue q = queue_new(0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	size_t mark = second_completes(q);
	struct af_ev_work w;

	assert_int_equal(EVENTS(mark, WORK, &w), 1);
	assert_int_equal(w.queued_ns, mock_events[1].stamps[0]);
	mock_events[0].status = CL_COMPLETE;
	CL(clReleaseCommandQueue, q);
	assert_int_equal(EVENTS(mark, WORK, &w), 2);
	assert_int_equal(w.queued_ns, mock_events[0].stamps[0]);
}

static void work_stuck_at_the_front_does_not_hide_the_rest(void **state)
{
	cl_command_queue q = queue_new(0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	size_t mark = mark_now();
	cl_kernel k = kernel_new("k");
	struct af_ev_work w;

	mock_next_status = CL_QUEUED;
	for (int i = 0; i < 100; i++)
		launch(q, k, NULL);
	mock_next_status = CL_COMPLETE;
	for (int i = 0; i < 2000; i++)
		launch(q, k, NULL); /* nothing else is called */
	assert_true(EVENTS(mark, WORK, &w) > 1000);
	for (int i = 0; i < 100; i++)
		mock_events[i].status = CL_COMPLETE;
	CL(clReleaseCommandQueue, q);
	assert_int_equal(EVENTS(mark, WORK, &w), 2100);
}

static void refused_enqueue_is_work_with_its_error(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	struct af_ev_work_long w;
	struct af_ev_launch l;
	cl_event event = (cl_event)&mark;

	mock_enqueue_error = CL_INVALID_KERNEL_ARGS;
	assert_int_equal(launch(q, kernel_new("k"), &event), CL_INVALID_KERNEL_ARGS);
	assert_ptr_equal(event, &mark);
	assert_int_equal(EVENTS(mark, LAUNCH, &l), 1);
	assert_int_equal(EVENTS(mark, WORK_LONG, &w), 1);
	assert_int_equal(w.correlation, l.correlation);
	assert_int_equal(w.status, CL_INVALID_KERNEL_ARGS);
	assert_int_equal(w.queued_ns | w.end_ns, 0);
}

static void failed_work_keeps_its_status(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	struct af_ev_work_long w;

	mock_next_status = CL_OUT_OF_RESOURCES;
	launch(q, kernel_new("k"), NULL);
	CL(clFinish, q);
	assert_int_equal(EVENTS(mark, WORK_LONG, &w), 1);
	assert_int_equal(w.status, CL_OUT_OF_RESOURCES);
	assert_int_equal(mock_events[0].refs, 0);
}

static void work_without_stamps_is_counted(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	struct af_ev_work_long w;
	struct af_ev_lost lost;

	mock_next_status = CL_QUEUED;
	launch(q, kernel_new("k"), NULL);
	mock_events[0].status = CL_COMPLETE;
	mock_events[0].no_stamps = true;
	CL(clFinish, q);
	assert_int_equal(EVENTS(mark, WORK_LONG, &w), 1);
	assert_int_equal(w.status, 0);
	assert_int_equal(w.end_ns, 0);
	assert_int_equal(EVENTS(mark, LOST, &lost), 1);
	assert_int_equal(lost.reason, AF_LOST_NO_STAMPS);
}

static void work_that_completes_under_our_eyes_has_stamps(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	struct af_ev_work w;

	mock_next_status = CL_QUEUED;
	launch(q, kernel_new("k"), NULL);
	mock_events[0].completes_when_asked = true;
	CL(clFinish, q);
	assert_int_equal(EVENTS(mark, WORK, &w), 1);
	assert_int_equal(w.queued_ns, mock_events[0].stamps[0]);
}

static void long_waits_are_written_in_full(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	struct af_ev_work_long w;

	mock_next_status = CL_QUEUED;
	launch(q, kernel_new("k"), NULL);
	mock_events[0].status = CL_COMPLETE;
	mock_events[0].stamps[2] += 5000000000u;
	mock_events[0].stamps[3] += 5000000000u;
	CL(clFinish, q);
	assert_int_equal(EVENTS(mark, WORK_LONG, &w), 1);
	assert_int_equal(w.start_ns, mock_events[0].stamps[2]);
	assert_int_equal(w.end_ns, mock_events[0].stamps[3]);
	assert_int_equal(w.status, 0);
}

static void the_program_keeps_its_reference(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	cl_event event = NULL;

	launch(q, kernel_new("k"), &event);
	CL(clFinish, q);
	assert_ptr_equal(event, &mock_events[0]);
	assert_int_equal(mock_events[0].refs, 1);
}

static void blocking_call_writes_its_work(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	struct af_ev_work w;
	struct af_ev_descriptor descriptor;
	char to[16];

	CL(clEnqueueReadBuffer, q, NULL, CL_TRUE, 0, 12345, to, 0, NULL, NULL);
	assert_int_equal(EVENTS(mark, WORK, &w), 1);
	assert_int_equal(EVENTS(mark, DESCRIPTOR, &descriptor), 1);
	assert_int_equal(descriptor.op, AF_OP_READ);
	assert_int_equal(descriptor.bytes, 12345);
}

static void functions_got_by_name_are_recorded(void **state)
{
	cl_int (*copy)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
	               const cl_event *, cl_event *) =
	    CL(clGetExtensionFunctionAddress, "clEnqueueMemcpyINTEL");
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	struct af_ev_work w;
	struct af_ev_descriptor descriptor;
	char from[8] = "", to[8];

	assert_non_null(copy);
	assert_int_equal(copy(q, CL_TRUE, to, from, 54321, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(EVENTS(mark, WORK, &w), 1);
	assert_int_equal(EVENTS(mark, DESCRIPTOR, &descriptor), 1);
	assert_int_equal(descriptor.op, AF_OP_COPY);
	assert_int_equal(descriptor.bytes, 54321);
	assert_ptr_equal(CL(clGetExtensionFunctionAddress, "clSomethingElse"), mock_enqueue);
	assert_null(CL(clGetExtensionFunctionAddress, "clMissing"));
}

static void much_in_flight_is_all_written_and_released(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	size_t mark = mark_now();
	cl_kernel k = kernel_new("k");
	struct af_ev_work w;
	int refs = 0;

	mock_next_status = CL_SUBMITTED;
	for (int i = 0; i < 5000; i++)
		launch(q, k, NULL);
	assert_int_equal(EVENTS(mark, WORK, &w), 0);
	for (int i = 0; i < 5000; i++)
		mock_events[i].status = CL_COMPLETE;
	CL(clFinish, q);
	assert_int_equal(EVENTS(mark, WORK, &w), 5000);
	assert_int_equal(w.queued_ns, mock_events[4999].stamps[0]);
	for (int i = 0; i < 5000; i++)
		refs += mock_events[i].refs;
	assert_int_equal(refs, 0);
}

static void kernel_made_again_keeps_its_id(void **state)
{
	size_t mark = mark_now();
	struct af_ev_kernel k;

	kernel_new("made_again");
	kernel_new("made_again");
	kernel_new("another");
	assert_int_equal(EVENTS(mark, KERNEL, &k), 2);
}

static void queue_handle_that_comes_back_is_another_queue(void **state)
{
	size_t mark = mark_now();
	struct af_ev_queue a, b;

	mock_fresh_queues = false;
	cl_command_queue q = queue_new(0, 0);
	assert_int_equal(EVENTS(mark, QUEUE, &a), 1);
	CL(clReleaseCommandQueue, q);
	assert_ptr_equal(queue_new(0, 0), q);
	assert_int_equal(EVENTS(mark, QUEUE, &b), 2);
	assert_int_not_equal(a.queue, b.queue);
	CL(clReleaseCommandQueue, q);
}

/* Foreign less mono of the last pair of a device that has just been used. */
static int64_t clock_offset(int device, uint64_t *uncertainty)
{
	size_t mark = mark_now(), len;
	cl_command_queue q = queue_new(device, 0);
	cl_kernel k = kernel_new("k");
	struct af_ev_queue def;
	struct af_ev_clock c, last = {0};

	for (int i = 0; i < 20; i++) {
		launch(q, k, NULL);
		CL(clFinish, q);
	}
	assert_int_equal(EVENTS(mark, QUEUE, &def), 1);
	CL(clReleaseCommandQueue, q);
	af_opencl_work_flush();

	char *bytes = stream_bytes(1, &len);
	for (char *p = bytes + mark; p < bytes + len; p += ((struct af_event_header *)p)->size) {
		memcpy(&c, p + sizeof(struct af_event_header), sizeof c);
		if (((struct af_event_header *)p)->kind == AF_KIND_CLOCK && c.device == def.device)
			last = c;
	}
	free(bytes);
	assert_int_equal(last.clock, AF_CLOCK_DEVICE);
	*uncertainty = last.uncertainty_ns;
	return (int64_t)(last.foreign - last.mono_ns);
}

static void clock_of_a_host_is_recognised(void **state)
{
	struct mock_device raw = {0, CLOCK_MONOTONIC_RAW}, mono = {0, CLOCK_MONOTONIC};
	int64_t want = (int64_t)(mock_now(&raw) - mock_now(&mono));
	uint64_t uncertainty;
	int64_t got = clock_offset(0, &uncertainty);

	assert_true(llabs(got - want) < 1000000);
}

static void unknown_clock_is_paired_by_enqueues(void **state)
{
	uint64_t uncertainty;
	int64_t got = clock_offset(1, &uncertainty);

	assert_true((uint64_t)llabs(got - 5000000000) <= uncertainty);
}

static void forked_child_leaves_the_parents_events(void **state)
{
	cl_command_queue q = queue_new(0, 0);
	cl_kernel k = kernel_new("forked");
	size_t len;

	mock_next_status = CL_QUEUED;
	launch(q, k, NULL);
	pid_t pid = fork();
	if (!pid) {
		mock_events[0].status = CL_COMPLETE;
		CL(clFinish, q);
		mock_next_status = CL_COMPLETE;
		launch(q, k, NULL);
		CL(clFinish, q);
		/* Its own event is done with, its parent's was not touched. */
		_exit(mock_events[0].refs == 1 && mock_events[1].refs == 0 ? 0 : 1);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);

	/* The child defines what it uses in its own stream. */
	char *bytes = stream_bytes(2, &len);
	unsigned kinds[AF_KIND_MAX] = {0};
	for (char *p = bytes; p < bytes + len; p += ((struct af_event_header *)p)->size)
		kinds[((struct af_event_header *)p)->kind]++;
	free(bytes);
	assert_int_equal(kinds[AF_KIND_QUEUE], 1);
	assert_int_equal(kinds[AF_KIND_KERNEL], 1);
	assert_int_equal(kinds[AF_KIND_DEVICE], 1);
	assert_int_equal(kinds[AF_KIND_LAUNCH], 1);
	assert_int_equal(kinds[AF_KIND_WORK], 1);
	mock_events[0].status = CL_COMPLETE;
	CL(clFinish, q);
}

/* A session as the recorder would make it, with nobody behind it. */
static int record_self(void)
{
	char dir[] = "/tmp/af-opencl-XXXXXX", named[AF_SESSION_ENV_MAX];
	static struct af_session s = {
	    .magic = AF_SESSION_MAGIC, .version = AF_TRACE_VERSION, .flags = AF_SESSION_OPENCL};
	struct af_session *mapped;

	if (!mkdtemp(dir))
		return 1;
	snprintf(s.trace_dir, sizeof s.trace_dir, "%s", dir);
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || af_session_make(fd, &s, &mapped))
		return 1;
	close(fd);
	af_session_env_write(named, sizeof named, dir, s.nonce);
	setenv(AF_SESSION_ENV, named, 1);
	execl("/proc/self/exe", "test_opencl", "inside", NULL);
	return 1;
}

static void remove_session(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", session_dir);
	if (system(command))
		fprintf(stderr, "left %s behind\n", session_dir);
}

int main(int argc, char **argv)
{
	cl_uint nr = 0;

	if (argc < 2)
		return record_self();
	static char dir[AF_SESSION_DIR_MAX];
	uint64_t nonce;
	if (!af_session_env_read(getenv(AF_SESSION_ENV), dir, sizeof dir, &nonce))
		return 1;
	session_dir = dir;
	if (clInitLayer(sizeof mock_driver / sizeof(void *), &mock_driver, &nr, &layer))
		return 1;
#define T(name) cmocka_unit_test_setup(name, each_test)
	const struct CMUnitTest tests[] = {
	    T(missing_entries_stay_missing),
	    T(profiling_is_forced_and_hidden),
	    T(profiling_that_was_asked_for_is_given),
	    T(properties_are_answered_as_they_were_passed),
	    T(completed_work_has_launch_shape_and_stamps),
	    T(in_order_work_waits_for_what_is_before_it),
	    T(out_of_order_work_does_not),
	    T(work_stuck_at_the_front_does_not_hide_the_rest),
	    T(refused_enqueue_is_work_with_its_error),
	    T(failed_work_keeps_its_status),
	    T(work_without_stamps_is_counted),
	    T(work_that_completes_under_our_eyes_has_stamps),
	    T(long_waits_are_written_in_full),
	    T(the_program_keeps_its_reference),
	    T(blocking_call_writes_its_work),
	    T(functions_got_by_name_are_recorded),
	    T(much_in_flight_is_all_written_and_released),
	    T(kernel_made_again_keeps_its_id),
	    T(queue_handle_that_comes_back_is_another_queue),
	    T(clock_of_a_host_is_recognised),
	    T(unknown_clock_is_paired_by_enqueues),
	    T(forked_child_leaves_the_parents_events),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_session();
	return failed;
}
