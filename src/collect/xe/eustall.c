#include "collect/xe/eustall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "collect/disk/job.h"
#include "collect/session/control.h"
#include "collect/session/session.h"
#include "collect/xe/private.h"
#include "collect/xe/uapi.h"

enum {
	WINDOW_NS = 100000000,
	LATE_NS = 10000000, /* rows may be so much older than the read that finds them */
	RETRY_NS = 500000000,
	CHUNKS_AT_ONCE = 64,
	TRIES_MOST = 120, /* of reopening after a reset: a minute */
};

struct eustall {
	struct af_recording *r;
	struct af_xe_cards cards;
	struct xe_stream *streams;
	uint32_t nr;
	struct xe_reader reader;
	struct af_xe_writer writer;
	uint64_t written_ns;
	bool began, stopped;
	struct af_buf refused; /* "GPU …: why; " */
};

static void refused_add(struct eustall *e, const struct af_xe_card *card, const char *why)
{
	char name[64];

	af_buf_fmt(&e->refused, "%s%s: %s", e->refused.len ? "; " : "",
	           af_xe_card_name(card, name, sizeof name), why);
}

/* There is something that the user can do about it. */
static bool is_fixable(int rc)
{
	return rc == -EACCES || rc == -EPERM || rc == -EBUSY;
}

static void refused_show(const struct eustall *e, const struct af_xe_card *card, int rc,
                         const char *why)
{
	char name[64], line[600];

	/* One of the ranks on a host samples its GPUs, and the others know why they cannot. */
	if (!is_fixable(rc) || !e->r->options->tell ||
	    (rc == -EBUSY && e->r->options->job && e->r->options->job->is_rank))
		return;
	snprintf(line, sizeof line, "%s is not sampled: %s",
	         af_xe_card_name(card, name, sizeof name), why);
	e->r->options->tell(line);
}

static void stream_add(struct eustall *e, const struct af_xe_card *card, uint32_t device,
                       const struct af_xe_gt *gt, uint64_t period_cycles, int fd)
{
	struct xe_stream *s = &e->streams[e->nr++];

	*s = (struct xe_stream){
	    .card = card, .gt = gt, .device = device, .period_cycles = period_cycles, .fd = fd};
	s->rows = af_xcalloc(2, sizeof *s->rows);
	s->spare = s->rows + 1;
	af_xe_rows_open(s->rows, card->layout);
	af_xe_rows_open(s->spare, card->layout);
}

/* A stream for each GT; one that is refused leaves the others. */
static void card_open(struct eustall *e, const struct af_xe_card *card, uint32_t device)
{
	uint64_t period = af_xe_period(card, e->r->options->device_samples_second);
	char why[400];

	for (uint32_t i = 0; i < card->nr_gts; i++) {
		const struct af_xe_gt *gt = &card->gts[i];
		int fd = xe_stream_open(card, gt, period);
		if (fd >= 0) {
			stream_add(e, card, device, gt, period, fd);
			continue;
		}
		if (gt->optional)
			continue;
		xe_stream_why(card, &af_xe_roots_usual, fd, why, sizeof why);
		refused_add(e, card, why);
		refused_show(e, card, fd, why);
	}
}

static void cards_open(struct eustall *e)
{
	for (uint32_t i = 0; i < e->cards.nr; i++) {
		const struct af_xe_card *card = &e->cards.all[i];
		if (!card->error) {
			card_open(e, card, i + 1);
			continue;
		}
		refused_add(e, card, card->why);
		refused_show(e, card, card->error, card->why);
	}
}

/* The cards of both drivers, in one list. */
static void cards_find(struct af_xe_cards *all)
{
	struct af_xe_cards more;

	af_xe_cards_find(all, &af_xe_roots_usual, AF_XE_DRIVER_XE);
	af_xe_cards_find(&more, &af_xe_roots_usual, AF_XE_DRIVER_I915);
	for (uint32_t i = 0; i < more.nr; i++) {
		AF_GROW(all->all, all->nr, all->cap);
		all->all[all->nr++] = more.all[i];
	}
	free(more.all);
}

