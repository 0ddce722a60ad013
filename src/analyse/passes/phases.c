/*
 * The phases of a run that repeats itself: its start, the first steps, which take longer than the
 * others, the steady part, and the end. Nothing names the steps: they are found by the call paths
 * that launch device work. A loop whose body launches it calls each of them once in a step, so many
 * paths have one and the same number of calls, which is the number of steps. A loop that launches
 * a graph has one such path. Where no number of steps fits, or their lengths differ too much, a run
 * is still steady while one path launches about as often in each tenth of its time.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/world/work.h"
#include "base/arena.h"

enum {
	STEPS_LEAST = 8,
	CALLS_MOST = 1 << 16,   /* of a path: one that is called more often is within a step */
	MULTIPLES_PERCENT = 20, /* of the calls meanwhile: of paths called so often in each step */
	REGULAR = 2,            /* four of five steps take half to twice the median one */
	GROUP_REGULAR = 4,  /* four of five groups differ from the median by a quarter at most */
	GROUP_MOST = 16,    /* steps in a group: some steps wait for the device, most do not */
	GROUPS_LEAST = 4,   /* in the later half of the run */
	STEADY_STEPS = 3,   /* so many groups, each a step later, end the warm-up, */
	STEADY_HALVES = 3,  /* when each takes at most 3/2 of the median one */
	STEADY_PERCENT = 5, /* of the run, at least, is steady */
	EVEN_PARTS = 10,    /* of a path's time, in each of which an even path is called */
	EVEN_LEAST = 3 * EVEN_PARTS, /* so often in all, */
	EVEN_FACTOR = 2              /* and half to twice as often as in the median one */
};

/* The calls from one call path that launched work. */
struct phase_path {
	uint32_t process;
	uint32_t cap, kept;
	uint64_t nr, last_id, stride;
	uint64_t
	    *times; /* of the @kept calls: every @stride-th. In any order until they are sorted */
};

struct phases {
	struct phase_path *paths; /* by call path of the world */
	uint32_t nr, cap;
};

/* The steps that were found. */
struct phase_steps {
	const struct phase_path *anchor; /* its calls begin the steps */
	uint32_t paths;                  /* that are called once in each */
	uint32_t group;                  /* so many in a row take about the same time; 0: none do */
	uint64_t median_ns;              /* of groups in the later half */
	uint64_t even_ns;                /* where no group is known: when the steady part begins */
};

/* Keep the time of a call. Of too many every other one is kept, which still spans the run. */
static void path_call(struct phase_path *path, uint64_t ns)
{
	if (!path->stride)
		path->stride = 1;
	if (path->kept == CALLS_MOST) {
		for (uint32_t i = 0; i < CALLS_MOST / 2; i++)
			path->times[i] = path->times[(size_t)2 * i];
		path->kept = CALLS_MOST / 2;
		path->stride *= 2;
	}
	if (path->nr++ % path->stride)
		return;
	AF_GROW(path->times, path->kept, path->cap);
	path->times[path->kept++] = ns;
}

static void phases_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct phases *p = self;

	(void)w;
	if (!work->launched || !work->path || work->out_of_range)
		return;
	AF_REACH(p->paths, work->path, p->cap);
	if (work->path >= p->nr)
		p->nr = work->path + 1;
	struct phase_path *path = &p->paths[work->path];
	/* A graph is one call with many works. */
	if (path->nr && path->last_id == work->id)
		return;
	path->process = work->process;
	path->last_id = work->id;
	path_call(path, work->call_start_ns);
}

static int time_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Process after process; in each the paths with most calls first, and then in order of time. */
static int path_order(const void *a, const void *b)
{
	const struct phase_path *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return x->times[0] < y->times[0] ? -1 : x->times[0] > y->times[0];
}

/* The lengths of groups that begin with each step of the later half, in order; to be freed. */
static uint64_t *later_lengths(const struct phase_path *anchor, uint32_t group, uint32_t *nr)
{
	uint32_t steps = (uint32_t)anchor->nr - 1, from = steps / 2;
	uint64_t *lengths = af_xcalloc(steps, sizeof *lengths);

	*nr = 0;
	for (uint32_t i = from; i + group <= steps; i++)
		lengths[(*nr)++] = anchor->times[i + group] - anchor->times[i];
	qsort(lengths, *nr, sizeof *lengths, time_order);
	return lengths;
}

/* The median length of groups in the later half if most are about as long, else 0. */
static uint64_t regular_median(const struct phase_path *anchor, uint32_t group)
{
	uint32_t nr;
	uint64_t *lengths = later_lengths(anchor, group, &nr);
	uint64_t low = lengths[nr / 10], median = lengths[nr / 2],
		 high = lengths[(uint64_t)nr * 9 / 10];

	free(lengths);
	/* The more steps a group has, the more random ones even out. */
	bool regular = group == 1 ? high / REGULAR <= median && low >= median / REGULAR
	                          : high - median <= median / GROUP_REGULAR &&
	                                median - low <= median / GROUP_REGULAR;
	return regular ? median : 0;
}

