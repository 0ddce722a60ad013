/*
 * Counters in a timeline: a level holds over its span, an amount becomes a rate over its span, and
 * time without a reading is a gap.
 */
#include "analyse/counters/counters.h"
#include "analyse/time/timeline_private.h"
#include "base/arena.h"

/* A counter of the world. */
struct timeline_reading {
	uint32_t track;
	uint64_t value, end_ns; /* of the last reading that is drawn */
	bool spans;             /* it ends there; else it holds on */
	bool drawn;
};

/*
 * The recorder reads devices of its own. Where one process uses such a device, its counters stand
 * with that process's work.
 */
static void counter_home(const struct af_timeline *t, const struct af_counter *c, uint32_t *process,
                         uint32_t *device)
{
	uint32_t found = 0;

	*process = c->process;
	*device = c->device;
	for (uint32_t i = 1; i < t->world.nr_devices && !c->process; i++) {
		const struct af_device *d = &t->world.devices[i];
		if (!d->process || d->parent || !af_counter_is_of(&t->world, c, d->process, d->id))
			continue;
		if (found && t->world.devices[found].process != d->process) {
			*process = c->process;
			*device = c->device;
			return;
		}
		found = found ? found : i;
		*process = t->world.devices[found].process;
		*device = t->world.devices[found].id;
	}
}

static uint32_t counter_track(struct af_timeline *t, const struct af_counter *c)
{
	bool rate = af_counter_adds_up(c);
	uint32_t process, device;

	counter_home(t, c, &process, &device);
	const struct timeline_counter_like like = {
	    .name = c->name,
	    .unit = *c->unit || !rate ? c->unit : "1",
	    .per_second = rate,
	    .per = !rate                                    ? c->per
	           : c->per < UINT64_MAX / AF_COUNTER_SCALE ? c->per * AF_COUNTER_SCALE
	                                                    : UINT64_MAX,
	};
	return timeline_counter_made(t, process, device, &like);
}

static void reading_point(struct af_timeline *t, const struct timeline_reading *r, uint64_t time_ns,
                          bool gap)
{
	struct af_point point = {
	    .track = r->track, .gap = gap, .time_ns = time_ns, .value = gap ? 0 : r->value};

	timeline_failed(t, t->into.point(t->into.arg, &point));
}

/* Readers are a little late at times: less than this part of a span is no gap. */
enum { READING_LATE = 4 };

/* The reading from @start_ns to @end_ns; the same: from then on. */
static void reading_draw(struct af_timeline *t, struct timeline_reading *r, uint64_t value,
                         uint64_t start_ns, uint64_t end_ns)
{
	bool spans = end_ns > start_ns;

	if (r->drawn && start_ns < r->end_ns)
		start_ns = r->end_ns;
	if (spans && end_ns <= start_ns)
		return;
	bool gap =
	    r->drawn && r->spans && start_ns - r->end_ns > (end_ns - start_ns) / READING_LATE;
	if (gap)
		reading_point(t, r, r->end_ns, true);
	if (!r->drawn || gap || value != r->value) {
		r->value = value;
		reading_point(t, r, start_ns, false);
	}
	r->drawn = true;
	r->spans = spans;
	r->end_ns = end_ns;
}

/* The times of @v within what is requested; false when nothing is. */
static bool reading_cut(struct af_timeline *t, struct af_counter_values *v)
{
	const struct af_time_range *in = &t->world.time_range;
	uint64_t from_ns = t->from_ns, to_ns = t->to_ns;

	if (in->to_ns && in->from_ns > from_ns)
		from_ns = in->from_ns;
	if (in->to_ns && in->to_ns < to_ns)
		to_ns = in->to_ns;
	if (v->end_ns < from_ns || v->start_ns > to_ns) {
		t->all.outside++;
		return false;
	}
	if (v->start_ns < from_ns)
		v->start_ns = from_ns;
	if (v->end_ns > to_ns)
		v->end_ns = to_ns;
	return true;
}

void timeline_reading(struct af_timeline *t, const struct af_event *ev)
{
	struct af_counter_values v;
	uint32_t counter;
	uint64_t value;

	if (ev->kind != AF_KIND_READING || !af_counter_values(ev, &v))
		return;
	const uint64_t span_ns = v.end_ns - v.start_ns;
	if (!reading_cut(t, &v))
		return;
	while (af_counter_next(&v, &t->world, &counter, &value)) {
		const struct af_counter *c = &t->world.counters[counter];
		AF_REACH(t->readings, counter, t->cap_readings);
		struct timeline_reading *r = &t->readings[counter];
		if (af_counter_adds_up(c) && !span_ns)
			continue; /* It has no rate. */
		if (!timeline_wants(t, v.start_ns, v.start_ns))
			continue;
		if (!r->track)
			r->track = counter_track(t, c);
		reading_draw(t, r, af_counter_adds_up(c) ? af_counter_rate(value, span_ns) : value,
		             v.start_ns, v.end_ns);
	}
}

void timeline_readings_end(struct af_timeline *t)
{
	for (uint32_t i = 0; i < t->cap_readings; i++)
		if (t->readings[i].drawn && t->readings[i].spans)
			reading_point(t, &t->readings[i], t->readings[i].end_ns, true);
}
