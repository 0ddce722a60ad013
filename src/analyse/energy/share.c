/* Shares the energy that a device took among the works that ran on it. */
#include <stdlib.h>

#include "analyse/energy/private.h"
#include "base/arena.h"

/* A work begins or ends. */
struct edge {
	uint64_t at_ns;
	uint32_t row;
	bool begins;
};

/*
 * Going through time: @each is what every work would have taken so far, had it run all the time, so
 * a work takes the difference of @each from its start to its end. @each_error likewise.
 */
struct sweep {
	struct energy *e;
	double scale, each, busy, idle;
	double each_error, idle_error;
	uint64_t idle_ns;
	uint64_t nr_running, rows_running; /* @rows_running: their rows plus 1, added up */
	/* These belong to the reading at hand. */
	double taken, error, error_per_ns;
	bool is_known;  /* what was taken in its time */
	uint32_t alone; /* the row plus 1 that ran all the time, alone; 0: none so far */
	bool is_mixed, all_idle;
};

static int edge_order(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->begins - y->begins;
}

/* @joule more in @ns, while the same works ran. */
static void sweep_on(struct sweep *s, double joule, uint64_t ns)
{
	uint32_t alone = s->nr_running == 1 ? (uint32_t)s->rows_running : 0;

	double error = s->error_per_ns * (double)ns;

	if (s->nr_running) {
		s->each += joule / (double)s->nr_running;
		s->each_error += error / (double)s->nr_running;
	}
	*(s->nr_running ? &s->busy : &s->idle) += joule;
	s->idle_error += s->nr_running ? 0 : error;
	s->idle_ns += s->nr_running ? 0 : ns;
	s->is_mixed |= !alone || (s->alone && s->alone != alone);
	s->alone = alone;
	s->taken += joule;
	s->error += error;
	s->all_idle &= !s->nr_running;
}

static void sweep_reading_ends(struct sweep *s)
{
	if (s->alone && !s->is_mixed) {
		s->e->rows[s->alone - 1].alone_joule += s->taken;
		s->e->rows[s->alone - 1].error_joule -= s->is_known ? s->error : 0;
	}
	s->idle_error -= s->all_idle && s->is_known ? s->error : 0;
	s->taken = s->error = 0;
	s->all_idle = true;
	s->alone = 0;
	s->is_mixed = false;
}

static void sweep_edge(struct sweep *s, const struct edge *e)
{
	s->e->rows[e->row].joule += e->begins ? -s->each : s->each;
	s->e->rows[e->row].error_joule += e->begins ? -s->each_error : s->each_error;
	s->nr_running += e->begins ? 1 : UINT64_MAX;
	s->rows_running += e->begins ? e->row + 1ull : -(e->row + 1ull);
}

/* Edges up to @until_ns, which are all before the next piece of the curve. */
static size_t sweep_skip(struct sweep *s, const struct edge *edges, size_t at, size_t nr,
                         uint64_t until_ns)
{
	while (at < nr && edges[at].at_ns <= until_ns)
		sweep_edge(s, &edges[at++]);
	return at;
}

static void sweep_to(struct sweep *s, double per_ns, uint64_t *now_ns, uint64_t to_ns)
{
	sweep_on(s, per_ns * (double)(to_ns - *now_ns), to_ns - *now_ns);
	*now_ns = to_ns;
}

static double piece_per_ns(const struct af_curve *c, uint32_t i)
{
	return af_curve_piece_sum(c, i) / (double)(c->pieces[i].end_ns - c->pieces[i].start_ns);
}

static double apart(double a, double b)
{
	return a > b ? a - b : b - a;
}

/* How far power may be off in piece @i, in J a ns: it is between those of readings around it. */
static double error_per_ns(const struct energy_meter *m, uint32_t i)
{
	const struct af_curve *c = &m->joule;
	double here = piece_per_ns(c, i), next = here, was = here;

	if (i + 1 < c->nr)
		next = piece_per_ns(c, i + 1);
	else if (!m->is_of_spans)
		next = m->was_watt / 1e9;
	/* A level is that of the moment where its piece begins; a mean has two neighbours. */
	if (m->is_of_spans && i)
		was = piece_per_ns(c, i - 1);
	return apart(here, next) > apart(here, was) ? apart(here, next) : apart(here, was);
}

