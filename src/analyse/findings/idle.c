/*
 * Findings about waits of devices, by reason, from the view of idle time, which is exact to the
 * nanosecond. Reasons are separate only between a device's first work and its last; the time before
 * and the time after are one finding each.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/idle/reasons.h"
#include "analyse/tree/callers.h"
#include "analyse/tree/filter.h"
#include "trace/layout.h"

enum {
	IDLE_NONE,
	IDLE_LAUNCHES,
	IDLE_PACE,
	IDLE_WAITS,
	IDLE_ALLOCATIONS,
	IDLE_LOADS,
	IDLE_RECORDING
};

/* After a wait the pipeline is filled again: what takes longer than this is no cost of the wait. */
enum { AFTER_WAIT_NS = 100000, WAITS_MANY = 100 };

struct reason {
	enum idle_reason reason;
	const char *word; /* for how much of a time it was so */
	const char *kind;
	const char *what; /* "NVIDIA H200 was idle for 1.2 s (10 % of …) …" */
	const char *helps;
	int extra; /* what calls and kernels have to say */
};

static const struct reason reasons[] = {
    {IDLE_LAUNCH, "launching", "launching", "while work for it was being launched",
     "fewer and larger kernels, or CUDA graphs", IDLE_LAUNCHES},
    {IDLE_COPY, "copying", "copying", "while the thread that feeds it was in calls that copy",
     "pinned memory, and asynchronous copies on a stream of their own", IDLE_NONE},
    {IDLE_SYNC, "waiting for the device", "waiting", "while the thread that feeds it waited for it",
     "waiting less often: fewer synchronizations, results read back later", IDLE_WAITS},
    {IDLE_ALLOC, "allocating", "allocating", "while memory was allocated or freed",
     "memory that is allocated once, or a caching or stream-ordered allocator", IDLE_ALLOCATIONS},
    {IDLE_LOAD, "loading code", "loading-code", "while code was loaded for it",
     "loading before what is measured: a warm-up, CUDA_MODULE_LOADING=EAGER", IDLE_LOADS},
    {IDLE_CALL, "in other calls", "calling",
     "while the thread that feeds it was in other calls of its API", "fewer of these calls",
     IDLE_NONE},
    {IDLE_MPI, "inside MPI", "mpi", "while the thread that feeds it was inside MPI",
     "communication that overlaps with the device's work, and ranks that take equally long",
     IDLE_NONE},
    {IDLE_INPUT, "loading data", "input", "while the thread that feeds it loaded data",
     "more workers that load data, and loading ahead", IDLE_NONE},
    {IDLE_RUN, "on a CPU", "host", "while the thread that feeds it computed on a CPU",
     "doing that ahead, in other threads or processes, or making it faster", IDLE_PACE},
    {IDLE_STARVED, "waiting for a CPU", "no-cpu", "while the thread that feeds it waited for a CPU",
     "fewer threads than CPUs, or CPUs of its own", IDLE_NONE},
    {IDLE_OFF, "off the CPU", "blocked",
     "while the thread that feeds it slept or waited for a lock, a file or another process", NULL,
     IDLE_NONE},
    {IDLE_ON_WAY, "with work on its way", "on-the-way", "while work was on its way to it",
     "work that is launched earlier, or fewer and larger pieces", IDLE_NONE},
    {IDLE_QUEUED, "between work", "queued", "between pieces of work that it had been given before",
     "fewer dependencies between streams, larger pieces, or CUDA graphs", IDLE_NONE},
    {IDLE_UNSEEN, "not recorded", "not-recorded",
     "and what the thread that feeds it did was not recorded", NULL, IDLE_RECORDING},
    {IDLE_NO_CALL, "not explained", "launch-unknown",
     "before work whose launch is not in the trace", NULL, IDLE_NONE},
};

/* The devices of one name, which are reported together. */
struct idled {
	struct findings *s;
	const struct af_tree *phases; /* of all devices; of no nodes where there are no stacks */
	const char *device;
	uint32_t nr;      /* devices of this name */
	uint64_t span_ns; /* from first work to last, summed over them */
	bool alone;       /* the trace has no other device */
};

