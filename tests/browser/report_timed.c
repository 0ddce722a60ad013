#include "report_timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/time/slices.h"
#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/strtab.h"
#include "render/render.h"
#include "report_stacks.h"

enum { MS = 1000000, US = 1000 };

static const struct af_tree_weight cpu_weights[] = {{"time", "ns"}, {"samples", "samples"}};
static const struct af_tree_weight gpu_weights[] = {{"time", "ns"}, {"count", "launches"}};

/* A timeline, and the trees of the same samples and works. */
struct timed {
	struct af_render *r;
	const struct af_format *format;
	struct af_strtab names;
	struct af_tree stacks, cpu, gpu;
	struct af_world world;
	struct af_slices all;
	uint32_t nr_tracks;
};

static void timed_open(struct timed *t, struct af_render *r, const struct af_format *format)
{
	*t = (struct timed){.r = r, .format = format};
	af_tree_open(&t->stacks, gpu_weights, 1);
	af_tree_open(&t->cpu, cpu_weights, 2);
	af_tree_open(&t->gpu, gpu_weights, 2);
	t->all.names = &t->names;
	t->all.stacks = &t->stacks;
	t->all.world = &t->world;
	t->all.damage = "";
	t->all.start_ns = 5000000000;
	t->all.realtime =
	    (struct af_clock_pair){.foreign_ns = 1700000000000000000, .mono_ns = 5000000000};
}

static void timed_close(struct timed *t)
{
	af_tree_close(&t->stacks);
	af_tree_close(&t->cpu);
	af_tree_close(&t->gpu);
	af_strtab_free(&t->names);
}

static uint32_t track_add(struct timed *t, enum af_track_kind kind, uint32_t parent,
                          const char *name, uint32_t tid, uint32_t rank)
{
	struct af_track track = {
	    .id = ++t->nr_tracks,
	    .parent = parent,
	    .kind = kind,
	    .pid = 100,
	    .tid = tid,
	    .rank = rank,
	    .name = name,
	    .unit = kind == AF_TRACK_COUNTER ? AF_CELL_BYTES : AF_CELL_NS,
	};

	t->format->track(t->r, &track);
	return track.id;
}

static void slice_add(struct timed *t, uint32_t track, enum af_slice_kind kind, const char *name,
                      const char *stack, uint64_t at_ns, uint64_t length_ns)
{
	struct af_slice s = {
	    .kind = kind,
	    .track = track,
	    .name = af_strtab_id_z(&t->names, name),
	    .stack = *stack ? report_node(&t->stacks, stack, NULL) : 0,
	    .start_ns = t->all.start_ns + at_ns,
	    .end_ns = t->all.start_ns + at_ns + length_ns,
	};

	t->format->slice(t->r, &s);
}

static void run_add(struct timed *t, uint32_t track, const char *name, const char *stack,
                    uint64_t at_ns, uint64_t samples)
{
	struct af_slice s = {
	    .kind = AF_SLICE_RUN,
	    .track = track,
	    .name = af_strtab_id_z(&t->names, name),
	    .stack = report_node(&t->stacks, stack, NULL),
	    .start_ns = t->all.start_ns + at_ns,
	    .end_ns = t->all.start_ns + at_ns + samples * 10 * MS,
	    .value = samples,
	    .weight_ns = samples * 10 * MS,
	};

	t->format->slice(t->r, &s);
}

/* A call, or the work it asked for: arrows of @flow, which is not 0. */
static void flow_add(struct timed *t, uint32_t track, bool call, const char *name,
                     const char *stack, uint64_t at_ns, uint64_t length_ns, uint64_t flow)
{
	struct af_slice s = {
	    .kind = call ? AF_SLICE_CALL : AF_SLICE_WORK,
	    .track = track,
	    .name = af_strtab_id_z(&t->names, name),
	    .stack = report_node(&t->stacks, stack, NULL),
	    .start_ns = t->all.start_ns + at_ns,
	    .end_ns = t->all.start_ns + at_ns + length_ns,
	    .tid = call ? 0 : 101,
	    .way = call ? AF_FLOW_FROM : AF_FLOW_TO,
	    .flow = 1ull << 40 | flow,
	};

	t->format->slice(t->r, &s);
}

