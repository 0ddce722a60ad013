/*
 * What was this run? Its facts, its CPU time and how much of that the samples saw, what was lost,
 * what recording cost. Every figure here can be checked against another tool.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"

struct run {
	uint64_t sampled_ns, in_kernel_ns;
	uint64_t incomplete_ns, unknown_ns; /* samples whose stack is cut short, or not known */
	struct af_map process_ns;           /* sampled, by ordinal */
};

static void run_sample(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct run *r = self;
	struct af_ev_sample s;

	if (!af_event_decode(ev, &s, sizeof s, NULL))
		return;
	r->sampled_ns += s.weight_ns;
	if (s.flags & AF_SAMPLE_SYSCALL)
		r->in_kernel_ns += s.weight_ns;
	*af_map_at(&r->process_ns, ev->process, NULL) += s.weight_ns;
	uint32_t path = af_world_path(w, ev, s.callpath);
	const struct af_stack *stack = path ? &w->stacks[w->paths[path].stack] : NULL;
	if (!stack || !w->paths[path].stack)
		r->unknown_ns += s.weight_ns;
	else if (stack->stop != AF_STOP_COMPLETE)
		r->incomplete_ns += s.weight_ns;
}

static void row_text(struct af_facts *f, struct af_table *t, const char *what, const char *text)
{
	struct af_cell *c = af_table_row(f, t);

	c[0].text = what;
	c[1].text = text;
}

static const char *ns_text(struct af_facts *f, uint64_t ns)
{
	if (ns >= 1000000000)
		return af_facts_text(f, "%.3f s", (double)ns / 1e9);
	if (ns >= 1000000)
		return af_facts_text(f, "%.3f ms", (double)ns / 1e6);
	return af_facts_text(f, "%.3f us", (double)ns / 1e3);
}

static void row_note(struct af_facts *f, struct af_table *t, const struct af_world *w,
                     const char *what, const char *key)
{
	const char *value = af_world_note(w, key);

	if (value)
		row_text(f, t, what, af_facts_text(f, "%s", value));
}

static void table_run(const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {{"", AF_CELL_TEXT}, {"", AF_CELL_TEXT}};
	struct af_table *t = af_facts_table(f, "run", "The run", columns, 2);
	uint32_t nr = 0;

	for (uint32_t i = 1; i < w->nr_processes; i++)
		nr += w->processes[i].start_ns != 0;
	row_note(f, t, w, "command", "cmd");
	row_note(f, t, w, "host", "host");
	row_note(f, t, w, "ended", "end.status");
	row_text(f, t, "recorded for",
	         ns_text(f, w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0));
	row_text(f, t, "processes", af_facts_text(f, "%u", nr));
	row_note(f, t, w, "CPU samples", "collector.cpu");
	row_note(f, t, w, "OpenCL", "collector.opencl");
	row_note(f, t, w, "Python", "python");
	row_text(f, t, "trace",
	         af_facts_text(f, "%llu events, %.1f MB", (unsigned long long)w->nr_events,
	                       (double)w->trace_bytes / 1e6));
	row_note(f, t, w, "recovered", "recovered");
}

/*
 * What a process used is known to the kernel; what the samples stand for is known here. perf
 * samples user mode only, so kernel time is never among them and is shown for itself.
 */
static void table_cpu_time(const struct run *r, const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {
	    {"Process", AF_CELL_TEXT}, {"User", AF_CELL_NS},           {"Kernel", AF_CELL_NS},
	    {"Sampled", AF_CELL_NS},   {"Peak memory", AF_CELL_BYTES}, {"Measured", AF_CELL_TEXT},
	};
	static const char *const sources[] = {"not known", "by the process as it ended",
	                                      "by wait4: with its children",
	                                      "up to a second before it ended"};
	struct af_table *t = af_facts_table(f, "cpu_time", "CPU time", columns, 6);

	for (uint32_t i = 1; i < w->nr_processes; i++) {
		const struct af_process *p = &w->processes[i];
		if (!p->start_ns && !p->has_usage)
			continue;
		const uint64_t *sampled = af_map_get(&r->process_ns, i);
		struct af_cell *c = af_table_row(f, t);
		c[0].text = af_facts_text(f, "%s [%u]", p->name, p->pid);
		c[1].value = p->user_ns;
		c[2].value = p->kernel_ns;
		c[3].value = sampled ? *sampled : 0;
		c[4].value = p->max_rss_bytes;
		c[5].text = sources[p->has_usage && p->usage_source < 4 ? p->usage_source : 0];
	}
	if (r->in_kernel_ns)
		t->note = af_facts_text(f,
		                        "%s of the sampled time was in system calls: it is under "
		                        "[kernel] frames",
		                        ns_text(f, r->in_kernel_ns));
	else
		t->note = "samples see user mode only: kernel time is not in the flame graph";
}

