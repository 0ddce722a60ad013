/* Times of messages by channel, thinned out: memory does not grow with messages. */
#include <stdlib.h>
#include <string.h>

#include "analyse/clocks/private.h"
#include "base/arena.h"

enum { SHORTEST = 16 };

void clock_times_halve(struct clock_times *t)
{
	for (uint32_t i = 0; i < t->nr; i += 2)
		t->ns[i / 2] = t->ns[i];
	t->nr = (t->nr + 1) / 2;
	t->shift++;
}

void clock_times_put(struct clock_times *t, uint64_t k, int64_t ns)
{
	uint64_t at = k >> t->shift;

	if (at << t->shift != k || at >= CLOCK_TIMES)
		return;
	AF_REACH(t->ns, at, t->cap);
	t->ns[at] = ns;
	if (at >= t->nr)
		t->nr = (uint32_t)at + 1;
}

/* Both ends of a channel keep or leave it out by the same rule. */
static bool tag_is_kept(const struct clock_messages *m, int32_t tag)
{
	uint32_t mixed = (uint32_t)tag * 2654435761u;

	return !m->sparse || !(mixed >> (32 - m->sparse));
}

static void forget(struct clock_messages *m, struct clock_channel *c)
{
	m->nr_times -= c->times.nr;
	free(c->times.ns);
	c->times = (struct clock_times){0};
	c->broken = true;
}

/* There are too many: those of one tag in two stay. */
static void sparser(struct clock_messages *m)
{
	uint32_t nr = 0;

	m->sparse++;
	af_keys_free(&m->by_key);
	m->by_key = (struct af_keys){0};
	for (uint32_t i = 0; i < m->nr_channels; i++) {
		struct clock_channel *c = &m->channels[i];
		if (!tag_is_kept(m, c->tag)) {
			forget(m, c);
			continue;
		}
		m->channels[nr] = *c;
		*af_keys_at(&m->by_key, AF_KEY(c->comm, c->peer, (uint32_t)c->tag, c->sends),
		            NULL) = nr + 1;
		nr++;
	}
	m->nr_channels = nr;
}

/* Its number plus 1; 0: there is none. */
static uint64_t number_of(const struct clock_messages *m, uint32_t comm, uint32_t peer, int32_t tag,
                          bool sends)
{
	const uint64_t *slot = af_keys_get(&m->by_key, AF_KEY(comm, peer, (uint32_t)tag, sends));

	return slot ? *slot : 0;
}

struct clock_channel *clock_channel_find(const struct clock_messages *m, uint32_t comm,
                                         uint32_t peer, int32_t tag, bool sends)
{
	uint64_t number = number_of(m, comm, peer, tag, sends);

	return number ? &m->channels[number - 1] : NULL;
}

static bool is_far(const struct clock_messages *m, uint32_t peer)
{
	const uint64_t *member = af_map_get(m->by_rank, peer);

	return member && *member && m->clocks->members[*member - 1].host != m->host;
}

static struct clock_channel *channel_add(struct clock_messages *m, const struct clock_channel *c)
{
	AF_GROW(m->channels, m->nr_channels, m->cap_channels);
	m->channels[m->nr_channels++] = *c;
	*af_keys_at(&m->by_key, AF_KEY(c->comm, c->peer, (uint32_t)c->tag, c->sends), NULL) =
	    m->nr_channels;
	return &m->channels[m->nr_channels - 1];
}

struct clock_channel *clock_channel_of(struct clock_messages *m, uint32_t comm, uint32_t peer,
                                       int32_t tag, bool sends, uint32_t tid)
{
	const struct clock_channel is = {
	    .comm = comm, .peer = peer, .tag = tag, .sends = sends, .tid = tid};

	if (!tag_is_kept(m, tag) || !is_far(m, peer))
		return NULL;
	uint64_t number = number_of(m, comm, peer, tag, sends);
	if (number) {
		struct clock_channel *c = &m->channels[number - 1];
		/* The order of what two threads do is not certain. */
		c->broken |= c->tid != tid;
		return c;
	}
	while (m->nr_channels >= CLOCK_CHANNELS && m->sparse < 31)
		sparser(m);
	return tag_is_kept(m, tag) ? channel_add(m, &is) : NULL;
}

static void thin(struct clock_messages *m)
{
	for (uint32_t i = 0; i < m->nr_channels; i++) {
		struct clock_times *t = &m->channels[i].times;
		if (t->nr < SHORTEST)
			continue;
		m->nr_times -= t->nr;
		clock_times_halve(t);
		m->nr_times += t->nr;
	}
}

void clock_channel_put(struct clock_messages *m, struct clock_channel *c, uint64_t k, int64_t ns)
{
	uint32_t had = c->times.nr;

	while (k >> c->times.shift >= CLOCK_TIMES)
		clock_times_halve(&c->times);
	clock_times_put(&c->times, k, ns);
	m->nr_times += c->times.nr;
	m->nr_times -= had;
	if (m->nr_times > m->most_times)
		thin(m);
}

void clock_meeting_put(struct clock_messages *m, uint32_t comm, uint32_t function, int64_t enter,
                       int64_t leave)
{
	uint32_t i = 0;

	while (i < m->nr_meetings &&
	       (m->meetings[i].comm != comm || m->meetings[i].function != function))
		i++;
	if (i == CLOCK_MEETINGS)
		return;
	struct clock_meeting *t = &m->meetings[i];
	if (i == m->nr_meetings) {
		m->nr_meetings++;
		t->comm = comm;
		t->function = function;
	}
	while (t->nr >> t->enter.shift >= CLOCK_MEETINGS_KEPT) {
		clock_times_halve(&t->enter);
		clock_times_halve(&t->leave);
	}
	clock_times_put(&t->enter, t->nr, enter);
	clock_times_put(&t->leave, t->nr, leave);
	t->nr++;
}

void clock_messages_free(struct clock_messages *m)
{
	for (uint32_t i = 0; i < m->nr_channels; i++)
		free(m->channels[i].times.ns);
	for (uint32_t i = 0; i < m->nr_meetings; i++) {
		free(m->meetings[i].enter.ns);
		free(m->meetings[i].leave.ns);
	}
	free(m->channels);
	af_keys_free(&m->by_key);
}
