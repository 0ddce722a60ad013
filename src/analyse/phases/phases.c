/*
 * The phases of a run that repeats itself: its start, the first steps, which take longer than the
 * others, the steady part, and the end. Steps are the program's own ranges or marks, if it has any
 * that fit, or what its launches of device work show. A program that launches nothing is steady
 * while its samples are of about the same functions.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/phases/private.h"
#include "base/arena.h"

enum {
	STEADY_PERCENT = 5,  /* of the run, at least, is steady */
	LOADING_PERCENT = 10 /* of a start's samples, to be named */
};

struct phases {
	struct phase_calls calls;
	struct phase_ranges ranges;
	struct phase_mix mix;
};

static void phases_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct phases *p = self;

	(void)w;
	if (work->first && work->path)
		phase_calls_add(&p->calls, work->process, work->path, work->call_start_ns);
}

static void phases_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct phases *p = self;

	(void)w;
	if (ev->kind == AF_KIND_RANGE)
		phase_ranges_event(&p->ranges, ev);
}

static void phases_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	struct phases *p = self;

	(void)w;
	phase_mix_sample(&p->mix, s);
}

/* The steps, as times since the trace's start; false if too little of the run is steady. */
static bool phases_steps(struct af_phases *out, const struct phase_steps *s, uint64_t zero_ns)
{
	const struct phase_times *anchor = s->anchor;
	uint32_t last = anchor->kept - 1, steady = phase_steps_steady(s);

	if (anchor->at_ns[0] < zero_ns)
		return false;
	out->first_ns = anchor->at_ns[0] - zero_ns;
	out->steady_ns = anchor->at_ns[steady] - zero_ns;
	out->last_ns = anchor->at_ns[last] - zero_ns;
	/* Compilers try kernels in loops, too: a small part of a run is not what it repeats. */
	if (last - steady < PHASE_STEPS_LEAST / 2 ||
	    (out->last_ns - out->steady_ns) / STEADY_PERCENT < out->end_ns / 100)
		return false;
	if (!s->group)
		return true;
	out->nr_steps = last;
	out->steady_step = steady;
	out->steps_ns = af_xcalloc((size_t)last + 1, sizeof *out->steps_ns);
	for (uint32_t i = 0; i <= last; i++)
		out->steps_ns[i] = anchor->at_ns[i] - zero_ns;
	return true;
}

static void phases_mix(struct phases *p, const struct af_world *w, struct af_results *r,
                       const char **note)
{
	struct af_phases *out = &r->phases;
	struct phase_mixed mixed = {0};
	uint64_t zero = r->start_ns, longest_ns;

	phase_calls_of(&p->calls, 0, &longest_ns);
	if (longest_ns || !phase_mix_find(&p->mix, w, out->end_ns, &mixed) || mixed.from_ns < zero)
		return;
	out->by = AF_PHASES_MIX;
	out->first_ns = out->steady_ns = mixed.from_ns - zero;
	out->last_ns = mixed.to_ns - zero;
	out->error_ns = mixed.error_ns;
	const char *loading =
	    mixed.loading_percent < LOADING_PERCENT
		? ""
		: af_tables_text(
		      &r->tables,
		      "; %u %% of the samples before it import modules, link libraries or "
		      "compile",
		      mixed.loading_percent);
	*note = af_tables_text(&r->tables,
	                       "no steps were found: from %s ± %s on, the sampled functions have "
	                       "about the same shares in "
	                       "each part (of %u of the run): they differ by %u points at most%s",
	                       af_tables_ns(&r->tables, out->steady_ns),
	                       af_tables_ns(&r->tables, out->error_ns), mixed.parts,
	                       mixed.differ_percent, loading);
}

static void phase_row(struct af_tables *f, struct af_table *t, const char *phase, uint64_t from_ns,
                      uint64_t to_ns, uint32_t steps)
{
	if (to_ns <= from_ns)
		return;
	struct af_phase_row *row = af_table_row(f, t);
	row->phase.text = phase;
	row->from_ns.value = from_ns;
	row->to_ns.value = to_ns;
	row->length_ns.value = to_ns - from_ns;
	row->steps.value = steps;
	row->steps.unknown = !steps;
	row->step_ns.value = steps ? (to_ns - from_ns) / steps : 0;
	row->step_ns.unknown = !steps;
}

