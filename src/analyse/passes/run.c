/*
 * The facts of the run, what was lost, and what recording cost. Every figure here can be checked
 * against another tool.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "analyse/passes/allocations.h"
#include "analyse/passes/rows.h"
#include "analyse/world/family.h"
#include "base/arena.h"

struct run {
	uint64_t sampled_ns, unknown_ns; /* unknown: no stack at all */
	struct af_map path_ns;           /* sampled, by call path of the world */
};

static void run_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	struct run *r = self;

	r->sampled_ns += s->weight_ns;
	if (s->at.path == AF_PATH_NONE || s->at.path == AF_PATH_MISSED)
		return; /* None to know, and one that is counted for itself. */
	if (!s->at.path || !w->paths[s->at.path].stack)
		r->unknown_ns += s->weight_ns;
	else
		*af_map_at(&r->path_ns, s->at.path, NULL) += s->weight_ns;
}

static bool run_merge(void *self, const struct af_world *w, const void *other)
{
	const struct run *from = other;
	struct run *r = self;

	(void)w;
	r->sampled_ns += from->sampled_ns;
	r->unknown_ns += from->unknown_ns;
	af_map_add(&r->path_ns, &from->path_ns);
	return true;
}

static void row_note(struct af_tables *f, struct af_table *t, const struct af_world *w,
                     const char *label, const char *key)
{
	const char *value = af_world_note(w, key);

	if (value && *value)
		af_pair_row(f, t, key, label, af_tables_text(f, "%s", value));
}

/* An exec makes another image, not another process. */
static const char *processes_text(const struct af_world *w, struct af_tables *f)
{
	bool *there = af_xcalloc((size_t)w->nr_processes + 1, sizeof *there);
	uint64_t *busy = af_xcalloc((size_t)w->nr_processes + 1, sizeof *busy);
	struct af_family family;
	uint32_t nr = 0, execs = 0;

	for (uint32_t i = 1; i < w->nr_processes; i++)
		there[i] = w->processes[i].start_ns != 0;
	af_family_make(&family, w, there, busy);
	for (uint32_t i = 1; i < w->nr_processes; i++) {
		nr += there[i] && family.image_of[i] == i;
		execs += there[i] && family.image_of[i] != i;
	}
	af_family_free(&family);
	free(busy);
	free(there);
	return execs ? af_tables_text(f, "%u, with %u exec%s", nr, execs, execs == 1 ? "" : "s")
	             : af_tables_text(f, "%u", nr);
}

static void row_time_range(struct af_tables *f, struct af_table *t, const struct af_world *w)
{
	const struct af_query *query = w->time_range.query;

	if (query->to_ns)
		af_pair_row(f, t, "shown", "shown here",
		            af_tables_text(f, "from %s to %s", af_tables_ns(f, query->from_ns),
		                           af_tables_ns(f, query->to_ns)));
	else if (query->from_ns)
		af_pair_row(f, t, "shown", "shown here",
		            af_tables_text(f, "from %s on", af_tables_ns(f, query->from_ns)));
}

/* How long recording was on. */
static uint64_t run_length(const struct af_world *w)
{
	uint64_t off_ns = w->lost[AF_LOST_PAUSED];
	uint64_t length_ns = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;
	/* Processes that others started may do nothing at first, or at last. */
	if (w->closed_ns > w->opened_ns && !af_world_note(w, "pid"))
		length_ns = w->closed_ns - w->opened_ns;

	return length_ns > off_ns ? length_ns - off_ns : 0;
}

/* How much of it is asked for. */
static uint64_t run_shown(const struct af_world *w)
{
	const struct af_query *query = w->time_range.query;
	uint64_t length_ns = run_length(w), to_ns = length_ns;

	if (query->to_ns && query->to_ns < to_ns)
		to_ns = query->to_ns;
	return to_ns > query->from_ns ? to_ns - query->from_ns : 0;
}

/* Recording goes on: what is not seen to complete may well do. */
static bool is_snapshot(const struct af_world *w)
{
	return af_world_note(w, "snapshot") && !af_world_note(w, "end.status");
}

