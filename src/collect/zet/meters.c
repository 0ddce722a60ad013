#include "collect/zet/meters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "collect/session/session.h"
#include "collect/writer/counters.h"
#include "collect/xe/window.h"
#include "collect/zet/reports.h"
#include "collect/zet/source.h"

enum {
	PERIOD_NS = 10000000,
	DEVICES_FROM = 1000, /* numbers in the trace, above those that cards have */
	NS_PER_MS = 1000000,
	OLD_NS_MOST = 2000000000,
};

/* A device whose group is streamed. */
struct metered {
	struct af_xe_cards cards;      /* it alone */
	struct af_event_writer writer; /* its own, as times never go back in a stream */
	struct af_zet_meters meters;
	uint32_t parts, of_metric; /* @of_metric: how many entries of @counter_of there are */
	uint32_t *counter_of;      /* by part and metric: place in @known plus 1; 0: none */
	struct af_source_counter *all;
	struct af_source_counters known;
	uint32_t number; /* of the device in the trace */
	uint32_t period_ns;
	bool is_ready; /* its writer was opened, or could not be */
	uint64_t nr_reports, nr_dropped, nr_cut, nr_left_out;
};

/* The group that the child describes, and its metrics. */
struct coming {
	struct zet_group group;
	struct zet_metric *metrics;
	uint32_t nr, cap;
};

struct meters {
	struct zet_source source;
	struct zet_metered wanted;
	struct af_arena arena; /* has the texts */
	struct coming coming;
	struct metered *of[ZET_DEVICES_MOST + 1]; /* by number of the child, NULL: not streamed */
};

static const char *keep(struct meters *s, const char *text)
{
	return af_arena_strdup(&s->arena, text, strlen(text));
}

static struct metered *metered_of(const struct meters *s, uint32_t device)
{
	return device <= ZET_DEVICES_MOST ? s->of[device] : NULL;
}

static void group_take(struct meters *s, const struct zet_group *group)
{
	s->coming.group = *group;
	s->coming.nr = 0;
}

static void metric_take(struct meters *s, const struct zet_metric *metric)
{
	struct coming *c = &s->coming;

	if (c->nr >= ZET_METRICS_MOST)
		return;
	AF_GROW(c->metrics, c->nr, c->cap);
	c->metrics[c->nr++] = *metric;
}

static uint32_t parts_of(const struct meters *s, uint32_t device)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->source.nr_known; i++)
		nr += s->source.known[i].parent == device;
	return nr < 1 ? 1 : nr > AF_ZET_PARTS_MOST ? AF_ZET_PARTS_MOST : nr;
}

static void counter_add(struct meters *s, struct metered *d, uint32_t part, uint32_t metric)
{
	const struct zet_metric *m = &s->coming.metrics[metric];
	const struct af_zet_meter *how = &d->meters.all[metric];
	char name[AF_ZET_TEXT + 32];

	if (!how->is_counter)
		return;
	snprintf(name, sizeof name, d->parts > 1 ? "%s, part %u" : "%s", m->name, part + 1);
	d->all[d->known.nr++] = (struct af_source_counter){
	    .device = d->number,
	    .flags = how->is_amount ? AF_COUNTER_AMOUNT : 0,
	    .per = how->per,
	    .name = keep(s, name),
	    .unit = strcmp(m->units, "percent") ? keep(s, m->units) : "%",
	    .group = keep(s, s->coming.group.name),
	};
	d->counter_of[part * d->meters.nr + metric] = d->known.nr;
}