/* How many calls do one of @category, bits of enum af_call_category; their time is in @ns. */
static uint64_t calls_sum(const struct findings *s, uint32_t category, uint64_t *ns)
{
	const struct af_table *t = findings_table(s, "calls");
	uint64_t count = 0;

	*ns = 0;
	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct af_call_row *row = AF_ROW_AT(struct af_call_row, t, i);
		if (!(category >> row->category_number.value & 1))
			continue;
		*ns += row->time_ns.value;
		count += row->calls.value;
	}
	return count;
}

/* "; all 1,234 calls that allocate or free took 1.2 s"; "" if there are none. */
static const char *calls_text(struct findings *s, uint32_t category, const char *verb)
{
	uint64_t ns, count = calls_sum(s, category, &ns);

	return count ? af_tables_text(s->f, "; all %s calls that %s took %s",
	                              findings_number(s, count), verb, af_tables_ns(s->f, ns))
	             : "";
}

/* The host's time for a launch, beside the device's time for a kernel. */
static const char *launches_text(struct findings *s)
{
	const struct af_table *kernels = findings_table(s, "kernels");
	uint64_t ns, nr = calls_sum(s, 1u << AF_CATEGORY_LAUNCH, &ns),
		     kernels_ns = FINDINGS_SUM(af_kernel_row, kernels, time_ns),
		     nr_kernels = FINDINGS_SUM(af_kernel_row, kernels, calls);

	if (!nr || !nr_kernels)
		return "";
	return af_tables_text(s->f,
	                      "; %s launches took the host %s each on average, kernels run for %s",
	                      findings_number(s, nr), af_tables_ns(s->f, ns / nr),
	                      af_tables_ns(s->f, kernels_ns / nr_kernels));
}

/*
 * How often kernels come, beside how long they run. Only for a single device, since kernels are
 * counted for all devices together.
 */
static const char *pace_text(const struct idled *d)
{
	const struct af_table *kernels = findings_table(d->s, "kernels");
	uint64_t ns = FINDINGS_SUM(af_kernel_row, kernels, time_ns),
		 nr = FINDINGS_SUM(af_kernel_row, kernels, calls);

	if (nr < 100)
		return "";
	return af_tables_text(d->s->f, "; %s kernels: one every %s on average, each of %s",
	                      findings_number(d->s, nr), af_tables_ns(d->s->f, d->span_ns / nr),
	                      af_tables_ns(d->s->f, ns / nr));
}

/*
 * Does the thread that feeds the device do little else than launching, so that the device is idle
 * in short gaps? As the verdict decides it.
 */
static bool is_launching(const struct idled *d)
{
	const struct af_table *t = findings_table(d->s, "idle");
	uint64_t launching = 0, host = 0;

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		if (strcmp(findings_text(CELL(af_idle_row, t, i, device)), d->device))
			continue;
		launching += findings_value(CELL(af_idle_row, t, i, launching_percent));
		host += findings_value(CELL(af_idle_row, t, i, host_percent));
	}
	return launching > host;
}

/*
 * Calls and kernels are counted for all devices together, so with several devices they describe
 * none.
 */
static const char *extra_text(const struct idled *d, int extra)
{
	switch (d->alone ? extra : IDLE_NONE) {
	case IDLE_LAUNCHES:
		return launches_text(d->s);
	case IDLE_PACE:
		return is_launching(d) ? pace_text(d) : "";
	case IDLE_WAITS:
		return calls_text(d->s, 1u << AF_CATEGORY_SYNC, "wait");
	case IDLE_ALLOCATIONS:
		return calls_text(d->s, 1u << AF_CATEGORY_ALLOC | 1u << AF_CATEGORY_FREE,
		                  "allocate or free");
	case IDLE_LOADS:
		return calls_text(d->s, 1u << AF_CATEGORY_LOAD, "load code");
	default:
		return "";
	}
}