static void rows_intel(struct af_tables *f, struct af_table *t, const struct af_world *w)
{
	row_note(f, t, w, "Intel GPUs", "collector.xe");
	row_note(f, t, w, "Intel GPUs sampled", "collector.xe.rows");
	row_note(f, t, w, "Level Zero stalls", "collector.zet");
	row_note(f, t, w, "Level Zero stalls sampled", "collector.zet.rows");
	row_note(f, t, w, "Intel GPU counters", "collector.xe_oa");
	row_note(f, t, w, "Intel GPU readings", "collector.xe_oa.readings");
	row_note(f, t, w, "Level Zero metrics", "collector.zet_metrics");
	row_note(f, t, w, "Level Zero reports", "collector.zet_metrics.reports");
}

/* Each source of counters over time, by its name. */
static void rows_telemetry(struct af_tables *f, struct af_table *t, const struct af_world *w)
{
	static const char key[] = "telemetry.";

	for (const struct af_note *n = w->notes; n; n = n->next)
		if (!strncmp(n->key, key, strlen(key)))
			row_note(f, t, w, af_tables_text(f, "telemetry, %s", n->key + strlen(key)),
			         n->key);
}

static void table_run(const struct af_world *w, const struct af_results *out, struct af_tables *f)
{
	struct af_table *t = af_pairs_table(f, "run", "The run");

	row_note(f, t, w, "command", "cmd");
	row_note(f, t, w, "host", "host");
	row_note(f, t, w, "ended", "end.status");
	row_note(f, t, w, "recorded inside", "outer");
	uint64_t off_ns = w->lost[AF_LOST_PAUSED];
	const char *length = af_tables_ns(f, run_length(w));
	/* Recording that was ended was off until the program ended: nobody asks how long. */
	if (off_ns && !af_world_note(w, "stopped"))
		length =
		    af_tables_text(f, "%s, and was off for %s", length, af_tables_ns(f, off_ns));
	af_pair_row(f, t, "recorded_for", "recorded for", length);
	row_time_range(f, t, w);
	row_note(f, t, w, "recording ended", "stopped");
	af_pair_row(f, t, "processes", "processes", processes_text(w, f));
	row_note(f, t, w, "CPU samples", "collector.cpu");
	af_allocations_rows(f, t, w);
	row_note(f, t, w, "OpenCL", "collector.opencl");
	row_note(f, t, w, "HIP", "collector.hip");
	row_note(f, t, w, "calls switched", "calls.switched");
	row_note(f, t, w, "calls of functions", "probes");
	row_note(f, t, w, "launches with a stack", "launches");
	row_note(f, t, w, "CUDA", "cuda");
	row_note(f, t, w, "CUDA recorded", "collector.cuda");
	rows_intel(f, t, w);
	rows_telemetry(f, t, w);
	row_note(f, t, w, "CUDA from outside", "cuda.seen");
	row_note(f, t, w, "Level Zero from outside", "ze.seen");
	row_note(f, t, w, "OpenCL from outside", "opencl.seen");
	row_note(f, t, w, "CUDA graphs", "cuda.graphs");
	row_note(f, t, w, "CUDA profiler of the program", "cuda.profiler");
	row_note(f, t, w, "ITT paused", "itt.paused");
	row_note(f, t, w, "Autograd", "autograd");
	row_note(f, t, w, "Python", "python");
	row_note(f, t, w, "went silent", "silent");
	row_note(f, t, w, "a debugger", "debugger");
	row_note(f, t, w, "kernel names", "symbols.kernel");
	row_note(f, t, w, "JIT names", "symbols.jit");
	row_note(f, t, w, "debuginfod", "symbols.debuginfod");
	af_pair_row(f, t, "trace", "trace",
	            af_tables_text(f, "%llu events, %.1f MB", (unsigned long long)w->nr_events,
	                           (double)w->trace_bytes / 1e6));
	row_note(f, t, w, "recovered", "recovered");
	row_note(f, t, w, "snapshot", "snapshot");
	if (is_snapshot(w) && out->launches_unfinished)
		af_pair_row(f, t, "under_way", "under way",
		            af_tables_text(f, "%" PRIu64 " launch%s", out->launches_unfinished,
		                           out->launches_unfinished == 1 ? "" : "es"));
}

static void row_lost(struct af_tables *f, struct af_table *t, const char *key, const char *what,
                     uint64_t count)
{
	if (!count)
		return;
	struct af_lost_row *row = af_table_row(f, t);
	row->what.text = what;
	row->count.value = count;
	row->key.text = key;
}