#define MAIN "P:app;p:main (a.py:1);"
#define LEAF MAIN "n:work;n:leaf"
#define READ MAIN "n:work;k:sys_read"
#define DECODE "P:app;p:loader (b.py:7);n:decode"
#define LAUNCH MAIN "n:step;n:cudaLaunchKernel"
#define COPY MAIN "n:step;n:cudaMemcpyAsync"

static void trees_add(struct af_tree *t, const char *stack, uint64_t time, uint64_t count)
{
	uint32_t node = report_node(t, stack, NULL);

	af_tree_add(t, node, 0, time);
	af_tree_add(t, node, 1, count);
}

/* All weight is there: the page gets the trees, and what slices refer to. */
static int trees_done(struct timed *t, struct af_err *err)
{
	af_tree_finish(&t->cpu);
	af_tree_finish(&t->gpu);
	t->r->label = "cpu";
	int rc = t->format->tree(t->r, &t->cpu, err);
	t->r->label = "gpu";
	rc = rc ? rc : t->format->tree(t->r, &t->gpu, err);
	t->r->label = NULL;
	t->r->slices = &t->all;
	return rc;
}

static int timed_trees(struct timed *t, struct af_err *err)
{
	/* In 4 s: 14 times leaf, 13 times sys_read with 100 ms, 4 times decode with 300 ms. */
	trees_add(&t->cpu, LEAF, 1400ull * MS, 140);
	trees_add(&t->cpu, READ, 1300ull * MS, 130);
	trees_add(&t->cpu, DECODE, 1200ull * MS, 120);
	/* 160 gemms of 8 ms, a quarter of it in one instruction; 40 copies of 3 ms. */
	trees_add(&t->gpu, LAUNCH ";G:gemm;g:HMMA", 960ull * MS, 0);
	trees_add(&t->gpu, LAUNCH ";G:gemm;g:LDG", 320ull * MS, 0);
	trees_add(&t->gpu, LAUNCH ";G:gemm", 0, 160);
	trees_add(&t->gpu, COPY ";G:copy", 120ull * MS, 40);
	return trees_done(t, err);
}

static void timed_threads(struct timed *t, uint32_t first, uint32_t second)
{
	uint32_t run = track_add(t, AF_TRACK_ROW, first, "on CPU (samples)", 101, 2);
	uint32_t waits = track_add(t, AF_TRACK_ROW, first, "off CPU", 101, 3);
	uint32_t other = track_add(t, AF_TRACK_ROW, second, "on CPU (samples)", 102, 2);

	for (uint64_t ms = 0; ms < 4000; ms += 100)
		if (ms % 300 == 0)
			run_add(t, run, "leaf", LEAF, ms * MS, 10);
		else if (ms % 300 == 100)
			run_add(t, run, "sys_read", READ, ms * MS, 10);
		else
			slice_add(t, waits, AF_SLICE_WAIT, "sleeping", MAIN "n:work;k:schedule",
			          ms * MS, 100ull * MS);
	for (uint64_t ms = 0; ms < 4000; ms += 10)
		if (ms % 1000 >= 200 && ms % 1000 < 500)
			run_add(t, other, "decode", DECODE, ms * MS, 1);
}

static void timed_ranges(struct timed *t, uint32_t thread)
{
	uint32_t outer = track_add(t, AF_TRACK_ROW, thread, "NVTX", 101, 1);
	uint32_t inner = track_add(t, AF_TRACK_ROW, thread, "NVTX", 101, 1);

	for (uint64_t ms = 0; ms < 4000; ms += 200) {
		slice_add(t, outer, AF_SLICE_RANGE, "step", "", ms * MS, 180ull * MS);
		slice_add(t, inner, AF_SLICE_RANGE, "forward", "", ms * MS, 100ull * MS);
	}
}

