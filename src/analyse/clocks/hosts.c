/*
 * Members with one boot id have one clock; the recorder's stream tells the rest in a few kilobytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/clocks/private.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/read/files.h"
#include "trace/read/merge.h"
#include "trace/read/reader.h"

/* The recorder's notes about the clock of a member. */
struct noted {
	char boot_id[64];
	int64_t namespace_ns;
	struct clock_anchor anchors[2];
	int64_t begin_ns, end_ns;
	bool has_anchors, has_times, lost;
};

/* "monotonic 86400 5", as in /proc/self/timens_offsets, or nanoseconds alone. */
static int64_t namespace_parse(const char *text)
{
	const char *at = strstr(text, "monotonic");
	char *end;

	if (!at) {
		long long ns = strtoll(text, NULL, 10);
		return ns > -CLOCK_TIME_MAX && ns < CLOCK_TIME_MAX ? ns : 0;
	}
	long long s = strtoll(at + strlen("monotonic"), &end, 10), ns = strtoll(end, NULL, 10);
	if (s <= -CLOCK_TIME_MAX / 1000000000 || s >= CLOCK_TIME_MAX / 1000000000 || ns < 0 ||
	    ns >= 1000000000)
		return 0;
	return s * 1000000000 + ns;
}

static void note_take(struct noted *n, const char *key, const char *value)
{
	if (!strcmp(key, "boot_id"))
		snprintf(n->boot_id, sizeof n->boot_id, "%s", value);
	else if (!strcmp(key, "timens"))
		n->namespace_ns = namespace_parse(value);
}

static void anchor_take(struct noted *n, const struct af_ev_clock *pair)
{
	struct clock_anchor is = {(int64_t)pair->mono_ns, (int64_t)pair->foreign};

	if (pair->clock != AF_CLOCK_REALTIME || pair->mono_ns >= (uint64_t)CLOCK_TIME_MAX ||
	    pair->foreign >= (uint64_t)CLOCK_TIME_MAX)
		return;
	if (!n->has_anchors)
		n->anchors[0] = is;
	n->anchors[1] = is;
	n->has_anchors = true;
}

/* Nobody knows when these losses happened: any message may be missing. */
static bool loses_calls(uint32_t reason)
{
	switch (reason) {
	case AF_LOST_RING_FULL:
	case AF_LOST_NO_STREAM:
	case AF_LOST_TOO_LARGE:
	case AF_LOST_DAMAGED:
	case AF_LOST_DISK_FULL:
	case AF_LOST_OLDEST:
	case AF_LOST_PAUSED:
	case AF_LOST_FORBIDDEN:
	case AF_LOST_MEDDLED:
		return true;
	default:
		return false;
	}
}

static void event_take(struct noted *n, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_clock clock;
	struct af_ev_lost lost;

	if (ev->time_ns < (uint64_t)CLOCK_TIME_MAX) {
		if (!n->has_times)
			n->begin_ns = (int64_t)ev->time_ns;
		n->end_ns = (int64_t)ev->time_ns;
		n->has_times = true;
	}
	if (ev->kind == AF_KIND_NOTE && af_event_decode(ev, NULL, 0, tails))
		note_take(n, (const char *)tails[0].data, (const char *)tails[1].data);
	if (ev->kind == AF_KIND_CLOCK && af_event_decode(ev, &clock, sizeof clock, tails))
		anchor_take(n, &clock);
	if (ev->kind == AF_KIND_LOST && af_event_decode(ev, &lost, sizeof lost, tails))
		n->lost |= lost.count && loses_calls(lost.reason);
}

static bool noted_read(struct noted *n, const char *path)
{
	const uint64_t wanted = 1ull << AF_KIND_NOTE | 1ull << AF_KIND_CLOCK | 1ull << AF_KIND_LOST;
	scope_close int dir = af_trace_dir_open(path);
	struct af_file f;
	struct af_trace *t;
	struct af_event ev;

	if (dir < 0 || af_file_map_at(&f, dir, "recorder"))
		return false;
	const struct af_stream_bytes bytes = {f.data, f.size};
	int rc = af_trace_open_memory(&t, &bytes, 1, wanted);
	while (!rc && af_trace_next(t, &ev))
		event_take(n, &ev);
	if (!rc)
		af_trace_close(t);
	af_file_unmap(&f);
	return !rc && n->has_times;
}

