/*
 * From the reference to every host, over the links that are most exact together (Dijkstra's
 * algorithm). Hosts that no link reaches begin from their time of day.
 */
#include <stdlib.h>

#include "analyse/clocks/private.h"
#include "base/arena.h"

struct searching {
	struct clock_work *w;
	uint64_t *worst; /* the largest bound of a host so far */
	bool *done, *reached;
};

static uint64_t worst_of(const struct af_clock_curve *c)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < c->nr; i++)
		most = c->knots[i].bound_ns > most ? c->knots[i].bound_ns : most;
	return most;
}

/* The most exact one of the hosts that are reached and not done; or nr_hosts. */
static uint32_t next_host(const struct searching *s)
{
	uint32_t nr = s->w->c->nr_hosts, best = nr;

	for (uint32_t h = 0; h < nr; h++)
		if (s->reached[h] && !s->done[h] && (best == nr || s->worst[h] < s->worst[best]))
			best = h;
	return best;
}

/* @host is reached over @from, which is done. */
static void relax(struct searching *s, const struct clock_link *l, uint32_t from, uint32_t host)
{
	struct af_set_host *h = &s->w->c->hosts[host], *before = &s->w->c->hosts[from];
	struct af_clock_curve step, whole;

	if (l->b == host)
		step = l->curve;
	else
		clock_curve_reverse(&l->curve, &step);
	clock_curve_chain(&step, &before->curve, &whole);
	uint64_t worst = worst_of(&whole);
	if (s->reached[host] && s->worst[host] <= worst)
		return;
	s->reached[host] = true;
	s->worst[host] = worst;
	h->curve = whole;
	h->via = from;
	h->messages = l->messages;
	h->collectives = l->collectives;
	h->by = before->by == AF_CLOCK_BY_REFERENCE  ? AF_CLOCK_BY_MESSAGES
	        : before->by == AF_CLOCK_BY_MESSAGES ? AF_CLOCK_BY_PATH
	                                             : before->by;
}

static void search(struct searching *s)
{
	const struct clock_links *links = &s->w->links;

	for (uint32_t h; (h = next_host(s)) < s->w->c->nr_hosts;) {
		s->done[h] = true;
		for (uint32_t i = 0; i < links->nr; i++) {
			const struct clock_link *l = &links->all[i];
			uint32_t other = l->a == h ? l->b : l->b == h ? l->a : h;
			if (other != h && !l->contradicted && !s->done[other])
				relax(s, l, h, other);
		}
	}
}

/* CLOCK_REALTIME less CLOCK_MONOTONIC at a time of day. */
static int64_t realtime_less_mono(const struct clock_anchor a[2], int64_t real_ns)
{
	int64_t first = a[0].real_ns - a[0].mono_ns, last = a[1].real_ns - a[1].mono_ns;
	double length = (double)(a[1].real_ns - a[0].real_ns);
	double part = length > 0 ? (double)(real_ns - a[0].real_ns) / length : 0;

	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return first + (int64_t)(part * (double)(last - first));
}

static void by_realtime(struct searching *s, uint32_t host)
{
	struct clock_work *w = s->w;
	struct af_set_host *h = &w->c->hosts[host];
	struct clock_anchor *mine = w->anchors[host], *reference = w->anchors[0];

	h->curve = (struct af_clock_curve){.nr = 1};
	h->curve.knots[0].bound_ns = AF_CLOCK_UNKNOWN;
	if (w->has_anchors[0] && w->has_anchors[host]) {
		h->by = AF_CLOCK_BY_REALTIME;
		h->curve.nr = mine[1].mono_ns > mine[0].mono_ns ? 2 : 1;
		for (uint32_t i = 0; i < h->curve.nr; i++)
			h->curve.knots[i] = (struct af_clock_knot){
			    .at_ns = mine[i].mono_ns,
			    .offset_ns = mine[i].real_ns - mine[i].mono_ns -
			                 realtime_less_mono(reference, mine[i].real_ns),
			    .bound_ns = AF_CLOCK_UNKNOWN};
	}
	s->reached[host] = true;
	s->worst[host] = AF_CLOCK_UNKNOWN;
}

static void contradictions(struct clock_work *w)
{
	for (uint32_t i = 0; i < w->links.nr; i++) {
		const struct clock_link *l = &w->links.all[i];
		if (l->contradicted)
			w->c->hosts[l->b].contradicted = true;
	}
}

void clock_paths_find(struct clock_work *w)
{
	uint32_t nr = w->c->nr_hosts;
	struct searching s = {.w = w,
	                      .worst = af_xcalloc(nr, sizeof *s.worst),
	                      .done = af_xcalloc(nr, sizeof *s.done),
	                      .reached = af_xcalloc(nr, sizeof *s.reached)};

	w->c->hosts[0].by = AF_CLOCK_BY_REFERENCE;
	w->c->hosts[0].curve = (struct af_clock_curve){.nr = 1};
	s.reached[0] = true;
	for (uint32_t h = 0; h < nr; h++) {
		if (!s.reached[h])
			by_realtime(&s, h);
		search(&s);
	}
	contradictions(w);
	free(s.worst);
	free(s.done);
	free(s.reached);
}