static uint64_t last_of(const struct phase_path *path)
{
	return path->times[path->kept - 1];
}

/* The time from a path's first call to its last. */
static uint64_t span_of(const struct phase_path *path)
{
	return last_of(path) - path->times[0];
}

/* How many times of @path are before @ns? */
static uint32_t nr_before(const struct phase_path *path, uint64_t ns)
{
	uint32_t low = 0, high = path->kept;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (path->times[middle] < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The calls of @path from the first call of @during to its last. */
static uint64_t calls_during(const struct phase_path *path, const struct phase_path *during)
{
	uint64_t first = during->times[0], last = last_of(during);

	if (path->times[0] >= first && last_of(path) <= last)
		return path->nr;
	return path->stride * (nr_before(path, last + 1) - nr_before(path, first));
}

/* Steps that begin with the calls of @anchor, in the smallest group of several that is regular. */
static struct phase_steps steps_grouped(const struct phase_path *anchor, uint32_t paths)
{
	for (uint32_t group = 2; group <= GROUP_MOST && anchor->nr / 2 / group >= GROUPS_LEAST;
	     group *= 2) {
		uint64_t median_ns = regular_median(anchor, group);
		if (median_ns)
			return (struct phase_steps){anchor, paths, group, median_ns, 0};
	}
	return (struct phase_steps){0};
}

/*
 * Whether a good part of what the paths [@from, @to) of a process call during @anchor is called as
 * often as it, or a multiple of that.
 */
static bool is_much(const struct phase_path *paths, uint32_t from, uint32_t to,
                    const struct phase_path *anchor)
{
	uint64_t all = 0, multiples = 0;

	for (uint32_t i = from; i < to; i++) {
		uint64_t calls = calls_during(&paths[i], anchor);
		all += calls;
		multiples += paths[i].nr % anchor->nr ? 0 : calls;
	}
	return multiples >= all / 100 * MULTIPLES_PERCENT;
}

/*
 * The part of a path's time that is even and lasts to its end, as steps none of which is known: the
 * median of the later half says how often it is called in a part.
 */
static struct phase_steps steps_even(const struct phase_path *path)
{
	uint64_t later[EVEN_PARTS / 2], span = span_of(path) / EVEN_PARTS + 1;
	uint32_t nr[EVEN_PARTS], first = EVEN_PARTS;

	if (path->kept < EVEN_LEAST)
		return (struct phase_steps){0};
	for (uint32_t i = 0; i < EVEN_PARTS; i++)
		nr[i] = nr_before(path, path->times[0] + (i + 1) * span) -
		        nr_before(path, path->times[0] + i * span);
	for (uint32_t i = 0; i < EVEN_PARTS / 2; i++)
		later[i] = nr[EVEN_PARTS / 2 + i];
	qsort(later, EVEN_PARTS / 2, sizeof *later, time_order);
	uint64_t median = later[EVEN_PARTS / 4];
	while (first && (uint64_t)nr[first - 1] * EVEN_FACTOR >= median &&
	       nr[first - 1] <= median * EVEN_FACTOR)
		first--;
	if (first > EVEN_PARTS / 2)
		return (struct phase_steps){0};
	return (struct phase_steps){.anchor = path, .even_ns = path->times[0] + first * span};
}

/*
 * The steps that fit the paths [@from, @to) of one process, which are in order: the most, if single
 * steps are regular. If only groups are, the fewest, as calls of an inner loop have regular groups
 * too. They go on for about as long as any path does: what a start repeats is over soon. If no
 * steps fit, what one path does evenly.
 */
static struct phase_steps steps_find(const struct phase_path *paths, uint32_t from, uint32_t to)
{
	struct phase_steps grouped = {0}, even = {0};
	uint64_t longest = 0;

	for (uint32_t i = from; i < to; i++)
		if (paths[i].nr >= STEPS_LEAST && span_of(&paths[i]) > longest)
			longest = span_of(&paths[i]);
	for (uint32_t i = from, end; i < to; i = end) {
		for (end = i; end < to && paths[end].nr == paths[i].nr; end++)
			;
		if (paths[i].nr < STEPS_LEAST || span_of(&paths[i]) < longest / 2)
			continue;
		if (!even.anchor)
			even = steps_even(&paths[i]);
		if (paths[i].nr > CALLS_MOST || !is_much(paths, from, to, &paths[i]))
			continue;
		uint64_t median_ns = regular_median(&paths[i], 1);
		if (median_ns)
			return (struct phase_steps){&paths[i], end - i, 1, median_ns, 0};
		struct phase_steps steps = steps_grouped(&paths[i], end - i);
		if (steps.anchor)
			grouped = steps;
	}
	return grouped.anchor ? grouped : even;
}

/* The steps of the process that launched most often of those that have any. */
static struct phase_steps steps_choose(const struct phase_path *paths, uint32_t nr)
{
	struct phase_steps best = {0};
	uint64_t most = 0;

	for (uint32_t i = 0, end; i < nr; i = end) {
		uint64_t calls = 0;
		for (end = i; end < nr && paths[end].process == paths[i].process; end++)
			calls += paths[end].nr;
		struct phase_steps steps = steps_find(paths, i, end);
		if (steps.anchor && calls > most) {
			best = steps;
			most = calls;
		}
	}
	return best;
}

/* The first step from which several groups take about the median time, or which is in even time. */
static uint32_t steady_first(const struct phase_steps *s)
{
	if (!s->group)
		return nr_before(s->anchor, s->even_ns);
	uint32_t steps = (uint32_t)s->anchor->nr - 1, in_row = 0;

	for (uint32_t i = 0; i + s->group <= steps; i++) {
		uint64_t length = s->anchor->times[i + s->group] - s->anchor->times[i];
		in_row = length / STEADY_HALVES <= s->median_ns / 2 ? in_row + 1 : 0;
		if (in_row == STEADY_STEPS)
			return i + 1 - STEADY_STEPS;
	}
	return steps;
}

static void phase_row(struct af_tables *f, struct af_table *t, const char *phase, uint64_t from_ns,
                      uint64_t to_ns, uint32_t steps)
{
	if (to_ns <= from_ns)
		return;
	struct af_phase_row *row = af_table_row(f, t);
	row->phase.text = phase;
	row->from_ns.value = from_ns;
	row->to_ns.value = to_ns;
	row->length_ns.value = to_ns - from_ns;
	row->steps.value = steps;
	row->steps.unknown = !steps;
	row->step_ns.value = steps ? (to_ns - from_ns) / steps : 0;
	row->step_ns.unknown = !steps;
}

static void phases_table(const struct phase_steps *steps, const struct af_world *w,
                         struct af_results *out)
{
	static const struct af_column columns[] = {AF_PHASE_COLUMNS(AF_ROW_COLUMN)};
	const struct phase_path *anchor = steps->anchor;
	struct af_tables *f = &out->tables;
	uint64_t zero = out->start_ns, end_ns = w->last_ns > zero ? w->last_ns - zero : 0;
	uint32_t last = anchor->kept - 1, steady = steady_first(steps);
	uint64_t first_ns = anchor->times[0] - zero, steady_ns = anchor->times[steady] - zero,
		 last_ns = anchor->times[last] - zero;

	/* Compilers try kernels in loops, too: a small part of a run is not what it repeats. */
	if (last - steady < STEPS_LEAST / 2 ||
	    (last_ns - steady_ns) / STEADY_PERCENT < end_ns / 100)
		return;
	struct af_table *t = AF_TABLE(f, "phases", "Phases", columns);
	phase_row(f, t, "start", 0, first_ns, 0);
	phase_row(f, t, "warm-up", first_ns, steady_ns, steps->group ? steady : 0);
	phase_row(f, t, AF_PHASE_STEADY, steady_ns, last_ns, steps->group ? last - steady : 0);
	phase_row(f, t, "end", last_ns, end_ns, 0);
	t->note = !steps->group
	              ? "no single steps were found: one call path launches work about as often in "
	                "each tenth of the steady part"
	              : af_tables_text(
			    f,
			    "steps are found by what repeats: %u call paths launch work once in "
			    "each of %u; the end has the last step",
			    steps->paths, last + 1);
}

static void phases_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct phases *p = self;
	uint32_t nr = 0;

	if (w->time_range.query->from_ns || w->time_range.query->to_ns)
		return; /* a part of a run has no start */
	for (uint32_t i = 0; i < p->nr; i++) {
		struct phase_path *path = &p->paths[i];
		if (!path->nr)
			continue;
		qsort(path->times, path->kept, sizeof *path->times, time_order);
		struct phase_path at = p->paths[nr];
		p->paths[nr++] = *path;
		*path = at;
	}
	if (nr)
		qsort(p->paths, nr, sizeof *p->paths, path_order);
	const struct phase_steps steps = steps_choose(p->paths, nr);
	if (steps.anchor && steps.anchor->times[0] >= out->start_ns)
		phases_table(&steps, w, out);
}

static void phases_close(void *self)
{
	struct phases *p = self;

	for (uint32_t i = 0; i < p->nr; i++)
		free(p->paths[i].times);
	free(p->paths);
}

const struct af_pass_ops af_pass_phases = {
    .name = "phases",
    .question = "which parts has the run?",
    .answers = AF_ANSWER_TABLES,
    .state_size = sizeof(struct phases),
    .work = phases_work,
    .finish = phases_finish,
    .close = phases_close,
};
