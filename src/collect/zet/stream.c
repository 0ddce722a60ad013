/* In the child: metric streamers of the group EuStallSampling, read until the parent ends it. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/clock.h"
#include "collect/zet/private.h"
#include "collect/zet/values.h"

enum {
	TICK_MS = 20,
	WINDOW_NS = 100000000,
	LATE_NS = 10000000, /* rows may be so much older than the read that finds them */
	RETRY_NS = 500000000,
	TRIES_MOST = 120, /* of opening again: a minute */
	RAW_BYTES = 1 << 20,
	READS_AT_ONCE = 64,
	READS_LAST = 4096,
	NOTIFY_REPORTS = 4096, /* half of the buffer of one Xe core */
	VALUES_MOST = 4 << 20,
	SETS_MOST = 1024,
	UNIT_CYCLES = 251, /* the sampler's periods are 1 to 7 times that */
	UNITS_USUAL = 4,   /* the xe driver's */
	UNITS_MOST = 7,
	HZ_PER_MHZ = 1000000,
	NS_PER_MHZ_CYCLE = 1000,
	/* A read fails once where the device dropped rows, and again and again after a reset. */
	ERRORS_MOST = 3,
	FAILURES_MOST = 16,
};

struct stream {
	struct zet_place *place;
	void *context, *group, *pool, *event;
	void *streamer;            /* NULL: not open */
	uint32_t period_ns, units; /* asked for */
	uint64_t period_cycles;    /* given */
	uint32_t nr_errors, nr_failures;
	struct af_zet_columns columns;
	struct af_xe_rows rows; /* since the last window */
	uint32_t dropped, cut, nr_rows;
	uint64_t since_ns, read_ns, emptied_ns, sent_ns;
	uint64_t tried_ns;
	uint32_t nr_tries;
	bool given_up, named;
};

struct streams {
	struct zet_api *z;
	struct stream all[ZET_DEVICES_MOST];
	uint32_t nr;
	uint8_t *raw;
	bool on;
};

static uint64_t now_ns(void)
{
	return af_clock_ns(CLOCK_MONOTONIC);
}

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
	void **metrics = zet_metrics(z, s->group, s->place->about.device, &nr);

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

/* The group that has addresses, whatever else it is called. */
static bool group_find(struct zet_api *z, struct stream *s)
{
	uint32_t nr;
	void **groups = zet_groups(z, s->place, &nr);
	bool found = false;

	for (uint32_t i = 0; i < nr && !found; i++) {
		struct zet_group_properties p = {.is = AF_ZET_IS_GROUP};
		if (ZET(z, zetMetricGroupGetProperties, groups[i], &p) ||
		    !(p.sampling & AF_ZET_TIME_BASED) ||
		    strncmp(p.name, "EuStallSampling", sizeof p.name) != 0)
			continue;
		s->group = groups[i];
		s->columns = (struct af_zet_columns){0};
		found = columns_find(z, s);
	}
	free(groups);
	return found;
}

/* Without an event reports are read now and then. */
static void event_make(struct zet_api *z, struct stream *s)
{
	const struct zet_event_pool_desc pool = {
	    .is = AF_ZET_IS_EVENT_POOL, .flags = AF_ZET_POOL_HOST_VISIBLE, .nr = 1};
	const struct zet_event_desc event = {
	    .is = AF_ZET_IS_EVENT, .signal = AF_ZET_SCOPE_HOST, .wait = AF_ZET_SCOPE_HOST};

	if (ZET(z, zeEventPoolCreate, s->context, &pool, 1, &s->place->handle, &s->pool) ||
	    ZET(z, zeEventCreate, s->pool, &event, &s->event))
		s->event = NULL;
}

static bool is_sampled(const struct streams *all, uint32_t device)
{
	for (uint32_t i = 0; i < all->nr; i++)
		if (all->all[i].place->about.device == device)
			return true;
	return false;
}

/* A device with parts samples all of them. */
static void stream_add(struct streams *all, struct zet_place *place, uint64_t samples_second)
{
	const struct zet_context_desc desc = {.is = AF_ZET_IS_CONTEXT};
	struct stream *s = &all->all[all->nr];

	*s = (struct stream){.place = place};
	if (is_sampled(all, place->about.parent) || !group_find(all->z, s))
		return;
	uint32_t rc = ZET(all->z, zeContextCreate, place->driver, &desc, &s->context);
	if (rc) {
		zet_send_failed(all->z, rc, place->about.device);
		return;
	}
	event_make(all->z, s);
	s->units = units_of(&place->about, samples_second);
	s->period_ns = period_of(&place->about, s->units);
	af_xe_rows_open(&s->rows, layout_of(&place->about));
	const struct zet_stream message = {.device = place->about.device,
	                                   .layout = s->rows.layout,
	                                   .period_cycles = s->units * UNIT_CYCLES,
	                                   .notify_reports = NOTIFY_REPORTS,
	                                   .nr_unknown = s->columns.nr_unknown};
	zet_send(all->z, ZET_STREAM, &message, sizeof message);
	all->nr++;
}

