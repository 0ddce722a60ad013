/*
 * The second reading of a timeline: one thread reads, joins and makes slices, and another one takes
 * them for rows and sink (ahead.h).
 */
#include "analyse/pass/deliver.h"
#include "analyse/pass/pass.h"
#include "analyse/time/timeline_private.h"

#define BIT(KIND) (1ull << AF_KIND_##KIND)

/* State that the second reading learns anew: a stream may redefine its ids as it goes on. */
#define SECOND_LEARNS                                                                              \
	(BIT(STACK) | BIT(PY_STACK) | BIT(KSTACK) | BIT(CALLPATH) | BIT(DESCRIPTOR) |              \
	 BIT(LAUNCH_CONFIG) | BIT(GRAPH_NODE))

static void timeline_event(void *timeline, const struct af_world *w, const struct af_event *ev)
{
	struct af_timeline *t = timeline;

	/* Others get the timeline's own, of which @w is a copy: it does not change meanwhile. */
	switch (ev->kind) {
	case AF_KIND_LAUNCH:
		timeline_launch(t, ev);
		break;
	case AF_KIND_RANGE:
		timeline_range(t, ev);
		break;
	case AF_KIND_OFFCPU:
		timeline_wait(t, ev);
		break;
	case AF_KIND_MEMORY:
		timeline_memory(t, ev);
		break;
	case AF_KIND_READING:
		timeline_reading(t, ev);
		break;
	case AF_KIND_OVERHEAD:
		timeline_overhead(t, ev);
		break;
	case AF_KIND_LOST:
		timeline_lost(t, ev);
		break;
	default:
		timeline_call(t, w, ev);
	}
}

static void timeline_take_sample(void *timeline, const struct af_world *w,
                                 const struct af_sample *s)
{
	(void)w;
	timeline_sample(timeline, s);
}

static void timeline_take_work(void *timeline, const struct af_world *w, const struct af_work *work)
{
	(void)w;
	timeline_work(timeline, work);
}

static void deliver_sample_on(void *arg, const struct af_sample *s)
{
	deliver_sample(arg, s);
}

static void deliver_work_on(void *arg, struct af_work *work)
{
	deliver_work(arg, work);
}

static void timeline_read_event(struct af_timeline *t, struct deliver *d, const struct af_event *ev)
{
	uint64_t kind = af_kind_bit(ev->kind);

	if (kind & (BIT(CALL) | BIT(CALL_LONG)))
		af_call_take(&t->world, ev, &t->call);
	if (kind & AF_LAUNCHES_WANTS && timeline_shows(t, AF_TIMELINE_WORK))
		af_launches_event(&t->launches, &t->world, ev);
	if (kind & AF_SAMPLES_WANTS)
		af_samples_event(&t->samples, &t->world, ev);
	deliver_event(d, ev);
}

/* Annotations are a part of stacks only where the stacks are those of the trees. */
uint64_t timeline_learns(const struct af_timeline *t)
{
	return t->query.trees ? SECOND_LEARNS | BIT(RANGE) | BIT(OPERATION) : SECOND_LEARNS;
}

/* The kinds that become slices themselves. */
static uint64_t timeline_takes(const struct af_timeline *t)
{
	const uint64_t calls =
	    BIT(LAUNCH) | BIT(CALL) | BIT(CALL_LONG) | BIT(CALL_SEEN) | 1ull << AF_KIND_API_BIT;

	return BIT(RANGE) | BIT(OFFCPU) | BIT(MEMORY) | BIT(MOMENT_BIT) | BIT(OVERHEAD) |
	       BIT(LOST) | (timeline_shows(t, AF_TIMELINE_CALLS) ? calls : 0);
}

static void timeline_read(struct af_timeline *t, struct af_trace *trace, struct deliver *d)
{
	const uint64_t learns = timeline_learns(t), size = af_trace_size(trace);
	const struct af_event *ev;

	deliver_read(d, trace);
	for (uint64_t n = 1; !t->rc && (ev = deliver_take(d)); n++) {
		bool is_learnt = af_kind_bit(ev->kind) & learns;
		bool learns_now = is_learnt && af_world_learns(&t->world, ev);
		deliver_next(d, learns_now);
		if (learns_now)
			timeline_settle(t);
		if (is_learnt)
			af_world_event(&t->world, ev);
		if (timeline_of(t, ev->process))
			timeline_read_event(t, d, ev);
		if (ev->process && ev->time_ns > t->world.last_ns)
			t->world.last_ns = ev->time_ns;
		if (n % TIMELINE_PROGRESS == 0)
			timeline_tell(t, d->position, size, 1);
	}
	af_samples_end(&t->samples, &t->world);
	af_launches_end(&t->launches, &t->world);
	deliver_settle(d);
}

void timeline_second(struct af_timeline *t, struct af_trace *trace)
{
	const struct af_pass_ops slices = {
	    .takes = timeline_takes(t),
	    .event = timeline_event,
	    .sample = timeline_take_sample,
	    .work = timeline_take_work,
	};
	struct deliver d;

	/*
	 * Slices that a third thread made would come through two rings, which takes longer. Events
	 * that were taken one by one, without batches, took longer, too.
	 */
	deliver_open(&d, &t->world, 1);
	deliver_add(&d, &slices, t, UINT32_MAX);
	t->samples.take = deliver_sample_on;
	t->launches.take = deliver_work_on;
	t->samples.arg = t->launches.arg = &d;
	timeline_read(t, trace, &d);
	deliver_close(&d);
	timeline_ranges_end(t);
	timeline_runs_end(t);
	timeline_readings_end(t);
}
