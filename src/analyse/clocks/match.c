/* Messages that both ends recorded, and collectives, become bounds of the clocks of two hosts. */
#include <stdlib.h>

#include "analyse/clocks/private.h"
#include "base/arena.h"

/*
 * Only a part of the members of a larger set is read, and its collectives bound hosts against the
 * reference alone.
 */
enum {
	READ_MAX = 512,
	ALL_PAIRS = 64,
	TIMES_ALL = 4 << 20,
	TIMES_LEAST = 4096,
	TIMES_MOST = 65536
};

/* A channel that both ends have. */
struct both {
	uint32_t a, b; /* hosts, a < b */
	uint32_t sender, receiver;
	uint32_t sent, received; /* channels */
};

struct matching {
	struct clock_work *w;
	struct both *all;
	uint32_t nr, cap;
	struct clock_messages *hosts; /* their meetings: the last to enter, the first to leave */
};

static bool by_itself(const struct clock_work *w, uint32_t member)
{
	const struct af_member *m = &w->s->members[member];
	const uint64_t *slot = m->has_rank ? af_map_get(&w->by_rank, m->rank) : NULL;

	return slot && *slot == member + 1 && !w->lost[member];
}

/*
 * Evenly of all hosts: the first and the last rank of each, which have neighbours elsewhere, then
 * those between them.
 */
static bool is_read(const struct clock_work *w, uint32_t member, uint32_t *seen)
{
	uint32_t host = w->c->members[member].host, nr = w->c->hosts[host].nr_members;
	uint32_t each = READ_MAX / w->c->nr_hosts, at = seen[host]++;

	if (w->c->nr_members <= READ_MAX)
		return true;
	each = each < 2 ? 2 : each;
	return at < (each + 1) / 2 || at + each / 2 >= nr;
}

static void times_of(struct clock_times *to, const struct clock_times *from, int64_t less,
                     bool last)
{
	struct clock_times t = *from;

	if (!to->nr)
		to->shift = t.shift;
	while (to->shift < t.shift)
		clock_times_halve(to);
	uint32_t step = 1u << (to->shift - t.shift);
	for (uint32_t i = 0; i * (uint64_t)step < t.nr; i++) {
		int64_t ns = t.ns[i * step];
		if (!ns)
			continue;
		ns -= less;
		int64_t had = i < to->nr ? to->ns[i] : 0;
		if (!had || (last ? ns > had : ns < had))
			clock_times_put(to, (uint64_t)i << to->shift, ns);
	}
}

/* A bound of one process of a host is a bound of its clock. */
static void meetings_take(struct clock_messages *host, const struct clock_messages *m, int64_t less)
{
	for (uint32_t i = 0; i < m->nr_meetings; i++) {
		const struct clock_meeting *from = &m->meetings[i];
		uint32_t k = 0;
		while (k < host->nr_meetings && (host->meetings[k].comm != from->comm ||
		                                 host->meetings[k].function != from->function))
			k++;
		if (k == CLOCK_MEETINGS)
			continue;
		struct clock_meeting *to = &host->meetings[k];
		if (k == host->nr_meetings) {
			host->nr_meetings++;
			to->comm = from->comm;
			to->function = from->function;
		}
		times_of(&to->enter, &from->enter, less, true);
		times_of(&to->leave, &from->leave, less, false);
	}
}

static void members_read(struct matching *m)
{
	struct clock_work *w = m->w;
	uint32_t *seen = af_xcalloc(w->c->nr_hosts, sizeof *seen);
	uint32_t nr = w->c->nr_members < READ_MAX ? w->c->nr_members : READ_MAX;
	uint32_t most = TIMES_ALL / nr;

	for (uint32_t i = 0; i < w->c->nr_members; i++) {
		struct clock_messages *to = &w->members[i];
		to->clocks = w->c;
		to->by_rank = &w->by_rank;
		to->host = w->c->members[i].host;
		to->most_times = most < TIMES_LEAST  ? TIMES_LEAST
		                 : most > TIMES_MOST ? TIMES_MOST
		                                     : most;
		if (is_read(w, i, seen) && by_itself(w, i) &&
		    clock_messages_read(to, w->s->members[i].path))
			meetings_take(&m->hosts[to->host], to, w->c->members[i].namespace_ns);
	}
	free(seen);
}

/* The channels of a sender that their receivers have, too. */
static void channels_match(struct matching *m, uint32_t sender)
{
	struct clock_work *w = m->w;
	const struct clock_messages *from = &w->members[sender];
	uint32_t rank = (uint32_t)w->s->members[sender].rank;

	for (uint32_t i = 0; i < from->nr_channels; i++) {
		const struct clock_channel *c = &from->channels[i];
		const uint64_t *peer = af_map_get(&w->by_rank, c->peer);
		if (!c->sends || c->broken || !peer || !*peer)
			continue;
		const struct clock_messages *to = &w->members[*peer - 1];
		const struct clock_channel *got =
		    clock_channel_find(to, c->comm, rank, c->tag, false);
		if (!got || got->broken)
			continue;
		uint32_t a = from->host, b = to->host;
		AF_GROW(m->all, m->nr, m->cap);
		m->all[m->nr++] = (struct both){.a = a < b ? a : b,
		                                .b = a < b ? b : a,
		                                .sender = sender,
		                                .receiver = (uint32_t)*peer - 1,
		                                .sent = i,
		                                .received = (uint32_t)(got - to->channels)};
	}
}

