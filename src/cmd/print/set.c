/*
 * The events of all traces of a set, merged by the set's time. A trace is opened when its time
 * comes and closed at its end; its files are mapped, so that it needs little memory, and no
 * descriptor.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/set.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/print/private.h"
#include "cmd/shared/names.h"
#include "cmd/shared/set.h"

enum { NAMED = 8 }; /* ranks that are missing or damaged; the others are counted */

struct set_entry {
	uint64_t time_ns; /* of the next event, or when the trace begins */
	uint32_t member;
};

struct set_member {
	struct printing *now; /* while it is open */
	struct af_event ev;   /* its next, if it has one */
	bool has;
};

struct print_set {
	struct print_query *query;
	struct af_set set;
	struct af_set_times times;
	struct set_member *members;
	struct set_entry *heap; /* the earliest first */
	uint32_t nr_heap;
	bool given; /* the event of the first was handed out */
	bool colour;
	uint32_t nr_missing, nr_damaged;
	uint64_t nr_early;
};

static bool earlier(const struct set_entry *a, const struct set_entry *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->member < b->member;
}

/* The first of the heap may be too late there. */
static void heap_settle(struct print_set *s)
{
	struct set_entry *h = s->heap;

	for (uint32_t at = 0, down; (down = 2 * at + 1) < s->nr_heap; at = down) {
		down += down + 1 < s->nr_heap && earlier(&h[down + 1], &h[down]);
		if (!earlier(&h[down], &h[at]))
			return;
		struct set_entry swap = h[at];
		h[at] = h[down];
		h[down] = swap;
	}
}

static int entry_order(const void *a, const void *b)
{
	return earlier(a, b) ? -1 : 1;
}

static void heap_pop(struct print_set *s)
{
	s->heap[0] = s->heap[--s->nr_heap];
	heap_settle(s);
}

static void leave_out(struct print_set *s, uint32_t member, const char *why)
{
	if (s->nr_missing++ < NAMED)
		fprintf(stderr, "aflame print: %s is left out: %s\n", s->set.members[member].label,
		        why);
}

/* The column of the rank: "r3" or, where it has no number of its own, the trace's name. */
static const char *label_of(struct print_set *s, const struct af_member *m)
{
	const bool twin = !m->has_rank || m->label[strcspn(m->label, "(")];
	struct af_buf b = {0};

	if (s->query->options->json) {
		af_buf_str(&b, "\"rank\":");
		if (m->has_rank)
			af_buf_u64(&b, m->rank);
		else
			af_buf_str(&b, "null");
		af_buf_str(&b, ",\"trace\":");
		af_buf_json(&b, m->name, strlen(m->name));
		af_buf_char(&b, ',');
	} else if (twin) {
		af_buf_terminal(&b, m->name, strlen(m->name), "");
	} else {
		af_buf_fmt(&b, "r%llu", (unsigned long long)m->rank);
	}
	const char *label = af_arena_strdup(&s->set.arena, b.data, b.len);
	af_buf_free(&b);
	return label;
}

/* False: it cannot be read, and is named. */
static bool member_open(struct print_set *s, uint32_t i)
{
	const struct af_member *m = &s->set.members[i];
	struct printing *now = af_xcalloc(1, sizeof *now);
	struct af_err why = {0};

	*now = (struct printing){.query = s->query,
	                         .dir = m->path,
	                         .times = &s->times,
	                         .member = i,
	                         .label = label_of(s, m)};
	now->calls.style.colour = s->colour;
	if (print_open(now, m->path, &why)) {
		leave_out(s, i, why.msg);
		print_shut(now);
		print_free(now);
		free(now);
		return false;
	}
	af_trace_detach(now->trace);
	s->members[i].now = now;
	return true;
}

