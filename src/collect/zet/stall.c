#include "collect/zet/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "collect/session/session.h"
#include "collect/xe/eustall.h"
#include "collect/xe/window.h"
#include "collect/zet/source.h"

/* A device that is sampled; its number in the trace is its place in stall.cards, from 1. */
struct sampled {
	struct zet_stream stream;
	struct af_xe_rows rows; /* of the window that is coming */
};

struct stall {
	struct zet_source source;
	struct af_xe_cards cards;
	struct sampled *sampled; /* beside them */
	uint32_t
	    of[ZET_DEVICES_MOST + 1]; /* by number of the child: in the trace, 0: not sampled */
	struct af_xe_writer writer;
	struct zet_wanted wanted;
	uint64_t nr_rows, nr_dropped, nr_cut;
};

static void stream_take(struct stall *s, const struct zet_stream *stream)
{
	const struct zet_device *d = zet_source_device(&s->source, stream->device);
	uint32_t had = s->cards.cap;

	if (!d || s->of[stream->device] || stream->layout < AF_XE_PVC ||
	    stream->layout > AF_XE_XE3P)
		return;
	AF_ROOM(s->sampled, s->cards.nr + 1u, had);
	AF_GROW(s->cards.all, s->cards.nr, s->cards.cap);
	zet_source_card(&s->source, d, stream->layout, &s->cards.all[s->cards.nr]);
	struct sampled *new = &s->sampled[s->cards.nr];
	*new = (struct sampled){.stream = *stream};
	af_xe_rows_open(&new->rows, (enum af_xe_layout)stream->layout);
	s->of[stream->device] = ++s->cards.nr;
}

static struct sampled *sampled_of(struct stall *s, uint32_t device)
{
	uint32_t i = device <= ZET_DEVICES_MOST ? s->of[device] : 0;

	return i ? &s->sampled[i - 1] : NULL;
}

static void window_take(struct stall *s, const struct zet_window *from)
{
	struct sampled *device = sampled_of(s, from->device);

	if (!device || from->start_ns > from->end_ns)
		return;
	if (!s->writer.to.is_open && !af_event_writer_open(&s->writer.to, s->source.r))
		return;
	device->rows.zero_counts = from->other;
	const struct af_xe_window window = {.device = s->of[from->device],
	                                    .dropped = from->dropped + from->cut,
	                                    .start_ns = from->start_ns,
	                                    .end_ns = from->end_ns,
	                                    .period_cycles = from->period_cycles,
	                                    .rows = &device->rows};
	af_xe_writer_define(&s->writer, &s->cards);
	af_xe_window_write(&s->writer, &window);
	af_xe_rows_empty(&device->rows);
	s->nr_rows += from->rows;
	s->source.got_any |= from->rows != 0;
	s->nr_dropped += from->dropped;
	s->nr_cut += from->cut;
}

static void samples_take(struct stall *s, const struct zet_samples *from)
{
	struct sampled *device = sampled_of(s, from->device);

	for (uint32_t i = 0; device && i < from->nr && i < ZET_SAMPLES_MOST; i++) {
		struct af_xe_row row = {.address = from->samples[i].address};
		memcpy(row.counts, from->samples[i].counts, sizeof row.counts);
		/* The child's table had room for it, so a row that has none is nonsense. */
		s->nr_cut += !af_xe_rows_put(&device->rows, &row);
	}
}

static void message_take(void *user, const struct zet_head *head)
{
	const void *payload = head + 1;

	switch (head->kind) {
	case ZET_STREAM:
		stream_take(user, payload);
		break;
	case ZET_SAMPLES:
		samples_take(user, payload);
		break;
	case ZET_WINDOW:
		window_take(user, payload);
		break;
	default:
		break;
	}
}

static void stall_free(struct stall *s)
{
	for (uint32_t i = 0; i < s->cards.nr; i++)
		af_xe_rows_free(&s->sampled[i].rows);
	free(s->sampled);
	free(s->cards.all);
	free(s);
}

