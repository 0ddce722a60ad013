#include "collect/telemetry/telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/session/session.h"
#include "collect/telemetry/private.h"

enum { PERIOD_NS = 100000000, MS_MOST = 60000, NS_PER_MS = 1000000 };

static const struct telemetry_ops *const sources[] = {
    &telemetry_system,  &telemetry_memory,     &telemetry_pressure, &telemetry_disk,
    &telemetry_network, &telemetry_lustre,     &telemetry_rapl,     &telemetry_gpu,
    &telemetry_nvml,    &telemetry_nvml_links,
};
enum { SOURCES = sizeof sources / sizeof *sources };

_Static_assert((int)SOURCES <= (int)AF_TELEMETRY_SOURCES, "wanted has a place for each");

struct telemetry {
	struct af_recording *r;
	struct telemetry_source *all[SOURCES]; /* NULL: not wanted, or nothing is there */
	bool stopped;
};

const char *af_telemetry_name(unsigned i, const char **summary)
{
	if (i >= SOURCES)
		return NULL;
	if (summary)
		*summary = sources[i]->summary;
	return sources[i]->name;
}

static int name_fail(const char *word, struct af_err *err)
{
	struct af_buf b = {0};

	for (int i = 0; i < SOURCES; i++)
		af_buf_fmt(&b, "%s, ", sources[i]->name);
	af_fail_plain(err, -EINVAL,
	              "--telemetry takes NAME or NAME=MS, 1 to %u ms, with commas; names are "
	              "%sand all, not \"%s\"",
	              (unsigned)MS_MOST, b.data, word);
	af_buf_free(&b);
	return -EINVAL;
}

/* "", "=20", "=20ms"; 0: it is none of these. */
static uint64_t period_of(const char *text)
{
	char *end;

	if (!*text)
		return PERIOD_NS;
	if (*text++ != '=' || *text < '1' || *text > '9')
		return 0;
	unsigned long ms = strtoul(text, &end, 10);
	if (!strcmp(end, "ms"))
		end += 2;
	return *end || ms > MS_MOST ? 0 : (uint64_t)ms * NS_PER_MS;
}

static int word_take(const char *word, struct af_telemetry_wanted *wanted, struct af_err *err)
{
	size_t len = strcspn(word, "=");
	uint64_t period_ns = period_of(word + len);
	bool all = len == 3 && !strncmp(word, "all", len), any = false;

	for (int i = 0; i < SOURCES && period_ns; i++) {
		bool is = strlen(sources[i]->name) == len && !strncmp(sources[i]->name, word, len);
		if (is || (all && !wanted->named[i]))
			wanted->period_ns[i] =
			    word[len] || !sources[i]->period_ns ? period_ns : sources[i]->period_ns;
		wanted->named[i] |= is;
		any |= is || all;
	}
	return any ? 0 : name_fail(word, err);
}

int af_telemetry_parse(const char *list, struct af_telemetry_wanted *wanted, struct af_err *err)
{
	char word[64];

	for (const char *at = list; at; at = *at ? at + 1 : NULL) {
		size_t len = strcspn(at, ",");
		snprintf(word, sizeof word, "%.*s",
		         (int)(len < sizeof word ? len : sizeof word - 1), at);
		int rc = word_take(word, wanted, err);
		if (rc)
			return rc;
		at += len;
	}
	return 0;
}

int af_telemetry_probe(unsigned i, char *words, size_t size)
{
	struct telemetry_source s;

	if (i >= SOURCES)
		return -ENOENT;
	telemetry_source_open(&s, sources[i], &telemetry_roots_usual);
	bool there = s.nr;
	if (there)
		snprintf(words, size, "%u counters: %s%s%s%s%s", s.nr, s.all[0].name,
		         s.nr > 1 ? ", " : "", s.nr > 1 ? s.all[1].name : "", s.nr > 2 ? ", …" : "",
		         *s.why ? "; " : "");
	size_t used = there ? strlen(words) : 0;
	if (*s.why)
		snprintf(words + used, size - used, "%s", s.why);
	telemetry_source_free(&s);
	return there ? 0 : -ENOENT;
}

static void device_write(struct af_event_writer *w, const struct telemetry_device *d)
{
	struct af_ev_device ev = {.device = d->number, .type = AF_DEVICE_GPU};
	struct af_tail tail[] = {{d->name, (uint32_t)strlen(d->name), 0},
	                         {d->vendor, (uint32_t)strlen(d->vendor), 0},
	                         {d->driver, (uint32_t)strlen(d->driver), 0}};

	af_stream_put_tail(&w->stream, AF_KIND_DEVICE, af_now_ns(), &ev, sizeof ev, tail, 3);
	if (*d->pci)
		af_event_writer_note(w, d->number, "pci", d->pci);
}

/* Most are of the time since the last tick; some are not read at each. */
static void amounts_write(struct telemetry_source *s)
{
	struct telemetry_reading *now = &s->now;
	struct af_source_value values[TELEMETRY_VALUES];

	while (now->nr_amounts) {
		uint64_t since_ns = now->since_ns[0];
		uint32_t nr = 0, left = 0;
		for (uint32_t i = 0; i < now->nr_amounts; i++) {
			if (now->since_ns[i] == since_ns) {
				values[nr++] = now->amounts[i];
				continue;
			}
			now->since_ns[left] = now->since_ns[i];
			now->amounts[left++] = now->amounts[i];
		}
		now->nr_amounts = left;
		af_reading_write(&s->writer, &s->known, now->time_ns, now->time_ns - since_ns,
		                 values, nr);
	}
}

