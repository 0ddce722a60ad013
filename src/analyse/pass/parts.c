/*
 * Reads a large trace in parts of time, beside one another. What the whole trace defines is learnt
 * first, so all parts have one world. Each part has passes of its own, and joins what it can; part
 * after part is then added to those before, with what lies across their border. The results do not
 * depend on the parts. Passes that take nothing but what is defined read that by themselves.
 */
#include "analyse/pass/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/system/threads.h"
#include "trace/parts/parts.h"
#include "trace/read/merge.h"

/* A part that is kept is small, as the edges of what is asked for are read again. */
enum { PARTS_BYTES = 64 << 20, PARTS_KEPT_BYTES = 16 << 20, PARTS_MOST = 64 };

static bool takes_moments(const struct af_reading *r, const struct deliver_pass *pass)
{
	return pass->takes & r->momentary || pass->ops->sample || pass->works;
}

/* Do all passes give the same results, and is it worth it? */
static bool passes_can(const struct af_reading *r)
{
	const struct deliver *d = &r->whole->deliver;
	bool any = false;

	for (uint32_t i = 0; i < d->nr_passes; i++) {
		if (!takes_moments(r, &d->passes[i]))
			continue;
		if (!d->passes[i].ops->merge)
			return false;
		any = true;
	}
	return any;
}

/* Samples of instructions are joined in order of time. */
static bool kinds_can(const struct af_reading *r)
{
	const struct analysis *a = r->whole;

	return !(a->attributes && r->found.kinds & AF_ATTRIBUTION_WANTS & AF_KINDS_MOMENTARY);
}

/* Which device code ran on the host is found out in order of time. */
static bool hosts_can(const struct af_reading *r)
{
	for (uint32_t i = 1; r->whole->tells_hosts && i < r->whole->world.nr_processes; i++)
		if (af_world_host_device(&r->whole->world, i))
			return false;
	return true;
}

/* Functions from @call on whose first calls come before @ev, or all; which are left. */
static uint32_t calls_learn(struct af_reading *r, uint32_t call, const struct af_event *ev)
{
	const struct af_part_call *all = r->found.calls;
	struct analysis *a = r->whole;

	if (!(a->wanted >> AF_KIND_API_BIT & 1))
		return call;
	for (; call < r->found.nr_calls && (!ev || af_part_call_before(&all[call], ev)); call++)
		af_world_learn_call(&a->world, all[call].process, all[call].kind);
	return call;
}

/* The part begins here, where @w has seen all that was defined before. */
static void part_begins(struct part *part, const struct af_world *w,
                        const struct af_launches *nodes)
{
	af_launches_captured(&part->a.launches, nodes->captured_ns, nodes->nr_streams);
	if (w->annotations.nr_threads)
		part->annotated = af_annotations_reached(&w->annotations, &part->nr_annotated);
}

/* Threads of the part @i are in the contexts that they were in when it began. */
static void part_annotate(const struct af_reading *r, struct part *part, uint32_t i)
{
	const struct part *is = &r->all[i];
	const uint32_t nr = part->a.world.annotations.nr_threads;

	if (!nr)
		return;
	part->reached = af_xcalloc(nr, sizeof *part->reached);
	if (is->nr_annotated)
		memcpy(part->reached, is->annotated, is->nr_annotated * sizeof *part->reached);
	part->a.world.annotations.reached = part->reached;
}

/* Payloads are in the trace, which stays open. */
static void held_add(struct af_reading *r, const struct af_event *ev)
{
	uint64_t holds = 0;

	for (uint32_t i = 0; i < r->whole->deliver.nr_passes; i++)
		holds |= r->whole->deliver.passes[i].ops->holds;
	if (!(holds & af_kind_bit(ev->kind)))
		return;
	AF_GROW(r->held, r->nr_held, r->cap_held);
	r->held[r->nr_held++] = *ev;
}