/*
 * Two machines that were restored from one picture of memory have one boot id, but not one clock:
 * their times of day stand otherwise against it. Those of containers of one host do not.
 */
static bool same_clock(const struct clock_work *w, uint32_t host, const char *name,
                       const struct noted *n)
{
	const int64_t second = 1000000000, most = strcmp(w->c->hosts[host].name, name) ? 1 : 60;
	const struct clock_anchor *a = &w->anchors[host][1], *b = &n->anchors[0];
	int64_t then = a->real_ns - a->mono_ns, now = b->real_ns - b->mono_ns - n->namespace_ns;

	return !w->has_anchors[host] || !n->has_anchors || llabs(now - then) < most * second;
}

static uint32_t host_add(struct clock_work *w, const struct af_member *m, const char *boot_id)
{
	struct af_set_clocks *c = w->c;

	c->hosts[c->nr_hosts] =
	    (struct af_set_host){.name = af_arena_strdup(&c->arena, m->host ? m->host : "",
	                                                 strlen(m->host ? m->host : "")),
	                         .boot_id = af_arena_strdup(&c->arena, boot_id, strlen(boot_id)),
	                         .first = (uint32_t)(m - w->s->members),
	                         .begin_ns = CLOCK_TIME_MAX,
	                         .end_ns = -CLOCK_TIME_MAX,
	                         .by = AF_CLOCK_BY_NOTHING};
	return c->nr_hosts++;
}

static uint32_t host_of(struct clock_work *w, struct af_keys *by_name, const struct af_member *m,
                        const struct noted *n)
{
	const char *boot_id = n->boot_id[0] ? n->boot_id : m->boot_id ? m->boot_id : "";
	const char *key = *boot_id ? boot_id : m->host ? m->host : "";
	bool fresh;
	uint64_t *slot = af_keys_at(by_name, AF_KEY_TEXT(key), &fresh);

	/* The newest of one boot id: most often all of a host come in a row. */
	if (fresh || !same_clock(w, (uint32_t)*slot, m->host ? m->host : "", n))
		*slot = host_add(w, m, boot_id);
	return (uint32_t)*slot;
}

static void host_take(struct clock_work *w, uint32_t host, const struct noted *n)
{
	struct af_set_host *h = &w->c->hosts[host];
	int64_t begin = n->begin_ns - n->namespace_ns, end = n->end_ns - n->namespace_ns;

	h->nr_members++;
	if (n->has_times) {
		h->begin_ns = begin < h->begin_ns ? begin : h->begin_ns;
		h->end_ns = end > h->end_ns ? end : h->end_ns;
	}
	for (int i = 0; n->has_anchors && i < 2; i++) {
		struct clock_anchor a = n->anchors[i], *mine = w->anchors[host];
		a.mono_ns -= n->namespace_ns;
		if (!w->has_anchors[host] || a.mono_ns < mine[0].mono_ns)
			mine[0] = a;
		if (!w->has_anchors[host] || a.mono_ns > mine[1].mono_ns)
			mine[1] = a;
		w->has_anchors[host] = true;
	}
}

static void rank_take(struct clock_work *w, uint32_t member)
{
	const struct af_member *m = &w->s->members[member];
	bool fresh;

	if (!m->has_rank)
		return;
	uint64_t *slot = af_map_at(&w->by_rank, m->rank, &fresh);
	*slot = fresh ? member + 1 : 0;
}

void clock_hosts_find(struct clock_work *w)
{
	struct af_keys by_name = {0};

	for (uint32_t i = 0; i < w->s->nr; i++) {
		const struct af_member *m = &w->s->members[i];
		struct noted n = {0};
		w->c->members[i].unread =
		    m->state == AF_MEMBER_UNREADABLE || !noted_read(&n, m->path);
		uint32_t host = host_of(w, &by_name, m, &n);
		w->c->members[i].host = host;
		w->c->members[i].namespace_ns = n.namespace_ns;
		w->lost[i] = n.lost || w->c->members[i].unread;
		host_take(w, host, &n);
		rank_take(w, i);
	}
	for (uint32_t h = 0; h < w->c->nr_hosts; h++)
		if (w->c->hosts[h].begin_ns > w->c->hosts[h].end_ns)
			w->c->hosts[h].begin_ns = w->c->hosts[h].end_ns = 0;
	af_keys_free(&by_name);
}