/* "; 4.2 s of it below inner (_compile.py:47)" */
static const char *below_text(struct findings *s, const struct findings_where *w)
{
	return w->name.text
	           ? af_tables_text(s->f, "; %s of it below %s", af_tables_ns(s->f, w->sum.ns),
	                            findings_short(s, w->name.text))
	           : "";
}

/* The part of @t after a wait for the device had ended. */
static const char *drained_text(struct findings *s, const struct af_tree *device,
                                enum idle_reason why, uint64_t ns)
{
	struct af_tree drained, reason;
	uint64_t drained_ns = 0;

	if (why == IDLE_SYNC || !findings_focus(&drained, device, AF_IDLE_AFTER_WAIT))
		return "";
	if (findings_focus(&reason, &drained, idle_reason_frame(why))) {
		drained_ns = reason.total[AF_WEIGHT_TIME][0];
		af_tree_close(&reason);
	}
	af_tree_close(&drained);
	if (drained_ns < ns / 10)
		return "";
	return af_tables_text(s->f, ", %s of it right after a wait for the device",
	                      af_tables_ns(s->f, drained_ns));
}

/* The link in the page and the command line: the phase, and the device where there are several. */
static void idle_place(const struct idled *d, struct finding *x, const char *phase,
                       const char *reason, const struct findings_where *w)
{
	struct findings *s = d->s;
	const char *check = af_tables_text(s->f, "aflame report tree --view idle --focus %s",
	                                   findings_pattern(s, phase));
	const char *hash =
	    findings_link(s, "#view=idle&w=time", "o", af_tables_text(s->f, "focus:%s", phase));

	if (!d->alone) {
		check = af_tables_text(s->f, "%s --focus %s", check,
		                       findings_quoted(s, findings_exactly(s, d->device)));
		hash = findings_link(s, hash, "o", af_tables_text(s->f, "focus:%s", d->device));
	}
	if (reason) {
		check = af_tables_text(s->f, "%s --focus %s", check, findings_pattern(s, reason));
		hash = findings_link(s, hash, "o", af_tables_text(s->f, "focus:%s", reason));
	}
	if (w->name.text)
		hash =
		    af_tables_text(s->f, "%s&exact=1",
		                   findings_link(s, hash, "q", findings_exactly(s, w->name.text)));
	x->check = check;
	x->hash = hash;
	x->view = "idle";
	x->function = w->name.text;
	x->id = w->name.id;
}

/* The option that would have recorded it; NULL for imported traces and where it was recorded. */
static const char *recording_text(const struct findings *s)
{
	return s->sampled_here && !findings_table(s, "blocked")
	           ? "recording with --off-cpu, as root"
	           : NULL;
}

static const char *device_was(const struct idled *d)
{
	return d->nr == 1 ? af_tables_text(d->s->f, "%s was", d->device)
	                  : af_tables_text(d->s->f, "%s called %s were together",
	                                   findings_count(d->s, d->nr, "device"), d->device);
}

static void idle_reason_find(const struct idled *d, const struct af_tree *device,
                             const struct reason *r)
{
	struct findings *s = d->s;
	struct findings_where w = {0};
	struct af_tree t;

	const char *frame = idle_reason_frame(r->reason);

	if (!findings_focus(&t, device, frame))
		return;
	uint64_t ns = t.total[AF_WEIGHT_TIME][0];
	if (ns >= d->span_ns / 100) {
		findings_where(s, &t, &w);
		struct finding x = {.kind = r->kind,
		                    .ns = ns,
		                    .of_ns = d->span_ns,
		                    .of = "the time from the device's first work to its last",
		                    .helps =
		                        r->extra == IDLE_RECORDING ? recording_text(s) : r->helps};
		if (r->reason == IDLE_RUN && is_launching(d))
			x.helps = "fewer and larger kernels (fused or compiled), or CUDA graphs";
		const char *cause = r->reason == IDLE_RUN   ? findings_computing(s, &t, &x.helps)
		                    : r->reason == IDLE_OFF ? findings_waiting(s, &t, &x.helps)
		                                            : "";
		x.what = af_tables_text(s->f, "%s idle for %s (%s of %s) %s%s%s%s%s", device_was(d),
		                        af_tables_ns(s->f, ns), findings_share(s, ns, d->span_ns),
		                        af_tables_ns(s->f, d->span_ns), r->what,
		                        drained_text(s, device, r->reason, ns), below_text(s, &w),
		                        cause, extra_text(d, r->extra));
		idle_place(d, &x, idle_phase_frame(IDLE_BETWEEN), frame, &w);
		findings_add(s, &x);
	}
	af_tree_close(&t);
}