/* A mark without a number is of a thread that ended before a sample: it was not deep. */
static bool is_left_out(const struct af_stack *stack)
{
	for (uint32_t i = 0; i < stack->nr; i++)
		if (AF_IS_LEFT_OUT(stack->pcs[i]) && stack->pcs[i] != AF_LEFT_OUT)
			return true;
	return false;
}

/* How much of the sampled time has no whole stack, and why. */
static struct af_stack_losses stacks_lost(const struct run *r, const struct af_world *w)
{
	struct af_stack_losses lost = {.sampled_ns = r->sampled_ns, .none_ns = r->unknown_ns};

	for (size_t i = 0; i < r->path_ns.cap; i++) {
		const struct af_map_slot *slot = &r->path_ns.slots[i];
		if (!slot->used)
			continue;
		const struct af_path *path = &w->paths[slot->key];
		const struct af_stack *stack = &w->stacks[path->stack];
		if (is_left_out(stack) ||
		    (path->py_stack && is_left_out(&w->py_stacks[path->py_stack])))
			lost.middle_ns += slot->value;
		if (af_frames_whole(w, stack))
			continue;
		if (stack->stop == AF_STOP_FRAME_POINTERS)
			lost.pointers_ns += slot->value;
		else
			lost.cut_ns += slot->value;
	}
	return lost;
}

void af_lost_stacks(struct af_tables *f, struct af_table *t, const struct af_stack_losses *lost)
{
	row_lost(f, t, AF_LOST_STACKS "cut", "samples per 10,000 with a stack that is cut short",
	         af_tables_ratio(lost->cut_ns, lost->sampled_ns, 1e4));
	row_lost(f, t, AF_LOST_STACKS "middle",
	         "samples per 10,000 with frames left out of the middle of a deep stack",
	         af_tables_ratio(lost->middle_ns, lost->sampled_ns, 1e4));
	row_lost(f, t, AF_LOST_STACKS "frame_pointers",
	         "samples per 10,000 with a stack by frame pointers only",
	         af_tables_ratio(lost->pointers_ns, lost->sampled_ns, 1e4));
	row_lost(f, t, AF_LOST_STACKS "none", "samples per 10,000 with no stack",
	         af_tables_ratio(lost->none_ns, lost->sampled_ns, 1e4));
}