static void window_send(struct streams *all, struct stream *s)
{
	struct zet_samples m = {.device = s->place->about.device};
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
	const struct zet_window w = {.device = s->place->about.device,
	                             .dropped = s->dropped,
	                             .cut = s->cut,
	                             .rows = s->nr_rows,
	                             .start_ns = s->since_ns,
	                             .end_ns = s->read_ns,
	                             .period_cycles = s->period_cycles,
	                             .other = s->rows.zero_counts};
	s->sent_ns = now_ns();
	if (s->nr_rows || s->dropped || s->cut)
		zet_send(all->z, ZET_WINDOW, &w, sizeof w);
	af_xe_rows_empty(&s->rows);
	s->dropped = s->cut = s->nr_rows = 0;
	if (s->emptied_ns > s->since_ns + LATE_NS)
		s->since_ns = s->emptied_ns - LATE_NS;
}

struct taking {
	struct streams *all;
	struct stream *s;
};

static void row_take(void *arg, const struct af_xe_row *row)
{
	struct taking *t = arg;

	if (!af_xe_rows_put(&t->s->rows, row)) {
		window_send(t->all, t->s);
		af_xe_rows_put(&t->s->rows, row);
	}
	t->s->nr_rows++;
}

/* The first time by name. */
static bool values_fail(struct streams *all, struct stream *s, uint32_t rc)
{
	if (rc && !s->named)
		zet_send_failed(all->z, rc, s->place->about.device);
	s->named |= rc != 0;
	s->cut++;
	return true;
}

/*
 * Reports as values: counts first, then what they count. Data without values are no failure: of a
 * device with parts Intel's driver always gives their headers. False: there was nothing.
 */
static bool raw_take(struct streams *all, struct stream *s, size_t size)
{
	uint32_t nr_sets = 0, nr_values = 0;
	struct taking t = {all, s};

	uint32_t rc = ZET(all->z, zetMetricGroupCalculateMultipleMetricValuesExp, s->group,
	                  AF_ZET_METRIC_VALUES, size, all->raw, &nr_sets, &nr_values, NULL, NULL);
	if (!rc && (!nr_sets || !nr_values))
		return false;
	if ((rc && rc != AF_ZET_WARNING_DROPPED_DATA) || nr_sets > SETS_MOST ||
	    nr_values > VALUES_MOST)
		return values_fail(all, s, rc);
	uint32_t sets = nr_sets, most = nr_values;
	uint32_t *counts = af_xcalloc(nr_sets, sizeof *counts);
	struct zet_typed_value *values = af_xcalloc(nr_values, sizeof *values);
	rc = ZET(all->z, zetMetricGroupCalculateMultipleMetricValuesExp, s->group,
	         AF_ZET_METRIC_VALUES, size, all->raw, &nr_sets, &nr_values, counts, values);
	s->dropped += rc == AF_ZET_WARNING_DROPPED_DATA;
	if (!rc || rc == AF_ZET_WARNING_DROPPED_DATA)
		s->cut +=
		    af_zet_values_rows(&s->columns, values, nr_values < most ? nr_values : most,
		                       counts, nr_sets < sets ? nr_sets : sets, row_take, &t);
	else
		values_fail(all, s, rc);
	free(counts);
	free(values);
	return true;
}

static void stream_close(struct streams *all, struct stream *s)
{
	void *streamer = s->streamer;

	s->streamer = NULL;
	if (streamer)
		ZET(all->z, zetMetricStreamerClose, streamer);
	ZET(all->z, zetContextActivateMetricGroups, s->context, s->place->handle, 0, NULL);
}

/* A device that was reset can be had again; a refusal at the start stays one. */
static void stream_fail(struct streams *all, struct stream *s, uint32_t rc, bool for_ever)
{
	zet_send_failed(all->z, rc, s->place->about.device);
	stream_close(all, s);
	s->tried_ns = now_ns();
	s->given_up |= for_ever || ++s->nr_failures >= FAILURES_MOST;
	s->nr_errors = 0;
}