/* "GPU 0xe20b (…): every 1004 GPU cycles (47.8 M times a second …), GT 0" */
static void streams_describe(const struct eustall *e, struct af_buf *b)
{
	char name[64];

	for (uint32_t i = 0; i < e->nr; i++) {
		const struct xe_stream *s = &e->streams[i];
		uint64_t second = af_xe_samples_second(s->card, s->period_cycles);
		if (i && e->streams[i - 1].card == s->card) {
			af_buf_fmt(b, " and %u", s->gt->id);
			continue;
		}
		af_buf_fmt(b, "%s%s: every %llu GPU cycles", b->len ? "; " : "",
		           af_xe_card_name(s->card, name, sizeof name),
		           (unsigned long long)s->period_cycles);
		if (second)
			af_buf_fmt(b, " (%.3g M times a second on all XeCores at %u MHz)",
			           (double)second / 1e6, s->card->max_mhz);
		af_buf_fmt(b, ", GT %u", s->gt->id);
	}
	if (e->refused.len)
		af_buf_fmt(b, "%s%s", b->len ? "; " : "", e->refused.data);
}

static void begin_note(struct eustall *e)
{
	struct af_buf b = {0};

	streams_describe(e, &b);
	if (b.len)
		af_session_note(e->r, "collector.xe", "%s", b.data);
	af_buf_free(&b);
}

static void eustall_free(struct eustall *e)
{
	for (uint32_t i = 0; i < e->nr; i++) {
		struct xe_stream *s = &e->streams[i];
		struct af_xe_rows *both = s->rows < s->spare ? s->rows : s->spare;
		if (s->fd >= 0)
			close(s->fd);
		af_xe_rows_free(s->rows);
		af_xe_rows_free(s->spare);
		free(both);
	}
	af_xe_cards_free(&e->cards);
	free(e->streams);
	af_buf_free(&e->refused);
	free(e);
}

static void eustall_open(void **self, struct af_recording *r)
{
	struct eustall *e = af_xcalloc(1, sizeof *e);

	e->r = r;
	cards_find(&e->cards);
	e->streams = af_xcalloc((size_t)e->cards.nr * AF_XE_GTS_MOST + 1, sizeof *e->streams);
	cards_open(e);
	begin_note(e);
	if (!e->nr || xe_reader_open(&e->reader, e->streams, e->nr)) {
		eustall_free(e);
		return;
	}
	if (!af_event_writer_open(&e->writer.to, r)) {
		xe_reader_close(&e->reader);
		eustall_free(e);
		return;
	}
	*self = e;
}

/* With the reader's lock. */
static bool stream_enable(struct xe_stream *s)
{
	if (ioctl(s->fd, STREAM_ENABLE_CALL, 0))
		return false;
	s->enabled = true;
	s->emptied_ns = s->read_ns = af_now_ns();
	if (!s->rows->nr_rows && !s->rows->zero_rows && !s->dropped)
		s->since_ns = s->read_ns;
	return true;
}

static void stream_switch(struct eustall *e, struct xe_stream *s, bool on)
{
	xe_reader_lock(&e->reader);
	if (s->fd >= 0 && s->enabled && !on) {
		xe_stream_read(&e->reader, s);
		ioctl(s->fd, STREAM_DISABLE_CALL, 0);
		s->enabled = false;
	} else if (s->fd >= 0 && !s->enabled && on && !stream_enable(s)) {
		s->error = errno;
		close(s->fd);
		s->fd = -1;
	}
	xe_reader_unlock(&e->reader);
}

/* Ended by a reset of the GPU, and to be tried again now. */
static bool stream_is_due(struct eustall *e, struct xe_stream *s, uint64_t now)
{
	xe_reader_lock(&e->reader);
	bool ended = s->fd < 0 && s->error == ENODEV;
	xe_reader_unlock(&e->reader);
	if (!ended || s->nr_tries >= TRIES_MOST || now - s->tried_ns < RETRY_NS)
		return false;
	s->tried_ns = now;
	s->nr_tries++;
	return true;
}

/* After a reset the stream is dead, and a new one can be had soon. */
static void stream_reopen(struct eustall *e, struct xe_stream *s, uint64_t now)
{
	if (af_control_state(e->r) != AF_SESSION_ON || !stream_is_due(e, s, now))
		return;
	int fd = xe_stream_open(s->card, s->gt, s->period_cycles);
	if (fd < 0)
		return;
	xe_reader_lock(&e->reader);
	s->fd = fd;
	s->error = 0;
	s->nr_tries = 0;
	s->nr_reopens++;
	xe_reader_unlock(&e->reader);
}