/* All that the trace defines, and when graphs were captured. */
static bool parts_learn(struct af_reading *r)
{
	struct analysis *a = r->whole;
	struct af_world *w = &a->world;
	struct af_launches nodes = {0};
	struct af_event ev;
	uint32_t part = 1, call = 0;

	w->annotations.keeps = true;

	struct af_trace *t = af_trace_open_definitions(a->trace, a->wanted, &r->found);
	while (af_trace_next(t, &ev)) {
		for (; part < r->found.nr && ev.time_ns >= r->found.from_ns[part]; part++)
			part_begins(&r->all[part], w, &nodes);
		call = calls_learn(r, call, &ev);
		if (ev.kind == AF_KIND_GRAPH_NODE)
			af_launches_event(&nodes, w, &ev);
		if (a->needs_clocks)
			af_clocks_event(&w->clocks, &ev);
		af_world_event(w, &ev);
		held_add(r, &ev);
	}
	for (; part < r->found.nr; part++)
		part_begins(&r->all[part], w, &nodes);
	calls_learn(r, call, NULL);
	bool fine = !af_trace_damage(t)->first[0] && !w->redefined;
	af_trace_close(t);
	af_launches_free(&nodes);
	af_clocks_build(&w->clocks);
	/* The whole's first packets were counted when it was opened. */
	w->lost[AF_LOST_RING_FULL] += r->found.discarded - af_trace_damage(a->trace)->discarded;
	/* A process may end after its last event, as the recorder noted: the last time stays. */
	w->nr_events = w->first_ns = w->opened_ns = 0;
	return fine;
}

/* Does @pass take what counts at its moment, or else anything that is read of the whole trace? */
static bool takes(const struct af_reading *r, const struct deliver_pass *pass, bool moments)
{
	if (!takes_moments(r, pass))
		return !moments;
	return moments || pass->ops->whole & r->found.kinds;
}

void part_open(struct af_reading *r, struct part *part, const struct analysis *of,
               const struct af_query *query, const struct af_world *w, bool moments)
{
	const struct deliver *d = &of->deliver;
	struct analysis *a = &part->a;

	deliver_open(&a->deliver, &a->world, 1);
	for (uint32_t i = 0; i < d->nr_passes; i++) {
		const struct af_pass_ops *ops = d->passes[i].ops;
		if (!takes(r, &d->passes[i], moments))
			continue;
		deliver_add(&a->deliver, ops, af_xcalloc(1, ops->state_size), query->answers);
		if (moments)
			a->deliver.passes[a->deliver.nr_passes - 1].takes &= ~ops->whole;
	}
	a->world = *w;
	a->world.in_part = moments;
	a->joins = moments && of->joins;
	a->samples.in_part = a->launches.in_part = moments;
	a->reaches = r->keeps;
	a->lowest_ns = UINT64_MAX;
	analysis_connect(a);
	analysis_plan(a);
}

/* Passes that have to know what was there before the part get it. */
static void part_recall(const struct af_reading *r, struct analysis *a, uint64_t from_ns)
{
	for (uint32_t k = 0; k < r->nr_held && r->held[k].time_ns < from_ns; k++)
		for (uint32_t i = 0; i < a->deliver.nr_passes; i++) {
			const struct deliver_pass *pass = &a->deliver.passes[i];
			if (pass->ops->holds & af_kind_bit(r->held[k].kind))
				pass->ops->event(pass->state, &a->world, &r->held[k]);
		}
}

void part_read(struct af_reading *r, struct part *part, uint32_t i)
{
	const uint64_t from_ns = r->found.from_ns[i], to_ns = r->found.from_ns[i + 1];
	const bool failed = __atomic_load_n(&r->failed, __ATOMIC_RELAXED);
	struct analysis *a = &part->a;

	/* Nothing of the parts before can wait where there are none. */
	a->samples.in_part = a->launches.in_part = i > 0;
	part_annotate(r, part, i);
	a->trace = af_trace_open_part(r->whole->trace, r->whole->wanted, &r->found, i);
	if (i)
		part_recall(r, a, from_ns);
	if (!failed)
		analysis_read_known(a, from_ns, to_ns);
	for (uint32_t n = 0; n < a->deliver.nr_passes; n++) {
		const struct deliver_pass *pass = &a->deliver.passes[n];
		if (pass->ops->settles)
			pass->ops->merge(pass->state, &a->world, NULL);
	}
}

void part_read_definitions(struct af_reading *r, struct part *part)
{
	struct analysis *a = &part->a;

	if (!a->deliver.nr_takers)
		return;
	a->trace = af_trace_open_definitions(r->whole->trace, a->deliver.takes, &r->found);
	analysis_read_known(a, 0, UINT64_MAX);
}

