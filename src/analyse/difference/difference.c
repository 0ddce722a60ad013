#include "analyse/difference/private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIGMAS = 3, PERIOD_STACKS = 8, PERIOD_LEAST = 1000 };

#define QUANTA 0x1p50 /* of all variances: a page has numbers up to 2^53 */

/* the tree */

static uint64_t scale_of(const struct af_difference_side *s)
{
	uint64_t scale = s->tree->weights[s->weight].scale;

	return scale ? scale : 1;
}

/* One side while it is added. */
struct side {
	const struct af_difference_side *of;
	uint64_t times;   /* its values become so much larger, where the other side has fractions */
	double sample;    /* weight of one, where the weight counts them */
	double *variance; /* by node of the tree */
	uint32_t nr;
};

/*
 * The sum w of n equal samples has the variance w²/n. For events of all lengths, in a number that
 * varies by chance, the variance is the sum of the squares.
 */
static double side_variance(const struct side *s, uint32_t node)
{
	const struct af_difference_side *of = s->of;
	double w = (double)of->tree->self[of->weight][node] * (double)s->times;

	if (of->events && node < of->tree->nr_squares)
		return of->tree->squares[node] * (double)s->times * (double)s->times;
	if (of->samples < 0 || (of->measured >= 0 && of->tree->self[of->measured][node]))
		return 0;
	if ((uint32_t)of->samples == of->weight)
		return w * s->sample;
	uint64_t n = of->tree->self[of->samples][node];
	return n ? w * w / (double)n : 0;
}

/* The only process there is: its frame; or 0. */
static uint32_t only_process(const struct af_tree *t)
{
	uint32_t node = t->nodes[0].first_child;

	return node && !t->nodes[node].next_sibling &&
	               af_tree_frame(t, t->nodes[node].name) == AF_FRAME_PROCESS
	           ? node
	           : 0;
}

/* Both sides are known now, so the caller frees @names. */
static void side_add(struct af_difference *d, struct side *s, uint32_t column, uint32_t *names)
{
	const struct af_tree *src = s->of->tree;
	uint32_t one = only_process(&d->tree), other = only_process(src);
	uint32_t *nodes = af_xcalloc(src->nr, sizeof *nodes);

	for (uint32_t i = 0; i < src->nr; i++) {
		const struct af_tree_node *n = &src->nodes[i];
		uint64_t value;

		if (i && n->name == AF_TREE_GAP)
			nodes[i] = nodes[n->parent];
		else if (one && i == other)
			nodes[i] = one;
		else if (i)
			nodes[i] = af_tree_child(&d->tree, nodes[n->parent], names[n->name]);
		if (__builtin_mul_overflow(src->self[s->of->weight][i], s->times, &value)) {
			value = UINT64_MAX;
			d->tree.saturated = true;
		}
		af_tree_add(&d->tree, nodes[i], column, value);
	}
	s->nr = d->tree.nr;
	s->variance = af_xcalloc(s->nr, sizeof *s->variance);
	for (uint32_t i = 0; i < src->nr; i++)
		s->variance[nodes[i]] += side_variance(s, i);
	d->tree.saturated |= src->saturated;
	free(names);
	free(nodes);
}

/*
 * The unit in which variances are whole numbers. For samples, a variance in it is about as large as
 * the weight; for events, one of which may be a million times as long as another, the smallest
 * still is some units.
 */
static double side_quantum(const struct side *s, const uint64_t *weights)
{
	double variance = 0, sampled = 0, least = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		if (!(s->variance[i] > 0))
			continue;
		variance += s->variance[i];
		sampled += (double)weights[i];
		least = least > 0 && least < s->variance[i] ? least : s->variance[i];
	}
	if (!(sampled > 0))
		return 0;
	double fine = least / 16 > variance / QUANTA ? least / 16 : variance / QUANTA;
	return s->of->events && fine < variance / sampled ? fine : variance / sampled;
}

static double side_scatter(struct af_difference *d, struct side *s, uint32_t column)
{
	double quantum = side_quantum(s, d->tree.self[column]);

	for (uint32_t i = 0; quantum > 0 && i < s->nr; i++) {
		double part = s->variance[i] / quantum + 0.5;
		af_tree_add(&d->tree, i, AF_DIFFERENCE_SCATTER + column,
		            part < 1.8e19 ? (uint64_t)part : UINT64_MAX);
	}
	free(s->variance);
	return quantum;
}

/*
 * The weight of one sample. If all of many counts are multiples of a large number, as periods are,
 * it is that number.
 */
static uint64_t period_of(const struct af_difference_side *of)
{
	const uint64_t *counts = of->tree->self[of->weight];
	uint32_t nr = 0;

	if (of->period)
		return of->period;
	uint64_t step = af_tree_divisor(of->tree, of->weight) / scale_of(of);
	for (uint32_t i = 0; i < of->tree->nr; i++)
		nr += counts[i] != 0;
	return nr >= PERIOD_STACKS && step >= PERIOD_LEAST ? step : 1;
}

static struct side side_open(const struct af_difference_side *of, uint64_t scale)
{
	struct side s = {.of = of, .times = scale / scale_of(of)};

	if (of->samples >= 0 && (uint32_t)of->samples == of->weight)
		s.sample = (double)period_of(of) * (double)scale;
	return s;
}