/* Stacks of the phase and of the device. */
static bool idle_phase(const struct idled *d, struct af_tree *t, enum idle_phase phase)
{
	return findings_focus(t, &d->phases[phase], d->device);
}

/* Both frames: waiting, and what came right after it. */
#define WAITS "waiting for the device]"

/*
 * Many waits, each of which empties the device: the time in them and right after them is one
 * finding, as the time after them would not be idle without them. Counts of waits are those of all
 * devices.
 */
static bool waits_find(const struct idled *d, const struct af_tree *device)
{
	struct findings *s = d->s;
	struct findings_where w = {0};
	struct af_hits hits;
	struct af_tree t;
	uint64_t called_ns, nr = calls_sum(s, 1u << AF_CATEGORY_SYNC, &called_ns),
			    in_ns = findings_weight(device, idle_reason_frame(IDLE_SYNC)).ns;

	af_hits_match(&hits, device, "waiting for the device\\]$");
	if (!d->alone || nr < WAITS_MANY || !hits.nr) {
		af_hits_free(&hits);
		return false;
	}
	af_tree_focus(&t, device, &hits);
	af_hits_free(&hits);
	uint64_t ns = findings_total(&t).ns;
	bool many = ns > in_ns && (ns - in_ns) / nr <= AFTER_WAIT_NS;
	if (many) {
		findings_where(s, &t, &w);
		struct finding x = {
		    .kind = "waiting",
		    .ns = ns,
		    .of_ns = d->span_ns,
		    .of = "the time from the device's first work to its last",
		    .helps = "waiting less often: fewer synchronizations, results read back later"};
		x.what = af_tables_text(
		    s->f,
		    "%s idle for %s (%s of %s) while the thread that feeds it waited for it, or "
		    "right after%s%s",
		    device_was(d), af_tables_ns(s->f, ns), findings_share(s, ns, d->span_ns),
		    af_tables_ns(s->f, d->span_ns), below_text(s, &w), extra_text(d, IDLE_WAITS));
		idle_place(d, &x, idle_phase_frame(IDLE_BETWEEN), WAITS, &w);
		findings_add(s, &x);
	}
	af_tree_close(&t);
	return many;
}

static void idle_between(const struct idled *d)
{
	struct af_tree t;

	if (!idle_phase(d, &t, IDLE_BETWEEN))
		return;
	bool waits = waits_find(d, &t);
	for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (!waits || reasons[i].reason != IDLE_SYNC)
			idle_reason_find(d, &t, &reasons[i]);
	af_tree_close(&t);
}

/* How long this device waited for threads that may have been off the CPU, also in calls. */
static uint64_t off_ns(const struct idled *d, uint64_t run_ns)
{
	static const enum idle_reason others[] = {IDLE_ON_WAY, IDLE_QUEUED, IDLE_RUN};
	uint64_t span_ns = d->span_ns / d->nr, ns = run_ns > span_ns ? run_ns - span_ns : 0;
	struct af_tree t;

	if (!idle_phase(d, &t, IDLE_BETWEEN))
		return ns;
	ns += findings_total(&t).ns;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ns -= findings_weight(&t, idle_reason_frame(others[i])).ns;
	af_tree_close(&t);
	return ns;
}

/* Kernels of a device that is no GPU are functions on CPUs, and bound by nothing. */
static bool are_gpus(const struct af_table *t)
{
	for (uint32_t i = 0; i < t->nr_rows; i++)
		if (!findings_value(CELL(af_idle_row, t, i, is_gpu)))
			return false;
	return true;
}

