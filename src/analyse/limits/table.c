/* The rows of the table: devices of the trace's own work, and their neighbours. */
#include <stdlib.h>
#include <string.h>

#include "analyse/counters/counters.h"
#include "analyse/limits/limits.h"
#include "analyse/limits/private.h"
#include "base/arena.h"

/*
 * A device's own "busy" is a mean of up to a second ("NVML API Reference", nvmlUtilization_t), so
 * only where none of the trace's work ran for so long is it the work of others.
 */
#define BUSY_WINDOW_NS 1000000000ull

enum { MEAN_CLOCK, MEAN_POWER, MEAN_CELSIUS };

/* A device with counters. */
struct group {
	const struct af_counter *is; /* its first counter */
	const struct limits_series *by[LIMITS_ROLES];
	struct limits_busy busy; /* of this trace's work; empty: it had none */
	uint64_t memory_bytes;   /* 0: not known */
};

struct maker {
	struct limits *l;
	const struct af_world *w;
	struct af_results *out;
	struct af_table *table;
	struct limits_busy all; /* the work of all devices */
};

static const struct limits_series *series_at(const struct maker *m, uint32_t counter)
{
	const struct limits_series *s = counter < m->l->cap_series ? &m->l->series[counter] : NULL;

	return s && s->role && s->curve.nr ? s : NULL;
}

static bool is_of_group(const struct group *g, const struct af_counter *c)
{
	return c->process == g->is->process && c->device == g->is->device;
}

static void group_make(const struct maker *m, uint32_t first, struct group *g)
{
	const struct af_world *w = m->w;

	*g = (struct group){.is = &w->counters[first]};
	for (uint32_t i = first; i < w->nr_counters; i++) {
		const struct limits_series *s = series_at(m, i);
		if (s && is_of_group(g, &w->counters[i]) && !g->by[s->role])
			g->by[s->role] = s;
	}
	for (uint32_t i = 0; i < m->l->nr_devices; i++) {
		const struct limits_device *d = &m->l->devices[i];
		if (af_counter_is_of(w, g->is, d->process, d->device))
			limits_busy_append(&g->busy, &d->busy);
	}
	limits_busy_tidy(&g->busy);
	for (uint32_t i = 1; i < w->nr_devices; i++) {
		const struct af_device *d = &w->devices[i];
		if (!af_counter_is_of(w, g->is, d->process, d->id))
			continue;
		g->memory_bytes = g->memory_bytes ? g->memory_bytes : d->memory_bytes;
	}
}

static const struct af_curve *curve_of(const struct group *g, enum limits_role role)
{
	return g->by[role] ? &g->by[role]->curve : NULL;
}

static struct limits_over over_of(const struct maker *m, const struct group *g)
{
	return (struct limits_over){.in = &m->w->time_range,
	                            .of = {[MEAN_CLOCK] = curve_of(g, LIMITS_CLOCK),
	                                   [MEAN_POWER] = curve_of(g, LIMITS_POWER),
	                                   [MEAN_CELSIUS] = curve_of(g, LIMITS_CELSIUS)}};
}

static uint64_t since(const struct maker *m, uint64_t at_ns)
{
	return at_ns > m->out->start_ns ? at_ns - m->out->start_ns : 0;
}

static struct af_limit_row *row_add(struct maker *m, const struct group *g,
                                    const struct af_counter *c, enum af_limit_kind kind,
                                    const struct limits_over *o)
{
	static const struct af_column columns[] = {AF_LIMIT_COLUMNS(AF_ROW_COLUMN)};
	struct af_tables *f = &m->out->tables;

	if (!m->table)
		m->table = AF_TABLE(f, "limits", "What the machine held back", columns);
	struct af_limit_row *row = af_table_row(f, m->table);
	row->kind.text = af_limit_word(kind);
	row->limit.text = af_tables_text(f, "%s", c->name);
	row->device.text = af_counter_device(f, m->w, g->is);
	row->time_ns.value = af_tables_count(o->on_ns);
	row->of_ns.value = af_tables_count(o->all_ns);
	row->of.text = "the time with readings";
	row->from_ns.value = since(m, o->first_ns);
	row->to_ns.value = since(m, o->last_ns);
	row->value.unknown = row->otherwise.unknown = true;
	row->power_w.unknown = row->most_celsius.unknown = true;
	row->unit.text = row->link.text = "";
	return row;
}

static void cell_mean(struct af_cell *cell, struct limits_mean mean)
{
	cell->unknown = mean.ns <= 0;
	cell->value = cell->unknown ? 0 : af_tables_count(mean.sum / mean.ns * AF_COUNTER_SCALE);
}

