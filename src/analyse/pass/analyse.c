/*
 * Reads a trace once for all passes: feeds the world, joins samples and launches, and hands events,
 * samples and work to each pass that answers the query.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/analysis.h"
#include "base/err.h"
#include "base/system/threads.h"
#include "trace/read/cursor.h"
#include "trace/read/merge.h"

enum { PROGRESS_EVERY = 1 << 16 };

/* Was the thread doing now what is not asked for? */
static bool analysis_outside(const struct analysis *a, uint32_t process, uint32_t tid)
{
	const struct af_annotations *r = &a->world.annotations;

	return r->only && !af_annotations_inside(r, af_annotations_now(r, process, tid));
}

void analysis_sample(void *arg, const struct af_sample *s)
{
	struct analysis *a = arg;
	struct af_sample sample = *s;

	analysis_reach(a, s->length_ns < s->time_ns ? s->time_ns - s->length_ns : 0, s->time_ns);

	/* Here too, what is not asked for was sampled all the same. */
	bool attributes = a->attributes && af_time_range_moment(&a->world.time_range, s->time_ns);
	sample.on_device =
	    af_host_samples_take(&a->hosts, &a->world, attributes ? &a->attribution : NULL, s);
	sample.at.tid = a->world.threads_apart ? s->tid : 0;
	if (!af_annotations_inside(&a->world.annotations, s->doing) ||
	    !af_time_range_sample(&a->world.time_range, &sample))
		return;
	deliver_sample(&a->deliver, &sample);
}

static void analysis_match(void *arg, struct af_work *work)
{
	struct analysis *a = arg;

	af_match_work(&a->match, &a->world, work);
}

static void analysis_match_event(struct analysis *a, const struct af_event *ev)
{
	struct af_call call;

	af_match_until(&a->match, &a->world, ev->time_ns);
	if (af_call_seen_read(&a->world, ev, &call))
		af_match_seen(&a->match, &a->world, &call);
}

void analysis_work(void *arg, struct af_work *work)
{
	struct analysis *a = arg;
	const struct af_time_range *range = &a->world.time_range;
	struct af_work cut;

	/* Work outside of the query was sampled all the same, so attribution needs it. */
	if (af_attribution_active(&a->attribution))
		af_attribution_work(&a->attribution, &a->world, work);
	if (!af_annotations_inside(&a->world.annotations, work->doing))
		return;
	if (range->part) {
		cut = *work;
		if (!af_time_range_work(range, &a->world, &cut))
			return;
		work = &cut;
	}
	if (!range->to_ns)
		work->placed_ns = af_work_placed_ns(&a->world, work);
	analysis_reach(a, work->placed_ns, work->placed_ns + af_work_busy_ns(work));
	deliver_work(&a->deliver, work);
}

static struct af_work *analysis_work_room(void *arg)
{
	struct analysis *a = arg;

	return deliver_work_room(&a->deliver);
}

/* Clocks take a reading of the trace, which nobody else may have needed. */
static void analysis_clocks(struct analysis *a)
{
	if (a->has_clocks)
		return;
	deliver_settle(&a->deliver);
	af_clocks_read_again(&a->world.clocks, a->trace, a->near);
	a->has_clocks = true;
}

static bool is_device_sample(uint16_t kind)
{
	return kind == AF_KIND_GPU_WINDOW || kind == AF_KIND_GPU_SAMPLE ||
	       kind == AF_KIND_ADDRESS_SAMPLE;
}

/*
 * Are there samples of devices in the trace? Headers of packets tell which need not be read for it.
 * Device code is recorded without samples, too: then no work needs to be held for them.
 */
static bool analysis_has_samples(const struct analysis *a)
{
	struct af_trace *t = af_trace_open_again(a->trace, AF_KINDS_DEVICE_SAMPLES, a->near);
	struct af_event ev;
	bool has = false;

	while (!has && af_trace_next(t, &ev))
		has = is_device_sample(ev.kind);
	af_trace_close(t);
	return has;
}

