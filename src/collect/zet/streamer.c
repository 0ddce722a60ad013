#include "collect/zet/streamer.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"

enum {
	TICK_MS = 20,
	RETRY_NS = 500000000,
	TRIES_MOST = 120, /* of opening again: a minute */
	RAW_BYTES = 1 << 20,
	READS_AT_ONCE = 64,
	READS_LAST = 4096,
	VALUES_MOST = 4 << 20,
	SETS_MOST = 1024,
	/* A read fails once where the device dropped rows, and again and again after a reset. */
	ERRORS_MOST = 3,
	FAILURES_MOST = 16,
};

void *zet_group_named(struct zet_api *z, const struct zet_place *place, const char *name)
{
	uint32_t nr;
	void **groups = zet_groups(z, place, &nr), *found = NULL;

	for (uint32_t i = 0; i < nr && !found; i++) {
		struct zet_group_properties p = {.is = AF_ZET_IS_GROUP};
		if (!ZET(z, zetMetricGroupGetProperties, groups[i], &p) &&
		    p.sampling & AF_ZET_TIME_BASED && !strncmp(p.name, name, sizeof p.name))
			found = groups[i];
	}
	free(groups);
	return found;
}

/* Without an event reports are read now and then. */
static void event_make(struct zet_api *z, struct zet_streamer *s)
{
	const struct zet_event_pool_desc pool = {
	    .is = AF_ZET_IS_EVENT_POOL, .flags = AF_ZET_POOL_HOST_VISIBLE, .nr = 1};
	const struct zet_event_desc event = {
	    .is = AF_ZET_IS_EVENT, .signal = AF_ZET_SCOPE_HOST, .wait = AF_ZET_SCOPE_HOST};

	if (ZET(z, zeEventPoolCreate, s->context, &pool, 1, &s->place->handle, &s->pool) ||
	    ZET(z, zeEventCreate, s->pool, &event, &s->event))
		s->event = NULL;
}

static bool is_streamed(const struct zet_streamers *all, uint32_t device)
{
	for (uint32_t i = 0; i < all->nr; i++)
		if (all->all[i]->place->about.device == device)
			return true;
	return false;
}

/* A device with parts streams all of them. */
static void streamer_add(struct zet_streamers *all, struct zet_place *place)
{
	const struct zet_context_desc desc = {.is = AF_ZET_IS_CONTEXT};

	if (is_streamed(all, place->about.parent))
		return;
	struct zet_streamer *s = all->ops->make(all, place);
	if (!s)
		return;
	uint32_t rc = ZET(all->z, zeContextCreate, place->driver, &desc, &s->context);
	if (rc) {
		zet_send_failed(all->z, rc, place->about.device);
		return;
	}
	event_make(all->z, s);
	all->ops->tell(all, s);
	all->all[all->nr++] = s;
}

/* The first time by name. */
static bool values_fail(struct zet_streamers *all, struct zet_streamer *s, uint32_t rc)
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
static bool raw_take(struct zet_streamers *all, struct zet_streamer *s, size_t size)
{
	uint32_t nr_sets = 0, nr_values = 0;

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
		all->ops->values(all, s, values, nr_values < most ? nr_values : most, counts,
		                 nr_sets < sets ? nr_sets : sets);
	else
		values_fail(all, s, rc);
	free(counts);
	free(values);
	return true;
}

static void streamer_close(struct zet_streamers *all, struct zet_streamer *s)
{
	void *streamer = s->streamer;

	s->streamer = NULL;
	if (streamer)
		ZET(all->z, zetMetricStreamerClose, streamer);
	ZET(all->z, zetContextActivateMetricGroups, s->context, s->place->handle, 0, NULL);
}

/* A device that was reset can be had again; a refusal at the start stays one. */
static void streamer_fail(struct zet_streamers *all, struct zet_streamer *s, uint32_t rc,
                          bool for_ever)
{
	zet_send_failed(all->z, rc, s->place->about.device);
	streamer_close(all, s);
	s->tried_ns = zet_now_ns();
	s->given_up |= for_ever || ++s->nr_failures >= FAILURES_MOST;
	s->nr_errors = 0;
}

