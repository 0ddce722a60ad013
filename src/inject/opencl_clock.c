#include "inject/opencl.h"

#include <stdio.h>
#include <time.h>

/*
 * Event stamps are on the device's clock. Three ways to know it, best first:
 *
 * 1. clGetDeviceAndHostTimer (OpenCL 2.1) reads it.
 * 2. It is one of the host's clocks. The QUEUED stamp of an enqueue was taken during the call, so
 *    a host clock whose readings before and after do not enclose it is ruled out; one that is left
 *    can be read at any time. (PoCL 3.1 has no timer and stamps with CLOCK_MONOTONIC_RAW, which
 *    runs away from CLOCK_MONOTONIC by up to 500 ppm.)
 * 3. Such an enqueue, one each second, is itself a pair: somewhere in the call.
 */
enum {
	READ_TRIES = 3,
	FIRST_BRACKETS = 16,
	BRACKET_EVERY_NS = 1000000000,
	SLACK_NS = 2000, /* a driver may round its stamps */
	ALL_CLOCKS = (1 << AF_OPENCL_HOST_CLOCKS) - 1,
};

static const clockid_t host_clocks[AF_OPENCL_HOST_CLOCKS] = {
    CLOCK_MONOTONIC,
    CLOCK_MONOTONIC_RAW,
    CLOCK_REALTIME,
    CLOCK_BOOTTIME,
};

/* The bracket is being filled in or looked at. */
#define BRACKET_CLAIMED UINT64_MAX

struct clock_pair {
	uint64_t begin_ns, end_ns; /* when the foreign clock was read, on ours */
	uint64_t foreign;
};