static void meter_take(struct meters *s, const struct zet_meter *meter)
{
	const struct zet_device *about = zet_source_device(&s->source, meter->device);
	struct coming *c = &s->coming;

	if (!about || s->of[meter->device] || c->group.device != meter->device ||
	    c->nr != meter->nr_metrics || !c->nr || c->nr > AF_ZET_METERS_MOST)
		return;
	struct metered *d = s->of[meter->device] = af_xcalloc(1, sizeof *d);
	for (uint32_t i = 0; i < c->nr; i++)
		af_zet_meters_add(&d->meters, c->metrics[i].name, c->metrics[i].units,
		                  c->metrics[i].type, c->metrics[i].value_type);
	d->parts = parts_of(s, meter->device);
	d->period_ns = meter->period_ns;
	d->of_metric = d->parts * c->nr;
	d->counter_of = af_xcalloc(d->of_metric, sizeof *d->counter_of);
	d->all = af_xcalloc(d->of_metric, sizeof *d->all);
	AF_GROW(d->cards.all, d->cards.nr, d->cards.cap);
	zet_source_card(&s->source, about, 0, &d->cards.all[d->cards.nr++]);
	d->number = DEVICES_FROM + meter->device;
	d->known = (struct af_source_counters){.all = d->all};
	for (uint32_t i = 0; i < d->of_metric; i++)
		counter_add(s, d, i / c->nr, i % c->nr);
}

static void metered_define(struct metered *d)
{
	if (!af_event_writer_is_new(&d->writer))
		return;
	af_xe_devices_write(&d->writer, &d->cards, d->number - 1);
	af_source_counters_define(&d->writer, &d->known);
}

/* Definitions are older than the first report, unless the driver was ready only after that. */
static void metered_begin(struct meters *s, struct metered *d)
{
	if (d->is_ready)
		return;
	d->is_ready = true;
	if (!af_event_writer_open(&d->writer, s->source.r))
		return;
	af_source_counters_number(&d->writer, &d->known);
	metered_define(d);
}

static void values_take(struct meters *s, const struct zet_values *from)
{
	struct metered *d = metered_of(s, from->device);
	struct af_source_value values[ZET_VALUES_MOST];
	uint64_t now = af_now_ns();
	uint32_t nr = 0;

	if (!d || from->part >= d->parts || from->nr > ZET_VALUES_MOST || from->time_ns > now ||
	    from->time_ns + OLD_NS_MOST + OLD_NS_MOST < now) {
		if (d)
			d->nr_cut++;
		return;
	}
	for (uint32_t i = 0; i < from->nr; i++) {
		uint32_t metric = from->values[i].metric;
		uint32_t is =
		    metric < d->meters.nr ? d->counter_of[from->part * d->meters.nr + metric] : 0;
		if (is)
			values[nr++] = (struct af_source_value){is - 1, from->values[i].value};
	}
	metered_begin(s, d);
	metered_define(d);
	af_reading_write(&d->writer, &d->known, from->time_ns, from->span_ns, values, nr);
}

static void sums_take(struct meters *s, const struct zet_sums *from)
{
	struct metered *d = metered_of(s, from->device);

	if (!d)
		return;
	d->period_ns = from->period_ns;
	d->nr_reports += from->reports;
	d->nr_dropped += from->dropped;
	d->nr_cut += from->cut;
	d->nr_left_out += from->left_out;
	s->source.got_any |= from->reports != 0;
	af_readings_lost(&d->writer, AF_LOST_DROPPED, from->dropped + from->cut);
}

static void message_take(void *user, const struct zet_head *head)
{
	const void *payload = head + 1;

	switch (head->kind) {
	case ZET_GROUP:
		group_take(user, payload);
		break;
	case ZET_METRIC:
		metric_take(user, payload);
		break;
	case ZET_METER:
		meter_take(user, payload);
		break;
	case ZET_VALUES:
		values_take(user, payload);
		break;
	case ZET_SUMS:
		sums_take(user, payload);
		break;
	default:
		break;
	}
}

