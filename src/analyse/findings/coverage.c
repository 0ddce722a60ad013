/*
 * Findings about the data itself: CPU time without samples, and CPU time sampled twice. These come
 * first. Findings that use shares of such time, or of device work that is missing, are withheld.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/tree/callers.h"
#include "base/arena.h"
#include "trace/kinds.h"

enum { GROUPS_MOST = 3, KINDS_NAMED = 6 };

/* Rows of one name and one cause. Rows that are short of samples themselves are separate. */
struct group {
	const struct af_coverage_row *const *rows; /* nr of them, in groups.sorted */
	struct af_coverage_row sum; /* what they have together; the rest of the first */
	struct af_covered exact;    /* of those whose use is known to their end */
	uint32_t nr;
};

struct groups {
	const struct af_coverage_row **sorted;
	struct group *all;
	uint32_t nr;
};

/* By how much samples are off, whichever way. */
static uint64_t off_by(const struct group *g)
{
	const struct af_covered *c = &g->sum.cpu;
	uint64_t used, sampled;

	if (!g->sum.over)
		return af_covered_missing(af_covered_used(c), af_covered_sampled(c));
	af_covered_held(c, &used, &sampled);
	return sampled > used ? sampled - used : 0;
}

static int group_key(const void *a, const void *b)
{
	const struct af_coverage_row *x = *(const struct af_coverage_row *const *)a,
				     *y = *(const struct af_coverage_row *const *)b;
	int name = strcmp(x->name, y->name);

	if (name)
		return name;
	if (x->short_of != y->short_of)
		return x->short_of ? -1 : 1;
	if (x->over != y->over)
		return x->over ? -1 : 1;
	return x->cause < y->cause ? -1 : x->cause > y->cause;
}

static int group_order(const void *a, const void *b)
{
	uint64_t x = off_by(a), y = off_by(b);

	return x < y ? 1 : x > y ? -1 : 0;
}

static void group_add(struct group *g, const struct af_coverage_row *r)
{
	g->nr++;
	if (af_coverage_is_exact(r))
		af_covered_add(&g->exact, &r->cpu);
	if (g->nr == 1)
		return;
	af_covered_add(&g->sum.cpu, &r->cpu);
	g->sum.count += r->count;
	g->sum.cpu_ns += r->cpu_ns;
}

/* The facts about @rows, by group. The caller frees them. */
static struct groups groups_make(const struct af_coverage *c, const struct af_coverage_row *rows,
                                 uint32_t nr_rows)
{
	struct groups gs = {.sorted = af_xcalloc((size_t)nr_rows + 1, sizeof *gs.sorted),
	                    .all = af_xcalloc((size_t)nr_rows + 1, sizeof *gs.all)};
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_rows; i++)
		if (rows[i].known)
			gs.sorted[nr++] = &rows[i];
	AF_SORT(gs.sorted, nr, group_key);
	for (uint32_t i = 0; i < nr; i++) {
		if (!i || group_key(&gs.sorted[i - 1], &gs.sorted[i]))
			gs.all[gs.nr++] =
			    (struct group){.rows = &gs.sorted[i], .sum = *gs.sorted[i]};
		group_add(&gs.all[gs.nr - 1], gs.sorted[i]);
	}
	for (uint32_t i = 0; i < gs.nr; i++)
		if (gs.all[i].nr > 1)
			gs.all[i].sum.over = af_coverage_over(c, &gs.all[i].exact);
	return gs;
}

static void groups_free(struct groups *gs)
{
	free(gs->sorted);
	free(gs->all);
}

static const char *group_name(struct findings *s, const struct group *g)
{
	if (g->nr == 1)
		return g->sum.text;
	return af_tables_text(s->f, "%s (%s %s)", g->sum.name, findings_number(s, g->nr),
	                      g->sum.tid ? "threads" : "processes");
}

/* Each of these processes used less CPU time than one or two samples stand for. */
static bool are_short(const struct findings *s, const struct group *g)
{
	return !g->sum.cause && !g->sum.tid && g->nr > 1 &&
	       af_covered_used(&g->sum.cpu) < 2 * g->nr * s->r->coverage.period_ns;
}

static const char *group_cause(struct findings *s, const struct group *g)
{
	const char *cause = af_coverage_cause(&g->sum, s->f);

	if (are_short(s, g))
		return "they ended before their first samples";
	return cause ? cause : "the cause is not known";
}