static void analysis_device_sample(struct analysis *a, const struct af_event *ev)
{
	if (!a->sampled && !is_device_sample(ev->kind)) {
		if (a->sampled_sought)
			return;
		a->sampled_sought = true;
		if (!analysis_has_samples(a))
			return;
	}
	a->sampled = true;
	analysis_clocks(a);
	af_attribution_event(&a->attribution, &a->world, ev);
}

/* So does host code, which there is when a device is the host. Then no kernel has run yet. */
static void analysis_device(struct analysis *a, const struct af_event *ev)
{
	struct af_err err = {0};

	if (!af_world_host_device(&a->world, ev->process))
		return;
	a->tells_hosts = false;
	af_world_read_host_code(&a->world, a->dir, a->near, &err);
	if (a->world.nr_host_codes && a->attributes) {
		analysis_clocks(a);
		af_attribution_expect(&a->attribution);
	}
}

/* The same for an event that is handed over, if it counts at its moment. */
static void analysis_reach_event(struct analysis *a, const struct af_event *ev)
{
	const struct af_call *call = a->world.call;
	struct af_ev_offcpu wait;
	struct af_api_head head;
	uint64_t ns = 0;

	if (call && a->world.call_payload == ev->payload) {
		ns = call->end_ns - call->start_ns;
	} else if (ev->kind == AF_KIND_OFFCPU) {
		if (af_event_decode(ev, &wait, sizeof wait, NULL))
			ns = wait.blocked_ns + wait.queued_ns;
	} else if (ev->kind >= AF_KIND_API || ev->kind == AF_KIND_API_CALL) {
		if (ev->payload_size < sizeof head)
			return;
		memcpy(&head, ev->payload, sizeof head);
		ns = af_u48_value(head.duration_ns);
	} else if (!(af_kind_bit(ev->kind) & AF_KINDS_MOMENTARY)) {
		return;
	}
	analysis_reach(a, ns < ev->time_ns ? ev->time_ns - ns : 0, ev->time_ns);
}

/* Most events are not of these. */
static void analysis_event_of(struct analysis *a, const struct af_event *ev, uint32_t todo)
{
	if (todo & TODO_CALL)
		af_call_take(&a->world, ev, &a->call);
	if (todo & TODO_DEVICE && a->tells_hosts)
		analysis_device(a, ev);
	if (todo & TODO_SAMPLE)
		af_samples_event(&a->samples, &a->world, ev);
	if (todo & TODO_MATCH)
		analysis_match_event(a, ev);
	if (todo & TODO_JOIN)
		af_launches_event(&a->launches, &a->world, ev);
	if (todo & TODO_ATTRIBUTE)
		analysis_device_sample(a, ev);
	if (!(todo & TODO_DELIVER) ||
	    (todo & TODO_OUTSIDE && analysis_outside(a, ev->process, ev->tid)))
		return;
	if (a->reaches)
		analysis_reach_event(a, ev);
	if (a->world.time_range.part && !af_time_range_event(&a->world.time_range, ev))
		return;
	deliver_event(&a->deliver, ev);
}

static void analysis_event(struct analysis *a, const struct af_event *ev)
{
	uint32_t todo = a->todo[ev->kind < AF_KIND_MAX ? ev->kind : AF_KIND_MAX];

	if (todo & TODO_LEARN || !a->world.first_ns) {
		deliver_next(&a->deliver, af_world_learns(&a->world, ev));
		af_world_event(&a->world, ev);
	} else {
		deliver_next(&a->deliver, false);
		af_world_count(&a->world, ev);
	}
	if (todo == TODO_JOIN)
		af_launches_event(&a->launches, &a->world, ev);
	else if (todo & ~TODO_LEARN)
		analysis_event_of(a, ev, todo);
}

