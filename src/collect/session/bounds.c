#include "collect/session/bounds.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/err.h"
#include "collect/session/control.h"
#include "collect/session/session.h"
#include "collect/session/target.h"

enum {
	LAST_MS = 150, /* for what was running, and for a thread that has to get a CPU first */
	SILENT_MS = 100,
	WAIT_MS = 200,
};

/*
 * The samplers and hooks see the session's state. That no tick comes in vain is a kindness: where
 * the recorder holds the event, it is switched off, also in threads that inherited it.
 */
static void events_switch(struct af_recording *r, bool on)
{
	for (uint32_t i = 0; i < r->clients.nr; i++)
		if (r->clients.list[i].fd >= 0)
			ioctl(r->clients.list[i].fd,
			      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static void gap_end(struct af_recording *r)
{
	struct af_bounds *b = &r->bounds;

	if (!b->off_since_ns)
		return;
	uint64_t now = af_now_ns(), gap_ns = now - b->off_since_ns;
	b->off_since_ns = 0;
	b->off_ns += gap_ns;
	af_stream_put(&r->stream, lost, now, .reason = AF_LOST_PAUSED, .count = gap_ns);
}

void af_bounds_begin(struct af_recording *r)
{
	r->bounds = (struct af_bounds){.begin_ns = af_now_ns()};
	if (r->options->delay_ns || r->options->steps.first)
		af_bounds_pause(r);
}

int af_bounds_pause(struct af_recording *r)
{
	if (af_control_state(r) == AF_SESSION_OVER)
		return -EALREADY;
	if (af_control_state(r) == AF_SESSION_PAUSED)
		return 0;
	af_control_put_state(r, AF_SESSION_PAUSED);
	r->bounds.off_since_ns = af_now_ns();
	events_switch(r, false);
	af_watcher_pump(r); /* it stops now, not at its next turn */
	af_devices_pump(r);
	return 0;
}

int af_bounds_resume(struct af_recording *r)
{
	if (af_control_state(r) == AF_SESSION_OVER || r->bounds.last_ns)
		return -EALREADY;
	if (af_control_state(r) == AF_SESSION_ON)
		return 0;
	af_control_put_state(r, AF_SESSION_ON);
	gap_end(r);
	events_switch(r, true);
	af_watcher_pump(r);
	af_devices_pump(r);
	return 0;
}

void af_bounds_stop(struct af_recording *r, const char *why)
{
	if (af_control_state(r) == AF_SESSION_OVER)
		return;
	if (!r->bounds.off_since_ns)
		r->bounds.off_since_ns = af_now_ns();
	af_control_put_state(r, AF_SESSION_OVER);
	af_devices_pump(r);
	af_clients_release(&r->clients);
	if (!r->bounds.last_ns)
		af_session_note(r, "stopped", "%s", why);
}

void af_bounds_last(struct af_recording *r, uint64_t now, const char *why)
{
	struct af_bounds *b = &r->bounds;
	uint64_t wait_ns =
	    r->control->nr_flushers ? (AF_SESSION_FLUSH_MS + LAST_MS) * 1000000ull : 0;

	if (wait_ns && !b->last_ns) {
		af_bounds_pause(r);
		af_session_note(r, "stopped", "%s", why);
		b->last_ns = now;
	}
	if (now - b->last_ns >= wait_ns)
		af_bounds_stop(r, why);
}

void af_bounds_end(struct af_recording *r)
{
	gap_end(r);
}

uint64_t af_bounds_bytes(const struct af_recording *r)
{
	return r->drain.segments ? r->segments.bytes : r->drain.bytes;
}

/*
 * The trace's size when nothing more is recorded, without names: the rings are still to be written,
 * and a thread's may hold little for a long time.
 */
static uint64_t bytes_to_come(const struct af_recording *r)
{
	off_t own = lseek(r->stream.fd, 0, SEEK_CUR);

	return af_bounds_bytes(r) + af_drain_held(&r->drain) + (own > 0 ? (uint64_t)own : 0) +
	       r->stream.used;
}

void af_bounds_poll(struct af_recording *r)
{
	const struct af_session_options *o = r->options;
	struct af_bounds *b = &r->bounds;
	uint64_t now = af_now_ns();
	char why[80];

	if (af_control_state(r) == AF_SESSION_OVER)
		return;
	if (o->delay_ns && !b->delay_over && now - b->begin_ns >= o->delay_ns) {
		b->delay_over = true;
		af_bounds_resume(r);
	}
	/* Processes may have begun meanwhile. */
	if (af_control_state(r) == AF_SESSION_PAUSED)
		events_switch(r, false);
	if (o->duration_ns && now - b->begin_ns >= o->delay_ns + o->duration_ns)
		af_bounds_last(r, now, "after --duration");
	if (o->max_bytes && bytes_to_come(r) >= o->max_bytes) {
		snprintf(why, sizeof why, "the trace reached --max-size (%llu bytes)",
		         (unsigned long long)o->max_bytes);
		af_bounds_stop(r, why);
	}
}

void af_hurry_begin(struct af_recording *r)
{
	if (!r->hurry.since_ns)
		r->hurry.since_ns = af_now_ns();
}

bool af_hurry_is_over(struct af_recording *r)
{
	struct af_hurry *h = &r->hurry;
	uint64_t now = af_now_ns();
	char why[80];

	if (!h->since_ns || !r->options->grace_ns || !r->child ||
	    now - h->since_ns < r->options->grace_ns)
		return false;
	if (af_control_state(r) != AF_SESSION_OVER) {
		snprintf(why, sizeof why, "%.4g s after SIGTERM (--grace)",
		         (double)r->options->grace_ns / 1e9);
		af_bounds_last(r, now, why);
	}
	if (af_control_state(r) != AF_SESSION_OVER)
		return false;
	if (!h->over_ns)
		h->over_ns = now;
	h->left = now - h->over_ns >= SILENT_MS * UINT64_C(1000000);
	return h->left;
}

void af_hurry_leave(struct af_recording *r, const struct af_group *group, int signals,
                    const sigset_t *before)
{
	r->hurry.group = *group;
	r->hurry.signals = signals;
	r->hurry.before = *before;
}

void af_hurry_wait(struct af_recording *r)
{
	struct af_hurry *h = &r->hurry;
	struct pollfd fd = {.fd = h->signals, .events = POLLIN};

	for (;;) {
		pid_t pid = waitpid(r->child, &r->status, WNOHANG);
		if (pid == r->child || (pid < 0 && errno != EINTR))
			break;
		poll(&fd, 1, WAIT_MS);
		af_target_signals(r, &h->group, h->signals);
	}
	af_group_leave(&h->group);
	close(h->signals);
	h->signals = -1;
	sigprocmask(SIG_SETMASK, &h->before, NULL);
}

int af_steps_parse(struct af_steps_wanted *w, const char *text, struct af_err *err)
{
	const char *at = text;
	bool fits = af_digits_take(&at, &w->first);

	w->last = w->first;
	if (fits && *at == ':') {
		at++;
		fits = af_digits_take(&at, &w->last);
	}
	*w->name = 0;
	if (fits && *at == '@') {
		size_t len = strlen(++at);
		fits = len && len < sizeof w->name;
		snprintf(w->name, sizeof w->name, "%s", at);
		at += len;
	}
	if (fits && !*at && w->first && w->last >= w->first)
		return 0;
	*w = (struct af_steps_wanted){.first = 0};
	return af_fail_plain(err, -EINVAL,
	                     "--steps takes FIRST:LAST or FIRST:LAST@NAME, counted from 1, as "
	                     "100:110@step, not \"%s\"",
	                     text);
}

void af_steps_take(struct af_recording *r, struct af_client *g, bool begins)
{
	if (!r->options->steps.first || g->in_steps == begins)
		return;
	g->in_steps = begins;
	r->steps.nr_in += begins ? 1 : -1u;
	if (begins) {
		r->steps.began = true;
		af_bounds_resume(r);
	} else if (!r->steps.nr_in) {
		af_bounds_pause(r);
	}
}

static const char *wanted_text(const struct af_recording *r, char *text, size_t size)
{
	const struct af_steps_wanted *w = &r->options->steps;

	snprintf(text, size, "%llu to %llu%s%s", (unsigned long long)w->first,
	         (unsigned long long)w->last, *w->name ? " of " : "", w->name);
	return text;
}

void af_steps_note(struct af_recording *r)
{
	char text[AF_STEPS_NAME + 64];

	if (r->options->steps.first)
		af_session_note(r, "steps", "%s; the program had %llu",
		                wanted_text(r, text, sizeof text),
		                (unsigned long long)r->control->nr_steps);
}

bool af_steps_missed(const struct af_recording *r, char *text, size_t size)
{
	const struct af_steps_wanted *w = &r->options->steps;
	unsigned long long nr = r->control->nr_steps;

	if (!w->first || r->steps.began)
		return false;
	if (nr)
		snprintf(text, size,
		         "--steps: the program had %llu steps%s%s, and recording was to begin "
		         "with number %llu",
		         nr, *w->name ? " " : "", w->name, (unsigned long long)w->first);
	else
		snprintf(
		    text, size,
		    "--steps: the program had no region, NVTX range or marker%s%s that could be a "
		    "step: mark its steps, as by aflame/region.h or in Python with "
		    "aflame.region(\"step\"), or "
		    "give the name of its ranges, --steps FIRST:LAST@NAME",
		    *w->name ? " named " : "", w->name);
	return true;
}
