/*
 * Reads a large trace in parts of time, beside one another. What the whole trace defines is learnt
 * first, so all parts have one world. Each part has passes of its own, and joins what it can; part
 * after part is then added to those before, with what lies across their border. The results do not
 * depend on the parts. Passes that take nothing but what is defined read that by themselves.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/analysis.h"
#include "base/arena.h"
#include "base/system/threads.h"
#include "trace/parts/parts.h"
#include "trace/read/merge.h"

enum { PARTS_BYTES = 64 << 20, PARTS_MOST = 64 };

/* Kinds that mean something else in a part than in the whole: what came before matters. */
#define PARTS_NEVER (1ull << AF_KIND_RANGE | 1ull << AF_KIND_OPERATION | 1ull << AF_KIND_CALL_SEEN)

struct part {
	struct analysis a;
	uint32_t passes[DELIVER_PASSES]; /* of each of its passes: the one of the whole */
	bool read;
};

struct parts {
	struct analysis *whole;
	const struct af_query *query;
	struct af_world was; /* the whole's, before it had learnt anything */
	struct af_parts found;
	struct af_world shared; /* a copy for readers: it has what they count at 0 */
	struct part *all;       /* and behind them the one that takes what is defined */
	uint64_t momentary;     /* kinds that there are, and that count at their moment */
	uint64_t size;
	void (*progress)(void *arg, uint64_t done, uint64_t size);
	void *arg;

	pthread_mutex_t lock; /* of what follows, and of `read` */
	uint32_t merged;
	bool merging, failed;
};

static bool takes_moments(const struct parts *p, const struct deliver_pass *pass)
{
	return pass->takes & p->momentary || pass->ops->sample || pass->works;
}

/* Do all passes give the same results, and is it worth it? */
static bool passes_can(const struct parts *p)
{
	const struct deliver *d = &p->whole->deliver;
	bool any = false;

	for (uint32_t i = 0; i < d->nr_passes; i++) {
		if (!takes_moments(p, &d->passes[i]))
			continue;
		if (!d->passes[i].ops->merge)
			return false;
		any = true;
	}
	return any;
}

static bool kinds_can(const struct parts *p)
{
	const struct analysis *a = p->whole;

	return !(p->found.kinds & PARTS_NEVER & a->wanted) &&
	       !(a->attributes && p->found.kinds & AF_ATTRIBUTION_WANTS & AF_KINDS_MOMENTARY);
}

/* Which device code ran on the host is found out in order of time. */
static bool hosts_can(const struct parts *p)
{
	for (uint32_t i = 1; p->whole->tells_hosts && i < p->whole->world.nr_processes; i++)
		if (af_world_host_device(&p->whole->world, i))
			return false;
	return true;
}

/* All that the trace defines, and when graphs were captured. */
static bool parts_learn(struct parts *p)
{
	struct analysis *a = p->whole;
	struct af_world *w = &a->world;
	struct af_launches nodes = {0};
	struct af_event ev;
	uint32_t part = 1;

	for (uint32_t i = 0; i < p->found.nr_calls; i++)
		af_world_learn_call(w, p->found.calls[i].process, p->found.calls[i].kind);
	struct af_trace *t = af_trace_open_definitions(a->trace, a->wanted, &p->found);
	while (af_trace_next(t, &ev)) {
		for (; part < p->found.nr && ev.time_ns >= p->found.from_ns[part]; part++)
			af_launches_captured(&p->all[part].a.launches, nodes.captured_ns,
			                     nodes.nr_streams);
		if (ev.kind == AF_KIND_GRAPH_NODE)
			af_launches_event(&nodes, w, &ev);
		if (a->needs_clocks)
			af_clocks_event(&w->clocks, &ev);
		af_world_event(w, &ev);
	}
	for (; part < p->found.nr; part++)
		af_launches_captured(&p->all[part].a.launches, nodes.captured_ns, nodes.nr_streams);
	bool fine = !af_trace_damage(t)->first[0] && !w->redefined;
	af_trace_close(t);
	af_launches_free(&nodes);
	af_clocks_build(&w->clocks);
	w->lost[AF_LOST_RING_FULL] += p->found.discarded;
	w->nr_events = w->first_ns = w->last_ns = w->opened_ns = 0;
	return fine;
}

