/* In the child: stalls of instructions, by metric streamers of the group EuStallSampling. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "collect/zet/streamer.h"
#include "collect/zet/values.h"

enum {
	LATE_NS = 10000000,    /* rows may be so much older than the read that finds them */
	NOTIFY_REPORTS = 4096, /* half of the buffer of one Xe core */
	UNIT_CYCLES = 251,     /* the sampler's periods are 1 to 7 times that */
	UNITS_USUAL = 4,       /* the xe driver's */
	UNITS_MOST = 7,
	HZ_PER_MHZ = 1000000,
	NS_PER_MHZ_CYCLE = 1000,
};

/* A streamer of stalls; it begins with what all have. */
struct stream {
	struct zet_streamer is;
	uint32_t units;         /* asked for */
	uint64_t period_cycles; /* given */
	struct af_zet_columns columns;
	struct af_xe_rows rows; /* since the last window */
	uint32_t nr_rows;
};

static enum af_xe_layout layout_of(const struct zet_device *d)
{
	enum { MAJOR_BIT = 22, MINOR_BIT = 14, MINOR_MASK = 0xff };
	enum af_xe_layout layout =
	    af_xe_layout_of(d->ip_version >> MAJOR_BIT, d->ip_version >> MINOR_BIT & MINOR_MASK);

	/* Drivers that do not tell the version are older than whole addresses. */
	return layout ? layout : AF_XE_XE2;
}

/* Each Xe core gives a row in each period: the slowest that gives so many. */
static uint32_t units_of(const struct zet_device *d, uint64_t samples_second)
{
	if (!samples_second || !d->clock_mhz || !d->processors)
		return UNITS_USUAL;
	uint64_t units =
	    (uint64_t)d->processors * d->clock_mhz * HZ_PER_MHZ / UNIT_CYCLES / samples_second;
	return units < 1 ? 1 : units > UNITS_MOST ? UNITS_MOST : (uint32_t)units;
}

/*
 * The specification has the period in ns. Intel's driver takes these for ticks of the device's
 * timer, and these for cycles of its core (getNearestSupportedSamplingUnit() of
 * os_metric_ip_sampling_imp_linux.cpp in intel/compute-runtime), so this asks in its way; a driver
 * that takes it as it is written samples at its slowest.
 */
static uint32_t period_of(const struct zet_device *d, uint32_t units)
{
	uint64_t cycles = (uint64_t)units * UNIT_CYCLES;

	return (uint32_t)(d->tick_ns     ? cycles * d->tick_ns
	                  : d->clock_mhz ? cycles * NS_PER_MHZ_CYCLE / d->clock_mhz
	                                 : cycles);
}

/* The period that a driver gave, in cycles; 0: not known. */
static uint64_t cycles_of(const struct zet_device *d, uint64_t period_ns)
{
	if (d->tick_ns && period_ns % ((uint64_t)UNIT_CYCLES * d->tick_ns) == 0)
		return period_ns / d->tick_ns;
	return period_ns * d->clock_mhz / NS_PER_MHZ_CYCLE;
}

static bool columns_find(struct zet_api *z, struct stream *s)
{
	uint32_t nr;
	void **metrics = zet_metrics(z, s->is.group, s->is.place->about.device, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		struct zet_metric_properties p = {.is = AF_ZET_IS_METRIC};
		if (ZET(z, zetMetricGetProperties, metrics[i], &p))
			p = (struct zet_metric_properties){.type = AF_ZET_TYPE_RAW};
		p.name[sizeof p.name - 1] = 0;
		af_zet_columns_add(&s->columns, p.name, p.type);
	}
	free(metrics);
	return s->columns.has_address;
}

static struct zet_streamer *stream_make(struct zet_streamers *all, struct zet_place *place)
{
	const struct zet_wanted *wanted = all->wanted;
	struct stream *s = af_xcalloc(1, sizeof *s);

	s->is = (struct zet_streamer){.place = place, .notify_reports = NOTIFY_REPORTS};
	s->is.group = zet_group_named(all->z, place, "EuStallSampling");
	if (!s->is.group || !columns_find(all->z, s)) {
		free(s);
		return NULL;
	}
	s->units = units_of(&place->about, wanted->samples_second);
	s->is.period_ns = period_of(&place->about, s->units);
	af_xe_rows_open(&s->rows, layout_of(&place->about));
	return &s->is;
}

static void stream_tell(struct zet_streamers *all, struct zet_streamer *is)
{
	const struct stream *s = (const struct stream *)is;
	const struct zet_stream message = {.device = is->place->about.device,
	                                   .layout = s->rows.layout,
	                                   .period_cycles = s->units * UNIT_CYCLES,
	                                   .notify_reports = is->notify_reports,
	                                   .nr_unknown = s->columns.nr_unknown};

	zet_send(all->z, ZET_STREAM, &message, sizeof message);
}

static void stream_opened(struct zet_streamer *is)
{
	struct stream *s = (struct stream *)is;

	s->period_cycles = cycles_of(&is->place->about, is->given_ns);
}

static void window_send(struct zet_streamers *all, struct zet_streamer *is)
{
	struct stream *s = (struct stream *)is;
	struct zet_samples m = {.device = is->place->about.device};
	struct af_xe_row row;

	for (uint32_t i = 0; i < s->rows.nr; i++) {
		af_xe_rows_at(&s->rows, i, &row);
		m.samples[m.nr].address = row.address;
		memcpy(m.samples[m.nr++].counts, row.counts, sizeof row.counts);
		if (m.nr == ZET_SAMPLES_MOST || i + 1 == s->rows.nr) {
			zet_send(all->z, ZET_SAMPLES, &m, sizeof m);
			m.nr = 0;
		}
	}
	const struct zet_window w = {.device = is->place->about.device,
	                             .dropped = is->dropped,
	                             .cut = is->cut,
	                             .rows = s->nr_rows,
	                             .start_ns = is->since_ns,
	                             .end_ns = is->read_ns,
	                             .period_cycles = s->period_cycles,
	                             .other = s->rows.zero_counts};
	if (s->nr_rows || is->dropped || is->cut)
		zet_send(all->z, ZET_WINDOW, &w, sizeof w);
	af_xe_rows_empty(&s->rows);
	is->dropped = is->cut = s->nr_rows = 0;
	if (is->emptied_ns > is->since_ns + LATE_NS)
		is->since_ns = is->emptied_ns - LATE_NS;
}

struct taking {
	struct zet_streamers *all;
	struct stream *s;
};

static void row_take(void *arg, const struct af_xe_row *row)
{
	struct taking *t = arg;

	if (!af_xe_rows_put(&t->s->rows, row)) {
		window_send(t->all, &t->s->is);
		af_xe_rows_put(&t->s->rows, row);
	}
	t->s->nr_rows++;
}

static void rows_take(struct zet_streamers *all, struct zet_streamer *is,
                      const struct zet_typed_value *values, uint32_t nr_values,
                      const uint32_t *set_values, uint32_t nr_sets)
{
	struct taking t = {all, (struct stream *)is};

	is->cut +=
	    af_zet_values_rows(&t.s->columns, values, nr_values, set_values, nr_sets, row_take, &t);
}

void zet_stall_run(struct zet_api *z, void *arg)
{
	static const struct zet_streamer_ops ops = {
	    .make = stream_make,
	    .tell = stream_tell,
	    .opened = stream_opened,
	    .values = rows_take,
	    .send = window_send,
	};

	zet_streamers_run(z, &ops, arg);
}