static void cell_number(struct af_cell *cell, double value)
{
	cell->unknown = false;
	cell->value = af_tables_count(value * AF_COUNTER_SCALE);
}

/* The device's power and heat while a limit held. */
static void row_then(struct af_limit_row *row, const struct limits_over *o)
{
	cell_mean(&row->power_w, o->on[MEAN_POWER]);
	if (o->on[MEAN_CELSIUS].ns > 0)
		cell_number(&row->most_celsius, o->most[MEAN_CELSIUS]);
}

static void throttled_row(struct maker *m, const struct group *g, const struct af_counter *c,
                          const struct limits_series *s)
{
	struct limits_over o = over_of(m, g);
	bool is_ours = g->busy.nr != 0;

	/* Its neighbours' heat matters; that they take too much power does not. */
	if (!is_ours && m->all.nr && !strstr(c->name, "heat") && !strstr(c->name, "hardware"))
		return;
	o.busy = is_ours ? &g->busy : NULL;
	o.part = limits_part_level;
	limits_over(&o, &s->curve);
	if (o.on_ns < 1)
		return;
	struct af_limit_row *row = row_add(
	    m, g, c, is_ours || !m->all.nr ? AF_LIMIT_THROTTLED : AF_LIMIT_NEIGHBOUR_HOT, &o);
	if (is_ours)
		row->of.text = "the time in which it had work";
	row_then(row, &o);
	cell_mean(&row->value, o.on[MEAN_CLOCK]);
	cell_mean(&row->otherwise, o.off[MEAN_CLOCK]);
	row->unit.text = "MHz";
}

static void memory_row(struct maker *m, const struct group *g, const struct af_counter *c,
                       const struct limits_series *s)
{
	struct limits_over o = over_of(m, g);

	if (!g->memory_bytes)
		return;
	o.part = limits_part_from;
	o.limit = (double)g->memory_bytes / 100 * AF_LIMIT_MEMORY_PERCENT;
	limits_over(&o, &s->curve);
	if (o.on_ns < 1)
		return;
	struct af_limit_row *row = row_add(m, g, c, AF_LIMIT_MEMORY_FULL, &o);
	cell_mean(&row->value, o.value_on);
	cell_number(&row->otherwise, (double)g->memory_bytes);
	row->unit.text = "bytes";
}

/* Readings from before which none of the trace's work ran on the device for a while. */
static void shared_row(struct maker *m, const struct group *g, const struct af_counter *c,
                       const struct limits_series *s)
{
	const struct af_curve *curve = &s->curve;
	struct limits_over o = {0};

	for (uint32_t i = 1; i < curve->nr; i++) {
		const struct af_curve_piece *p = &curve->pieces[i];
		double percent = af_curve_piece_sum(curve, i) / (double)(p->end_ns - p->start_ns);
		uint64_t before_ns = p->start_ns - p[-1].start_ns;
		if (p->start_ns - s->first_ns < BUSY_WINDOW_NS ||
		    !af_time_range_moment(&m->w->time_range, p->start_ns) ||
		    limits_busy_ns(&g->busy, p->start_ns - BUSY_WINDOW_NS, p->start_ns) > 0)
			continue;
		before_ns = before_ns < BUSY_WINDOW_NS ? before_ns : BUSY_WINDOW_NS;
		o.all_ns += (double)before_ns;
		if (percent < AF_LIMIT_BUSY_PERCENT)
			continue;
		o.on_ns += (double)before_ns;
		o.value_on.sum += percent * (double)before_ns;
		o.first_ns = o.first_ns ? o.first_ns : p->start_ns - before_ns;
		o.last_ns = p->start_ns;
	}
	if (o.on_ns < 1)
		return;
	o.value_on.ns = o.on_ns;
	struct af_limit_row *row = row_add(m, g, c, AF_LIMIT_SHARED, &o);
	row->of.text = "the time in which it had no work of this trace for a second";
	cell_mean(&row->value, o.value_on);
	row->unit.text = "%";
}

/* A device without work of the trace, while nothing of the trace's work ran anywhere. */
static void neighbour_row(struct maker *m, const struct group *g, const struct af_counter *c,
                          const struct limits_series *s)
{
	struct limits_over o = over_of(m, g);

	o.busy = &m->all;
	o.idle = true;
	o.part = limits_part_from;
	o.limit = AF_LIMIT_BUSY_PERCENT;
	limits_over(&o, &s->curve);
	if (o.on_ns < 1)
		return;
	struct af_limit_row *row = row_add(m, g, c, AF_LIMIT_NEIGHBOUR_BUSY, &o);
	row->of.text = "the time in which no device had work of this trace, from its first to its "
		       "last";
	cell_mean(&row->value, o.value_on);
	row->unit.text = "%";
	row_then(row, &o);
}