/* The packages that have the names of files without symbols, as far as the trace says. */
static void table_packages(const struct af_world *w, struct af_tables *f)
{
	static const char key[] = "symbols.package.";
	static const struct af_column columns[] = {AF_PACKAGE_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = NULL;

	for (const struct af_note *n = w->notes; n; n = n->next) {
		if (strncmp(n->key, key, strlen(key)) != 0)
			continue;
		if (!t)
			t = AF_TABLE(f, "packages", "Packages with the names of functions",
			             columns);
		struct af_package_row *row = af_table_row(f, t);
		row->file.text = af_tables_text(f, "%s", n->key + strlen(key));
		row->package.text = af_tables_text(f, "%s", n->value);
	}
}

/* Take from both what both count. */
static void leave_common_out(uint64_t *seen, uint64_t *reported)
{
	uint64_t both = *seen < *reported ? *seen : *reported;

	*seen -= both;
	*reported -= both;
}

static void table_lost(const struct run *r, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {AF_LOST_COLUMNS(AF_ROW_COLUMN)};
	struct af_tables *f = &out->tables;
	struct af_table *t = AF_TABLE(f, "lost", "What was lost", columns);

	for (uint32_t i = 0; i < AF_LOST_END; i++)
		if (i != AF_LOST_PAUSED) /* time, which the run's table has; and it was asked for */
			row_lost(f, t, af_lost_name(i), af_lost_text(i), w->lost[i]);
	row_lost(f, t, "damaged_packets", "damaged packets of the trace, stepped over",
	         w->damaged_packets);
	row_lost(f, t, "damaged_bytes", "bytes of the trace that could not be read",
	         w->damaged_bytes);
	/* Those that the target itself counted as unfinished are in the list already. */
	uint64_t unstamped = out->works_unstamped, unfinished = out->launches_unfinished;
	uint64_t reported = w->lost[AF_LOST_UNFINISHED], no_stamps = w->lost[AF_LOST_NO_STAMPS];
	leave_common_out(&unstamped, &no_stamps);
	leave_common_out(&unstamped, &reported);
	leave_common_out(&unfinished, &reported);
	if (!is_snapshot(w))
		row_lost(f, t, "launches_unfinished",
		         "launches whose device work was not seen to complete", unfinished);
	row_lost(f, t, "launches_refused", "launches that the device refused", out->works_failed);
	row_lost(f, t, "works_unlaunched", "pieces of device work without a launch",
	         out->works_unlaunched);
	row_lost(f, t, "works_matched",
	         "pieces of device work with the stack of a call at about its time",
	         out->works_matched);
	row_lost(f, t, "works_stackless",
	         "device work without a stack (--launches), shared by kernel",
	         out->works_stackless);
	row_lost(f, t, "works_untimed", "pieces of device work without times", unstamped);
	row_lost(f, t, "works_unknown", "pieces of device work of which nothing else is known",
	         out->works_unknown);
	out->stacks = stacks_lost(r, w);
	af_lost_stacks(f, t, &out->stacks);
	if (!t->nr_rows)
		t->note = "nothing";
	else if (w->damage && *w->damage)
		t->note = af_tables_text(f, "first damage: %s", w->damage);
}

static uint64_t note_u64(const struct af_world *w, const char *key)
{
	const char *value = af_world_note(w, key);
	return value ? strtoull(value, NULL, 10) : 0;
}

enum { COST_RATIO_NS = 100000000 };

static struct af_cost cost_of(const struct af_world *w)
{
	return (struct af_cost){
	    .handler_ns = note_u64(w, "cost.handler_ns"),
	    .handler_calls = note_u64(w, "cost.handler_calls"),
	    .recorder_ns = note_u64(w, "cost.recorder_ns"),
	    .run_ns = w->closed_ns > w->opened_ns ? w->closed_ns - w->opened_ns : run_length(w),
	    .replay_hits = note_u64(w, "replay.hits"),
	    .replay_wrong = note_u64(w, "replay.wrong"),
	};
}

static void row_replay(struct af_tables *f, struct af_table *t, const char *label, const char *key,
                       uint64_t nr)
{
	af_pair_row(f, t, key, label, af_tables_text(f, "%llu", (unsigned long long)nr));
}

void af_cost_table(struct af_tables *f, const struct af_cost *c)
{
	struct af_table *t = af_pairs_table(f, "cost", "What it cost");

	if (c->handler_calls)
		af_pair_row(f, t, "sampling", "sampling in the program",
		            af_tables_text(f, "%s, %.2f us a sample",
		                           af_tables_ns(f, c->handler_ns),
		                           (double)c->handler_ns / 1e3 / (double)c->handler_calls));
	/* The recorder starts before the run: of a few milliseconds this is no share. */
	const char *share = c->run_ns >= COST_RATIO_NS
	                        ? af_tables_text(f, ", %.2f %% of one core",
	                                         (double)c->recorder_ns * 100 / (double)c->run_ns)
	                        : "";
	if (c->recorder_ns)
		af_pair_row(f, t, "recorder", "the recorder's own CPU time",
		            af_tables_text(f, "%s%s", af_tables_ns(f, c->recorder_ns), share));
	if (!c->replay_hits && !c->replay_wrong)
		return;
	row_replay(f, t, "replayed stacks", "replay.hits", c->replay_hits);
	row_replay(f, t, "replayed stacks that were wrong", "replay.wrong", c->replay_wrong);
}

static void run_finish(void *self, const struct af_world *w, struct af_results *out)
{
	const struct run *r = self;

	table_run(w, out, &out->tables);
	table_lost(r, w, out);
	out->cost = cost_of(w);
	af_cost_table(&out->tables, &out->cost);
	table_packages(w, &out->tables);
	out->shown_ns = run_shown(w);
	out->nr_events = w->nr_events;
}

static void run_close(void *self)
{
	struct run *r = self;

	af_map_free(&r->path_ns);
}

const struct af_pass_ops af_pass_run = {
    .name = "run",
    .question = "what was this run?",
    .answers = AF_ANSWER_TABLES,
    .wants = UINT64_MAX, /* the world counts what is read */
    .state_size = sizeof(struct run),
    .sample = run_sample,
    .merge = run_merge,
    .finish = run_finish,
    .close = run_close,
};