/* One failure is a loss that the next read does not know of any more. */
static void read_fail(struct streams *all, struct stream *s, uint32_t rc)
{
	bool lost = rc == AF_ZET_ERROR_DEVICE_LOST || !all->on;

	s->dropped += !s->nr_errors;
	if (lost || ++s->nr_errors >= ERRORS_MOST)
		stream_fail(all, s, rc, false);
}

static void stream_read(struct streams *all, struct stream *s, int most)
{
	for (int i = 0; i < most; i++) {
		uint64_t begin_ns = now_ns();
		size_t size = RAW_BYTES;
		uint32_t rc = ZET(all->z, zetMetricStreamerReadData, s->streamer, UINT32_MAX, &size,
		                  all->raw);
		s->read_ns = now_ns();
		bool warned = rc == AF_ZET_WARNING_DROPPED_DATA;
		if (rc && rc != AF_ZET_NOT_READY && !warned) {
			read_fail(all, s, rc);
			return;
		}
		s->dropped += warned;
		s->nr_errors = 0;
		if (rc == AF_ZET_NOT_READY || !size ||
		    !raw_take(all, s, size < RAW_BYTES ? size : RAW_BYTES)) {
			s->emptied_ns = begin_ns;
			return;
		}
	}
}

static void stream_open(struct streams *all, struct stream *s)
{
	struct zet_streamer_desc desc = {
	    .is = AF_ZET_IS_STREAMER, .notify_reports = NOTIFY_REPORTS, .period_ns = s->period_ns};
	uint64_t now = now_ns();

	if (s->given_up || (s->tried_ns && now - s->tried_ns < RETRY_NS))
		return;
	s->tried_ns = now;
	s->given_up = ++s->nr_tries >= TRIES_MOST;
	uint32_t rc =
	    ZET(all->z, zetContextActivateMetricGroups, s->context, s->place->handle, 1, &s->group);
	s->since_ns = s->emptied_ns = s->read_ns = s->sent_ns = now_ns();
	if (!rc)
		rc = ZET(all->z, zetMetricStreamerOpen, s->context, s->place->handle, s->group,
		         &desc, s->event, &s->streamer);
	if (rc) {
		s->streamer = NULL;
		stream_fail(all, s, rc, !s->nr_failures);
		return;
	}
	s->period_cycles = cycles_of(&s->place->about, desc.period_ns);
	s->nr_tries = 0;
	s->tried_ns = 0;
}

static bool has_reports(struct streams *all, const struct stream *s)
{
	if (s->event && !ZET(all->z, zeEventQueryStatus, s->event)) {
		ZET(all->z, zeEventHostReset, s->event);
		return true;
	}
	return now_ns() - s->read_ns >= WINDOW_NS;
}

static void stream_tick(struct streams *all, struct stream *s)
{
	if (all->on && !s->streamer)
		stream_open(all, s);
	if (s->streamer && !all->on) {
		stream_read(all, s, READS_LAST);
		stream_close(all, s);
	} else if (s->streamer && has_reports(all, s)) {
		stream_read(all, s, READS_AT_ONCE);
	}
	if (!s->streamer || now_ns() - s->sent_ns >= WINDOW_NS)
		window_send(all, s);
}

/* False: the parent wants the end. */
static bool orders_take(struct streams *all)
{
	struct pollfd ready = {.fd = all->z->in, .events = POLLIN};
	char order;

	if (poll(&ready, 1, TICK_MS) <= 0)
		return true;
	if (read(all->z->in, &order, 1) != 1)
		return false;
	all->on = order == '1';
	return true;
}

void zet_stall_run(struct zet_api *z, void *arg)
{
	static struct zet_place places[ZET_DEVICES_MOST];
	static struct streams all;
	const struct zet_wanted *wanted = arg;
	const struct zet_done done = {0};

	all.z = z;
	all.raw = af_xcalloc(RAW_BYTES, 1);
	uint32_t nr = zet_load(z) ? zet_devices(z, places, ZET_DEVICES_MOST) : 0;
	for (uint32_t i = 0; i < nr; i++)
		stream_add(&all, &places[i], wanted->samples_second);
	zet_send(z, ZET_READY, &done, sizeof done);
	alarm(0); /* from here on the recorder's end is ours */
	while (all.nr && orders_take(&all))
		for (uint32_t i = 0; i < all.nr; i++)
			stream_tick(&all, &all.all[i]);
	all.on = false;
	for (uint32_t i = 0; i < all.nr; i++)
		stream_tick(&all, &all.all[i]);
	zet_send(z, ZET_DONE, &done, sizeof done);
}
