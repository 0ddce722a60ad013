/* Reads all counters once: files with a whole number each. */
#include <errno.h>
#include <stdlib.h>

#include "base/system/proc.h"
#include "collect/xe/window.h"
#include "collect/xe_oa/private.h"

enum { NS_PER_MS = 1000000, HUNDRED = 100 };

/* False: there is no number. */
static bool number_read(const char *path, uint64_t *value)
{
	char text[32], *end;

	if (!af_read_text(path, text, sizeof text) || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && (*end == '\n' || !*end);
}

/*
 * The share of the time since the last call that was no idleness, in @per of a percent. False: it
 * is not known. The driver counts whole milliseconds.
 */
static bool share_of(struct oa_source *s, uint64_t idle_ms, uint64_t now_ns, bool again,
                     uint64_t per, uint64_t *share)
{
	uint64_t was_ms = s->was, before_ns = s->was_ns;
	uint64_t all_ns = now_ns - before_ns;

	s->was = idle_ms;
	s->was_ns = now_ns;
	if (again || !before_ns || !all_ns)
		return false;
	if (idle_ms < was_ms) {
		s->nr_failed++;
		return false;
	}
	uint64_t idle_ns = idle_ms - was_ms;
	idle_ns = idle_ns < all_ns / NS_PER_MS ? idle_ns * NS_PER_MS : all_ns;
	*share = (uint64_t)((double)(all_ns - idle_ns) * (double)(HUNDRED * per) / (double)all_ns);
	return true;
}

/* The share of an engine's ticks in which it was active. */
static bool busy_of(struct oa_source *s, uint64_t now_ns, bool again, uint64_t per, uint64_t *share)
{
	uint64_t active = 0, all = 0, was = s->was, was_all = s->was_all;
	bool known = s->was_ns && !again;

	s->was_ns = 0;
	if (!oa_pmu_read(s, &active, &all)) {
		s->nr_failed++;
		return false;
	}
	s->was = active;
	s->was_all = all;
	s->was_ns = now_ns;
	/* No tick passed: the firmware counts them now and then. */
	if (!known || all == was_all)
		return false;
	if (active < was || all < was_all) {
		s->nr_failed++;
		return false;
	}
	active = active - was < all - was_all ? active - was : all - was_all;
	*share = (uint64_t)((double)active * (double)(HUNDRED * per) / (double)(all - was_all));
	return true;
}

/* Values of one device, from counter @at on; returns the first counter of the next one. */
static uint32_t device_read(struct oa_counters *c, struct af_event_writer *w, uint32_t at,
                            bool again)
{
	struct af_source_value levels[OA_COUNTERS_MOST], shares[OA_COUNTERS_MOST];
	uint32_t device = c->all[at].device, nr_levels = 0, nr_shares = 0;
	uint64_t *read_ns = &c->read_ns[device - 1], before_ns = *read_ns, now_ns = 0, value = 0;

	for (; at < c->nr && c->all[at].device == device; at++) {
		struct oa_source *s = &c->sources[at];
		if (s->how == OA_MEAN) {
			oa_stream_read(c, w, at, again);
			continue;
		}
		bool there = s->how == OA_BUSY || number_read(s->path, &value);
		now_ns = af_now_ns();
		if (s->how == OA_BUSY) {
			if (busy_of(s, now_ns, again, c->all[at].per, &value))
				shares[nr_shares++] = (struct af_source_value){at, value};
		} else if (!there) {
			s->nr_failed++;
			s->was_ns = 0;
		} else if (s->how == OA_LEVEL) {
			levels[nr_levels++] = (struct af_source_value){at, value};
		} else if (share_of(s, value, now_ns, again, c->all[at].per, &value)) {
			shares[nr_shares++] = (struct af_source_value){at, value};
		}
	}
	*read_ns = now_ns;
	af_reading_write(w, &c->known, now_ns, 0, levels, nr_levels);
	af_reading_write(w, &c->known, now_ns, now_ns - before_ns, shares, nr_shares);
	return at;
}

void oa_read(struct oa_counters *c, struct af_event_writer *w, bool again)
{
	if (af_event_writer_is_new(w)) {
		af_xe_devices_write(w, &c->cards, 0);
		af_source_counters_define(w, &c->known);
	}
	for (uint32_t at = 0; at < c->nr;)
		at = device_read(c, w, at, again);
}

uint64_t oa_nr_failed(const struct oa_counters *c)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < c->nr; i++)
		nr += c->sources[i].nr_failed;
	return nr;
}