static void timed_device(struct timed *t, uint32_t process, uint32_t thread)
{
	uint32_t device = track_add(t, AF_TRACK_DEVICE, process, "H200 (device 1)", 0, 1);
	uint32_t compute = track_add(t, AF_TRACK_ROW, device, "stream 7", 0, 7);
	uint32_t copies = track_add(t, AF_TRACK_ROW, device, "stream 8", 0, 8);
	uint32_t memory = track_add(t, AF_TRACK_COUNTER, device, "memory: device", 0, 1 << 17);

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t at = i * 20 * MS;
		bool copy = i % 5 == 4;
		flow_add(t, thread, true, copy ? "cudaMemcpyAsync" : "cudaLaunchKernel",
		         copy ? COPY : LAUNCH, at, 50 * US, i + 1);
		slice_add(t, thread, AF_SLICE_CALL, copy ? "cuMemcpy" : "cuLaunchKernel",
		          copy ? COPY : LAUNCH, at + 10 * US, 30 * US);
		flow_add(t, copy ? copies : compute, false, copy ? "copy" : "gemm",
		         copy ? COPY ";G:copy" : LAUNCH ";G:gemm", at + 100 * US,
		         (copy ? 3ull : 8ull) * MS, i + 1);
	}
	for (uint64_t step = 0; step < 20; step++) {
		struct af_point p = {.track = memory,
		                     .time_ns = t->all.start_ns + step * 200 * MS,
		                     .value = (step % 10 + 1) * 1000000};
		t->format->point(t->r, &p);
	}
}

int make_timed(struct af_render *r, const struct af_format *format, struct af_err *err)
{
	struct timed t;

	timed_open(&t, r, format);
	int rc = timed_trees(&t, err);
	uint32_t process = track_add(&t, AF_TRACK_PROCESS, 0, "app", 0, 1);
	uint32_t first = track_add(&t, AF_TRACK_THREAD, process, "main", 101, 1 << 18);
	uint32_t second = track_add(&t, AF_TRACK_THREAD, process, "<b>loader", 102, (1 << 18) + 1);
	uint32_t lost = track_add(&t, AF_TRACK_ROW, process, "lost", 0, 3 << 16);
	timed_threads(&t, first, second);
	timed_ranges(&t, first);
	timed_device(&t, process, first);
	slice_add(&t, lost, AF_SLICE_LOST, "the ring was full", "", 2500ull * MS, 0);
	rc = rc ? rc : format->end(r, err);
	timed_close(&t);
	return rc;
}

static void counted_point(struct timed *t, uint32_t track, uint64_t ms, uint64_t value, bool gap)
{
	struct af_point p = {.track = track,
	                     .gap = gap,
	                     .time_ns = t->all.start_ns + ms * MS,
	                     .value = gap ? 0 : value};

	t->format->point(t->r, &p);
}

static uint32_t counted_track(struct timed *t, uint32_t parent, const char *name, const char *unit,
                              uint64_t per)
{
	struct af_track track = {
	    .id = ++t->nr_tracks,
	    .parent = parent,
	    .kind = AF_TRACK_COUNTER,
	    .pid = 100,
	    .rank = (1 << 17) + t->nr_tracks,
	    .name = name,
	    .unit = AF_CELL_NUMBER,
	    .counted = unit,
	    .per = per,
	};

	t->format->track(t->r, &track);
	return track.id;
}

int make_counted(struct af_render *r, const struct af_format *format, struct af_err *err)
{
	struct timed t;

	timed_open(&t, r, format);
	int rc = timed_trees(&t, err);
	uint32_t process = track_add(&t, AF_TRACK_PROCESS, 0, "app", 0, 1);
	uint32_t thread = track_add(&t, AF_TRACK_THREAD, process, "main", 101, 1 << 18);
	uint32_t run = track_add(&t, AF_TRACK_ROW, thread, "on CPU (samples)", 101, 2);
	uint32_t host = track_add(&t, AF_TRACK_PROCESS, 0, "aflame record", 0, 0);
	uint32_t busy = counted_track(&t, process, "GPU busy", "%", 100);
	uint32_t rate = counted_track(&t, process, "Bytes read", "bytes/s", 1000);
	uint32_t power = counted_track(&t, host, "Package <power>", "W", 1000000);
	run_add(&t, run, "leaf", LEAF, 0, 400);
	counted_point(&t, busy, 1000, 5000, false);
	counted_point(&t, busy, 1500, 10000, false);
	counted_point(&t, busy, 2000, 0, true);
	counted_point(&t, busy, 3000, 0, false);
	counted_point(&t, busy, 4000, 0, true);
	counted_point(&t, rate, 0, 3ull << 30, false);
	/* Peaks of one millisecond, and one gap. */
	for (uint64_t ms = 0; ms < 40000; ms++)
		counted_point(&t, power, ms / 10, ms == 12345 ? 99000000 : 20000000 + ms % 2,
		              ms == 23456);
	rc = rc ? rc : format->end(r, err);
	timed_close(&t);
	return rc;
}