/* An event of which the world has learned before. */
static inline void analysis_event_known(struct analysis *a, const struct af_event *ev)
{
	uint32_t todo = a->todo[ev->kind < AF_KIND_MAX ? ev->kind : AF_KIND_MAX];

	deliver_next(&a->deliver, todo & TODO_RANGE && a->world.annotations.apart);
	af_world_count(&a->world, ev);
	if (todo & TODO_RANGE)
		af_annotations_follow(&a->world.annotations, ev);
	if (todo == TODO_JOIN)
		af_launches_event(&a->launches, &a->world, ev);
	else if (todo & ~TODO_LEARN)
		analysis_event_of(a, ev, todo);
}

void analysis_read_known(struct analysis *a, uint64_t from_ns, uint64_t to_ns)
{
	struct af_event ev;
	bool more;

	do
		more = af_trace_next(a->trace, &ev);
	while (more && ev.time_ns < from_ns);
	for (; more && ev.time_ns < to_ns; more = af_trace_next(a->trace, &ev))
		analysis_event_known(a, &ev);
	deliver_settle(&a->deliver);
}

/* The reader treats all events of one kind alike. */
void analysis_plan(struct analysis *a)
{
	/* If a pass gets calls, they are read once for it and for the join. */
	const uint64_t calls =
	    a->deliver.takes & (1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG);
	const uint64_t outside = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_CALL_SEEN;

	for (uint32_t i = 0; i <= AF_KIND_MAX; i++) {
		uint16_t kind = i < AF_KIND_MAX ? (uint16_t)i : AF_KIND_API;
		const uint64_t bit = af_kind_bit(kind);
		const struct {
			uint16_t todo;
			bool is;
		} all[] = {
		    {TODO_LEARN, af_world_learns_kind(kind)},
		    {TODO_CALL, (calls & bit) != 0},
		    {TODO_DEVICE, i == AF_KIND_DEVICE},
		    {TODO_SAMPLE, (AF_SAMPLES_WANTS & bit) != 0},
		    {TODO_JOIN, a->joins && (AF_LAUNCHES_WANTS & bit) != 0},
		    {TODO_ATTRIBUTE, a->attributes && (AF_ATTRIBUTION_WANTS & bit) != 0},
		    {TODO_OUTSIDE, (outside & bit) != 0},
		    {TODO_DELIVER, (a->deliver.takes & bit) != 0},
		    {TODO_MATCH, a->match.on},
		    {TODO_RANGE, a->world.in_part && i == AF_KIND_RANGE},
		};
		for (size_t j = 0; j < sizeof all / sizeof *all; j++)
			a->todo[i] |= all[j].is ? all[j].todo : 0;
	}
}

/* For which answers anybody would look at samples of instructions. */
static uint32_t analysis_depth(const struct af_query *query)
{
	const uint32_t trees = (1 << AF_VIEWS) - 1;
	bool shallow =
	    query->depth == AF_DEPTH_KERNEL && !(query->weights & 1 << AF_WEIGHT_SAMPLES);

	return shallow ? query->answers & ~trees : query->answers;
}

void analysis_connect(struct analysis *a)
{
	a->samples.take = analysis_sample;
	a->launches.take = a->match.on ? analysis_match : analysis_work;
	a->launches.room = a->match.on ? NULL : analysis_work_room;
	a->match.take = analysis_work;
	a->samples.arg = a->launches.arg = a->match.arg = a;
}

static int analysis_open(struct analysis *a, const char *dir, const struct af_query *what,
                         struct af_err *err)
{
	uint64_t wanted = AF_WORLD_WANTS | AF_SAMPLES_WANTS, query = 0;