/* "; 3.2 s of it on a CPU": the heaviest reason. */
static const char *most_text(struct findings *s, const struct af_tree *t)
{
	const struct reason *best = NULL;
	uint64_t most_ns = 0;

	for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		uint64_t ns = findings_weight(t, idle_reason_frame(reasons[i].reason)).ns;
		best = ns > most_ns ? &reasons[i] : best;
		most_ns = ns > most_ns ? ns : most_ns;
	}
	return best ? af_tables_text(s->f, "; %s of it %s", af_tables_ns(s->f, most_ns), best->word)
	            : "";
}

/* Before the first work of all devices, or after the last. */
static void idle_edge(const struct idled *d, enum idle_phase phase, const char *kind,
                      const char *event)
{
	struct findings *s = d->s;
	struct findings_where w = {0};
	struct af_tree t;

	if (!idle_phase(d, &t, phase))
		return;
	uint64_t ns = findings_total(&t).ns;
	struct finding x = {.kind = kind, .ns = ns, .of_ns = s->run_ns * d->nr, .of = "the run"};
	findings_where(s, &t, &w);
	x.what =
	    af_tables_text(s->f, "%s without work for %s (%s of %s) %s%s%s", device_was(d),
	                   af_tables_ns(s->f, ns), findings_share(s, ns, x.of_ns),
	                   af_tables_ns(s->f, x.of_ns), event, most_text(s, &t), below_text(s, &w));
	idle_place(d, &x, idle_phase_frame(phase), NULL, &w);
	findings_add(s, &x);
	af_tree_close(&t);
}

static uint64_t row_edge(const struct af_table *t, uint32_t row, bool after)
{
	const struct af_idle_row *is = AF_ROW_AT(struct af_idle_row, t, row);

	return findings_value(after ? &is->after_ns : &is->before_ns);
}

/*
 * The row with the least time before (or after) work: the part that all devices share is reported
 * once.
 */
static uint32_t least_row(const struct af_table *t, const uint32_t *reported, bool after)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < t->nr_rows; i++)
		if (reported[i] &&
		    (best == UINT32_MAX || row_edge(t, i, after) < row_edge(t, best, after)))
			best = i;
	return best;
}

/* The sum over all devices called @name. */
static uint64_t span_sum(const struct af_table *t, const char *name)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->nr_rows; i++)
		if (!strcmp(findings_text(CELL(af_idle_row, t, i, device)), name))
			sum += findings_value(CELL(af_idle_row, t, i, span_ns));
	return sum;
}

void findings_idle(struct findings *s)
{
	const struct af_table *t = findings_table(s, "idle");

	if (!t || !t->nr_rows)
		return;
	uint32_t *reported = findings_devices_reported(s, t);
	s->gpus = are_gpus(t);
	uint32_t first = least_row(t, reported, false), last = least_row(t, reported, true);
	for (unsigned p = 0; p < IDLE_PHASES; p++)
		findings_focus(&s->idle[p], &s->r->trees[AF_VIEW_IDLE],
		               idle_phase_frame((enum idle_phase)p));
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		const char *name = findings_text(CELL(af_idle_row, t, i, device));
		const struct idled d = {
		    .s = s,
		    .phases = s->idle,
		    .device = name,
		    .nr = reported[i],
		    .span_ns = reported[i] > 1 ? span_sum(t, name)
		                               : findings_value(CELL(af_idle_row, t, i, span_ns)),
		    .alone = t->nr_rows == 1};
		if (!reported[i])
			continue;
		uint64_t waited_ns = off_ns(&d, s->run_ns);
		s->off_ns = waited_ns > s->off_ns ? waited_ns : s->off_ns;
		idle_between(&d);
		if (i == first)
			idle_edge(&d, IDLE_BEFORE, "start", "before its first work");
		if (i == last)
			idle_edge(&d, IDLE_AFTER, "end", "after its last work");
	}
	free(reported);
}
