#include "collect/telemetry/telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/disk/job.h"
#include "collect/session/session.h"
#include "collect/telemetry/claim.h"
#include "collect/telemetry/private.h"

enum {
	PERIOD_NS = 100000000,
	MS_MOST = 60000,
	NS_PER_MS = 1000000,
	PROCESSES_NS = 250000000, /* how often the recorded processes are listed */
	CLAIM_NS = 1000000000, /* how often a rank that waits looks whether the other has ended */
};

static const struct telemetry_ops *const sources[] = {
    &telemetry_system,  &telemetry_memory,     &telemetry_pressure, &telemetry_disk,
    &telemetry_network, &telemetry_lustre,     &telemetry_rapl,     &telemetry_gpu,
    &telemetry_nvml,    &telemetry_nvml_links, &telemetry_drm,
};
enum { SOURCES = sizeof sources / sizeof *sources };

_Static_assert((int)SOURCES <= (int)AF_TELEMETRY_SOURCES, "wanted has a place for each");
_Static_assert((int)SOURCES <= (int)AF_BEATS_MOST, "so has the heartbeat");

/* Sources that are read from the same time on. */
struct group {
	struct af_heartbeat heart;
	struct telemetry_source *all[SOURCES];
	uint32_t nr;
};

/* While another rank reads what is of the host, this one reads what is of its processes. */
struct telemetry {
	struct af_recording *r;
	struct group main, processes;
	struct telemetry_claim claim;
	uint64_t claim_ns; /* when it is looked at again */
	struct telemetry_processes list;
	uint64_t list_ns; /* when it is made again */
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
	bool there = s.nr || s.grows;
	if (s.grows)
		snprintf(words, size, "%s", sources[i]->summary);
	else if (there)
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

/* Definitions that the stream does not have yet. */
static void source_define(struct telemetry_source *s, uint32_t nr_devices, uint32_t nr)
{
	s->known.all = s->all;
	s->known.nr = s->nr;
	const struct af_source_counters more = {
	    .all = s->all + nr, .nr = s->nr - nr, .first = s->known.first + nr};

	for (uint32_t i = nr_devices; i < s->nr_devices; i++)
		device_write(&s->writer, &s->devices[i]);
	af_source_counters_define(&s->writer, &more);
}

static void source_tick(void *arg, bool again)
{
	struct telemetry_source *s = arg;
	struct telemetry_reading *now = &s->now;
	uint32_t nr_devices = s->nr_devices, nr = s->nr;

	if (s->ops->refresh)
		s->ops->refresh(s);
	if (af_event_writer_is_new(&s->writer))
		nr_devices = nr = 0;
	if (nr < s->nr)
		source_define(s, nr_devices, nr);
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

	af_readings_lost(&s->writer, AF_LOST_LATE, count);
}

static uint64_t source_takes(void *arg, uint64_t time_ns, bool again)
{
	const struct telemetry_source *s = arg;

	return s->ops->takes ? s->ops->takes(s, time_ns, again) : 0;
}

static void source_note(const struct telemetry *t, const struct telemetry_source *s,
                        const char *text)
{
	char key[64];

	snprintf(key, sizeof key, "telemetry.%s", s->ops->name);
	af_session_note(t->r, key, "%s", text);
}

/* A source without anything is reported where somebody named it. */
static bool source_open(const struct telemetry *t, struct telemetry_source *s, bool named)
{
	if (!s->nr && !s->grows) {
		if (named)
			source_note(t, s, s->why);
		return false;
	}
	if (!af_event_writer_open(&s->writer, t->r)) {
		source_note(t, s, "not read: no stream is left");
		return false;
	}
	s->writer.beside = true;
	s->known.nr = s->grows ? TELEMETRY_VALUES : s->nr; /* so many numbers are kept for it */
	af_source_counters_number(&s->writer, &s->known);
	s->known.nr = s->nr;
	return true;
}

static void source_free(struct telemetry_source *s)
{
	telemetry_source_free(s);
	free(s);
}

static void source_add(struct telemetry *t, struct group *g, int i)
{
	const struct af_telemetry_wanted *wanted = t->r->options->telemetry;
	struct telemetry_source *s = af_xcalloc(1, sizeof *s);

	telemetry_source_open(s, sources[i], &telemetry_roots_usual);
	s->processes = &t->list;
	s->beat = (struct af_beat){.period_ns = wanted->period_ns[i],
	                           .tick = source_tick,
	                           .missed = source_missed,
	                           .takes = source_takes,
	                           .arg = s};
	if (!source_open(t, s, wanted->named[i])) {
		source_free(s);
		return;
	}
	g->all[g->nr++] = s;
	g->heart.beats[g->heart.nr++] = &s->beat;
}

/* The sources that are wanted: those of processes, or those of the host. */
static void sources_add(struct telemetry *t, struct group *g, bool of_processes)
{
	for (int i = 0; i < SOURCES; i++)
		if (t->r->options->telemetry->period_ns[i] &&
		    sources[i]->of_processes == of_processes)
			source_add(t, g, i);
}

static void process_add(struct telemetry_processes *to, int pid)
{
	for (uint32_t i = 0; i < to->nr; i++)
		if (to->pids[i] == pid)
			return;
	if (pid > 0 && to->nr < TELEMETRY_PROCESSES)
		to->pids[to->nr++] = pid;
}

/* The program that the recorder started, those that it was given, and those that registered. */
static void processes_list(struct telemetry *t, uint64_t now)
{
	const struct af_watch_options *watch = &t->r->options->watch;
	static struct telemetry_processes found;

	if (now < t->list_ns)
		return;
	t->list_ns = now + PROCESSES_NS;
	found.nr = 0;
	process_add(&found, t->r->child);
	for (uint32_t i = 0; i < watch->nr_pids; i++)
		process_add(&found, (int)watch->pids[i]);
	for (uint32_t i = 0; i < t->r->clients.nr; i++)
		if (!t->r->clients.list[i].ended)
			process_add(&found, t->r->clients.list[i].pid);
	pthread_mutex_lock(&t->list.lock);
	if (found.nr != t->list.nr ||
	    memcmp(found.pids, t->list.pids, found.nr * sizeof *found.pids) != 0) {
		memcpy(t->list.pids, found.pids, found.nr * sizeof *found.pids);
		t->list.nr = found.nr;
		t->list.list++;
	}
	pthread_mutex_unlock(&t->list.lock);
}

static void telemetry_open(void **self, struct af_recording *r)
{
	const struct af_job_rank *job = r->options->job;
	struct telemetry *t = *self = af_xcalloc(1, sizeof *t);

	t->r = t->main.heart.r = t->processes.heart.r = r;
	t->claim_ns = af_now_ns() + CLAIM_NS;
	pthread_mutex_init(&t->list.lock, NULL);
	t->list.are_new = !r->options->watch.all && !r->options->watch.nr_pids;
	if (telemetry_claim_take(&t->claim, job)) {
		sources_add(t, &t->main, false);
		sources_add(t, &t->main, true);
		return;
	}
	af_session_note(r, "telemetry.others", "another rank of job %s reads the host's counters",
	                job->key);
	sources_add(t, &t->processes, true);
}

static void telemetry_begin(void *self)
{
	struct telemetry *t = self;

	af_heartbeat_begin(t->claim.held ? &t->main.heart : &t->processes.heart);
}

/* The rank that has read has ended: this one goes on. */
static void take_over(struct telemetry *t, uint64_t now)
{
	if (now < t->claim_ns || t->stopped)
		return;
	t->claim_ns = now + CLAIM_NS;
	if (!telemetry_claim_take(&t->claim, t->r->options->job))
		return;
	af_session_note(t->r, "telemetry.taken over",
	                "the rank that had read the host's counters has ended: read here from "
	                "%.1f s on",
	                (double)(now - t->r->start_ns) / 1e9);
	sources_add(t, &t->main, false);
	af_heartbeat_begin(&t->main.heart);
}

static void telemetry_pump(void *self)
{
	struct telemetry *t = self;
	uint64_t now = af_now_ns();

	processes_list(t, now);
	if (!t->claim.held)
		take_over(t, now);
	af_heartbeat_pump(&t->main.heart);
	af_heartbeat_pump(&t->processes.heart);
}

static void end_note(const struct telemetry *t, const struct telemetry_source *s)
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

static void group_stop(struct telemetry *t, struct group *g)
{
	af_heartbeat_stop(&g->heart);
	for (uint32_t i = 0; i < g->nr; i++) {
		af_event_writer_close(&g->all[i]->writer);
		end_note(t, g->all[i]);
	}
}

static void telemetry_stop(void *self)
{
	struct telemetry *t = self;

	if (t->stopped)
		return;
	t->stopped = true;
	group_stop(t, &t->main);
	group_stop(t, &t->processes);
	telemetry_claim_drop(&t->claim);
}

static void group_close(struct group *g)
{
	af_heartbeat_close(&g->heart);
	for (uint32_t i = 0; i < g->nr; i++) {
		af_event_writer_close(&g->all[i]->writer);
		source_free(g->all[i]);
	}
}

static void telemetry_close(void *self)
{
	struct telemetry *t = self;

	group_close(&t->main);
	group_close(&t->processes);
	telemetry_claim_drop(&t->claim);
	pthread_mutex_destroy(&t->list.lock);
	free(t);
}

const struct af_devices_ops af_telemetry = {
    .open = telemetry_open,
    .begin = telemetry_begin,
    .pump = telemetry_pump,
    .stop = telemetry_stop,
    .close = telemetry_close,
};
