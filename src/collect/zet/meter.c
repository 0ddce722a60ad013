/* In the child: reports of a metric group that is streamed for its own sake. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "collect/zet/reports.h"
#include "collect/zet/streamer.h"

enum {
	NOTIFY_NS = 50000000, /* the driver wakes us so often, if it does */
	REPORTS_MOST = 4096,
};

/* A streamer of a group; it begins with what all have. */
struct meter {
	struct zet_streamer is;
	struct af_zet_meters meters;
	struct af_zet_clocks clocks;
	uint32_t nr_reports, nr_left_out; /* since they were sent */
};

/* Send the metrics to the parent, behind their group. */
static void meters_find(struct zet_api *z, struct meter *s)
{
	uint32_t nr, device = s->is.place->about.device;
	void **metrics = zet_metrics(z, s->is.group, device, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		struct zet_metric_properties p = {.is = AF_ZET_IS_METRIC};
		if (ZET(z, zetMetricGetProperties, metrics[i], &p))
			p = (struct zet_metric_properties){.type = AF_ZET_TYPE_TIMESTAMP};
		p.name[sizeof p.name - 1] = p.units[sizeof p.units - 1] = 0;
		af_zet_meters_add(&s->meters, p.name, p.units, p.type, p.value_type);
	}
	free(metrics);
}

static struct zet_streamer *meter_make(struct zet_streamers *all, struct zet_place *place)
{
	const struct zet_metered *wanted = all->wanted;
	struct meter *s = af_xcalloc(1, sizeof *s);
	uint64_t nr = NOTIFY_NS / wanted->period_ns;

	s->is = (struct zet_streamer){.place = place,
	                              .period_ns = wanted->period_ns,
	                              .notify_reports = nr < 1              ? 1
	                                                : nr > REPORTS_MOST ? REPORTS_MOST
	                                                                    : (uint32_t)nr};
	s->is.group = zet_group_named(all->z, place, wanted->group);
	if (s->is.group)
		meters_find(all->z, s);
	if (!s->meters.nr) {
		free(s);
		return NULL;
	}
	return &s->is;
}

static void meter_tell(struct zet_streamers *all, struct zet_streamer *is)
{
	const struct meter *s = (const struct meter *)is;
	const struct zet_meter message = {.device = is->place->about.device,
	                                  .period_ns = is->period_ns,
	                                  .nr_metrics = s->meters.nr};

	zet_group_send(all->z, is->group, message.device);
	zet_send(all->z, ZET_METER, &message, sizeof message);
}

static void meter_opened(struct zet_streamer *is)
{
	struct meter *s = (struct meter *)is;

	/* A driver that tells no other period has ours. */
	if (!is->given_ns)
		is->given_ns = is->period_ns;
	memset(&s->clocks, 0, sizeof s->clocks);
}

struct taking {
	struct zet_streamers *all;
	struct meter *s;
};

static void report_take(void *arg, const struct af_zet_report *report)
{
	const struct taking *t = arg;
	const struct af_zet_meters *m = &t->s->meters;
	struct zet_values v = {.device = t->s->is.place->about.device,
	                       .part = report->part,
	                       .time_ns = report->time_ns,
	                       .span_ns = report->span_ns};

	for (uint32_t i = 0; i < m->nr; i++) {
		uint64_t whole;
		if (m->all[i].is_counter &&
		    af_zet_value_whole(&report->values[i], m->all[i].per, &whole))
			v.values[v.nr++] = (struct zet_value){.metric = i, .value = whole};
		else
			t->s->nr_left_out += m->all[i].is_counter;
		if (v.nr == ZET_VALUES_MOST || (v.nr && i + 1 == m->nr)) {
			zet_send(t->all->z, ZET_VALUES, &v, sizeof v);
			v.nr = 0;
		}
	}
	t->s->nr_reports++;
}

static void reports_take(struct zet_streamers *all, struct zet_streamer *is,
                         const struct zet_typed_value *values, uint32_t nr_values,
                         const uint32_t *set_values, uint32_t nr_sets)
{
	struct meter *s = (struct meter *)is;
	struct taking t = {all, s};
	const struct af_zet_reports reports = {.values = values,
	                                       .set_values = set_values,
	                                       .nr_values = nr_values,
	                                       .nr_sets = nr_sets,
	                                       .read_ns = is->read_ns,
	                                       .period_ns = is->given_ns};

	is->cut += af_zet_reports_take(&s->meters, &s->clocks, &reports, report_take, &t);
}

static void sums_send(struct zet_streamers *all, struct zet_streamer *is)
{
	struct meter *s = (struct meter *)is;
	const struct zet_sums message = {.device = is->place->about.device,
	                                 .period_ns = is->given_ns,
	                                 .dropped = is->dropped,
	                                 .cut = is->cut,
	                                 .reports = s->nr_reports,
	                                 .left_out = s->nr_left_out};

	if (s->nr_reports || is->dropped || is->cut)
		zet_send(all->z, ZET_SUMS, &message, sizeof message);
	is->dropped = is->cut = s->nr_reports = s->nr_left_out = 0;
}

void zet_meter_run(struct zet_api *z, void *arg)
{
	static const struct zet_streamer_ops ops = {
	    .make = meter_make,
	    .tell = meter_tell,
	    .opened = meter_opened,
	    .values = reports_take,
	    .send = sums_send,
	};

	zet_streamers_run(z, &ops, arg);
}