/* The passes that take what counts at its moment, or the others. */
static void part_open(struct parts *p, struct part *part, bool moments)
{
	const struct deliver *d = &p->whole->deliver;
	struct analysis *a = &part->a;

	deliver_open(&a->deliver, &a->world, 1);
	for (uint32_t i = 0; i < d->nr_passes; i++) {
		const struct af_pass_ops *ops = d->passes[i].ops;
		if (takes_moments(p, &d->passes[i]) != moments)
			continue;
		part->passes[a->deliver.nr_passes] = i;
		deliver_add(&a->deliver, ops, af_xcalloc(1, ops->state_size), p->query->answers);
	}
	a->world = p->shared;
	a->world.in_part = moments;
	a->joins = moments && p->whole->joins;
	a->samples.in_part = a->launches.in_part = moments;
	analysis_connect(a);
	analysis_plan(a);
}

/* Hand over what was there before the part, to passes that have to know. */
static void part_recall(const struct parts *p, struct analysis *a, uint64_t from_ns)
{
	uint64_t holds = 0;
	struct af_event ev;

	for (uint32_t i = 0; i < a->deliver.nr_passes; i++)
		holds |= a->deliver.passes[i].ops->holds;
	if (!(holds & p->found.kinds))
		return;
	struct af_trace *t = af_trace_open_definitions(p->whole->trace, holds, &p->found);
	while (af_trace_next(t, &ev) && ev.time_ns < from_ns)
		for (uint32_t i = 0; i < a->deliver.nr_passes; i++) {
			const struct deliver_pass *pass = &a->deliver.passes[i];
			if (pass->ops->holds & af_kind_bit(ev.kind))
				pass->ops->event(pass->state, &a->world, &ev);
		}
	af_trace_close(t);
}

static void part_read(struct parts *p, uint32_t i)
{
	const uint64_t from_ns = p->found.from_ns[i], to_ns = p->found.from_ns[i + 1];
	const bool failed = __atomic_load_n(&p->failed, __ATOMIC_RELAXED);
	struct analysis *a = &p->all[i].a;
	const struct af_event *ev;

	part_open(p, &p->all[i], true);
	a->trace = af_trace_open_part(p->whole->trace, p->whole->wanted, &p->found, i);
	deliver_read(&a->deliver, a->trace);
	a->world.part_from_ns = i ? from_ns : 0;
	a->world.part_to_ns = to_ns;
	if (i)
		part_recall(p, a, from_ns);
	while (!failed && (ev = deliver_take(&a->deliver)) && ev->time_ns < to_ns)
		if (ev->time_ns >= from_ns)
			analysis_event_known(a, ev);
	deliver_settle(&a->deliver);
	for (uint32_t n = 0; n < a->deliver.nr_passes; n++) {
		const struct deliver_pass *pass = &a->deliver.passes[n];
		if (pass->ops->settles)
			pass->ops->merge(pass->state, &a->world, NULL);
	}
}

/* Hand over what is defined, to passes that take nothing else. */
static void definitions_read(struct parts *p)
{
	struct part *part = &p->all[p->found.nr];
	struct analysis *a = &part->a;
	const struct af_event *ev;

	part_open(p, part, false);
	if (!a->deliver.nr_takers)
		return;
	a->trace = af_trace_open_definitions(p->whole->trace, a->deliver.takes, &p->found);
	deliver_read(&a->deliver, a->trace);
	while ((ev = deliver_take(&a->deliver)))
		analysis_event_known(a, ev);
	deliver_settle(&a->deliver);
}

static bool passes_merge(struct parts *p, struct part *part)
{
	bool fine = true;

	for (uint32_t i = 0; i < part->a.deliver.nr_passes; i++) {
		struct deliver_pass *from = &part->a.deliver.passes[i];
		struct deliver_pass *to = &p->whole->deliver.passes[part->passes[i]];
		fine &= to->ops->merge(to->state, &p->shared, from->state);
	}
	return fine;
}