static uint64_t host_clock_ns(unsigned i)
{
	struct timespec t;

	clock_gettime(host_clocks[i], &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Where the foreign reading itself lies in the bracket the two are one clock, as far as anybody
 * can tell: then the pair says so instead of adding half a bracket of error.
 */
static void pair_write(uint32_t device, const struct clock_pair *p)
{
	uint64_t mono = p->begin_ns + (p->end_ns - p->begin_ns) / 2;
	struct af_thread *t = af_thread_enter();

	if (!t)
		return;
	if (p->foreign >= p->begin_ns && p->foreign <= p->end_ns)
		mono = p->foreign;
	af_stream_put(&t->stream, clock, af_now_ns(), .clock = AF_CLOCK_DEVICE, .device = device,
	              .mono_ns = mono, .foreign = p->foreign,
	              .uncertainty_ns = p->end_ns - p->begin_ns);
	af_thread_leave(t);
}

/* A part runs on its root's clock. */
static void pair_write_all(const struct af_opencl_device *root, const struct clock_pair *p)
{
	struct af_opencl_device *d;

	for (uint32_t i = 0; (d = af_opencl_device_at(i)); i++) {
		if (d->root == root)
			pair_write(d->id, p);
	}
}

/* Only the root is sure to be alive: parts can be released. */
static bool clock_read_once(const struct af_opencl_device *root, struct clock_pair *p)
{
	cl_ulong device = 0, host = 0;
	uint32_t left = atomic_load_explicit(&root->host_clocks, memory_order_relaxed);

	p->begin_ns = af_now_ns();
	if (root->has_timer) {
		if (af_opencl_next.clGetDeviceAndHostTimer(root->handle, &device, &host))
			return false;
		p->foreign = device;
	} else if (root->nr_brackets && left) {
		p->foreign = host_clock_ns((unsigned)__builtin_ctz(left));
	} else {
		return false;
	}
	p->end_ns = af_now_ns();
	return true;
}

/* The narrowest of a few readings. */
static bool clock_read(const struct af_opencl_device *root, struct clock_pair *best)
{
	for (int i = 0; i < READ_TRIES; i++) {
		struct clock_pair p;
		if (!clock_read_once(root, &p))
			return false;
		if (!i || p.end_ns - p.begin_ns < best->end_ns - best->begin_ns)
			*best = p;
	}
	return true;
}

void af_opencl_clocks_read(void)
{
	struct af_opencl_device *d;
	struct clock_pair p;

	for (uint32_t i = 0; (d = af_opencl_device_at(i)); i++) {
		if (d->root == d && clock_read(d, &p))
			pair_write_all(d, &p);
	}
}

/* Drivers older than 2.1 have no such entry in their table: the loader would call NULL. */
static bool device_is_2_1(cl_device_id d)
{
	char version[128] = "";
	unsigned major = 0, minor = 0;

	if (af_opencl_next.clGetDeviceInfo(d, CL_DEVICE_VERSION, sizeof version, version, NULL))
		return false;
	version[sizeof version - 1] = 0;
	return sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 &&
	       (major > 2 || (major == 2 && minor >= 1));
}

void af_opencl_clock_start(struct af_opencl_device *d)
{
	struct clock_pair p;
	cl_ulong device = 0, host = 0;

	if (d->root == d) {
		atomic_store(&d->host_clocks, ALL_CLOCKS);
		d->has_timer = af_opencl_next.clGetDeviceAndHostTimer && device_is_2_1(d->handle) &&
		               !af_opencl_next.clGetDeviceAndHostTimer(d->handle, &device, &host);
	}
	if (clock_read(d->root, &p))
		pair_write(d->id, &p);
}

/*
 * Whether the place of the bracket can be taken from the enqueue of @correlation, 0 for nobody.
 * One whose work has not completed for a second (it may wait for the user) must not keep it.
 */
static bool bracket_can_follow(const struct af_opencl_device *root, uint64_t correlation,
                               uint64_t now_ns)
{
	return !correlation || (correlation != BRACKET_CLAIMED &&
	                        now_ns > root->bracket_begin_ns[0] + BRACKET_EVERY_NS);
}

void af_opencl_bracket_begin(struct af_opencl_call *call)
{
	struct af_opencl_device *d = call->queue->device ? call->queue->device->root : NULL;

	if (!d || d->has_timer ||
	    call->begin_ns < atomic_load_explicit(&d->next_bracket_ns, memory_order_relaxed))
		return;
	if (!bracket_can_follow(d, atomic_load(&d->bracket_correlation), call->begin_ns))
		return;
	for (unsigned i = 0; i < AF_OPENCL_HOST_CLOCKS; i++)
		call->bracket_ns[i] = host_clock_ns(i);
}

void af_opencl_bracket_end(struct af_opencl_call *call)
{
	if (!call->bracket_ns[0])
		return;

	struct af_opencl_device *d = call->queue->device->root;
	uint64_t old = atomic_load(&d->bracket_correlation);
	if (!bracket_can_follow(d, old, call->begin_ns) ||
	    !atomic_compare_exchange_strong(&d->bracket_correlation, &old, BRACKET_CLAIMED))
		return;
	for (unsigned i = 0; i < AF_OPENCL_HOST_CLOCKS; i++) {
		d->bracket_begin_ns[i] = call->bracket_ns[i];
		d->bracket_end_ns[i] = host_clock_ns(i);
	}
	if (d->nr_brackets >= FIRST_BRACKETS)
		atomic_store(&d->next_bracket_ns, call->begin_ns + BRACKET_EVERY_NS);
	atomic_store(&d->bracket_correlation, call->correlation);
}

void af_opencl_bracket_stamp(struct af_opencl_device *root, uint64_t correlation, uint64_t queued)
{
	uint64_t mine = correlation;

	if (atomic_load_explicit(&root->bracket_correlation, memory_order_relaxed) != correlation ||
	    !atomic_compare_exchange_strong(&root->bracket_correlation, &mine, BRACKET_CLAIMED))
		return;

	uint32_t before = root->nr_brackets ? atomic_load(&root->host_clocks) : 0;
	uint32_t left = atomic_load(&root->host_clocks);
	for (unsigned i = 0; queued && i < AF_OPENCL_HOST_CLOCKS; i++) {
		if (queued + SLACK_NS < root->bracket_begin_ns[i] ||
		    queued > root->bracket_end_ns[i] + SLACK_NS)
			left &= ~(1u << i);
	}
	struct clock_pair p = {root->bracket_begin_ns[0], root->bracket_end_ns[0], queued};
	root->nr_brackets += queued != 0;
	atomic_store(&root->host_clocks, left);
	atomic_store(&root->bracket_correlation, 0);
	if (!queued)
		return;

	/* The first pair, another clock than was thought, or none of them. */
	if (left && left != before && clock_read(root, &p))
		pair_write_all(root, &p);
	else if (!left)
		pair_write_all(root, &p);
}
