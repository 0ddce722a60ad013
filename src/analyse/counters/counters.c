/* What did counters of devices and of the host show? One row a counter. */
#include "analyse/counters/counters.h"

#include <stdlib.h>

#include "analyse/pass/pass.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"

/* Sums are of values as they are in the trace; times are within what is requested. */
struct counter_sum {
	uint64_t readings, moments; /* moments: those of them without a span */
	uint64_t span_ns;
	uint64_t min, max; /* of levels; of amounts, their rates */
	bool has_most;
	unsigned __int128 weighted; /* levels: value times ns */
	unsigned __int128 plain;    /* levels of moments */
	unsigned __int128 total;    /* amounts */
};

struct counters {
	struct counter_sum *sums; /* by index of w->counters */
	uint32_t cap;
	uint64_t end_ns; /* of the last reading */
};

static void sum_most(struct counter_sum *s, uint64_t value)
{
	if (!s->has_most || value < s->min)
		s->min = value;
	if (!s->has_most || value > s->max)
		s->max = value;
	s->has_most = true;
}

/* @ns of the reading's span are in the range; of a moment, none, and it is in the range. */
static void sum_add(struct counter_sum *s, const struct af_counter *c, uint64_t value, uint64_t ns,
                    uint64_t span_ns)
{
	s->readings++;
	s->moments += !span_ns;
	s->span_ns += ns;
	if (!af_counter_adds_up(c)) {
		s->weighted += (unsigned __int128)value * ns;
		s->plain += span_ns ? 0 : value;
		sum_most(s, value);
		return;
	}
	bool whole = !span_ns || ns == span_ns;
	s->total += whole ? value : (unsigned __int128)value * ns / span_ns;
	if (span_ns)
		sum_most(s, af_counter_rate(value, span_ns));
}

static void counters_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	const struct af_time_range *range = &w->time_range;
	struct counters *all = self;
	struct af_counter_values v;
	uint32_t counter;
	uint64_t value;

	if (ev->kind != AF_KIND_READING || !af_counter_values(ev, &v))
		return;
	const uint64_t span_ns = v.end_ns - v.start_ns,
		       ns = af_time_range_ns(range, v.start_ns, v.end_ns);
	if (span_ns ? !ns : !af_time_range_moment(range, v.end_ns))
		return;
	if (v.end_ns > all->end_ns)
		all->end_ns = v.end_ns;
	while (af_counter_next(&v, w, &counter, &value)) {
		AF_REACH(all->sums, counter, all->cap);
		sum_add(&all->sums[counter], &w->counters[counter], value, ns, span_ns);
	}
}

static bool counters_merge(void *self, const struct af_world *w, const void *other)
{
	const struct counters *from = other;
	struct counters *all = self;

	(void)w;
	if (from->end_ns > all->end_ns)
		all->end_ns = from->end_ns;
	for (uint32_t i = 0; i < from->cap; i++) {
		const struct counter_sum *s = &from->sums[i];
		if (!s->readings)
			continue;
		AF_REACH(all->sums, i, all->cap);
		struct counter_sum *to = &all->sums[i];
		if (s->has_most) {
			sum_most(to, s->min);
			sum_most(to, s->max);
		}
		to->readings += s->readings;
		to->moments += s->moments;
		to->span_ns += s->span_ns;
		to->weighted += s->weighted;
		to->plain += s->plain;
		to->total += s->total;
	}
	return true;
}

/* How long was recorded, of what is requested? */
static uint64_t run_ns(const struct counters *all, const struct af_world *w)
{
	uint64_t end_ns = w->last_ns > all->end_ns ? w->last_ns : all->end_ns;

	if (w->closed_ns > w->opened_ns)
		end_ns = w->closed_ns;
	return af_time_range_ns(&w->time_range, w->opened_ns, end_ns);
}

/* Rates are in thousandths already. */
static void cells_amount(const struct counter_sum *s, const struct af_counter *c,
                         struct af_tables *f, struct af_counter_row *row)
{
	const uint64_t per = c->per;

	row->unit.text = af_counter_unit(f, c, true);
	row->total_unit.text = af_counter_unit(f, c, false);
	row->total.value = af_counter_cell(s->total, per);
	row->mean.value = af_counter_rate(s->total, s->span_ns) / per;
	row->min.value = s->min / per;
	row->max.value = s->max / per;
	row->mean.unknown = !s->span_ns;
	row->mean_of.value = s->span_ns;
}

static void cells_level(const struct counter_sum *s, const struct af_counter *c,
                        struct af_tables *f, struct af_counter_row *row)
{
	bool spans = s->span_ns > 0;

	row->unit.text = af_counter_unit(f, c, false);
	row->total_unit.text = "";
	row->total.unknown = true;
	row->mean_of.value = spans ? s->span_ns : s->moments;
	row->mean.value = spans
	                      ? af_counter_cell_of((double)s->weighted / (double)s->span_ns, c->per)
	                      : af_counter_cell_of((double)s->plain / (double)s->moments, c->per);
	row->min.value = af_counter_cell(s->min, c->per);
	row->max.value = af_counter_cell(s->max, c->per);
}

static void counter_row(const struct counters *all, const struct af_world *w, uint32_t counter,
                        struct af_tables *f, struct af_counter_row *row)
{
	const struct counter_sum *s = &all->sums[counter];
	const struct af_counter *c = &w->counters[counter];
	uint64_t run = run_ns(all, w);

	row->counter.text = af_tables_text(f, "%s", c->name);
	row->group.text = af_tables_text(f, "%s", c->group);
	row->device.text = af_counter_device(f, w, c);
	row->process.text = c->process ? af_process_label(f, w, c->process) : "";
	row->readings.value = s->readings;
	row->covered_ns.value = s->span_ns;
	row->covered_percent.value = af_tables_ratio(s->span_ns < run ? s->span_ns : run, run, 1e4);
	row->covered_ns.unknown = s->moments == s->readings;
	row->covered_percent.unknown = !run || s->moments == s->readings;
	row->min.unknown = row->max.unknown = !s->has_most;
	if (af_counter_adds_up(c))
		cells_amount(s, c, f, row);
	else
		cells_level(s, c, f, row);
}

static void counters_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {AF_COUNTER_COLUMNS(AF_ROW_COLUMN)};
	struct counters *all = self;
	struct af_table *t = NULL;

	for (uint32_t i = 1; i < all->cap && i < w->nr_counters; i++) {
		if (!all->sums[i].readings ||
		    !af_counter_chosen(&w->counters[i], out->query.counters))
			continue;
		if (!t)
			t = AF_TABLE(&out->tables, "counters",
			             "Counters of devices and of the host", columns);
		counter_row(all, w, i, &out->tables, af_table_row(&out->tables, t));
	}
}

static void counters_close(void *self)
{
	struct counters *all = self;

	free(all->sums);
}

const struct af_pass_ops af_pass_counters = {
    .name = "counters",
    .question = "what did counters of devices and of the host show?",
    .answers = AF_ANSWER_TABLES | AF_ANSWER_COUNTERS,
    .wants = 1ull << AF_KIND_MOMENT_BIT,
    .state_size = sizeof(struct counters),
    .event = counters_event,
    .merge = counters_merge,
    .finish = counters_finish,
    .close = counters_close,
};
