/*
 * Steps by the call paths that launch device work, which nothing names. A loop whose body launches
 * it calls each of them once in a step, so many paths have one and the same number of calls, which
 * is the number of steps. A loop that launches a graph has one such path. Where no number of steps
 * fits, or their lengths differ too much, a run is still steady while one path launches about as
 * often in each tenth of its time.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/phases/blocks.h"
#include "base/arena.h"

enum {
	MULTIPLES_PERCENT = 20, /* of the calls meanwhile: of paths called so often in each step */
	EVEN_PARTS = 10,        /* of a path's time, in each of which an even path is called */
	EVEN_LEAST = 3 * EVEN_PARTS, /* so often in all, */
	EVEN_FACTOR = 2              /* and half to twice as often as in the median one */
};

/* Process after process; in each the paths with most calls first, and then in order of time. */
static int path_order(const void *a, const void *b)
{
	const struct phase_path *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->calls.nr != y->calls.nr)
		return x->calls.nr > y->calls.nr ? -1 : 1;
	return x->calls.first_ns < y->calls.first_ns ? -1 : x->calls.first_ns > y->calls.first_ns;
}

void phase_calls_sort(struct phase_calls *c)
{
	phase_calls_end(c);
	AF_SORT(c->paths, c->nr, path_order);
}

/*
 * Whether a good part of what the paths [@from, @to) of a process call during @anchor is called as
 * often as it, or a multiple of that.
 */
static bool is_much(struct phase_calls *c, uint32_t from, uint32_t to,
                    const struct phase_times *anchor)
{
	uint64_t all = 0, multiples = 0;

	for (uint32_t i = from; i < to; i++) {
		uint64_t calls =
		    phase_calls_between(c, &c->paths[i], anchor->first_ns, anchor->last_ns);
		all += calls;
		multiples += c->paths[i].calls.nr % anchor->nr ? 0 : calls;
	}
	return multiples >= all / 100 * MULTIPLES_PERCENT;
}

/*
 * The part of a path's time that is even and lasts to its end, as steps none of which is known: the
 * median of the later half says how often it is called in a part.
 */
static struct phase_steps steps_even(struct phase_calls *c, struct phase_path *p)
{
	const struct phase_times *path = &p->calls;
	uint64_t later[EVEN_PARTS / 2], span = phase_times_span(path) / EVEN_PARTS + 1;
	uint32_t nr[EVEN_PARTS], first = EVEN_PARTS;

	phase_calls_load(c, p);
	if (path->kept < EVEN_LEAST)
		return (struct phase_steps){0};
	for (uint32_t i = 0; i < EVEN_PARTS; i++)
		nr[i] = phase_times_before(path, path->at_ns[0] + (i + 1) * span) -
		        phase_times_before(path, path->at_ns[0] + i * span);
	for (uint32_t i = 0; i < EVEN_PARTS / 2; i++)
		later[i] = nr[EVEN_PARTS / 2 + i];
	AF_SORT(later, EVEN_PARTS / 2, phase_number_order);
	uint64_t median = later[EVEN_PARTS / 4];
	while (first && (uint64_t)nr[first - 1] * EVEN_FACTOR >= median &&
	       nr[first - 1] <= median * EVEN_FACTOR)
		first--;
	if (first > EVEN_PARTS / 2)
		return (struct phase_steps){0};
	return (struct phase_steps){.anchor = path, .even_ns = path->at_ns[0] + first * span};
}

/* The longest time that any of the paths [@from, @to) goes on. */
static uint64_t longest_of(const struct phase_path *paths, uint32_t from, uint32_t to)
{
	uint64_t longest = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct phase_times *calls = &paths[i].calls;
		if (calls->nr >= PHASE_STEPS_LEAST && phase_times_span(calls) > longest)
			longest = phase_times_span(calls);
	}
	return longest;
}

/*
 * The steps that fit the paths [@from, @to) of one process, which are in order: the most, if single
 * steps are regular. If only groups are, the fewest, as calls of an inner loop have regular groups
 * too. They go on for about as long as any path does: what a start repeats is over soon. If no
 * steps fit, what one path does evenly.
 */
static struct phase_steps steps_find(struct phase_calls *c, uint32_t from, uint32_t to)
{
	struct phase_path *paths = c->paths;
	struct phase_steps grouped = {0}, even = {0}, steps = {0};
	uint64_t longest = longest_of(paths, from, to);

	for (uint32_t i = from, end; i < to; i = end) {
		const struct phase_times *calls = &paths[i].calls;
		for (end = i; end < to && paths[end].calls.nr == calls->nr; end++)
			;
		if (calls->nr < PHASE_STEPS_LEAST || phase_times_span(calls) < longest / 2)
			continue;
		if (!even.anchor)
			even = steps_even(c, &paths[i]);
		if (calls->nr > PHASE_TIMES_MOST || !is_much(c, from, to, calls))
			continue;
		phase_calls_load(c, &paths[i]);
		bool single = phase_steps_single(&steps, calls);
		if (!single && !phase_steps_grouped(&steps, calls))
			continue;
		steps.paths = end - i;
		if (single)
			return steps;
		grouped = steps;
	}
	return grouped.anchor ? grouped : even;
}

bool phase_calls_find(struct phase_calls *c, struct phase_steps *s)
{
	uint64_t most = 0;

	/* Those of the process that launched most often of those that have any. */
	*s = (struct phase_steps){0};
	for (uint32_t i = 0, end; i < c->nr; i = end) {
		uint64_t calls = 0;
		for (end = i; end < c->nr && c->paths[end].process == c->paths[i].process; end++)
			calls += c->paths[end].calls.nr;
		struct phase_steps steps = steps_find(c, i, end);
		if (steps.anchor && calls > most) {
			*s = steps;
			most = calls;
		}
	}
	return s->anchor != NULL;
}

uint64_t phase_calls_of(const struct phase_calls *c, uint32_t process, uint64_t *longest_ns)
{
	uint64_t calls = 0;

	*longest_ns = 0;
	for (uint32_t i = 0; i < c->nr; i++) {
		if (process && c->paths[i].process != process)
			continue;
		uint64_t span_ns = longest_of(c->paths, i, i + 1);
		calls += c->paths[i].calls.nr;
		*longest_ns = span_ns > *longest_ns ? span_ns : *longest_ns;
	}
	return calls;
}