/* "GPU …: 40 counters, a report each 10 ms asked for; GPU …: why it is not streamed" */
static void begin_note(struct meters *s)
{
	struct af_buf b = {0};
	char name[64];

	for (uint32_t i = 0; i <= ZET_DEVICES_MOST; i++) {
		const struct metered *d = s->of[i];
		if (d)
			af_buf_fmt(&b, "%s%s: %u counters, a report each %g ms asked for",
			           b.len ? "; " : "",
			           af_xe_card_name(d->cards.all, name, sizeof name), d->known.nr,
			           (double)d->period_ns / NS_PER_MS);
	}
	if (!b.len && !s->source.failed.len && s->source.ready) {
		char why[400];
		snprintf(why, sizeof why,
		         "no GPU has a time-based metric group %.250s: `aflame doctor --metrics` "
		         "lists them",
		         s->wanted.group);
		zet_source_failed(&s->source, "", why);
	}
	if (s->source.failed.len)
		af_buf_fmt(&b, "%s%s", b.len ? "; " : "", s->source.failed.data);
	af_session_note(s->source.r, s->source.key, "%s: %s", s->wanted.group,
	                b.len ? b.data : "the driver is not ready yet");
	af_buf_free(&b);
	af_buf_free(&s->source.failed);
}

static void meters_open(void **self, struct af_recording *r)
{
	struct meters *s = af_xcalloc(1, sizeof *s);

	s->source = (struct zet_source){
	    .r = r, .key = "collector.zet_metrics", .take = message_take, .user = s};
	s->wanted.group = r->options->metric_group;
	s->wanted.period_ns = r->options->metric_ns ? (uint32_t)r->options->metric_ns : PERIOD_NS;
	*self = s;
	if (zet_source_start(&s->source, zet_meter_run, &s->wanted))
		begin_note(s);
}

static void meters_begin(void *self)
{
	struct meters *s = self;

	for (uint32_t i = 0; i <= ZET_DEVICES_MOST; i++)
		if (s->of[i])
			metered_begin(s, s->of[i]);
	zet_source_pump(&s->source);
}

static void meters_pump(void *self)
{
	struct meters *s = self;

	zet_source_pump(&s->source);
}

static void end_note(struct meters *s)
{
	struct af_buf b = {0};
	char name[64];

	for (uint32_t i = 0; i <= ZET_DEVICES_MOST; i++) {
		const struct metered *d = s->of[i];
		if (!d)
			continue;
		af_buf_fmt(&b, "%s%s: %llu reports each %g ms", b.len ? "; " : "",
		           af_xe_card_name(d->cards.all, name, sizeof name),
		           (unsigned long long)d->nr_reports, (double)d->period_ns / NS_PER_MS);
		if (d->nr_dropped)
			af_buf_fmt(&b, ", dropped %llu times", (unsigned long long)d->nr_dropped);
		if (d->nr_cut)
			af_buf_fmt(&b, ", %llu times values that make no sense",
			           (unsigned long long)d->nr_cut);
		if (d->nr_left_out)
			af_buf_fmt(
			    &b, ", %llu values left out that are negative, too large or no number",
			    (unsigned long long)d->nr_left_out);
	}
	if (s->source.failed.len)
		af_buf_fmt(&b, "%s%s", b.len ? "; " : "", s->source.failed.data);
	if (b.len)
		af_session_note(s->source.r, "collector.zet_metrics.reports", "%s", b.data);
	af_buf_free(&b);
}

static void writers_close(struct meters *s)
{
	for (uint32_t i = 0; i <= ZET_DEVICES_MOST; i++)
		if (s->of[i])
			af_event_writer_close(&s->of[i]->writer);
}

static void meters_stop(void *self)
{
	struct meters *s = self;

	zet_source_stop(&s->source);
	writers_close(s);
	end_note(s);
}

static void meters_close(void *self)
{
	struct meters *s = self;

	zet_source_close(&s->source);
	writers_close(s);
	for (uint32_t i = 0; i <= ZET_DEVICES_MOST; i++) {
		struct metered *d = s->of[i];
		if (!d)
			continue;
		free(d->cards.all);
		free(d->counter_of);
		free(d->all);
		free(d);
	}
	free(s->coming.metrics);
	af_arena_free(&s->arena);
	free(s);
}

const struct af_devices_ops af_zet_meters = {
    .open = meters_open,
    .begin = meters_begin,
    .pump = meters_pump,
    .stop = meters_stop,
    .close = meters_close,
};