/* "GPU …: every 1004 GPU cycles asked for, …; GPU …: why it is not sampled" */
static void begin_note(struct stall *s)
{
	struct af_buf b = {0};
	char name[64];

	for (uint32_t i = 0; i < s->cards.nr; i++) {
		const struct zet_stream *stream = &s->sampled[i].stream;
		af_buf_fmt(&b, "%s%s: every %u GPU cycles asked for, read at %u reports",
		           i ? "; " : "", af_xe_card_name(&s->cards.all[i], name, sizeof name),
		           stream->period_cycles, stream->notify_reports);
		if (stream->nr_unknown)
			af_buf_fmt(&b, ", %u reasons of unknown names taken for OtherStall",
			           stream->nr_unknown);
	}
	if (s->source.failed.len)
		af_buf_fmt(&b, "%s%s", b.len ? "; " : "", s->source.failed.data);
	if (!b.len && s->source.ready)
		af_buf_str(&b, "no GPU has the metric group EuStallSampling");
	af_session_note(s->source.r, "collector.zet", "%s",
	                b.len ? b.data : "the driver is not ready yet");
	af_buf_free(&b);
	af_buf_free(&s->source.failed);
}

static struct stall *stall_start(struct af_recording *r, bool quiet)
{
	struct stall *s = af_xcalloc(1, sizeof *s);

	s->source = (struct zet_source){
	    .r = r, .key = "collector.zet", .quiet = quiet, .take = message_take, .user = s};
	s->wanted.samples_second = r->options->device_samples_second;
	if (!zet_source_start(&s->source, zet_stall_run, &s->wanted)) {
		stall_free(s);
		return NULL;
	}
	begin_note(s);
	return s;
}

static void stall_open(void **self, struct af_recording *r)
{
	*self = stall_start(r, false);
}

static void stall_pump(void *self)
{
	struct stall *s = self;

	zet_source_pump(&s->source);
}

static void end_note(struct stall *s)
{
	struct af_buf b = {0};

	af_buf_fmt(&b, "%llu rows, %llu samples", (unsigned long long)s->nr_rows,
	           (unsigned long long)s->writer.nr_samples);
	if (s->nr_dropped)
		af_buf_fmt(&b, ", dropped %llu times", (unsigned long long)s->nr_dropped);
	if (s->nr_cut)
		af_buf_fmt(&b, ", %llu times values that make no sense",
		           (unsigned long long)s->nr_cut);
	if (s->source.failed.len)
		af_buf_fmt(&b, "; %s", s->source.failed.data);
	af_session_note(s->source.r, "collector.zet.rows", "%s", b.data);
	af_buf_free(&b);
}

static void stall_stop(void *self)
{
	struct stall *s = self;

	zet_source_stop(&s->source);
	af_event_writer_close(&s->writer.to);
	if (s->cards.nr || s->source.failed.len)
		end_note(s);
}

static void stall_close(void *self)
{
	struct stall *s = self;

	zet_source_close(&s->source);
	af_event_writer_close(&s->writer.to);
	stall_free(s);
}

const struct af_devices_ops af_zet_stall = {
    .open = stall_open,
    .begin = stall_pump,
    .pump = stall_pump,
    .stop = stall_stop,
    .close = stall_close,
};

/* One of them is open. */
struct both {
	void *xe, *zet;
};

static void both_open(void **self, struct af_recording *r)
{
	const struct af_devices_ops *kernel = &af_xe_eustall;
	struct both *b = af_xcalloc(1, sizeof *b);

	kernel->open(&b->xe, r);
	if (!b->xe && af_zet_may_help()) {
		struct stall *s = stall_start(r, true);
		b->zet = s;
		/* The kernel's refusal was a line. */
		if (s && s->cards.nr && af_xe_is_there() && r->options->tell)
			r->options->tell("Level Zero samples it instead");
	}
	if (b->xe || b->zet)
		*self = b;
	else
		free(b);
}

#define EITHER(function)                                                                           \
	static void both_##function(void *self)                                                    \
	{                                                                                          \
		struct both *b = self;                                                             \
                                                                                                   \
		if (b->xe)                                                                         \
			af_xe_eustall.function(b->xe);                                             \
		else                                                                               \
			af_zet_stall.function(b->zet);                                             \
	}

EITHER(begin)
EITHER(pump)
EITHER(stop)

static void both_close(void *self)
{
	struct both *b = self;

	if (b->xe)
		af_xe_eustall.close(b->xe);
	else
		af_zet_stall.close(b->zet);
	free(b);
}

const struct af_devices_ops af_zet_behind_xe = {
    .open = both_open,
    .begin = both_begin,
    .pump = both_pump,
    .stop = both_stop,
    .close = both_close,
};