static void find_group(struct findings *s, const struct group *g)
{
	const struct af_covered *cpu = &g->sum.cpu;
	uint64_t used = af_covered_used(cpu), sampled = af_covered_sampled(cpu);
	struct finding x = {
	    .kind = "not-sampled",
	    .ns = af_covered_missing(used, sampled),
	    .of_ns = af_covered_used(&s->r->coverage.total.cpu),
	    .of = "CPU time used",
	    .check = "aflame report coverage",
	    .view = "facts",
	    .hash = "#tab=facts",
	    .helps = af_coverage_helps(are_short(s, g) ? AF_UNSAMPLED_SHORT_THREADS : g->sum.cause),
	    .rank = FINDING_DATA};

	x.what =
	    af_tables_text(s->f, "%s used %s of CPU time, and %s of it was sampled (%s): %s",
	                   group_name(s, g), af_tables_ns(s->f, used), af_tables_ns(s->f, sampled),
	                   findings_share(s, sampled, used), group_cause(s, g));
	findings_add(s, &x);
}

static void find_group_over(struct findings *s, const struct group *g)
{
	uint64_t used, sampled;
	struct finding x = {.kind = "counted-twice",
	                    .ns = off_by(g),
	                    .of_ns = af_covered_used(&s->r->coverage.total.cpu),
	                    .of = "CPU time used",
	                    .check = "aflame report coverage",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .helps = "recording with another --sample",
	                    .rank = FINDING_DATA};

	af_covered_held(&g->sum.cpu, &used, &sampled);
	x.what = af_tables_text(s->f, "%s used %s of %s, and samples stand for %s (%s): %s",
	                        group_name(s, g), af_tables_ns(s->f, used),
	                        g->sum.cpu.sampled_kernel ? "CPU time" : "CPU time in user mode",
	                        af_tables_ns(s->f, sampled), findings_share(s, sampled, used),
	                        AF_COVERAGE_OVER_TEXT);
	findings_add(s, &x);
}

/* A thread whose process is reported already is not reported again. */
static uint32_t threads_alone(const struct af_coverage *c, struct af_coverage_row *to)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < c->nr_threads; i++) {
		const struct af_coverage_row *of = af_coverage_of(c, c->threads[i].process);
		if (of && ((c->threads[i].short_of && !of->short_of) ||
		           (c->threads[i].over && !of->over)))
			to[nr++] = c->threads[i];
	}
	return nr;
}

static void find_groups(struct findings *s, const struct af_coverage_row *rows, uint32_t nr_rows)
{
	uint64_t period_ns = s->r->coverage.period_ns;
	struct groups gs = groups_make(&s->r->coverage, rows, nr_rows);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < gs.nr; i++) {
		const struct af_covered *cpu = &gs.all[i].sum.cpu;
		if (gs.all[i].sum.over ||
		    af_coverage_short(af_covered_used(cpu), af_covered_sampled(cpu), period_ns))
			gs.all[kept++] = gs.all[i];
	}
	AF_SORT(gs.all, kept, group_order);
	for (uint32_t i = 0; i < kept && i < GROUPS_MOST; i++)
		(gs.all[i].sum.over ? find_group_over : find_group)(s, &gs.all[i]);
	groups_free(&gs);
}

void findings_coverage(struct findings *s)
{
	const struct af_coverage *c = &s->r->coverage;
	uint32_t before;

	findings_launches(s);
	if (!c->comparable)
		return;
	before = s->nr;
	find_groups(s, c->processes, c->nr_processes);
	if (s->nr == before && (c->total.short_of || c->total.over))
		find_groups(s, &c->total, 1);
	struct af_coverage_row *alone = af_xcalloc((size_t)c->nr_threads + 1, sizeof *alone);
	find_groups(s, alone, threads_alone(c, alone));
	free(alone);
}

/*
 * Do shares of sampled time differ much from shares of used time? If samples do not see the kernel,
 * both are of user mode.
 */
static bool shares_are_wrong(const struct af_coverage *c, const struct af_coverage_row *r)
{
	const struct af_covered *cpu = &r->cpu;

	if (r->over)
		return true;
	if (c->sees_kernel)
		return af_coverage_short(af_covered_used(cpu), af_covered_sampled(cpu),
		                         c->period_ns);
	return af_coverage_short(cpu->used_user, cpu->sampled_user, c->period_ns);
}

/*
 * By row of the coverage: are shares of the process wrong, its own or those of the processes that
 * it belongs to, which are too many to be named alone? The caller frees it.
 */
