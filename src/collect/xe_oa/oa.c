#include "collect/xe_oa/oa.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "collect/session/session.h"
#include "collect/writer/heartbeat.h"
#include "collect/xe_oa/private.h"

enum { PERIOD_NS = 100000000, NS_PER_MS = 1000000 };

struct oa {
	struct af_beat beat;
	struct af_heartbeat
	    heart; /* from its start to its end the other members are its thread's */
	struct oa_counters counters;
	struct af_event_writer writer;
};

static void oa_tick(void *arg, bool again)
{
	struct oa *o = arg;

	oa_read(&o->counters, &o->writer, again);
}

static void oa_missed(void *arg, uint64_t count)
{
	struct oa *o = arg;

	af_readings_lost(&o->writer, AF_LOST_LATE, count);
}

static void oa_free_all(struct oa *o)
{
	af_heartbeat_close(&o->heart);
	oa_free(&o->counters);
	free(o);
}

static void begin_note(const struct oa *o)
{
	struct af_buf b = {0};

	oa_describe(&o->counters, &b);
	if (b.len)
		af_session_note(o->heart.r, "collector.xe_oa",
		                "every %g ms, by the driver's files and events: %s",
		                (double)o->beat.period_ns / NS_PER_MS, b.data);
	af_buf_free(&b);
}

static void oa_open(void **self, struct af_recording *r)
{
	struct oa *o = af_xcalloc(1, sizeof *o);

	o->beat = (struct af_beat){
	    .period_ns = r->options->heartbeat_ns ? r->options->heartbeat_ns : PERIOD_NS,
	    .tick = oa_tick,
	    .missed = oa_missed,
	    .arg = o,
	};
	o->heart = (struct af_heartbeat){.r = r, .beats = {&o->beat}, .nr = 1};
	/* Level Zero's metrics need the streams that are ours else. */
	bool streams = r->options->observe && !r->options->metric_group;
	oa_find(&o->counters, &af_xe_roots_usual, streams ? o->beat.period_ns : 0);
	begin_note(o);
	if (!o->counters.nr || !af_event_writer_open(&o->writer, r)) {
		oa_free_all(o);
		return;
	}
	o->writer.beside = true;
	af_source_counters_number(&o->writer, &o->counters.known);
	*self = o;
}

static void oa_begin(void *self)
{
	struct oa *o = self;

	af_heartbeat_begin(&o->heart);
}

static void oa_pump(void *self)
{
	struct oa *o = self;

	af_heartbeat_pump(&o->heart);
}

static void end_note(const struct oa *o)
{
	uint64_t failed = oa_nr_failed(&o->counters);
	struct af_buf b = {0};

	af_buf_fmt(&b, "read %llu times", (unsigned long long)o->beat.nr_ticks);
	if (o->beat.nr_missed)
		af_buf_fmt(&b, ", and %llu times not in time",
		           (unsigned long long)o->beat.nr_missed);
	if (failed)
		af_buf_fmt(&b, "; %llu values could not be had", (unsigned long long)failed);
	af_session_note(o->heart.r, "collector.xe_oa.readings", "%s", b.data);
	af_buf_free(&b);
}

static void oa_stop(void *self)
{
	struct oa *o = self;

	if (o->heart.stopped)
		return;
	af_heartbeat_stop(&o->heart);
	af_event_writer_close(&o->writer);
	end_note(o);
}

static void oa_close(void *self)
{
	struct oa *o = self;

	af_event_writer_close(&o->writer);
	oa_free_all(o);
}

const struct af_devices_ops af_xe_oa = {
    .open = oa_open,
    .begin = oa_begin,
    .pump = oa_pump,
    .stop = oa_stop,
    .close = oa_close,
};
