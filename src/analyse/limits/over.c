/* Integrates curves over the times of another one and of a device's work. */
#include "analyse/limits/private.h"

double limits_part_level(double value, double limit)
{
	(void)limit;
	return value < 0 ? 0 : value > 1 ? 1 : value;
}

double limits_part_from(double value, double limit)
{
	return value >= limit;
}

static void mean_add(struct limits_mean *m, double sum, double ns)
{
	m->sum += sum;
	m->ns += ns;
}

/* From @from_ns to @to_ns, of which the part @share counts, the curve has @value. */
static void over_add(struct limits_over *o, double value, uint64_t from_ns, uint64_t to_ns,
                     double share)
{
	double part = o->part(value, o->limit), ns = (double)(to_ns - from_ns) * share;

	if (ns <= 0)
		return;
	o->all_ns += ns;
	o->on_ns += part * ns;
	mean_add(&o->value_on, value * part * ns, part * ns);
	if (part > 0) {
		o->first_ns = o->first_ns ? o->first_ns : from_ns;
		o->last_ns = to_ns;
	}
	for (int i = 0; i < 3; i++) {
		double covered;
		if (!o->of[i])
			continue;
		double sum = af_curve_sum(o->of[i], from_ns, to_ns, &covered) * share;
		covered *= share;
		mean_add(&o->on[i], part * sum, part * covered);
		mean_add(&o->off[i], (1 - part) * sum, (1 - part) * covered);
		if (part > 0 && covered > 0 && sum / covered > o->most[i])
			o->most[i] = sum / covered;
	}
}

/* The piece from @from_ns to @to_ns, in which @b has the intervals from *@at on. */
static void over_busy(struct limits_over *o, const struct limits_busy *b, uint32_t *at,
                      double value, uint64_t from_ns, uint64_t to_ns)
{
	while (*at < b->nr && b->all[*at].end_ns <= from_ns)
		++*at;
	for (uint32_t i = *at; i < b->nr && b->all[i].start_ns < to_ns; i++) {
		const struct limits_interval *x = &b->all[i];
		double share = (double)x->busy_ns / (double)(x->end_ns - x->start_ns);
		uint64_t start_ns = x->start_ns > from_ns ? x->start_ns : from_ns,
			 end_ns = x->end_ns < to_ns ? x->end_ns : to_ns;
		over_add(o, value, start_ns, end_ns, o->idle ? 1 - share : share);
		if (!o->idle || i + 1 == b->nr)
			continue;
		/* The gap behind it, as far as it is in the piece. */
		start_ns = x->end_ns > from_ns ? x->end_ns : from_ns;
		end_ns = x[1].start_ns < to_ns ? x[1].start_ns : to_ns;
		if (start_ns < end_ns)
			over_add(o, value, start_ns, end_ns, 1);
	}
}

/* A gap that began before the piece and whose work is over is in no interval of it. */
static void over_gap(struct limits_over *o, const struct limits_busy *b, uint32_t at, double value,
                     uint64_t from_ns, uint64_t to_ns)
{
	while (at < b->nr && b->all[at].end_ns <= from_ns)
		at++;
	if (!at || at == b->nr || b->all[at].start_ns <= from_ns)
		return;
	over_add(o, value, from_ns, b->all[at].start_ns < to_ns ? b->all[at].start_ns : to_ns, 1);
}

void limits_over(struct limits_over *o, const struct af_curve *by)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < by->nr; i++) {
		const struct af_curve_piece *p = &by->pieces[i];
		double sum = af_curve_piece_sum(by, i), ns = af_curve_piece_covered(by, i);
		if (ns <= 0)
			continue;
		double value = sum / ns;
		uint64_t start_ns = p->start_ns, end_ns = p->end_ns;
		double share = ns / (double)(end_ns - start_ns);
		if (o->in->to_ns) {
			start_ns = start_ns > o->in->from_ns ? start_ns : o->in->from_ns;
			end_ns = end_ns < o->in->to_ns ? end_ns : o->in->to_ns;
		}
		if (start_ns >= end_ns)
			continue;
		if (!o->busy) {
			over_add(o, value, start_ns, end_ns, share);
			continue;
		}
		if (o->idle)
			over_gap(o, o->busy, at, value, start_ns, end_ns);
		over_busy(o, o->busy, &at, value, start_ns, end_ns);
	}
}
