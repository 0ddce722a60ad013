#include "collect/zet/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/write.h"
#include "collect/session/control.h"
#include "collect/session/session.h"
#include "collect/xe/eustall.h"
#include "collect/xe/window.h"
#include "collect/zet/private.h"

enum {
	READY_MS = 3000, /* the program waits so long for the driver */
	LAST_MS = 3000,  /* so long the driver may take to give what is left */
	GRACE_MS = 500,
	WAIT_MS = 20,
	FAILURES_MOST = 8, /* that are named: a device may fail again and again */
	MS_PER_S = 1000,
	IP_MAJOR_BIT = 22,
	IP_MINOR_BIT = 14,
	IP_MASK = 0xff,
};

/* A device that is sampled; its number in the trace is its place in stall.cards, from 1. */
struct sampled {
	struct zet_stream stream;
	struct af_xe_rows rows; /* of the window that is coming */
};

struct stall {
	struct af_recording *r;
	struct zet_child child;
	struct zet_device known[ZET_DEVICES_MOST]; /* as the child numbers them, from 1 */
	uint32_t nr_known;
	struct af_xe_cards cards;
	struct sampled *sampled; /* beside them */
	uint32_t
	    of[ZET_DEVICES_MOST + 1]; /* by number of the child: in the trace, 0: not sampled */
	struct af_xe_writer writer;
	struct zet_wanted wanted;
	uint32_t missing;
	bool ready, on, ended;
	uint64_t nr_rows, nr_dropped, nr_cut;
	struct af_buf failed; /* "GPU …: why; " */
	uint32_t nr_failures;
	bool quiet; /* failures are notes: the user has a line already */
};

static const struct zet_device *known_device(const struct stall *s, uint32_t device)
{
	return device && device <= s->nr_known ? &s->known[device - 1] : NULL;
}

/* The PCI address of a part is the whole's. */
static const char *pci_of(const struct stall *s, const struct zet_device *d)
{
	const struct zet_device *whole = known_device(s, d->parent);

	return !*d->pci && whole ? whole->pci : d->pci;
}

static void failure_add(struct stall *s, const char *name, const char *why)
{
	char line[700];

	if (s->nr_failures++ >= FAILURES_MOST)
		return;
	af_buf_fmt(&s->failed, "%s%s%s%s", s->failed.len ? "; " : "", name, *name ? ": " : "", why);
	if (!s->r->options->tell || s->quiet)
		return;
	if (*name)
		snprintf(line, sizeof line, "%s is not sampled by Level Zero: %s", name, why);
	else
		snprintf(line, sizeof line, "Level Zero samples %s: %s",
		         s->nr_rows ? "nothing more" : "no GPU", why);
	af_terminal_text(line);
	s->r->options->tell(line);
}

static void failed_take(struct stall *s, const struct zet_failed *f)
{
	const struct zet_device *d = known_device(s, f->device);
	char why[500];

	zet_why(f, s->missing, why, sizeof why);
	failure_add(s, d ? d->name : "", why);
}

static void card_describe(const struct stall *s, const struct zet_device *d, uint32_t layout,
                          struct af_xe_card *card)
{
	*card = (struct af_xe_card){.fd = -1,
	                            .device_id = d->id,
	                            .nr_gts = 1,
	                            .max_mhz = d->clock_mhz,
	                            .layout = (enum af_xe_layout)layout};
	card->gts[0].nr_xecores = d->processors;
	card->gts[0].major = d->ip_version >> IP_MAJOR_BIT;
	card->gts[0].minor = d->ip_version >> IP_MINOR_BIT & IP_MASK;
	snprintf(card->pci, sizeof card->pci, "%s", pci_of(s, d));
	snprintf(card->node, sizeof card->node, "no PCI address");
	snprintf(card->driver_is, sizeof card->driver_is, "Level Zero, %.45s", d->name);
}