static void row_lost(struct af_facts *f, struct af_table *t, const char *what, uint64_t count)
{
	if (!count)
		return;
	struct af_cell *c = af_table_row(f, t);
	c[0].text = what;
	c[1].value = count;
}

static void table_lost(const struct run *r, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {{"What", AF_CELL_TEXT},
	                                           {"Count", AF_CELL_COUNT}};
	struct af_facts *f = &out->facts;
	struct af_table *t = af_facts_table(f, "lost", "What was lost", columns, 2);

	for (uint32_t i = 0; i < AF_LOST_END; i++)
		row_lost(f, t, af_lost_text(i), w->lost[i]);
	row_lost(f, t, "damaged packets of the trace, stepped over", w->damaged_packets);
	row_lost(f, t, "bytes of the trace that could not be read", w->damaged_bytes);
	/* Those that the target itself counted as unfinished are in the list already. */
	uint64_t unfinished = out->launches_unfinished, told = w->lost[AF_LOST_UNFINISHED];
	row_lost(f, t, "launches whose device work was not seen to complete",
	         unfinished > told ? unfinished - told : 0);
	row_lost(f, t, "launches that the device refused", out->works_failed);
	row_lost(f, t, "pieces of device work without a launch", out->works_unlaunched);
	if (r->sampled_ns) {
		row_lost(f, t, "samples per 10,000 with a stack that is cut short",
		         (uint64_t)((double)r->incomplete_ns * 1e4 / (double)r->sampled_ns));
		row_lost(f, t, "samples per 10,000 with no stack",
		         (uint64_t)((double)r->unknown_ns * 1e4 / (double)r->sampled_ns));
	}
	if (!t->nr_rows)
		t->note = "nothing";
	else if (w->damage && *w->damage)
		t->note = af_facts_text(f, "first damage: %s", w->damage);
}

static uint64_t note_u64(const struct af_world *w, const char *key)
{
	const char *value = af_world_note(w, key);
	return value ? strtoull(value, NULL, 10) : 0;
}

static void table_cost(const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {{"", AF_CELL_TEXT}, {"", AF_CELL_TEXT}};
	struct af_table *t = af_facts_table(f, "cost", "What it cost", columns, 2);
	uint64_t handler = note_u64(w, "cost.handler_ns"),
		 calls = note_u64(w, "cost.handler_calls");
	uint64_t run = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;

	if (calls)
		row_text(f, t, "sampling in the program",
		         af_facts_text(f, "%s, %.2f us a sample", ns_text(f, handler),
		                       (double)handler / 1e3 / (double)calls));
	uint64_t recorder = note_u64(w, "cost.recorder_ns");
	if (recorder)
		row_text(f, t, "the recorder's own CPU time",
		         af_facts_text(f, "%s, %.2f %% of one core", ns_text(f, recorder),
		                       run ? (double)recorder * 100 / (double)run : 0));
	row_note(f, t, w, "replayed stacks", "replay.hits");
	row_note(f, t, w, "replayed stacks that were wrong", "replay.wrong");
}

static void run_finish(void *self, const struct af_world *w, struct af_results *out)
{
	const struct run *r = self;

	table_run(w, &out->facts);
	table_cpu_time(r, w, &out->facts);
	table_lost(r, w, out);
	table_cost(w, &out->facts);
}

static void run_close(void *self)
{
	struct run *r = self;

	af_map_free(&r->process_ns);
}

const struct af_pass_ops af_pass_run = {
    .name = "run",
    .question = "what was this run?",
    .wants = 1ull << AF_KIND_SAMPLE,
    .state_size = sizeof(struct run),
    .event = run_sample,
    .finish = run_finish,
    .close = run_close,
};