/* One failure is a loss that the next read does not know of any more. */
static void read_fail(struct zet_streamers *all, struct zet_streamer *s, uint32_t rc)
{
	bool lost = rc == AF_ZET_ERROR_DEVICE_LOST || !all->on;

	s->dropped += !s->nr_errors;
	if (lost || ++s->nr_errors >= ERRORS_MOST)
		streamer_fail(all, s, rc, false);
}

static void streamer_read(struct zet_streamers *all, struct zet_streamer *s, int most)
{
	for (int i = 0; i < most; i++) {
		uint64_t begin_ns = zet_now_ns();
		size_t size = RAW_BYTES;
		uint32_t rc = ZET(all->z, zetMetricStreamerReadData, s->streamer, UINT32_MAX, &size,
		                  all->raw);
		s->read_ns = zet_now_ns();
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

static void streamer_open(struct zet_streamers *all, struct zet_streamer *s)
{
	struct zet_streamer_desc desc = {.is = AF_ZET_IS_STREAMER,
	                                 .notify_reports = s->notify_reports,
	                                 .period_ns = s->period_ns};
	uint64_t now = zet_now_ns();

	if (s->given_up || (s->tried_ns && now - s->tried_ns < RETRY_NS))
		return;
	s->tried_ns = now;
	s->given_up = ++s->nr_tries >= TRIES_MOST;
	uint32_t rc =
	    ZET(all->z, zetContextActivateMetricGroups, s->context, s->place->handle, 1, &s->group);
	s->since_ns = s->emptied_ns = s->read_ns = s->sent_ns = zet_now_ns();
	if (!rc)
		rc = ZET(all->z, zetMetricStreamerOpen, s->context, s->place->handle, s->group,
		         &desc, s->event, &s->streamer);
	if (rc) {
		s->streamer = NULL;
		streamer_fail(all, s, rc, !s->nr_failures);
		return;
	}
	s->given_ns = desc.period_ns;
	all->ops->opened(s);
	s->nr_tries = 0;
	s->tried_ns = 0;
}

static bool has_reports(struct zet_streamers *all, const struct zet_streamer *s)
{
	if (s->event && !ZET(all->z, zeEventQueryStatus, s->event)) {
		ZET(all->z, zeEventHostReset, s->event);
		return true;
	}
	return zet_now_ns() - s->read_ns >= ZET_WINDOW_NS;
}

static void streamer_tick(struct zet_streamers *all, struct zet_streamer *s)
{
	if (all->on && !s->streamer)
		streamer_open(all, s);
	if (s->streamer && !all->on) {
		streamer_read(all, s, READS_LAST);
		streamer_close(all, s);
	} else if (s->streamer && has_reports(all, s)) {
		streamer_read(all, s, READS_AT_ONCE);
	}
	if (!s->streamer || zet_now_ns() - s->sent_ns >= ZET_WINDOW_NS) {
		s->sent_ns = zet_now_ns();
		all->ops->send(all, s);
	}
}

/* False: the parent wants the end. */
static bool orders_take(struct zet_streamers *all)
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

void zet_streamers_run(struct zet_api *z, const struct zet_streamer_ops *ops, const void *wanted)
{
	static struct zet_place places[ZET_DEVICES_MOST];
	static struct zet_streamers all;
	const struct zet_done done = {0};

	all = (struct zet_streamers){.z = z, .ops = ops, .wanted = wanted};
	all.raw = af_xcalloc(RAW_BYTES, 1);
	uint32_t nr = zet_load(z) ? zet_devices(z, places, ZET_DEVICES_MOST) : 0;
	for (uint32_t i = 0; i < nr; i++)
		streamer_add(&all, &places[i]);
	zet_send(z, ZET_READY, &done, sizeof done);
	alarm(0); /* from here on the recorder's end is ours */
	while (all.nr && orders_take(&all))
		for (uint32_t i = 0; i < all.nr; i++)
			streamer_tick(&all, all.all[i]);
	all.on = false;
	for (uint32_t i = 0; i < all.nr; i++)
		streamer_tick(&all, all.all[i]);
	zet_send(z, ZET_DONE, &done, sizeof done);
}
