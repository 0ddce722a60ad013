#include "report_busy.h"

#include <stdio.h>
#include <string.h>

#include "analyse/pass/phases.h"
#include "analyse/time/slices.h"
#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/strtab.h"
#include "render/render.h"
#include "report_stacks.h"

enum { MS = 1000000, US = 1000 };

static const struct af_tree_weight cpu_weights[] = {{"time", "ns"}, {"samples", "samples"}};
static const struct af_tree_weight gpu_weights[] = {{"time", "ns"}, {"count", "launches"}};

struct busy {
	struct af_render *r;
	const struct af_format *format;
	struct af_strtab names;
	struct af_tree stacks, cpu, gpu;
	struct af_world world;
	struct af_slices all;
	uint32_t nr_tracks, pid;
	bool drawn; /* the trees are done: slices follow */
};

static void busy_open(struct busy *b, struct af_render *r, const struct af_format *format)
{
	*b = (struct busy){.r = r, .format = format};
	af_tree_open(&b->stacks, gpu_weights, 1);
	af_tree_open(&b->cpu, cpu_weights, 2);
	af_tree_open(&b->gpu, gpu_weights, 2);
	b->all.names = &b->names;
	b->all.stacks = &b->stacks;
	b->all.world = &b->world;
	b->all.damage = "";
	b->all.start_ns = 5000000000;
}

static int busy_close(struct busy *b, int rc, struct af_err *err)
{
	rc = rc ? rc : b->format->end(b->r, err);
	af_tree_close(&b->stacks);
	af_tree_close(&b->cpu);
	af_tree_close(&b->gpu);
	af_strtab_free(&b->names);
	return rc;
}

static int busy_trees(struct busy *b, struct af_err *err)
{
	af_tree_finish(&b->cpu);
	af_tree_finish(&b->gpu);
	b->r->label = "cpu";
	int rc = b->format->tree(b->r, &b->cpu, err);
	b->r->label = "gpu";
	rc = rc ? rc : b->format->tree(b->r, &b->gpu, err);
	b->r->label = NULL;
	b->r->slices = &b->all;
	b->drawn = true;
	return rc;
}

static uint32_t track_add(struct busy *b, enum af_track_kind kind, uint32_t parent,
                          const char *name, uint32_t tid)
{
	struct af_track track = {
	    .id = ++b->nr_tracks,
	    .parent = parent,
	    .kind = kind,
	    .pid = b->pid,
	    .tid = tid,
	    .rank = b->nr_tracks,
	    .name = name,
	};

	if (b->drawn)
		b->format->track(b->r, &track);
	return track.id;
}

static void put(struct busy *b, struct af_slice *s, const char *name, const char *stack,
                uint64_t at_ns, uint64_t length_ns)
{
	struct af_tree *t = s->kind == AF_SLICE_WORK ? &b->gpu : &b->cpu;

	if (!b->drawn && (s->kind == AF_SLICE_WORK || s->kind == AF_SLICE_RUN)) {
		uint32_t node = report_node(t, stack, NULL);
		af_tree_add(t, node, 0, length_ns);
		af_tree_add(t, node, 1, s->kind == AF_SLICE_RUN ? s->value : 1);
	}
	if (!b->drawn)
		return;
	s->name = af_strtab_id_z(&b->names, name);
	s->stack = *stack ? report_node(&b->stacks, stack, NULL) : 0;
	s->start_ns = b->all.start_ns + at_ns;
	s->end_ns = s->start_ns + length_ns;
	b->format->slice(b->r, s);
}

/* A process; its thread of the same number, which is on the CPU from @at_ns for @ms. */
static uint32_t process_add(struct busy *b, uint32_t pid, const char *name)
{
	b->pid = pid;
	return track_add(b, AF_TRACK_PROCESS, 0, name, 0);
}

static uint32_t thread_add(struct busy *b, uint32_t process, uint32_t tid, const char *name,
                           const char *stack, uint64_t at_ms, uint64_t ms)
{
	uint32_t thread = track_add(b, AF_TRACK_THREAD, process, name, tid);
	uint32_t run = track_add(b, AF_TRACK_ROW, thread, "on CPU (samples)", tid);
	struct af_slice s = {
	    .kind = AF_SLICE_RUN, .track = run, .value = ms / 5, .weight_ns = ms * MS};

	put(b, &s, strrchr(stack, ':') + 1, stack, at_ms * MS, ms * MS);
	return thread;
}

