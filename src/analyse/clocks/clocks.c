#include "analyse/clocks/clocks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/clocks/private.h"
#include "base/arena.h"
#include "base/err.h"

static void work_free(struct clock_work *w)
{
	for (uint32_t i = 0; i < w->c->nr_members; i++)
		clock_messages_free(&w->members[i]);
	free(w->members);
	free(w->anchors);
	free(w->has_anchors);
	free(w->lost);
	free(w->links.all);
	af_map_free(&w->by_rank);
}

int af_set_clocks_read(struct af_set_clocks *c, const struct af_set *s, struct af_err *err)
{
	struct clock_work w = {.c = c, .s = s};

	*c = (struct af_set_clocks){.nr_members = s->nr};
	if (!s->nr)
		return af_fail_plain(err, -ENODATA, "%s has no trace",
		                     s->path ? s->path : "the set");
	c->hosts = af_arena_alloc(&c->arena, s->nr * sizeof *c->hosts);
	c->members = af_arena_alloc(&c->arena, s->nr * sizeof *c->members);
	w.anchors = af_xcalloc(s->nr, sizeof *w.anchors);
	w.has_anchors = af_xcalloc(s->nr, sizeof *w.has_anchors);
	w.lost = af_xcalloc(s->nr, sizeof *w.lost);
	w.members = af_xcalloc(s->nr, sizeof *w.members);
	clock_hosts_find(&w);
	if (c->nr_hosts > 1)
		clock_links_find(&w);
	clock_paths_find(&w);
	work_free(&w);
	return 0;
}

void af_set_clocks_free(struct af_set_clocks *c)
{
	af_arena_free(&c->arena);
	*c = (struct af_set_clocks){0};
}

uint64_t af_set_clocks_convert(const struct af_set_clocks *c, uint32_t member, uint64_t time_ns,
                               uint64_t *bound_ns)
{
	const struct af_set_member_clock *m = &c->members[member];
	int64_t at = time_ns < (uint64_t)CLOCK_TIME_MAX ? (int64_t)time_ns : CLOCK_TIME_MAX;

	at -= m->namespace_ns;
	struct af_clock_knot k = clock_curve_at(&c->hosts[m->host].curve, at);
	__int128 ns = (__int128)at + k.offset_ns + c->members[0].namespace_ns;
	if (bound_ns)
		*bound_ns = k.bound_ns;
	return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

static uint64_t worst_of(const struct af_set_host *h)
{
	const int64_t at[] = {h->begin_ns, h->begin_ns + (h->end_ns - h->begin_ns) / 2, h->end_ns};
	uint64_t most = 0;

	for (int i = 0; i < 3; i++) {
		uint64_t bound = clock_curve_at(&h->curve, at[i]).bound_ns;
		most = bound > most ? bound : most;
	}
	return most;
}

uint64_t af_set_clocks_bound(const struct af_set_clocks *c, uint32_t member, uint32_t other)
{
	uint32_t a = c->members[member].host, b = c->members[other].host;

	if (a == b)
		return 0;
	uint64_t x = worst_of(&c->hosts[a]), y = worst_of(&c->hosts[b]);
	return x > AF_CLOCK_UNKNOWN - y ? AF_CLOCK_UNKNOWN : x + y;
}
