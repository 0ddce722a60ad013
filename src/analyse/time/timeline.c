#include "analyse/time/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "analyse/time/ahead.h"
#include "analyse/time/timeline_private.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/system/threads.h"

#define BIT(KIND) (1ull << AF_KIND_##KIND)

/* State of the first reading, which holds for all of the trace. */
#define FIRST_WANTS                                                                                \
	(BIT(LOST) | BIT(NOTE) | BIT(CLOCK) | BIT(PROCESS) | BIT(PROCESS_END) |                    \
	 BIT(PROCESS_NOTE) | BIT(THREAD) | BIT(COMM) | BIT(PY_CODE) | BIT(DEVICE) | BIT(QUEUE) |   \
	 BIT(KERNEL) | BIT(FUNCTION) | BIT(STRING) | BIT(SYMBOL) | BIT(SYMBOL_LATER) |             \
	 BIT(DEVICE_NOTE) | BIT(LATE_BIT))

static void timeline_clock(struct af_timeline *t, const struct af_event *ev)
{
	struct af_ev_clock c;

	af_clocks_event(&t->world.clocks, ev);
	if (!af_event_decode(ev, &c, sizeof c, NULL) || c.device)
		return;
	struct af_clock_pair *pair = c.clock == AF_CLOCK_REALTIME   ? &t->all.realtime
	                             : c.clock == AF_CLOCK_BOOTTIME ? &t->all.boottime
	                                                            : NULL;
	if (pair && !pair->foreign_ns)
		*pair = (struct af_clock_pair){.foreign_ns = c.foreign, .mono_ns = c.mono_ns};
}

/* Progress over both readings, each being half. */
void timeline_tell(const struct af_timeline *t, uint64_t position, uint64_t size, int reading)
{
	if (t->progress)
		t->progress(t->progress_arg, position + (uint64_t)reading * size, 2 * size);
}

static int timeline_open_trace(const struct af_timeline *t, struct af_trace **trace,
                               uint64_t wanted, struct af_err *err)
{
	struct af_near range;
	const struct af_near *near = t->query.trees ? af_query_near(t->query.trees, &range) : NULL;

	return af_trace_open_near(trace, t->dir, wanted, near, err);
}

static int timeline_first(struct af_timeline *t, struct af_err *err)
{
	struct af_trace *trace;
	struct af_event ev;
	bool locations = t->query.trees && t->query.trees->locations;
	int rc = timeline_open_trace(t, &trace, FIRST_WANTS | (locations ? BIT(MAPPING) : 0), err);

	if (rc)
		return rc;
	af_world_read_later(&t->world, trace);
	for (uint64_t n = 1; af_trace_next(trace, &ev); n++) {
		if (ev.kind == AF_KIND_CLOCK || ev.kind == AF_KIND_DEVICE)
			timeline_clock(t, &ev);
		af_world_event(&t->world, &ev);
		if (n % TIMELINE_PROGRESS == 0)
			timeline_tell(t, af_trace_position(trace), af_trace_size(trace), 0);
	}
	af_clocks_build(&t->world.clocks);
	t->all.start_ns = af_trace_start_ns(trace);
	af_trace_close(trace);
	return 0;
}

int af_timeline_open(struct af_timeline **out, const char *dir,
                     const struct af_timeline_query *query, af_timeline_progress *progress,
                     void *arg, struct af_err *err)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	struct af_timeline *t = af_xcalloc(1, sizeof *t);

	t->query = *query;
	if (!query->threads)
		t->query.threads = af_threads_allowed();
	t->dir = dir;
	t->progress = progress;
	t->progress_arg = arg;
	af_tree_open(&t->stacks, none, 1);
	t->all.names = &t->names;
	t->all.stacks = &t->stacks;
	t->all.world = &t->world;
	t->all.damage = t->damage;
	int rc = timeline_first(t, err);
	timeline_trees_open(t);
	if (rc) {
		af_timeline_close(t);
		t = NULL;
	}
	*out = t;
	return rc;
}

const struct af_slices *af_timeline_slices(const struct af_timeline *t)
{
	return &t->all;
}