static int by_hosts(const void *p, const void *q)
{
	const struct both *x = p, *y = q;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	if (x->sender != y->sender)
		return x->sender < y->sender ? -1 : 1;
	return x->sent < y->sent ? -1 : x->sent > y->sent;
}

static void bound(struct clock_bounds *b, bool from_a, int64_t sent, int64_t received)
{
	if (from_a)
		clock_bounds_from_a(b, sent, received);
	else
		clock_bounds_from_b(b, sent, received);
}

static void messages_take(const struct matching *m, const struct both *pair, struct clock_bounds *b)
{
	const struct clock_work *w = m->w;
	const struct clock_messages *from = &w->members[pair->sender];
	const struct clock_times *s = &from->channels[pair->sent].times,
				 *r = &w->members[pair->receiver].channels[pair->received].times;
	int64_t s_less = w->c->members[pair->sender].namespace_ns,
		r_less = w->c->members[pair->receiver].namespace_ns;
	uint32_t shift = s->shift > r->shift ? s->shift : r->shift;
	uint64_t s_step = UINT64_C(1) << (shift - s->shift), r_step = UINT64_C(1)
	                                                              << (shift - r->shift);

	for (uint64_t i = 0; i * s_step < s->nr && i * r_step < r->nr; i++) {
		int64_t sent = s->ns[i * s_step], received = r->ns[i * r_step];
		if (!sent || !received)
			continue;
		bound(b, from->host == pair->a, sent - s_less, received - r_less);
		b->messages++;
	}
}

/* The last of a has entered before the first of b leaves, and the other way round. */
static void meeting_bound(const struct clock_meeting *a, const struct clock_meeting *b,
                          struct clock_bounds *to)
{
	uint32_t most = a->enter.shift > b->enter.shift ? a->enter.shift : b->enter.shift;
	uint64_t a_step = UINT64_C(1) << (most - a->enter.shift),
		 b_step = UINT64_C(1) << (most - b->enter.shift);

	for (uint64_t i = 0; i * a_step < a->enter.nr && i * b_step < b->enter.nr; i++) {
		uint64_t x = i * a_step, y = i * b_step;
		if (!a->enter.ns[x] || !b->enter.ns[y] || x >= a->leave.nr || y >= b->leave.nr ||
		    !a->leave.ns[x] || !b->leave.ns[y])
			continue;
		clock_bounds_from_a(to, a->enter.ns[x], b->leave.ns[y]);
		clock_bounds_from_b(to, b->enter.ns[y], a->leave.ns[x]);
		to->collectives++;
	}
}

static void meetings_bound(const struct matching *m, uint32_t a, uint32_t b,
                           struct clock_bounds *to)
{
	const struct clock_messages *p = &m->hosts[a], *q = &m->hosts[b];

	for (uint32_t i = 0; i < p->nr_meetings; i++)
		for (uint32_t k = 0; k < q->nr_meetings; k++)
			if (p->meetings[i].comm == q->meetings[k].comm &&
			    p->meetings[i].function == q->meetings[k].function)
				meeting_bound(&p->meetings[i], &q->meetings[k], to);
}

/* The link of two hosts, of the channels from @first on; returns the first of other hosts. */
static uint32_t link_find(struct matching *m, uint32_t a, uint32_t b, uint32_t first)
{
	struct clock_work *w = m->w;
	struct clock_bounds bounds = {0};
	struct clock_link link = {.a = a, .b = b};
	const struct af_set_host *of = &w->c->hosts[b];

	for (; first < m->nr && m->all[first].a == a && m->all[first].b == b; first++)
		messages_take(m, &m->all[first], &bounds);
	meetings_bound(m, a, b, &bounds);
	link.messages = bounds.messages;
	link.collectives = bounds.collectives;
	bool found =
	    clock_bounds_curve(&bounds, of->begin_ns, of->end_ns, &link.curve, &link.contradicted);
	if (found || link.contradicted) {
		AF_GROW(w->links.all, w->links.nr, w->links.cap);
		w->links.all[w->links.nr++] = link;
	}
	clock_bounds_free(&bounds);
	return first;
}

static void all_links(struct matching *m)
{
	uint32_t nr = m->w->c->nr_hosts, at = 0, with = nr <= ALL_PAIRS ? nr : 1;

	for (uint32_t a = 0; a < with; a++)
		for (uint32_t b = a + 1; b < nr; b++)
			at = link_find(m, a, b, at);
	while (at < m->nr)
		at = link_find(m, m->all[at].a, m->all[at].b, at);
}

void clock_links_find(struct clock_work *w)
{
	struct matching m = {.w = w};

	m.hosts = af_xcalloc(w->c->nr_hosts, sizeof *m.hosts);
	members_read(&m);
	for (uint32_t i = 0; i < w->c->nr_members; i++)
		if (by_itself(w, i))
			channels_match(&m, i);
	AF_SORT(m.all, m.nr, by_hosts);
	all_links(&m);
	for (uint32_t h = 0; h < w->c->nr_hosts; h++)
		clock_messages_free(&m.hosts[h]);
	free(m.hosts);
	free(m.all);
}