/* Passes that took what is defined have all of it. */
static void passes_move(struct parts *p, struct part *part)
{
	for (uint32_t i = 0; i < part->a.deliver.nr_passes; i++) {
		struct deliver_pass *from = &part->a.deliver.passes[i];
		struct deliver_pass *to = &p->whole->deliver.passes[part->passes[i]];
		void *state = to->state;
		to->state = from->state;
		from->state = state;
	}
}

static void world_count(struct af_world *w, const struct af_world *part)
{
	if (!w->nr_events)
		w->opened_ns = part->opened_ns;
	w->nr_events += part->nr_events;
	w->first_ns = w->first_ns ? w->first_ns : part->first_ns;
	w->last_ns = part->last_ns ? part->last_ns : w->last_ns;
}

/* Add the next part. What lies across the border comes first. */
static void part_merge(struct parts *p, uint32_t i)
{
	struct analysis *a = p->whole, *from = &p->all[i].a;

	deliver_settle(&a->deliver);
	af_samples_merge(&a->samples, &from->samples);
	af_launches_merge(&a->launches, &p->shared, &from->launches);
	bool fine = passes_merge(p, &p->all[i]);
	world_count(&a->world, &from->world);
	if (!fine || a->launches.overfull || af_trace_damage(from->trace)->first[0])
		__atomic_store_n(&p->failed, true, __ATOMIC_RELAXED);
	analysis_drop(from);
	af_trace_close(from->trace);
	from->trace = NULL;
}

/* One thread at a time adds what is read, in order. */
static void parts_merge(struct parts *p, uint32_t read)
{
	pthread_mutex_lock(&p->lock);
	p->all[read].read = true;
	while (!p->merging && p->merged < p->found.nr && p->all[p->merged].read) {
		uint32_t i = p->merged;
		p->merging = true;
		pthread_mutex_unlock(&p->lock);
		part_merge(p, i);
		pthread_mutex_lock(&p->lock);
		p->merging = false;
		p->merged++;
		if (p->progress)
			p->progress(p->arg, p->size / p->found.nr * p->merged, p->size);
	}
	pthread_mutex_unlock(&p->lock);
}

static void part_run(void *arg, uint32_t i)
{
	struct parts *p = arg;

	if (i == p->found.nr) {
		definitions_read(p);
		return;
	}
	part_read(p, i);
	parts_merge(p, i);
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
static uint64_t part_bytes(void)
{
	const char *text = getenv("AFLAME_PART_BYTES");
	char *end = NULL;
	uint64_t bytes = text ? strtoull(text, &end, 10) : 0;

	return bytes && !*end ? bytes : PARTS_BYTES;
}

/* It turned out that the trace cannot be read in parts: the passes begin again. */
static void parts_reset(struct parts *p)
{
	struct analysis *a = p->whole;

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
	a->world = p->was;
}

static bool parts_read(struct parts *p)
{
	uint32_t threads = p->whole->deliver.most_threads, nr = p->found.nr;

	p->all = af_xcalloc((size_t)nr + 1, sizeof *p->all);
	p->failed = !parts_learn(p) || !hosts_can(p);
	p->shared = p->whole->world;
	if (!p->failed) {
		af_threads_each(threads, nr + 1, part_run, p);
		passes_move(p, &p->all[nr]);
		analysis_drop(&p->all[nr].a);
		af_trace_close(p->all[nr].a.trace);
	}
	if (p->failed)
		parts_reset(p);
	free(p->all);
	return !p->failed;
}

bool analysis_read_parts(struct analysis *a, const struct af_query *query,
                         void (*progress)(void *arg, uint64_t done, uint64_t size), void *arg)
{
	struct parts p = {.whole = a,
	                  .query = query,
	                  .was = a->world,
	                  .size = af_trace_size(a->trace),
	                  .progress = progress,
	                  .arg = arg};
	bool read = false;

	if (!may_be_read(a) ||
	    !af_parts_find(&p.found, a->trace, part_bytes(), PARTS_MOST, a->deliver.most_threads))
		return false;
	p.momentary = p.found.kinds & AF_KINDS_MOMENTARY;
	pthread_mutex_init(&p.lock, NULL);
	if (kinds_can(&p) && passes_can(&p))
		read = parts_read(&p);
	pthread_mutex_destroy(&p.lock);
	a->has_clocks = read && a->needs_clocks;
	af_parts_free(&p.found);
	return read;
}