static double level_between(const struct group *g, enum limits_role role, uint64_t from_ns,
                            uint64_t to_ns)
{
	double covered = 0;
	double sum = g->by[role] ? af_curve_sum(&g->by[role]->curve, from_ns, to_ns, &covered) : 0;

	return covered > 0 ? sum / covered : 0;
}

/* Traffic as the part of what the link moved at most as it was then, where that is known. */
static struct af_curve link_shares(const struct group *g, const struct af_curve *traffic)
{
	struct af_curve shares = {0};

	for (uint32_t i = 0; i < traffic->nr; i++) {
		const struct af_curve_piece *p = &traffic->pieces[i];
		double most =
		    limits_link_bytes(level_between(g, LIMITS_GENERATION, p->start_ns, p->end_ns),
		                      level_between(g, LIMITS_LANES, p->start_ns, p->end_ns));
		if (most > 0)
			af_curve_add(&shares, p->start_ns, p->end_ns,
			             af_curve_piece_sum(traffic, i) / most);
	}
	return shares;
}

/* "generation 4 of 5, 8 of 16 lanes", while it was full */
static const char *link_text(struct maker *m, const struct group *g, const struct limits_over *o)
{
	double now[2] = {level_between(g, LIMITS_GENERATION, o->first_ns, o->last_ns),
	                 level_between(g, LIMITS_LANES, o->first_ns, o->last_ns)};
	double most[2] = {level_between(g, LIMITS_MOST_GENERATION, o->first_ns, o->last_ns),
	                  level_between(g, LIMITS_MOST_LANES, o->first_ns, o->last_ns)};

	for (int i = 0; i < 2; i++)
		most[i] = most[i] > now[i] ? most[i] : now[i];
	return af_tables_text(&m->out->tables, "generation %.0f of %.0f, %.0f of %.0f lanes",
	                      now[0], most[0], now[1], most[1]);
}

static void link_row(struct maker *m, const struct group *g, const struct af_counter *c,
                     const struct limits_series *s)
{
	struct limits_over o = {.in = &m->w->time_range, .of = {&s->curve}};
	struct af_curve shares = link_shares(g, &s->curve);

	o.part = limits_part_from;
	o.limit = AF_LIMIT_LINK_PERCENT / 100.0;
	limits_over(&o, &shares);
	af_curve_free(&shares);
	if (o.on_ns < 1)
		return;
	struct af_limit_row *row = row_add(m, g, c, AF_LIMIT_LINK_FULL, &o);
	cell_mean(&row->value, o.on[0]);
	cell_number(&row->otherwise, o.on[0].sum / o.value_on.sum);
	row->unit.text = "bytes/s";
	row->link.text = link_text(m, g, &o);
}

static void counter_rows(struct maker *m, const struct group *g, const struct af_counter *c,
                         const struct limits_series *s)
{
	switch (s->role) {
	case LIMITS_THROTTLE:
		throttled_row(m, g, c, s);
		return;
	case LIMITS_MEMORY:
		memory_row(m, g, c, s);
		return;
	case LIMITS_TRAFFIC:
		/* Other programs' traffic is no limit of this one. */
		if (g->busy.nr || !m->all.nr)
			link_row(m, g, c, s);
		return;
	case LIMITS_BUSY:
		if (g->busy.nr)
			shared_row(m, g, c, s);
		else if (m->all.nr)
			neighbour_row(m, g, c, s);
		return;
	default:
		return;
	}
}

/* Is it the first counter of its device that was read? */
static bool is_first(const struct maker *m, uint32_t counter)
{
	const struct group like = {.is = &m->w->counters[counter]};

	for (uint32_t i = 1; i < counter; i++)
		if (series_at(m, i) && is_of_group(&like, &m->w->counters[i]))
			return false;
	return series_at(m, counter) != NULL;
}

void limits_table(struct limits *l, const struct af_world *w, struct af_results *out)
{
	struct maker m = {.l = l, .w = w, .out = out};

	for (uint32_t i = 0; i < l->nr_devices; i++)
		limits_busy_append(&m.all, &l->devices[i].busy);
	limits_busy_tidy(&m.all);
	for (uint32_t first = 1; first < w->nr_counters; first++) {
		struct group g;
		if (!is_first(&m, first))
			continue;
		group_make(&m, first, &g);
		for (uint32_t i = first; i < w->nr_counters; i++) {
			const struct limits_series *s = series_at(&m, i);
			if (s && is_of_group(&g, &w->counters[i]))
				counter_rows(&m, &g, &w->counters[i], s);
		}
		free(g.busy.all);
	}
	free(m.all.all);
}
