/*
 * The phases of a run that repeats itself: its start, the first steps, which take longer than the
 * others, the steady part, and the end. Nothing names the steps: they are found by the call paths
 * that launch device work. A loop whose body launches it calls each of them once in a step, so many
 * paths have one and the same number of calls, which is the number of steps. A loop that launches
 * a graph has one such path.
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
	MULTIPLES_PERCENT = 20, /* of all calls: of paths that are called so often in each step */
	REGULAR = 2,            /* four of five steps take half to twice the median one */
	GROUP_REGULAR = 4,  /* four of five groups differ from the median by a quarter at most */
	GROUP_MOST = 16,    /* steps in a group: some steps wait for the device, most do not */
	GROUPS_LEAST = 4,   /* in the later half of the run */
	STEADY_STEPS = 3,   /* so many groups, each a step later, end the warm-up, */
	STEADY_HALVES = 3,  /* when each takes at most 3/2 of the median one */
	STEADY_PERCENT = 5, /* of the run, at least, is steady */
};

/* The calls from one call path that launched work. */
struct phase_path {
	uint32_t process;
	uint32_t cap;
	uint64_t nr, last_id;
	uint64_t *times; /* of the first CALLS_MOST; any order */
};

struct phases {
	struct phase_path *paths; /* by call path of the world */
	uint32_t nr, cap;
};

/* The steps that were found. */
struct phase_steps {
	const struct phase_path *anchor; /* its calls begin the steps */
	uint32_t paths;                  /* that are called once in each */
	uint32_t group;                  /* so many steps in a row take about the same time */
	uint64_t median_ns;              /* of groups in the later half */
};

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
	if (path->nr < CALLS_MOST) {
		uint32_t nr = (uint32_t)path->nr;
		AF_GROW(path->times, nr, path->cap);
		path->times[nr] = work->call_start_ns;
	}
	path->nr++;
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

/* How many of a path's times are kept. */
static uint64_t nr_kept(const struct phase_path *path)
{
	return path->nr < CALLS_MOST ? path->nr : CALLS_MOST;
}

/* The time from a path's first call to its last. */
static uint64_t span_of(const struct phase_path *path)
{
	return path->times[nr_kept(path) - 1] - path->times[0];
}

/* Steps that begin with the calls of @anchor, in the smallest group of several that is regular. */
static struct phase_steps steps_grouped(const struct phase_path *anchor, uint32_t paths)
{
	for (uint32_t group = 2; group <= GROUP_MOST && anchor->nr / 2 / group >= GROUPS_LEAST;
	     group *= 2) {
		uint64_t median_ns = regular_median(anchor, group);
		if (median_ns)
			return (struct phase_steps){anchor, paths, group, median_ns};
	}
	return (struct phase_steps){0};
}

/*
 * Whether a good part of the calls from the paths [@from, @to) of a process comes from paths that
 * are called @nr times, or a multiple of that.
 */
static bool is_much(const struct phase_path *paths, uint32_t from, uint32_t to, uint64_t nr)
{
	uint64_t all = 0, multiples = 0;

	for (uint32_t i = from; i < to; i++) {
		all += paths[i].nr;
		multiples += paths[i].nr % nr ? 0 : paths[i].nr;
	}
	return multiples >= all / 100 * MULTIPLES_PERCENT;
}

/*
 * The steps that fit the paths [@from, @to) of one process, which are in order: the most, if single
 * steps are regular. If only groups are, the fewest, as calls of an inner loop have regular groups
 * too. Either go on for about as long as the path with most calls: what a start repeats is over
 * soon.
 */
static struct phase_steps steps_find(const struct phase_path *paths, uint32_t from, uint32_t to)
{
	struct phase_steps grouped = {0};

	for (uint32_t i = from, end; i < to; i = end) {
		for (end = i; end < to && paths[end].nr == paths[i].nr; end++)
			;
		if (paths[i].nr < STEPS_LEAST || paths[i].nr > CALLS_MOST ||
		    span_of(&paths[i]) < span_of(&paths[from]) / 2 ||
		    !is_much(paths, from, to, paths[i].nr))
			continue;
		uint64_t median_ns = regular_median(&paths[i], 1);
		if (median_ns)
			return (struct phase_steps){&paths[i], end - i, 1, median_ns};
		struct phase_steps steps = steps_grouped(&paths[i], end - i);
		if (steps.anchor)
			grouped = steps;
	}
	return grouped;
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

/* The first step from which several groups take about the median time. */
static uint32_t steady_first(const struct phase_steps *s)
{
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
	uint32_t last = (uint32_t)anchor->nr - 1, steady = steady_first(steps);
	uint64_t first_ns = anchor->times[0] - zero, steady_ns = anchor->times[steady] - zero,
		 last_ns = anchor->times[last] - zero;

	/* Compilers try kernels in loops, too: a small part of a run is not what it repeats. */
	if (last - steady < STEPS_LEAST / 2 ||
	    (last_ns - steady_ns) / STEADY_PERCENT < end_ns / 100)
		return;
	struct af_table *t = AF_TABLE(f, "phases", "Phases", columns);
	phase_row(f, t, "start", 0, first_ns, 0);
	phase_row(f, t, "warm-up", first_ns, steady_ns, steady);
	phase_row(f, t, AF_PHASE_STEADY, steady_ns, last_ns, last - steady);
	phase_row(f, t, "end", last_ns, end_ns, 0);
	t->note =
	    af_tables_text(f,
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
		qsort(path->times, nr_kept(path), sizeof *path->times, time_order);
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
