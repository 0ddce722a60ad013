#include "collect/zet/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/write.h"
#include "collect/session/control.h"
#include "collect/session/session.h"

enum {
	READY_MS = 3000, /* the program waits so long for the driver */
	LAST_MS = 3000,  /* so long the driver may take to give what is left */
	GRACE_MS = 500,
	WAIT_MS = 20,
	FAILURES_MOST = 8, /* that are named: a device may fail again and again */
	IP_MAJOR_BIT = 22,
	IP_MINOR_BIT = 14,
	IP_MASK = 0xff,
};

const struct zet_device *zet_source_device(const struct zet_source *s, uint32_t device)
{
	return device && device <= s->nr_known ? &s->known[device - 1] : NULL;
}

/* The PCI address of a part is the whole's. */
static const char *pci_of(const struct zet_source *s, const struct zet_device *d)
{
	const struct zet_device *whole = zet_source_device(s, d->parent);

	return !*d->pci && whole ? whole->pci : d->pci;
}

void zet_source_failed(struct zet_source *s, const char *name, const char *why)
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
		         s->got_any ? "nothing more" : "no GPU", why);
	af_terminal_text(line);
	s->r->options->tell(line);
}

static void failed_take(struct zet_source *s, const struct zet_failed *f)
{
	const struct zet_device *d = zet_source_device(s, f->device);
	char why[500];

	zet_why(f, s->missing, why, sizeof why);
	zet_source_failed(s, d ? d->name : "", why);
}

void zet_source_card(const struct zet_source *s, const struct zet_device *d, uint32_t layout,
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

static void message_take(struct zet_source *s, const struct zet_head *head)
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
	case ZET_READY:
		s->ready = true;
		break;
	default:
		s->take(s->user, head);
		break;
	}
}

/* False: there will be no more messages. */
static bool messages_take(struct zet_source *s, int wait_ms)
{
	const struct zet_head *head;
	bool more = zet_child_read(&s->child, wait_ms);

	while ((head = zet_child_next(&s->child)))
		message_take(s, head);
	return more && !s->child.ended;
}

/* The child has ended, or must: say how. */
static void child_end(struct zet_source *s)
{
	char why[400];

	if (s->ended)
		return;
	s->ended = true;
	zet_child_end(&s->child, s->child.ended ? GRACE_MS : 0);
	zet_child_why(&s->child, why, sizeof why);
	if (*why)
		zet_source_failed(s, "", why);
	else if (s->missing & ZET_NO_LOADER) {
		zet_why_missing(s->missing, why, sizeof why);
		zet_source_failed(s, "", why);
	}
}

bool zet_source_start(struct zet_source *s, void (*run)(struct zet_api *z, void *arg), void *arg)
{
	struct af_err err = {0};

	if (zet_child_start(&s->child, run, arg, ZET_SECONDS, &err)) {
		af_session_note(s->r, s->key, "%s", err.msg);
		return false;
	}
	for (int ms = 0; ms < READY_MS && !s->ready && messages_take(s, WAIT_MS); ms += WAIT_MS)
		;
	if (s->child.ended)
		child_end(s);
	return true;
}

void zet_source_pump(struct zet_source *s)
{
	bool on = af_control_state(s->r) == AF_SESSION_ON;

	if (s->ended)
		return;
	if (on != s->on)
		af_write_all(s->child.to, on ? "1" : "0", 1);
	s->on = on;
	if (!messages_take(s, 0))
		child_end(s);
}

void zet_source_stop(struct zet_source *s)
{
	if (s->ended)
		return;
	close(s->child.to);
	s->child.to = -1;
	/* A driver that did not come up has nothing. */
	for (int ms = 0; s->ready && ms < LAST_MS && messages_take(s, WAIT_MS); ms += WAIT_MS)
		;
	child_end(s);
}

void zet_source_close(struct zet_source *s)
{
	child_end(s);
	af_buf_free(&s->failed);
}