static void source_tick(void *arg, bool again)
{
	struct telemetry_source *s = arg;
	struct telemetry_reading *now = &s->now;

	if (af_event_writer_is_new(&s->writer)) {
		for (uint32_t i = 0; i < s->nr_devices; i++)
			device_write(&s->writer, &s->devices[i]);
		af_source_counters_define(&s->writer, &s->known);
	}
	now->nr_levels = now->nr_amounts = 0;
	now->again = again;
	now->time_ns = af_now_ns();
	s->ops->read(s, now);
	af_reading_write(&s->writer, &s->known, now->time_ns, 0, now->levels, now->nr_levels);
	amounts_write(s);
}

static void source_missed(void *arg, uint64_t count)
{
	struct telemetry_source *s = arg;

	af_readings_lost(&s->writer, count);
}

static void source_note(struct telemetry *t, const struct telemetry_source *s, const char *text)
{
	char key[64];

	snprintf(key, sizeof key, "telemetry.%s", s->ops->name);
	af_session_note(t->r, key, "%s", text);
}

static struct telemetry_source *source_drop(struct telemetry_source *s)
{
	af_heartbeat_close(&s->beat);
	telemetry_source_free(s);
	free(s);
	return NULL;
}

/* A source without anything is reported where somebody named it. */
static struct telemetry_source *source_start(struct telemetry *t, const struct telemetry_ops *ops,
                                             uint64_t period_ns, bool named)
{
	struct telemetry_source *s = af_xcalloc(1, sizeof *s);

	telemetry_source_open(s, ops, &telemetry_roots_usual);
	s->beat = (struct af_heartbeat){.r = t->r,
	                                .period_ns = period_ns,
	                                .tick = source_tick,
	                                .missed = source_missed,
	                                .arg = s,
	                                .wake = -1};
	if (!s->nr) {
		if (named)
			source_note(t, s, s->why);
		return source_drop(s);
	}
	if (!af_heartbeat_open(&s->beat) || !af_event_writer_open(&s->writer, t->r)) {
		source_note(t, s, "not read: no descriptor or no stream is left");
		return source_drop(s);
	}
	s->writer.beside = true;
	af_source_counters_number(&s->writer, &s->known);
	return s;
}

static void telemetry_open(void **self, struct af_recording *r)
{
	const struct af_telemetry_wanted *wanted = r->options->telemetry;
	struct telemetry *t = af_xcalloc(1, sizeof *t);

	t->r = r;
	for (int i = 0; i < SOURCES; i++)
		if (wanted->period_ns[i])
			t->all[i] =
			    source_start(t, sources[i], wanted->period_ns[i], wanted->named[i]);
	*self = t;
}

static void telemetry_begin(void *self)
{
	struct telemetry *t = self;

	for (int i = 0; i < SOURCES; i++)
		if (t->all[i])
			af_heartbeat_begin(&t->all[i]->beat);
}

static void telemetry_pump(void *self)
{
	struct telemetry *t = self;

	for (int i = 0; i < SOURCES; i++)
		if (t->all[i])
			af_heartbeat_pump(&t->all[i]->beat);
}

static void end_note(struct telemetry *t, const struct telemetry_source *s)
{
	struct af_buf b = {0};

	af_buf_fmt(&b, "%u counters, every %g ms, read %llu times", s->nr,
	           (double)s->beat.period_ns / NS_PER_MS, (unsigned long long)s->beat.nr_ticks);
	if (s->beat.nr_missed)
		af_buf_fmt(&b, ", and %llu times not in time",
		           (unsigned long long)s->beat.nr_missed);
	if (s->nr_failed)
		af_buf_fmt(&b, "; %llu values could not be had, first: %s",
		           (unsigned long long)s->nr_failed, s->failed);
	if (*s->why)
		af_buf_fmt(&b, "; %s", s->why);
	source_note(t, s, b.data);
	af_buf_free(&b);
}

static void telemetry_stop(void *self)
{
	struct telemetry *t = self;

	for (int i = 0; i < SOURCES && !t->stopped; i++) {
		if (!t->all[i])
			continue;
		af_heartbeat_stop(&t->all[i]->beat);
		af_event_writer_close(&t->all[i]->writer);
		end_note(t, t->all[i]);
	}
	t->stopped = true;
}

static void telemetry_close(void *self)
{
	struct telemetry *t = self;

	for (int i = 0; i < SOURCES; i++) {
		if (!t->all[i])
			continue;
		af_heartbeat_close(&t->all[i]->beat);
		af_event_writer_close(&t->all[i]->writer);
		source_drop(t->all[i]);
	}
	free(t);
}

const struct af_devices_ops af_telemetry = {
    .open = telemetry_open,
    .begin = telemetry_begin,
    .pump = telemetry_pump,
    .stop = telemetry_stop,
    .close = telemetry_close,
};