static bool *processes_wrong(const struct af_coverage *c)
{
	bool *wrong = af_xcalloc((size_t)c->nr_processes + 1, sizeof *wrong);
	struct groups gs = groups_make(c, c->processes, c->nr_processes);

	for (uint32_t i = 0; i < gs.nr; i++) {
		const struct group *g = &gs.all[i];
		bool all = shares_are_wrong(c, &g->sum);
		for (uint32_t r = 0; r < g->nr; r++)
			wrong[g->rows[r] - c->processes] = all || shares_are_wrong(c, g->rows[r]);
	}
	groups_free(&gs);
	return wrong;
}

/* By node of the tree of CPU time: is the function @x is about there or among its callers? */
static bool *nodes_with(const struct af_tree *t, const struct finding *x)
{
	bool *with = af_xcalloc((size_t)t->nr + 1, sizeof *with);
	struct af_hits h;

	af_hits_find(&h, t, x->id);
	for (uint32_t n = 1; n < t->nr; n++)
		with[n] = with[t->nodes[n].parent] || h.is[t->nodes[n].name];
	af_hits_free(&h);
	return with;
}

/*
 * True if half of the function's sampled time is in processes whose shares are wrong. Processes of
 * one name share a frame of the tree, whose parts tell the processes apart.
 */
static bool function_is_wrong(const struct findings *s, const struct finding *x, const bool *wrong)
{
	const struct af_results *r = s->r;
	bool *with = nodes_with(&r->trees[AF_VIEW_CPU], x);
	uint64_t all = 0, missing = 0;

	for (uint32_t i = 0; i < r->nr_cpu_parts; i++) {
		const struct af_cpu_part *part = &r->cpu_parts[i];
		const struct af_coverage_row *row = af_coverage_of(&r->coverage, part->process);
		if (!with[part->node])
			continue;
		all += part->ns;
		missing += row && wrong[row - r->coverage.processes] ? part->ns : 0;
	}
	free(with);
	return missing && missing >= all / 2;
}

/* ": function burn, python" */
static const char *withheld_add(struct findings *s, const char *reported, const struct finding *x,
                                uint32_t nr)
{
	if (nr > KINDS_NAMED)
		return reported;
	if (nr == KINDS_NAMED)
		return af_tables_text(s->f, "%s, …", reported);
	return af_tables_text(s->f, "%s%s%s%s%s", reported, *reported ? ", " : "", x->kind,
	                      x->function ? " " : "",
	                      x->function ? findings_short(s, x->function) : "");
}

/* The findings from @from on that stay; the others are listed by name. */
static const char *withhold(struct findings *s, uint32_t from, bool all, uint32_t *nr)
{
	const char *reported = "";
	uint32_t kept = from;
	bool *wrong = processes_wrong(&s->r->coverage);

	for (uint32_t i = from; i < s->nr; i++) {
		const struct finding *x = &s->all[i];
		if (x->by_samples && (all || (x->function && function_is_wrong(s, x, wrong))))
			reported = withheld_add(s, reported, x, (*nr)++);
		else
			s->all[kept++] = *x;
	}
	s->nr = kept;
	free(wrong);
	return reported;
}

static bool launches_are_wrong(const struct af_coverage *c)
{
	for (uint32_t i = 0; i < c->nr_launches; i++)
		if (c->launches[i].short_of || c->launches[i].short_of_times)
			return true;
	return false;
}

static struct finding *first_of(struct findings *s, const char *kind)
{
	struct finding *best = NULL;

	for (uint32_t i = 0; i < s->nr; i++)
		if (!strcmp(s->all[i].kind, kind) && (!best || s->all[i].ns > best->ns))
			best = &s->all[i];
	return best;
}

/* The first finding about missing data names those that are left out. */
static void withheld_say(struct findings *s, const char *kind, const char *reported, uint32_t nr)
{
	struct finding *x = nr ? first_of(s, kind) : NULL;

	if (x)
		x->what = af_tables_text(s->f, "%s; withheld for that: %s", x->what, reported);
	s->withheld += nr;
}

void findings_withhold_cpu(struct findings *s, uint32_t from)
{
	const struct af_coverage *c = &s->r->coverage;
	uint32_t nr = 0;

	if (!c->comparable)
		return;
	const char *reported = withhold(s, from, shares_are_wrong(c, &c->total), &nr);
	withheld_say(s, first_of(s, "not-sampled") ? "not-sampled" : "counted-twice", reported, nr);
}

void findings_withhold_devices(struct findings *s, uint32_t from)
{
	uint32_t nr = 0;

	if (!launches_are_wrong(&s->r->coverage))
		return;
	for (uint32_t i = from; i < s->nr; i++)
		s->all[i].by_samples = true;
	const char *reported = withhold(s, from, true, &nr);
	withheld_say(s, first_of(s, "not-joined") ? "not-joined" : "not-timed", reported, nr);
}
