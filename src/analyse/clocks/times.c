#include "analyse/clocks/times.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyse/clocks/private.h"
#include "base/arena.h"
#include "trace/read/reader.h"

#define FAR_NS (INT64_C(86400) * 1000000000)

static int start_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Where the traces of all that can be read begin: the typical one. */
static uint64_t typical_start(const uint64_t *starts, uint32_t nr)
{
	uint64_t *sorted = af_xcalloc(nr + 1, sizeof *sorted);
	uint32_t nr_sorted = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (starts[i])
			sorted[nr_sorted++] = starts[i];
	AF_SORT(sorted, nr_sorted, start_order);
	uint64_t typical = nr_sorted ? sorted[(nr_sorted - 1) / 2] : 0;
	free(sorted);
	return typical;
}

/* @starts: on the clock of the reference; runs, and those that are too far away, are moved. */
static void times_begin(struct af_set_times *t, uint64_t *starts, uint32_t nr, bool runs)
{
	const uint64_t typical = typical_start(starts, nr);
	uint64_t bound_ns;

	t->start_ns = UINT64_MAX;
	for (uint32_t i = 0; i < nr; i++) {
		struct af_set_time *m = &t->members[i];
		if (!starts[i])
			continue;
		af_set_clocks_convert(&t->clocks, i, m->start_ns, &bound_ns);
		int64_t away = (int64_t)(typical - starts[i]);
		bool far = bound_ns == AF_CLOCK_UNKNOWN && (away > FAR_NS || away < -FAR_NS);
		if (runs || far) {
			m->moved_ns = away;
			t->nr_moved += !runs;
			starts[i] = typical;
		}
		t->start_ns = starts[i] < t->start_ns ? starts[i] : t->start_ns;
	}
	t->start_ns = t->start_ns == UINT64_MAX ? 0 : t->start_ns;
}

int af_set_times_read(struct af_set_times *t, const struct af_set *s, struct af_err *err)
{
	*t = (struct af_set_times){0};
	int rc = af_set_clocks_read(&t->clocks, s, err);
	if (rc)
		return rc;
	t->members = af_xcalloc(s->nr, sizeof *t->members);
	uint64_t *starts = af_xcalloc(s->nr, sizeof *starts);
	for (uint32_t i = 0; i < s->nr; i++) {
		struct af_trace *trace;
		if (s->members[i].state == AF_MEMBER_UNREADABLE ||
		    af_trace_open(&trace, s->members[i].path, UINT64_C(1) << AF_KIND_NOTE, NULL))
			continue;
		t->members[i].start_ns = af_trace_start_ns(trace);
		t->members[i].size_bytes = af_trace_size(trace);
		if (t->members[i].start_ns)
			starts[i] =
			    af_set_clocks_convert(&t->clocks, i, t->members[i].start_ns, NULL);
		af_trace_close(trace);
	}
	times_begin(t, starts, s->nr, af_set_is_runs(s));
	free(starts);
	return 0;
}

void af_set_times_free(struct af_set_times *t)
{
	af_set_clocks_free(&t->clocks);
	free(t->members);
	*t = (struct af_set_times){0};
}

/* On the clock of the reference. */
static int64_t placed(const struct af_set_times *t, uint32_t member, uint64_t ns)
{
	__int128 at = (__int128)af_set_clocks_convert(&t->clocks, member, ns, NULL) +
	              t->members[member].moved_ns;

	return at < 0 ? 0 : at > INT64_MAX ? INT64_MAX : (int64_t)at;
}

uint64_t af_set_times_of(const struct af_set_times *t, uint32_t member, uint64_t ns)
{
	int64_t at = placed(t, member, ns);

	return (uint64_t)at > t->start_ns ? (uint64_t)at - t->start_ns : 0;
}

/* A time of the set as one since the trace began; below 0: before that. */
static int64_t since_begin(const struct af_set_times *t, uint32_t member, uint64_t set_ns)
{
	uint64_t start_ns = t->members[member].start_ns;
	__int128 wanted = (__int128)t->start_ns + set_ns;
	__int128 since = wanted - placed(t, member, start_ns);

	if (since > INT64_MAX / 2 || since < -INT64_MAX / 2)
		return since < 0 ? -1 : INT64_MAX / 2;
	/* The clock runs a little faster or slower: what is left of that now is nothing. */
	if (since > 0)
		since += wanted - placed(t, member, start_ns + (uint64_t)since);
	return (int64_t)since;
}

bool af_set_times_part(const struct af_set_times *t, uint32_t member, uint64_t *from_ns,
                       uint64_t *to_ns)
{
	if ((!*from_ns && !*to_ns) || !t->members[member].start_ns)
		return true;
	int64_t from = since_begin(t, member, *from_ns);
	int64_t to = *to_ns ? since_begin(t, member, *to_ns) : 0;
	bool ends = *to_ns != 0;
	*from_ns = from > 0 ? (uint64_t)from : 0;
	*to_ns = to > 0 ? (uint64_t)to : 0;
	return !ends || to > 0;
}

bool af_set_times_text(const struct af_set_times *t, const char *path, char *text, size_t size)
{
	const struct af_set_clocks *c = &t->clocks;
	uint64_t most = 0;

	*text = 0;
	for (uint32_t i = 1; i < c->nr_members; i++) {
		uint64_t bound = af_set_clocks_bound(c, 0, i);
		most = bound > most ? bound : most;
	}
	if (c->nr_hosts < 2)
		return false;
	char moved[128] = "";
	if (t->nr_moved)
		snprintf(moved, sizeof moved,
		         "; %u of the traces are more than a day away, and count as if they had "
		         "begun with the others",
		         t->nr_moved);
	if (most == AF_CLOCK_UNKNOWN)
		snprintf(text, size,
		         "how far times of some hosts are off is not known: see "
		         "`aflame report clocks %s`%s",
		         path, moved);
	else
		snprintf(text, size,
		         "times of other hosts than %s may be off by up to %.3g us: see "
		         "`aflame report clocks %s`%s",
		         c->hosts[0].name, (double)most / 1e3, path, moved);
	return true;
}