/* A call of @thread and what it launched: @length_ns of work from @at_ns on. */
static void launch_add(struct busy *b, uint32_t thread, uint32_t tid, uint32_t stream,
                       const char *kernel, uint64_t at_ns, uint64_t length_ns, uint64_t flow)
{
	char stack[64];
	struct af_slice call = {
	    .kind = AF_SLICE_CALL, .track = thread, .way = AF_FLOW_FROM, .flow = 1ull << 40 | flow};
	struct af_slice work = {.kind = AF_SLICE_WORK,
	                        .track = stream,
	                        .tid = tid,
	                        .way = AF_FLOW_TO,
	                        .flow = 1ull << 40 | flow};

	put(b, &call, "cudaLaunchKernel", "P:train;n:cudaLaunchKernel", at_ns - 50 * US, 20 * US);
	snprintf(stack, sizeof stack, "P:train;n:cudaLaunchKernel;G:%s", kernel);
	put(b, &work, kernel, stack, at_ns, length_ns);
}

static void busy_train(struct busy *b)
{
	uint32_t process = process_add(b, 20, "train");
	uint32_t first = track_add(b, AF_TRACK_DEVICE, process, "H200 (device 1)", 0);
	uint32_t idle = thread_add(b, process, 22, "idle", "P:train;n:poll", 0, 5);
	uint32_t main = thread_add(b, process, 20, "main", "P:train;n:step", 0, 500);
	uint32_t worker = thread_add(b, process, 21, "worker", "P:train;n:load", 0, 2000);
	uint32_t second = track_add(b, AF_TRACK_DEVICE, process, "H200 (device 2)", 0);
	uint32_t nine = track_add(b, AF_TRACK_ROW, second, "stream 9", 0);
	uint32_t seven = track_add(b, AF_TRACK_ROW, first, "stream 7", 0);
	uint32_t ranges = track_add(b, AF_TRACK_ROW, worker, "NVTX", 21);

	(void)idle;
	thread_add(b, process, 23, "helper", "P:train;n:poll", 0, 6);
	launch_add(b, main, 20, nine, "sum", MS, 200ull * MS, 100);
	for (uint64_t k = 0; k < 8; k++)
		launch_add(b, main, 20, seven, "gemm", 100000001 + k * 600 * MS, 500000123, k + 1);
	for (uint64_t k = 1; k < 5; k++)
		launch_add(b, worker, 21, nine, "sum", 1000ull * MS * k + MS, 200ull * MS, 100 + k);
	for (uint64_t k = 0; k < 10; k++) {
		struct af_slice range = {.kind = AF_SLICE_RANGE, .track = ranges};
		struct af_slice mark = range;
		char name[32];
		snprintf(name, sizeof name, "iteration %u", (unsigned)k);
		put(b, &range, name, "", 10000007 + k * 480 * MS, 400000009);
		put(b, &mark, "mark", "", 10000007 + k * 480 * MS + 100, 0);
	}
}

static void busy_slices(struct busy *b)
{
	b->nr_tracks = 0;
	thread_add(b, process_add(b, 10, "sh"), 10, "sh", "P:sh;n:wait", 0, 20);
	thread_add(b, process_add(b, 11, "make"), 11, "make", "P:make;n:wait", 0, 10);
	busy_train(b);
	thread_add(b, process_add(b, 30, "monitor"), 30, "monitor", "P:monitor;n:scan", 100, 1500);
}

int make_busy(struct af_render *r, const struct af_format *format, bool trees, struct af_err *err)
{
	uint64_t steps_ns[] = {100000001, 700000001, 1300000001, 1900000001, 2500000001};
	const struct af_phases phases = {
	    .by = AF_PHASES_CALLS, .steps_ns = steps_ns, .nr_steps = 4, .steady_step = 1};
	struct busy b;

	busy_open(&b, r, format);
	r->phases = &phases;
	busy_slices(&b);
	r->slices = &b.all;
	b.drawn = true;
	int rc = trees ? busy_trees(&b, err) : 0;
	busy_slices(&b);
	return busy_close(&b, rc, err);
}

static void tracks_slices(struct busy *b, uint32_t nr)
{
	b->nr_tracks = 0;
	for (uint32_t i = 0; i < nr / 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "worker-%u", i);
		thread_add(b, process_add(b, 100 + i, name), 100 + i, "main", "P:worker;n:work", i,
		           1000 - i % 100);
	}
}

int make_tracks(struct af_render *r, const struct af_format *format, uint32_t nr,
                struct af_err *err)
{
	struct busy b;

	busy_open(&b, r, format);
	tracks_slices(&b, nr);
	int rc = busy_trees(&b, err);
	tracks_slices(&b, nr);
	return busy_close(&b, rc, err);
}