	for (uint32_t i = 0; i < a->deliver.nr_passes; i++) {
		const struct af_pass_ops *pass = a->deliver.passes[i].ops;
		query |= pass->wants;
		a->attributes |= (pass->attributes & analysis_depth(what)) != 0;
		a->joins |= a->deliver.passes[i].works;
	}
	a->joins |= a->attributes || what->answers & AF_ANSWER_COVERAGE;
	a->tells_hosts = a->attributes || what->answers & 1 << AF_VIEW_ALL;
	wanted |= query | (a->joins ? AF_LAUNCHES_WANTS : 0);
	wanted |= a->attributes ? AF_ATTRIBUTION_WANTS : 0;
	wanted |= what->locations ? 1ull << AF_KIND_MAPPING : 0;
	analysis_connect(a);
	/* It takes a reading of the trace, as pairs of readings count for what was before them. */
	bool time_range = what->from_ns || what->to_ns;
	a->needs_clocks = a->joins && (time_range || a->match.on || query & 1ull << AF_KIND_CLOCK);
	a->wanted = wanted;
	a->dir = dir;
	analysis_plan(a);
	af_code_names_open(&a->code_names, dir);
	a->attribution.names = &a->code_names;
	a->attribution.apart_ns = what->samples_apart_ns;
	a->near = af_query_near(what, &a->range);
	int rc = af_trace_open_near(&a->trace, dir, wanted, a->near, err);
	if (rc)
		return rc;
	af_time_range_set(&a->world.time_range, af_trace_start_ns(a->trace), what);
	af_world_read_later(&a->world, a->trace);
	return 0;
}

static void analysis_read(struct analysis *a,
                          void (*progress)(void *arg, uint64_t done, uint64_t size), void *arg)
{
	const uint64_t size = af_trace_size(a->trace);

	if (a->needs_clocks)
		analysis_clocks(a);
	deliver_read(&a->deliver, a->trace);
	for (uint64_t n = 1;; n++) {
		const struct af_event *ev = deliver_take(&a->deliver);
		if (!ev)
			return;
		analysis_event(a, ev);
		if (progress && n % PROGRESS_EVERY == 0)
			progress(arg, a->deliver.position, size);
	}
}

void analysis_choose(struct analysis *a, const struct af_pass_ops *const *passes,
                     const struct af_query *query)
{
	const bool run = !query->from_ns && !query->to_ns;

	deliver_open(&a->deliver, &a->world,
	             query->threads ? query->threads : af_threads_allowed());
	for (int i = 0; passes[i]; i++)
		if (passes[i]->answers & query->answers && (run || !passes[i]->of_runs))
			deliver_add(&a->deliver, passes[i], af_xcalloc(1, passes[i]->state_size),
			            query->answers);
}

void analysis_close(struct analysis *a)
{
	if (!a)
		return;
	analysis_drop(a);
	af_host_samples_free(&a->hosts);
	af_attribution_free(&a->attribution);
	af_code_names_close(&a->code_names);
	af_match_free(&a->match);
	af_world_close(&a->world);
	af_trace_close(a->trace);
	free(a);
}

int af_analyse_how(const char *dir, const struct af_pass_ops *const *passes,
                   const struct af_query *query, struct af_results *out,
                   const struct af_analyse_how *how, struct af_err *err)
{
	struct analysis *a = af_xcalloc(1, sizeof *a);
	struct af_reading *parts = NULL;

	af_results_open(out, query);
	out->dir = af_tables_text(&out->tables, "%s", query->trace ? query->trace : dir);
	analysis_choose(a, passes, query);
	a->world.annotations.apart = query->ranges || query->range;
	a->world.annotations.only = query->range;
	a->match.on = query->by_time;
	a->world.threads_apart = query->group == AF_GROUP_TRACK;
	int rc = analysis_open(a, dir, query, err);
	if (!rc) {
		parts = analysis_read_parts(a, query, how);
		if (!parts)
			analysis_read(a, how->progress, how->arg);
		analysis_join_end(a, out);
		analysis_finish(a, out);
	}
	if (!parts) {
		analysis_close(a);
	} else if (how->kept) {
		analysis_parts_keep(parts, out);
		*how->kept = parts;
	} else {
		af_reading_close(parts);
	}
	return rc;
}

int af_analyse(const char *dir, const struct af_pass_ops *const *passes,
               const struct af_query *query, struct af_results *out,
               void (*progress)(void *arg, uint64_t done, uint64_t size), void *arg,
               struct af_err *err)
{
	const struct af_analyse_how how = {.progress = progress, .arg = arg};

	return af_analyse_how(dir, passes, query, out, &how, err);
}