void af_difference_open(struct af_difference *d, const struct af_difference_side *before,
                        const struct af_difference_side *after, bool strip)
{
	uint64_t x = scale_of(before), y = scale_of(after), scale = x > y ? x : y;
	const struct af_tree_weight *w = &after->tree->weights[after->weight];
	const struct af_tree_weight columns[AF_DIFFERENCE_COLUMNS] = {
	    {"before", w->unit, scale},
	    {"after", w->unit, scale},
	    {"scatter before", w->unit, scale},
	    {"scatter after", w->unit, scale},
	};
	struct side sides[2] = {side_open(before, scale), side_open(after, scale)};

	*d = (struct af_difference){0};
	af_tree_open(&d->tree, columns, AF_DIFFERENCE_COLUMNS);
	/*
	 * Called after the first side is known: a function on both sides gets the name that it has
	 * there.
	 */
	side_add(d, &sides[1], AF_DIFFERENCE_AFTER,
	         difference_names(&d->tree, after->tree, NULL, strip));
	side_add(d, &sides[0], AF_DIFFERENCE_BEFORE,
	         difference_names(&d->tree, before->tree, after->tree, strip));
	for (uint32_t i = 0; i < 2; i++)
		d->look.quantum[i] = side_scatter(d, &sides[i], i);
	d->look.events = after->events;
	af_tree_finish(&d->tree);
	af_trees_tell_apart(&d->tree, 1);
	uint64_t all[2] = {d->tree.total[0][0], d->tree.total[1][0]};
	d->look.scales[AF_NORMALIZE_NONE] = 1;
	if (all[0] && all[1])
		d->look.scales[AF_NORMALIZE_TOTAL] = (double)all[1] / (double)all[0];
}

void af_difference_close(struct af_difference *d)
{
	af_tree_close(&d->tree);
	*d = (struct af_difference){0};
}

/* changes */

static uint64_t scaled(uint64_t value, double scale)
{
	double x = (double)value * scale + 0.5;

	return scale == 1 ? value : x < 1.8e19 ? (uint64_t)x : UINT64_MAX;
}

struct af_change af_difference_change(const struct af_difference_look *look,
                                      const uint64_t values[AF_DIFFERENCE_COLUMNS])
{
	double scale = look->scales[look->normalize];
	struct af_change c = {
	    .before = scaled(values[AF_DIFFERENCE_BEFORE], scale),
	    .after = values[AF_DIFFERENCE_AFTER],
	};
	double variance = scale * scale * look->quantum[0] * (double)values[AF_DIFFERENCE_SCATTER] +
	                  look->quantum[1] * (double)values[AF_DIFFERENCE_SCATTER + 1];

	c.less = c.after < c.before;
	c.size = c.less ? c.before - c.after : c.after - c.before;
	c.noise = SIGMAS * sqrt(variance);
	c.certain = (double)c.size > c.noise;
	if (!values[AF_DIFFERENCE_BEFORE] && c.after)
		c.kind = AF_CHANGE_NEW;
	else if (values[AF_DIFFERENCE_BEFORE] && !c.after)
		c.kind = AF_CHANGE_VANISHED;
	else if (c.size)
		c.kind = c.less ? AF_CHANGE_SHRANK : AF_CHANGE_GREW;
	return c;
}

struct af_change af_difference_node(const struct af_difference_look *look, const struct af_tree *t,
                                    uint32_t node, bool self)
{
	uint64_t values[AF_DIFFERENCE_COLUMNS];

	for (uint32_t i = 0; i < AF_DIFFERENCE_COLUMNS; i++)
		values[i] = self ? t->self[i][node] : t->total[i][node];
	return af_difference_change(look, values);
}

const char *af_change_name(const struct af_change *c)
{
	static const char *const names[] = {"same", "new", "vanished", "grew", "shrank"};

	return c->kind == AF_CHANGE_NONE || c->certain ? names[c->kind] : "within noise";
}

static const char *const normalize_names[] = {
#define AF_N(NAME, text) text,
    AF_NORMALIZES(AF_N)
#undef AF_N
};

const char *af_normalize_name(enum af_normalize n)
{
	return normalize_names[n];
}

int af_normalize_find(const char *name)
{
	for (int i = 0; i < AF_NORMALIZE_END; i++)
		if (!strcmp(normalize_names[i], name))
			return i;
	return -1;
}

void af_difference_only(struct af_difference *d, enum af_change_kind kind)
{
	uint32_t other = kind == AF_CHANGE_NEW ? AF_DIFFERENCE_BEFORE : AF_DIFFERENCE_AFTER;

	for (uint32_t i = 0; i < d->tree.nr; i++)
		if (d->tree.total[other][i])
			for (uint32_t w = 0; w < AF_DIFFERENCE_COLUMNS; w++)
				d->tree.self[w][i] = 0;
	af_tree_finish(&d->tree);
}

/* Each value is the growth of the rounded running sum, so the total is exact. */
void af_difference_apply(struct af_difference *d)
{
	double scale = d->look.scales[d->look.normalize];
	uint64_t *self = d->tree.self[AF_DIFFERENCE_BEFORE];
	uint64_t seen = 0, given = 0;
	uint32_t node = 0, depth = 0;

	if (scale != 1)
		do {
			seen += self[node];
			uint64_t upto = scaled(seen, scale);
			self[node] = upto - given;
			given = upto;
			node = af_tree_next(&d->tree, node, false, &depth);
		} while (node);
	d->look.quantum[0] = d->look.quantum[0] * scale * scale;
	d->look.scales[AF_NORMALIZE_NONE] = 1;
	d->look.normalize = AF_NORMALIZE_NONE;
	af_tree_finish(&d->tree);
}