bool timeline_of(const struct af_timeline *t, uint32_t process)
{
	const struct af_timeline_query *a = &t->query;

	if (a->process != UINT64_MAX && a->process != process)
		return false;
	if (a->pid == UINT64_MAX)
		return true;
	const struct af_process *p = af_world_process(&t->world, process);
	return p && p->pid == a->pid;
}

bool timeline_wants(struct af_timeline *t, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns > t->to_ns || end_ns < t->from_ns ||
	    !af_time_range_reaches(&t->world.time_range, start_ns, end_ns) ||
	    (end_ns > start_ns && end_ns - start_ns < t->query.min_ns)) {
		t->all.outside++;
		return false;
	}
	if (t->query.limit && t->all.nr_slices == t->query.limit) {
		t->all.beyond++;
		return false;
	}
	t->all.nr_slices++;
	return true;
}

void timeline_cut(const struct af_timeline *t, struct af_slice *s)
{
	const struct af_time_range *in = &t->world.time_range;

	if (in->to_ns && s->start_ns < in->from_ns)
		s->start_ns = in->from_ns;
	if (in->to_ns && s->end_ns > in->to_ns)
		s->end_ns = in->to_ns;
}

void timeline_settle(struct af_timeline *t)
{
	if (t->into.settle)
		timeline_failed(t, t->into.settle(t->into.arg));
}

void timeline_failed(struct af_timeline *t, int rc)
{
	if (!t->rc)
		t->rc = rc;
}

uint32_t timeline_text(struct af_timeline *t, const char *text, size_t len)
{
	uint32_t known = t->names.nr ? af_strtab_find(&t->names, text, len) : 0;

	if (known || (!len && t->names.nr))
		return known;
	timeline_settle(t);
	return af_strtab_id(&t->names, text, len);
}

uint32_t timeline_name(struct af_timeline *t, const char *text)
{
	const char *name = *text ? text : "[unnamed]";

	return timeline_text(t, name, strlen(name));
}

uint32_t timeline_stack(struct af_timeline *t, const struct af_stack_location *at)
{
	uint32_t place = af_stack_locations_number(&t->stack_locations, at);

	AF_REACH(t->nodes, place, t->cap_nodes);
	if (!t->nodes[place]) {
		timeline_settle(t);
		t->nodes[place] = af_frames_node(&t->stacks, &t->world, at);
	}
	return t->nodes[place];
}

static uint32_t stack_of_path(struct af_timeline *t, uint32_t process, uint32_t path)
{
	uint32_t node;

	timeline_settle(t);
	node = af_frames_process(&t->stacks, &t->world, process);
	return af_frames_call(&t->stacks, &t->world, node, path);
}

static uint32_t stack_of_call(struct af_timeline *t, uint32_t path, uint32_t function)
{
	bool fresh;

	if (!function || !*t->world.functions[function].name)
		return path;
	uint64_t *slot = af_map_at(&t->by_call, (uint64_t)path << 32 | function, &fresh);
	if (fresh) {
		timeline_settle(t);
		*slot = af_frames_under(&t->stacks, path, t->world.functions[function].name,
		                        AF_FRAME_NATIVE);
	}
	return (uint32_t)*slot;
}

/* The graph that was launched, and who captured this node of it. */
static uint32_t stack_of_node(struct af_timeline *t, uint32_t stack, uint32_t node)
{
	char text[32];

	timeline_settle(t);
	snprintf(text, sizeof text, "[graph %u]", t->world.nodes[node].graph);
	stack = af_frames_under(&t->stacks, stack, text, AF_FRAME_GPU);
	return af_frames_call(&t->stacks, &t->world, stack, af_world_node_path(&t->world, node));
}

uint32_t timeline_call_stack(struct af_timeline *t, uint32_t process, uint32_t path,
                             uint32_t function, uint32_t node)
{
	bool fresh;

	if (!path)
		return 0;
	AF_REACH(t->calls, path, t->cap_calls);
	struct timeline_call *call = &t->calls[path];
	if (!call->stack)
		call->stack = stack_of_path(t, process, path);
	uint32_t i = function % TIMELINE_FUNCTIONS;
	if (call->functions[i] != function || !call->stacks[i]) {
		call->stacks[i] = stack_of_call(t, call->stack, function);
		call->functions[i] = function;
	}
	uint32_t stack = call->stacks[i];
	if (!node)
		return stack;
	uint64_t *whole = af_map_at(&t->by_call, 1ull << 63 | (uint64_t)stack << 32 | node, &fresh);
	if (fresh)
		*whole = stack_of_node(t, stack, node);
	return (uint32_t)*whole;
}