/* Only what lies in @in counts: works are cut already, and readings are not. */
static void sweep_all(struct sweep *s, const struct energy_meter *m, const struct af_time_range *in,
                      const struct edge *edges, size_t nr)
{
	const struct af_curve *c = &m->joule;
	double scaled = apart(s->scale, 1);
	size_t at = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct af_curve_piece *p = &c->pieces[i];
		double sum = af_curve_piece_sum(c, i) * s->scale;
		double per_ns = sum / (double)(p->end_ns - p->start_ns);
		uint64_t now_ns = p->start_ns, end_ns = p->end_ns;
		if (in->to_ns) {
			now_ns = now_ns > in->from_ns ? now_ns : in->from_ns;
			end_ns = end_ns < in->to_ns ? end_ns : in->to_ns;
		}
		if (now_ns >= end_ns)
			continue;
		s->is_known =
		    m->is_of_spans && scaled == 0 && now_ns == p->start_ns && end_ns == p->end_ns;
		s->error_per_ns = error_per_ns(m, i) * s->scale + piece_per_ns(c, i) * scaled;
		at = sweep_skip(s, edges, at, nr, now_ns);
		for (; at < nr && edges[at].at_ns < end_ns; at++) {
			if (edges[at].at_ns > now_ns)
				sweep_to(s, per_ns, &now_ns, edges[at].at_ns);
			sweep_edge(s, &edges[at]);
		}
		if (now_ns < end_ns)
			sweep_to(s, per_ns, &now_ns, end_ns);
		sweep_reading_ends(s);
	}
	sweep_skip(s, edges, at, nr, UINT64_MAX);
}

static struct edge *edges_make(const struct energy *e, const bool *is_of, size_t *nr)
{
	struct edge *edges = af_xcalloc(2 * e->nr_works + 1, sizeof *edges);

	*nr = 0;
	for (size_t i = 0; i < e->nr_works; i++) {
		const struct energy_work *work = &e->works[i];
		if (!is_of[work->row])
			continue;
		edges[(*nr)++] = (struct edge){work->start_ns, work->row, true};
		edges[(*nr)++] = (struct edge){work->end_ns, work->row, false};
	}
	AF_SORT(edges, *nr, edge_order);
	return edges;
}

/* Integrated power is scaled to the device's own counter, of the time that both have. */
static double scale_of(const struct energy_meter *power, const struct energy_meter *counter)
{
	double covered, counted_ns;
	uint64_t from_ns = counter->first_ns, to_ns = counter->last_ns;

	from_ns = power->first_ns > from_ns ? power->first_ns : from_ns;
	to_ns = power->last_ns < to_ns ? power->last_ns : to_ns;
	if (from_ns >= to_ns)
		return 0;
	double integral = af_curve_sum(&power->joule, from_ns, to_ns, &covered);
	double counted = af_curve_sum(&counter->joule, from_ns, to_ns, &counted_ns);
	return integral > 0 && counted > 0 ? counted / integral : 0;
}

static uint64_t longest_of(const struct af_curve *c)
{
	uint64_t longest_ns = 0;

	for (uint32_t i = 0; i < c->nr; i++)
		if (c->pieces[i].end_ns - c->pieces[i].start_ns > longest_ns)
			longest_ns = c->pieces[i].end_ns - c->pieces[i].start_ns;
	return longest_ns;
}

struct energy_sums energy_share(struct energy *e, const struct energy_meter *power,
                                const struct energy_meter *counter, const struct af_time_range *in,
                                const bool *is_of)
{
	struct energy_sums sums = {.scale = 1};
	const struct energy_meter *by = power ? power : counter;
	size_t nr;

	if (power && counter) {
		double scale = scale_of(power, counter);
		sums.scaled = scale > 0;
		sums.scale = sums.scaled ? scale : 1;
	}
	struct edge *edges = edges_make(e, is_of, &nr);
	struct sweep s = {.e = e, .scale = sums.scale, .all_idle = true};
	sweep_all(&s, by, in, edges, nr);
	free(edges);
	sums.idle = s.idle;
	sums.idle_error = s.idle_error;
	sums.is_bounded = !by->is_of_spans || by->joule.nr > 1;
	sums.busy = s.busy;
	sums.idle_ns = s.idle_ns;
	sums.longest_ns = longest_of(&by->joule);
	sums.period_ns = by->joule.nr ? by->joule.covered / (double)by->joule.nr : 0;
	return sums;
}