enum { THREADS = 4, STREAMS = 8, SAMPLED = 8, PATHS = 500, KERNELS = 40, HOT = 200 };

static void path_name(char *text, size_t size, unsigned path)
{
	snprintf(text, size, MAIN "p:layer%u (model.py:%u);n:at::op_%u;n:cudaLaunchKernel",
	         path % 48, path % 48, path);
}

static void kernel_name(char *text, size_t size, unsigned path)
{
	path_name(text, size, path);
	snprintf(text + strlen(text), size - strlen(text), ";G:kernel_%u", path % KERNELS);
}

static void hot_name(char *text, size_t size, unsigned path)
{
	snprintf(text, size, MAIN "n:phase_%u;n:function_%u", path % 7, path);
}

/* The trees have what the slices will have: the same numbers are drawn twice. */
static int slices_pass(struct timed *t, uint64_t nr, const uint32_t *threads,
                       const uint32_t *streams, const uint32_t *runs)
{
	uint64_t call_ns[THREADS] = {0}, work_ns[STREAMS] = {0}, run_ns[SAMPLED] = {0};
	uint64_t state = REPORT_SEED;
	char stack[256], name[64];

	for (uint64_t i = 0; i < nr / 3; i++) {
		uint64_t random = report_random(&state);
		unsigned thread = i % THREADS, stream = random % STREAMS, cpu = random / 8 % 8;
		unsigned path = (unsigned)(random >> 8) % PATHS,
			 hot = (unsigned)(random >> 20) % HOT;
		uint64_t length = 2000 + (random >> 32) % 30000, gap = (random >> 48) % 3000;
		uint64_t late =
		    work_ns[stream] > call_ns[thread] ? work_ns[stream] : call_ns[thread] + 3000;
		kernel_name(stack, sizeof stack, path);
		if (!threads) {
			trees_add(&t->gpu, stack, length, 1);
		} else {
			snprintf(name, sizeof name, "kernel_%u", path % KERNELS);
			flow_add(t, streams[stream], false, name, stack, late, length, i + 1);
			path_name(stack, sizeof stack, path);
			flow_add(t, threads[thread], true, "cudaLaunchKernel", stack,
			         call_ns[thread], 1500, i + 1);
		}
		work_ns[stream] = late + length + gap;
		call_ns[thread] += 4000 + gap * 3;
		hot_name(stack, sizeof stack, hot);
		snprintf(name, sizeof name, "function_%u", hot);
		if (threads)
			run_add(t, runs[cpu], name, stack, run_ns[cpu], 1);
		else
			trees_add(&t->cpu, stack, 10ull * MS, 1);
		run_ns[cpu] += 10ull * MS + (random >> 60) * 1000;
	}
	return 0;
}

static int slices_trees(struct timed *t, uint64_t nr, struct af_err *err)
{
	slices_pass(t, nr, NULL, NULL, NULL);
	return trees_done(t, err);
}

int make_slices(struct af_render *r, const struct af_format *format, uint64_t nr,
                struct af_err *err)
{
	uint32_t threads[THREADS], streams[STREAMS], runs[SAMPLED];
	char name[32];
	struct timed t;

	timed_open(&t, r, format);
	int rc = slices_trees(&t, nr, err);
	uint32_t process = track_add(&t, AF_TRACK_PROCESS, 0, "app", 0, 1);
	uint32_t device = track_add(&t, AF_TRACK_DEVICE, process, "H200 (device 1)", 0, 1);
	for (unsigned i = 0; i < STREAMS; i++) {
		snprintf(name, sizeof name, "stream %u", 7 + i);
		streams[i] = track_add(&t, AF_TRACK_ROW, device, name, 0, 7 + i);
	}
	for (unsigned i = 0; i < SAMPLED; i++) {
		uint32_t thread =
		    track_add(&t, AF_TRACK_THREAD, process, "worker", 101 + i, (1 << 18) + i);
		if (i < THREADS)
			threads[i] = thread;
		runs[i] = track_add(&t, AF_TRACK_ROW, thread, "on CPU (samples)", 101 + i, 3 << 16);
	}
	slices_pass(&t, nr, threads, streams, runs);
	rc = rc ? rc : format->end(r, err);
	timed_close(&t);
	return rc;
}