uint32_t timeline_leaf(struct af_timeline *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(&t->stacks, t->stacks.nodes[node].name, &len);

	return timeline_text(t, text, len);
}

static uint64_t timeline_kinds(const struct af_timeline *t)
{
	static const uint64_t of[AF_TIMELINE_END] = {
	    [AF_TIMELINE_CALLS] =
		BIT(LAUNCH) | BIT(CALL) | BIT(CALL_LONG) | BIT(CALL_SEEN) | 1ull << AF_KIND_API_BIT,
	    [AF_TIMELINE_WORK] = AF_LAUNCHES_WANTS,
	    [AF_TIMELINE_RANGES] = BIT(RANGE),
	    [AF_TIMELINE_RUN] = AF_SAMPLES_WANTS,
	    [AF_TIMELINE_WAITS] = BIT(OFFCPU),
	    [AF_TIMELINE_MEMORY] = BIT(MEMORY),
	    [AF_TIMELINE_COUNTERS] = BIT(MOMENT_BIT),
	    [AF_TIMELINE_OVERHEAD] = BIT(OVERHEAD),
	    [AF_TIMELINE_LOST] = BIT(LOST),
	};
	uint64_t kinds = 0;

	for (int part = 0; part < AF_TIMELINE_END; part++)
		if (timeline_shows(t, part))
			kinds |= of[part];
	return kinds;
}

int af_timeline_run(struct af_timeline *t, const struct af_slices_sink *sink, struct af_err *err)
{
	struct af_trace *trace;
	struct af_ahead ahead;
	uint64_t start_ns = t->all.start_ns;
	uint64_t kinds = timeline_kinds(t) | timeline_learns(t);
	int rc = timeline_open_trace(t, &trace, kinds, err);

	if (rc)
		return rc;
	struct af_slices_sink rows = af_rows_sink(&t->rows);
	bool beside = t->query.threads > 1 && af_ahead_open(&ahead, &rows);
	t->into = beside ? af_ahead_sink(&ahead) : rows;
	t->rows.sink = sink;
	t->from_ns = start_ns + t->query.from_ns;
	t->to_ns = t->query.to_ns && t->query.to_ns < UINT64_MAX - start_ns
	               ? start_ns + t->query.to_ns
	               : UINT64_MAX;
	timeline_second(t, trace);
	if (beside)
		af_ahead_close(&ahead);
	rc = af_rows_flush(&t->rows);
	t->rows.sink = NULL;
	t->into = (struct af_slices_sink){0};
	t->all.nr_slices = t->rows.nr_slices;
	t->all.nr_points = t->rows.nr_points;
	t->all.nr_tracks = t->rows.nr_tracks;
	t->all.crossing = t->rows.crossing;
	t->all.unlaunched = t->launches.unlaunched;
	af_trace_damage_text(af_trace_damage(trace), t->damage, sizeof t->damage);
	t->world.lost[AF_LOST_RING_FULL] += af_trace_damage(trace)->discarded;
	af_trace_close(trace);
	return rc;
}

void af_timeline_close(struct af_timeline *t)
{
	if (!t)
		return;
	af_samples_free(&t->samples);
	af_launches_free(&t->launches);
	af_rows_free(&t->rows);
	timeline_ranges_free(t);
	af_map_free(&t->by_image);
	af_keys_free(&t->by_track);
	af_keys_free(&t->by_row);
	af_map_free(&t->by_run);
	af_keys_free(&t->by_address);
	af_keys_free(&t->by_counter);
	free(t->runs);
	free(t->counters);
	free(t->readings);
	free(t->nodes);
	free(t->names_of_works);
	free(t->names_of_functions);
	free(t->calls);
	af_map_free(&t->by_call);
	af_map_free(&t->by_wait);
	timeline_trees_free(t);
	af_stack_locations_free(&t->stack_locations);
	af_tree_close(&t->stacks);
	af_strtab_free(&t->names);
	af_world_close(&t->world);
	free(t);
}