static void phases_table(const struct af_phases *p, struct af_tables *f, const char *note)
{
	static const struct af_column columns[] = {AF_PHASE_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "phases", "Phases", columns);

	phase_row(f, t, "start", 0, p->first_ns, 0);
	phase_row(f, t, "warm-up", p->first_ns, p->steady_ns, p->steady_step);
	phase_row(f, t, AF_PHASE_STEADY, p->steady_ns, p->last_ns, p->nr_steps - p->steady_step);
	phase_row(f, t, "end", p->last_ns, p->end_ns, 0);
	t->note = note;
}

/* The steps by ranges or marks, or else by launches. */
static void phases_repeated(struct phases *p, const struct af_world *w, struct af_results *r,
                            const char **note)
{
	struct af_phases *out = &r->phases;
	struct phase_steps steps = {0};
	const char *name;
	bool marks;

	if (phase_ranges_find(&p->ranges, &p->calls, r->start_ns, w->last_ns, &steps, &name,
	                      &marks) &&
	    phases_steps(out, &steps, r->start_ns)) {
		out->by = marks ? AF_PHASES_MARKS : AF_PHASES_RANGES;
		*note = af_tables_text(&r->tables,
		                       marks ? "steps begin with the program's own marks \"%s\"; "
		                               "the end has the last step"
		                             : "steps are the program's own ranges \"%s\", from "
		                               "the begin of one to that of the next",
		                       name);
		return;
	}
	if (!phase_calls_find(&p->calls, &steps) || !phases_steps(out, &steps, r->start_ns))
		return;
	out->by = steps.group ? AF_PHASES_CALLS : AF_PHASES_RATE;
	*note =
	    !steps.group
		? "no single steps were found: one call path launches work about as often in "
		  "each tenth of the steady part"
		: af_tables_text(&r->tables,
	                         "steps are found by what repeats: %u call paths launch work once "
	                         "in each of %u; the end has the last step",
	                         steps.paths, steps.anchor->kept);
}

/* Ranges are not among what parts get: see `whole`. */
static bool phases_merge(void *self, const struct af_world *w, const void *other)
{
	const struct phases *from = other;
	struct phases *p = self;

	(void)w;
	phase_calls_merge(&p->calls, &from->calls);
	phase_mix_merge(&p->mix, &from->mix);
	return true;
}

static void phases_end(void *self, const struct af_world *w)
{
	struct phases *p = self;

	(void)w;
	phase_calls_sort(&p->calls);
}

static void phases_finish(void *self, const struct af_world *w, struct af_results *r)
{
	struct phases *p = self;
	const char *note = NULL;

	r->phases.end_ns = w->last_ns > r->start_ns ? w->last_ns - r->start_ns : 0;
	phases_repeated(p, w, r, &note);
	if (!r->phases.by)
		phases_mix(p, w, r, &note);
	if (r->phases.by)
		phases_table(&r->phases, &r->tables, note);
	if (r->phases.nr_steps)
		phase_slow_table(&r->phases, &r->tables);
}

static void phases_close(void *self)
{
	struct phases *p = self;

	phase_calls_free(&p->calls);
	phase_ranges_free(&p->ranges);
	phase_mix_free(&p->mix);
}

const struct af_pass_ops af_pass_phases = {
    .name = "phases",
    .question = "which parts has the run?",
    .answers = AF_ANSWER_TABLES,
    .of_runs = true,
    .state_size = sizeof(struct phases),
    .wants = 1ull << AF_KIND_RANGE,
    .whole = 1ull << AF_KIND_RANGE,
    .event = phases_event,
    .sample = phases_sample,
    .work = phases_work,
    .merge = phases_merge,
    .end = phases_end,
    .finish = phases_finish,
    .close = phases_close,
};