static void member_close(struct print_set *s, uint32_t i, struct af_buf *b)
{
	struct printing *now = s->members[i].now;
	struct af_err why = {0};

	if (b)
		af_calls_end(&now->calls, &now->world, b);
	if (print_is_damaged(now) && s->nr_damaged++ < NAMED && print_damage(now, &why))
		fprintf(stderr, "aflame print: %s\n", why.msg);
	s->nr_early += now->calls.nr_early;
	print_shut(now);
	print_free(now);
	free(now);
	s->members[i].now = NULL;
}

/* The next event of the heap's first, which is open: it may not be the first any more. */
static void first_advance(struct print_set *s, struct af_buf *b)
{
	uint32_t i = s->heap[0].member;
	struct set_member *m = &s->members[i];

	m->has = print_next(m->now, &m->ev);
	if (m->has) {
		s->heap[0].time_ns = m->ev.time_ns;
		heap_settle(s);
	} else {
		member_close(s, i, b);
		heap_pop(s);
	}
}

struct printing *print_set_next(struct print_set *s, struct af_event *ev, struct af_buf *b)
{
	if (s->given)
		first_advance(s, b);
	s->given = false;
	while (s->nr_heap) {
		struct set_member *m = &s->members[s->heap[0].member];
		if (m->now && m->has) {
			*ev = m->ev;
			s->given = true;
			return m->now;
		}
		if (m->now || member_open(s, s->heap[0].member))
			first_advance(s, b);
		else
			heap_pop(s);
	}
	return NULL;
}

uint64_t print_set_start_ns(const struct print_set *s)
{
	return s->times.start_ns;
}

void print_set_end(struct print_set *s, struct af_buf *b)
{
	for (uint32_t i = 0; i < s->set.nr; i++)
		if (s->members[i].now)
			member_close(s, i, b);
	s->nr_heap = 0;
	s->given = false;
}

int print_set_open(struct print_set **out, struct print_query *q, const char *dir, bool colour,
                   struct af_err *err)
{
	struct print_set *s = *out = af_xcalloc(1, sizeof *s);
	int rc = af_set_open(&s->set, dir, err);

	s->query = q;
	s->colour = colour;
	if (rc)
		return rc;
	s->members = af_xcalloc(s->set.nr + 1ull, sizeof *s->members);
	s->heap = af_xcalloc(s->set.nr + 1ull, sizeof *s->heap);
	for (uint32_t i = 0; i < s->set.nr; i++) {
		const char *why = af_set_prepare(&s->set, i);
		if (why)
			leave_out(s, i, why);
		else
			s->heap[s->nr_heap++].member = i;
	}
	rc = af_set_times_read(&s->times, &s->set, err);
	for (uint32_t i = 0; !rc && i < s->nr_heap; i++) {
		uint32_t member = s->heap[i].member;
		s->heap[i].time_ns =
		    s->times.start_ns +
		    af_set_times_of(&s->times, member, s->times.members[member].start_ns);
	}
	if (!rc)
		AF_SORT(s->heap, s->nr_heap, entry_order);
	return rc;
}

int print_set_report(struct print_set *s, struct af_err *err)
{
	char text[512];

	if (s->nr_missing > NAMED)
		fprintf(stderr, "aflame print: %u more ranks are left out\n",
		        s->nr_missing - NAMED);
	if (s->nr_damaged > NAMED)
		fprintf(stderr, "aflame print: %u more ranks are damaged\n", s->nr_damaged - NAMED);
	if (s->nr_missing == s->set.nr)
		return af_fail_plain(err, -ENODATA, "no trace in %s can be read", s->set.path);
	if (af_set_times_text(&s->times, s->set.path, text, sizeof text))
		fprintf(stderr, "aflame print: %s\n", text);
	return 0;
}

uint64_t print_set_close(struct print_set *s)
{
	uint64_t nr_early = s ? s->nr_early : 0;

	if (s) {
		for (uint32_t i = 0; s->members && i < s->set.nr; i++)
			if (s->members[i].now)
				member_close(s, i, NULL);
		af_set_times_free(&s->times);
		af_set_close(&s->set);
		free(s->members);
		free(s->heap);
	}
	free(s);
	return nr_early;
}
