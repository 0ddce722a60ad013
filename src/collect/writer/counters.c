#include "collect/writer/counters.h"

#include <string.h>

#include "collect/session/session.h"

enum {
	VALUES_MOST = 256, /* of one event */
	HEAD_BYTES = 64,   /* at most, of an event before its values */
};

void af_source_counters_number(struct af_event_writer *w, struct af_source_counters *c)
{
	c->first = w->r->nr_counters + 1;
	w->r->nr_counters += c->nr;
}

static void counter_write(struct af_event_writer *w, uint32_t number,
                          const struct af_source_counter *c)
{
	const struct af_ev_counter ev = {
	    .counter = number, .device = c->device, .flags = c->flags, .per = c->per};
	const struct af_tail tail[] = {{c->name, (uint32_t)strlen(c->name), 0},
	                               {c->unit, (uint32_t)strlen(c->unit), 0},
	                               {c->group, (uint32_t)strlen(c->group), 0}};
	uint32_t bytes = HEAD_BYTES + tail[0].len + tail[1].len + tail[2].len;

	af_stream_put_tail(&w->stream, AF_KIND_COUNTER, af_now_ns(), &ev, sizeof ev, tail, 3);
	af_event_writer_wrote(w, bytes);
}

void af_source_counters_define(struct af_event_writer *w, const struct af_source_counters *c)
{
	for (uint32_t i = 0; i < c->nr; i++)
		counter_write(w, c->first + i, &c->all[i]);
}

void af_reading_write(struct af_event_writer *w, const struct af_source_counters *c,
                      uint64_t time_ns, uint64_t span_ns, const struct af_source_value *values,
                      uint32_t nr)
{
	const struct af_ev_reading ev = {.span_ns = span_ns};
	uint64_t pairs[2 * VALUES_MOST];
	uint32_t in = 0;

	for (uint32_t i = 0; w->is_open && i < nr; i++) {
		pairs[2 * in] = c->first + values[i].counter;
		pairs[2 * in + 1] = values[i].value;
		if (++in < VALUES_MOST && i + 1 < nr)
			continue;
		const uint32_t len = in * 2 * (uint32_t)sizeof *pairs;
		const struct af_tail tail[] = {{pairs, len, sizeof *pairs}};
		af_stream_put_tail(&w->stream, AF_KIND_READING, time_ns, &ev, sizeof ev, tail, 1);
		af_event_writer_wrote(w, HEAD_BYTES + len);
		in = 0;
	}
}

void af_readings_lost(struct af_event_writer *w, enum af_lost reason, uint64_t count)
{
	if (w->is_open && count)
		af_stream_put(&w->stream, lost, af_now_ns(), .reason = reason, .count = count);
}