static void stream_take(struct stall *s, const struct zet_stream *stream)
{
	const struct zet_device *d = known_device(s, stream->device);
	uint32_t had = s->cards.cap;

	if (!d || s->of[stream->device] || stream->layout < AF_XE_PVC ||
	    stream->layout > AF_XE_XE3P)
		return;
	AF_ROOM(s->sampled, s->cards.nr + 1u, had);
	AF_GROW(s->cards.all, s->cards.nr, s->cards.cap);
	card_describe(s, d, stream->layout, &s->cards.all[s->cards.nr]);
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
	if (!s->writer.is_open && !af_xe_writer_open(&s->writer, s->r))
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

static void message_take(struct stall *s, const struct zet_head *head)
{
	const void *payload = head + 1;

	switch (head->kind) {
	case ZET_MISSING:
		s->missing = ((const struct zet_missing *)payload)->flags;
		break;
	case ZET_FAILED:
		failed_take(s, payload);
		break;
	case ZET_DEVICE:
		if (s->nr_known < ZET_DEVICES_MOST)
			s->known[s->nr_known++] = *(const struct zet_device *)payload;
		break;
	case ZET_STREAM:
		stream_take(s, payload);
		break;
	case ZET_READY:
		s->ready = true;
		break;
	case ZET_SAMPLES:
		samples_take(s, payload);
		break;
	case ZET_WINDOW:
		window_take(s, payload);
		break;
	default:
		break;
	}
}

/* False: there will be no more messages. */
static bool messages_take(struct stall *s, int wait_ms)
{
	const struct zet_head *head;
	bool more = zet_child_read(&s->child, wait_ms);

	while ((head = zet_child_next(&s->child)))
		message_take(s, head);
	return more && !s->child.ended;
}

/* The child has ended, or must: say how. */
static void child_end(struct stall *s)
{
	char why[400];

	if (s->ended)
		return;
	s->ended = true;
	zet_child_end(&s->child, s->child.ended ? GRACE_MS : 0);
	zet_child_why(&s->child, why, sizeof why);
	if (*why)
		failure_add(s, "", why);
	else if (s->missing & ZET_NO_LOADER) {
		zet_why_missing(s->missing, why, sizeof why);
		failure_add(s, "", why);
	}
}

static void stall_free(struct stall *s)
{
	for (uint32_t i = 0; i < s->cards.nr; i++)
		af_xe_rows_free(&s->sampled[i].rows);
	free(s->sampled);
	free(s->cards.all);
	af_buf_free(&s->failed);
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
	if (s->failed.len)
		af_buf_fmt(&b, "%s%s", b.len ? "; " : "", s->failed.data);
	if (!b.len && s->ready)
		af_buf_str(&b, "no GPU has the metric group EuStallSampling");
	af_session_note(s->r, "collector.zet", "%s",
	                b.len ? b.data : "the driver is not ready yet");
	af_buf_free(&b);
	af_buf_free(&s->failed);
}

static struct stall *stall_start(struct af_recording *r, bool quiet)
{
	struct stall *s = af_xcalloc(1, sizeof *s);
	struct af_err err = {0};

	s->r = r;
	s->quiet = quiet;
	s->wanted.samples_second = r->options->device_samples_second;
	if (zet_child_start(&s->child, zet_stall_run, &s->wanted, ZET_SECONDS, &err)) {
		af_session_note(r, "collector.zet", "%s", err.msg);
		stall_free(s);
		return NULL;
	}
	for (int ms = 0; ms < READY_MS && !s->ready && messages_take(s, WAIT_MS); ms += WAIT_MS)
		;
	if (s->child.ended)
		child_end(s);
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
	bool on = af_control_state(s->r) == AF_SESSION_ON;

	if (s->ended)
		return;
	if (on != s->on)
		af_write_all(s->child.to, on ? "1" : "0", 1);
	s->on = on;
	if (!messages_take(s, 0))
		child_end(s);
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
	if (s->failed.len)
		af_buf_fmt(&b, "; %s", s->failed.data);
	af_session_note(s->r, "collector.zet.rows", "%s", b.data);
	af_buf_free(&b);
}

static void stall_stop(void *self)
{
	struct stall *s = self;

	if (!s->ended) {
		close(s->child.to);
		s->child.to = -1;
		/* A driver that did not come up has nothing. */
		for (int ms = 0; s->ready && ms < LAST_MS && messages_take(s, WAIT_MS);
		     ms += WAIT_MS)
			;
		child_end(s);
	}
	af_xe_writer_close(&s->writer);
	if (s->cards.nr || s->failed.len)
		end_note(s);
}

static void stall_close(void *self)
{
	struct stall *s = self;

	child_end(s);
	af_xe_writer_close(&s->writer);
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
