/* Pairs of readings of a device's clock and the trace's clock: CLOCK events. */
#include "inject/opencl/opencl.h"

#include <stdio.h>
#include <time.h>

#include "base/system/clock.h"
/*
 * Event stamps are on the device's clock. Three ways to know it, best first:
 *
 * 1. clGetDeviceAndHostTimer (OpenCL 2.1) reads it.
 * 2. It is one of the host's clocks. The QUEUED stamp of an enqueue was taken during the call, so
 *    a host clock whose readings before and after do not enclose it is ruled out; one that is left
 *    after FIRST_BRACKETS can be read at any time. (PoCL 3.1 has no timer and stamps with
 *    CLOCK_MONOTONIC_RAW, which runs away from CLOCK_MONOTONIC by up to 500 ppm.)
 * 3. Each such bracket bounds how far the device's clock is ahead; a burst of them each second
 *    bounds it by the narrowest. (NVIDIA's stamps are near CLOCK_REALTIME, some 50 us off, and
 *    have no timer.)
 */
enum {
	READ_TRIES = 3,
	FIRST_BRACKETS = 16,
	BURST_BRACKETS = 8,
	BURST_EVERY_NS = 1000000000,
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
	uint64_t mono_ns, foreign, uncertainty_ns;
};

static void pair_write(uint32_t device, const struct clock_pair *p)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	af_stream_put(&t->stream, clock, af_now_ns(), .clock = AF_CLOCK_DEVICE, .device = device,
	              .mono_ns = p->mono_ns, .foreign = p->foreign,
	              .uncertainty_ns = p->uncertainty_ns);
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
static bool clock_read_once(const struct af_opencl_device *root, uint32_t host, uint64_t *foreign)
{
	cl_ulong device = 0, host_ns = 0;

	if (!root->has_timer) {
		*foreign = af_clock_ns(host_clocks[__builtin_ctz(host)]);
		return true;
	}
	if (af_opencl_next.clGetDeviceAndHostTimer(root->handle, &device, &host_ns))
		return false;
	*foreign = device;
	return true;
}

/*
 * The narrowest of a few readings. Where the foreign reading itself lies between ours the two are
 * one clock, as far as anybody can tell: then the pair says so instead of adding half a bracket of
 * error.
 */
static bool clock_read(const struct af_opencl_device *root, struct clock_pair *best)
{
	uint32_t host = atomic_load(&root->host_clocks);

	if (!root->has_timer && (!root->nr_brackets || !host))
		return false;
	for (int i = 0; i < READ_TRIES; i++) {
		uint64_t foreign, begin = af_now_ns();
		if (!clock_read_once(root, host, &foreign))
			return false;
		uint64_t end = af_now_ns();
		if (i && end - begin >= best->uncertainty_ns)
			continue;
		best->mono_ns =
		    foreign >= begin && foreign <= end ? foreign : begin + (end - begin) / 2;
		best->foreign = foreign;
		best->uncertainty_ns = end - begin;
	}
	/* Not sure yet that it is this clock: as far off as the brackets allow. */
	uint64_t bound = (uint64_t)(root->ahead_most - root->ahead_least);
	if (!root->has_timer && root->nr_brackets < FIRST_BRACKETS && bound > best->uncertainty_ns)
		best->uncertainty_ns = bound;
	return true;
}

/* The result of the burst's brackets, when the clock cannot be read. */
static void clock_bound(const struct af_opencl_device *root, struct clock_pair *p)
{
	int64_t ahead = root->ahead_least + (root->ahead_most - root->ahead_least) / 2;

	p->foreign = root->last_queued;
	p->mono_ns = p->foreign - (uint64_t)ahead;
	p->uncertainty_ns = (uint64_t)(root->ahead_most - root->ahead_least);
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
	                        now_ns > root->bracket_begin_ns[0] + BURST_EVERY_NS);
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
		call->bracket_ns[i] = af_clock_ns(host_clocks[i]);
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
		d->bracket_end_ns[i] = af_clock_ns(host_clocks[i]);
	}
	atomic_store(&d->bracket_correlation, call->correlation);
}

/* Rule out the host clocks that were not in the bracket. */
static void bracket_rule_out(struct af_opencl_device *root, uint64_t queued)
{
	uint32_t left = atomic_load(&root->host_clocks);

	for (unsigned i = 0; i < AF_OPENCL_HOST_CLOCKS; i++) {
		if (queued + SLACK_NS < root->bracket_begin_ns[i] ||
		    queued > root->bracket_end_ns[i] + SLACK_NS)
			left &= ~(1u << i);
	}
	atomic_store(&root->host_clocks, left);
}

/* The burst's bounds on how far the device's clock is ahead, tightened by one more bracket. */
static void bracket_shrink(struct af_opencl_device *root, uint64_t queued)
{
	int64_t least = (int64_t)(queued - root->bracket_end_ns[0]);
	int64_t most = (int64_t)(queued - root->bracket_begin_ns[0]);
	bool apart = root->ahead_least > most || root->ahead_most < least;

	if (!root->nr_burst)
		root->burst_begin_ns = root->bracket_begin_ns[0];
	if (!root->nr_burst++ || apart || least > root->ahead_least)
		root->ahead_least = least;
	if (root->nr_burst == 1 || apart || most < root->ahead_most)
		root->ahead_most = most;
	root->last_queued = queued;
	root->nr_brackets++;
}

void af_opencl_bracket_stamp(struct af_opencl_device *root, uint64_t correlation, uint64_t queued)
{
	uint64_t mine = correlation;
	struct clock_pair p;

	if (atomic_load_explicit(&root->bracket_correlation, memory_order_relaxed) != correlation ||
	    !atomic_compare_exchange_strong(&root->bracket_correlation, &mine, BRACKET_CLAIMED))
		return;
	if (queued) {
		bracket_rule_out(root, queued);
		bracket_shrink(root, queued);
	}
	uint32_t enough = root->nr_brackets <= FIRST_BRACKETS ? FIRST_BRACKETS : BURST_BRACKETS;
	bool full = root->nr_burst >= enough ||
	            root->bracket_end_ns[0] > root->burst_begin_ns + BURST_EVERY_NS;
	if (queued && (full || root->nr_brackets == 1)) {
		if (!clock_read(root, &p))
			clock_bound(root, &p);
		pair_write_all(root, &p);
	}
	if (full) {
		root->nr_burst = 0;
		atomic_store(&root->next_bracket_ns, af_now_ns() + BURST_EVERY_NS);
	}
	atomic_store(&root->bracket_correlation, 0);
}