struct deliver_pass *part_pass(struct analysis *a, const struct af_pass_ops *ops)
{
	for (uint32_t i = 0; i < a->deliver.nr_passes; i++)
		if (a->deliver.passes[i].ops == ops)
			return &a->deliver.passes[i];
	return NULL;
}

bool part_add(struct analysis *to, const struct af_world *w, const struct part *part)
{
	bool fine = true;

	for (uint32_t i = 0; i < part->a.deliver.nr_passes; i++) {
		const struct deliver_pass *from = &part->a.deliver.passes[i];
		const struct deliver_pass *pass = part_pass(to, from->ops);
		if (pass)
			fine &= from->ops->merge(pass->state, w, from->state);
	}
	return fine;
}

bool part_move(struct af_reading *r, struct analysis *to, struct part *part)
{
	bool fine = true;

	for (uint32_t i = 0; i < part->a.deliver.nr_passes; i++) {
		struct deliver_pass *from = &part->a.deliver.passes[i];
		struct deliver_pass *pass = part_pass(to, from->ops);
		if (!pass)
			continue;
		void *was = pass->state;
		if (takes_moments(r, pass))
			fine &= pass->ops->merge(from->state, &r->shared, was);
		pass->state = from->state;
		from->state = was;
	}
	return fine;
}

void part_close(struct part *part)
{
	if (part->a.deliver.world)
		analysis_drop(&part->a);
	af_trace_close(part->a.trace);
	free(part->annotated);
	free(part->reached);
	free(part->works);
	free(part->samples);
	*part = (struct part){0};
}

/* Works and samples that lie across a border are kept beside, for parts of the run. */
static void border_work(void *arg, struct af_work *work)
{
	struct af_reading *r = arg;
	struct part *part = &r->all[r->merged];

	if (r->keeps) {
		AF_GROW(part->works, part->nr_works, part->cap_works);
		part->works[part->nr_works++] = *work;
	}
	analysis_work(r->whole, work);
}

static void border_sample(void *arg, const struct af_sample *s)
{
	struct af_reading *r = arg;
	struct part *part = &r->all[r->merged];

	if (r->keeps) {
		AF_GROW(part->samples, part->nr_samples, part->cap_samples);
		part->samples[part->nr_samples++] = *s;
	}
	analysis_sample(r->whole, s);
}

static void world_count(struct af_world *w, const struct af_world *part)
{
	if (!w->nr_events)
		w->opened_ns = part->opened_ns;
	w->nr_events += part->nr_events;
	w->first_ns = w->first_ns ? w->first_ns : part->first_ns;
	w->last_ns = part->last_ns > w->last_ns ? part->last_ns : w->last_ns;
}

/* Does a pass depend on when works come? */
static bool part_settles(const struct part *part)
{
	for (uint32_t i = 0; i < part->a.deliver.nr_passes; i++)
		if (part->a.deliver.passes[i].ops->settles && part->a.deliver.passes[i].works)
			return true;
	return false;
}

/* Add the next part. What lies across the border comes first. */
static void part_merge(struct af_reading *r, struct part *part)
{
	struct analysis *a = r->whole, *from = &part->a;

	deliver_settle(&a->deliver);
	af_samples_merge(&a->samples, &from->samples);
	af_launches_merge(&a->launches, &r->shared, &from->launches);
	bool fine = part_add(a, &r->shared, part);
	world_count(&a->world, &from->world);
	/* Work without a call comes last then, and not in time. */
	if (r->merged + 1 == r->found.nr && a->launches.early.nr && part_settles(part))
		fine = false;
	if (!fine || a->launches.unfit || af_trace_damage(from->trace)->first[0])
		__atomic_store_n(&r->failed, true, __ATOMIC_RELAXED);
	af_trace_close(from->trace);
	from->trace = NULL;
	if (r->keeps)
		deliver_spare(&from->deliver);
	else
		part_close(part);
}

/* One thread at a time adds what is read, in order. */
static void parts_merge(struct af_reading *r, uint32_t read)
{
	pthread_mutex_lock(&r->lock);
	r->all[read].read = true;
	while (!r->merging && r->merged < r->found.nr && r->all[r->merged].read) {
		r->merging = true;
		pthread_mutex_unlock(&r->lock);
		part_merge(r, &r->all[r->merged]);
		pthread_mutex_lock(&r->lock);
		r->merging = false;
		r->merged++;
		if (r->how->progress)
			r->how->progress(r->how->arg, r->size / r->found.nr * r->merged, r->size);
	}
	pthread_mutex_unlock(&r->lock);
}