/* Take what was read since the last window, and write it. */
static void stream_write(struct eustall *e, struct xe_stream *s)
{
	struct af_xe_window w = {.device = s->device, .period_cycles = s->period_cycles};

	xe_reader_lock(&e->reader);
	bool any = s->rows->nr_rows || s->rows->zero_rows || s->dropped;
	w.start_ns = s->since_ns;
	w.end_ns = s->read_ns;
	w.dropped = s->dropped;
	if (any) {
		struct af_xe_rows *taken = s->rows;
		s->rows = s->spare;
		s->spare = taken;
		s->nr_dropped += s->dropped;
		s->dropped = 0;
	}
	if (s->emptied_ns > s->since_ns + LATE_NS)
		s->since_ns = s->emptied_ns - LATE_NS;
	xe_reader_unlock(&e->reader);
	if (!any)
		return;
	w.rows = s->spare;
	af_xe_window_write(&e->writer, &w);
	af_xe_rows_empty(s->spare);
}

static void windows_write(struct eustall *e, uint64_t now)
{
	e->written_ns = now;
	af_xe_writer_define(&e->writer, &e->cards);
	for (uint32_t i = 0; i < e->nr; i++)
		stream_write(e, &e->streams[i]);
	xe_reader_wake(&e->reader);
}

static void streams_switch(struct eustall *e)
{
	bool on = af_control_state(e->r) == AF_SESSION_ON;

	for (uint32_t i = 0; i < e->nr; i++)
		stream_switch(e, &e->streams[i], on);
}

static void eustall_begin(void *self)
{
	struct eustall *e = self;

	e->began = true;
	streams_switch(e);
}

/*
 * The reading thread begins here, and not earlier: privileges are a thread's own, and those that
 * the recorder had at first are dropped by now. Where there can be no thread we read ourselves.
 */
static void streams_read(struct eustall *e)
{
	if (e->reader.runs || !xe_reader_start(&e->reader))
		return;
	for (uint32_t i = 0; i < e->nr; i++)
		for (int k = 0; k < CHUNKS_AT_ONCE && xe_stream_read(&e->reader, &e->streams[i]);
		     k++)
			;
}

static void eustall_pump(void *self)
{
	struct eustall *e = self;
	uint64_t now = af_now_ns();

	if (e->stopped || !e->began)
		return;
	for (uint32_t i = 0; i < e->nr; i++)
		stream_reopen(e, &e->streams[i], now);
	streams_switch(e);
	streams_read(e);
	if (now - e->written_ns >= WINDOW_NS)
		windows_write(e, now);
}

static void end_note(struct eustall *e)
{
	struct af_buf b = {0};
	uint64_t rows = 0, dropped = 0, cut = 0, resets = 0, reopens = 0;

	for (uint32_t i = 0; i < e->nr; i++) {
		const struct xe_stream *s = &e->streams[i];
		rows += s->nr_rows;
		dropped += s->nr_dropped;
		cut += s->nr_cut;
		resets += s->nr_resets;
		reopens += s->nr_reopens;
		if (s->error && s->error != ENODEV)
			af_buf_fmt(&b, "GT %u ended: %s; ", s->gt->id, strerror(s->error));
	}
	af_buf_fmt(&b, "%llu rows, %llu samples", (unsigned long long)rows,
	           (unsigned long long)e->writer.nr_samples);
	if (dropped)
		af_buf_fmt(&b, "; rows were dropped %llu times, most by the GPU with a full buffer",
		           (unsigned long long)dropped);
	if (cut)
		af_buf_fmt(&b, "; %llu reads ended within a row", (unsigned long long)cut);
	if (resets)
		af_buf_fmt(&b, "; the GPU was reset %llu times, and opened again %llu times",
		           (unsigned long long)resets, (unsigned long long)reopens);
	af_session_note(e->r, "collector.xe.rows", "%s", b.data);
	af_buf_free(&b);
}

static void eustall_stop(void *self)
{
	struct eustall *e = self;

	if (e->stopped)
		return;
	e->stopped = true;
	xe_reader_stop(&e->reader);
	windows_write(e, af_now_ns());
	af_event_writer_close(&e->writer.to);
	end_note(e);
}

static void eustall_close(void *self)
{
	struct eustall *e = self;

	xe_reader_stop(&e->reader);
	af_event_writer_close(&e->writer.to);
	xe_reader_close(&e->reader);
	eustall_free(e);
}

const struct af_devices_ops af_xe_eustall = {
    .open = eustall_open,
    .begin = eustall_begin,
    .pump = eustall_pump,
    .stop = eustall_stop,
    .close = eustall_close,
};

bool af_xe_is_there(void)
{
	struct af_xe_cards cards;
	bool any = false;

	cards_find(&cards);
	for (uint32_t i = 0; i < cards.nr; i++)
		any |= !cards.all[i].error && cards.all[i].driver == AF_XE_DRIVER_XE;
	af_xe_cards_free(&cards);
	return any;
}