static void part_run(void *arg, uint32_t i)
{
	struct af_reading *r = arg;
	struct part *part = &r->all[i];

	part_open(r, part, r->whole, &r->query, &r->shared, i < r->found.nr);
	if (i == r->found.nr) {
		part_read_definitions(r, part);
		return;
	}
	part->a.world.part_from_ns = i ? r->found.from_ns[i] : 0;
	part->a.world.part_to_ns = r->found.from_ns[i + 1];
	part_read(r, part, i);
	parts_merge(r, i);
}

/* Passes that take samples or work can only be read in parts if they can be merged. */
static bool may_be_read(const struct analysis *a)
{
	const struct deliver *d = &a->deliver;
	bool any = false;

	if (a->near || a->match.on)
		return false;
	for (uint32_t i = 0; i < d->nr_passes; i++) {
		const struct deliver_pass *p = &d->passes[i];
		bool moments = p->ops->sample || p->works;
		if (moments && !p->ops->merge)
			return false;
		any |= p->ops->merge != NULL;
	}
	return any;
}

/* For tests: the parts of a small trace. */
static uint64_t part_bytes(bool keeps)
{
	const char *text = getenv("AFLAME_PART_BYTES");
	char *end = NULL;
	uint64_t bytes = text ? strtoull(text, &end, 10) : 0;

	return bytes && !*end ? bytes : keeps ? PARTS_KEPT_BYTES : PARTS_BYTES;
}

/* It turned out that the trace cannot be read in parts: the passes begin again. */
static void parts_reset(struct af_reading *r)
{
	struct analysis *a = r->whole;

	for (uint32_t i = 0; i < a->deliver.nr_passes; i++) {
		struct deliver_pass *p = &a->deliver.passes[i];
		if (p->ops->close)
			p->ops->close(p->state);
		free(p->state);
		p->state = af_xcalloc(1, p->ops->state_size);
	}
	af_samples_free(&a->samples);
	af_launches_free(&a->launches);
	analysis_connect(a);
	af_world_close(&a->world);
	a->world = r->was;
}

static bool parts_read(struct af_reading *r)
{
	struct analysis *a = r->whole;
	uint32_t nr = r->found.nr;

	r->all = af_xcalloc((size_t)nr + 1, sizeof *r->all);
	r->failed = !parts_learn(r) || !hosts_can(r);
	r->shared = a->world;
	a->launches.room = NULL;
	a->launches.take = border_work;
	a->samples.take = border_sample;
	a->launches.arg = a->samples.arg = r;
	if (!r->failed) {
		af_threads_each(a->deliver.most_threads, nr + 1, part_run, r);
		r->failed |= !part_move(r, a, &r->all[nr]);
	}
	if (r->failed)
		parts_reset(r);
	a->has_clocks = !r->failed && a->needs_clocks;
	return !r->failed;
}

static void reading_free(struct af_reading *r)
{
	for (uint32_t i = 0; r->all && i <= r->found.nr; i++)
		part_close(&r->all[i]);
	free(r->all);
	free(r->held);
	free(r->sums.coverage.launches);
	af_parts_free(&r->found);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

struct af_reading *analysis_read_parts(struct analysis *a, const struct af_query *query,
                                       const struct af_analyse_how *how)
{
	const bool keeps = how->kept && query->answers & AF_ANSWER_STEADY;
	struct af_parts found;

	if (!may_be_read(a) || !af_parts_find(&found, a->trace, part_bytes(keeps), PARTS_MOST,
	                                      a->deliver.most_threads))
		return NULL;
	struct af_reading *r = af_xcalloc(1, sizeof *r);
	r->whole = a;
	r->query = *query;
	r->was = a->world;
	r->found = found;
	r->size = af_trace_size(a->trace);
	r->how = how;
	r->keeps = keeps;
	r->momentary = found.kinds & AF_KINDS_MOMENTARY;
	pthread_mutex_init(&r->lock, NULL);
	if (kinds_can(r) && passes_can(r) && parts_read(r))
		return r;
	reading_free(r);
	return NULL;
}

void af_reading_close(struct af_reading *r)
{
	struct analysis *whole = r ? r->whole : NULL;

	/* Parts give back pages of the whole's files. */
	if (r)
		reading_free(r);
	analysis_close(whole);
}
