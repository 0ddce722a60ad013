/*
 * What the findings stand on: CPU time used that no sample is of, and launches whose work was not
 * seen. That is said first, and what draws on shares of it is withheld.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings_private.h"
#include "base/arena.h"
#include "trace/kinds.h"

enum { GROUPS_MOST = 3, KINDS_NAMED = 6 };

/* Rows of one name and one cause, together. */
struct group {
	const struct af_coverage_row *first;
	struct af_covered cpu;
	uint64_t count, cpu_ns; /* of the cause */
	uint32_t nr;
	bool thread;
};

static uint64_t missing_of(const struct af_covered *c)
{
	return af_covered_missing(af_covered_used(c), af_covered_sampled(c));
}

static int group_key(const void *a, const void *b)
{
	const struct af_coverage_row *x = *(const struct af_coverage_row *const *)a,
				     *y = *(const struct af_coverage_row *const *)b;
	int name = strcmp(x->name, y->name);

	return name ? name : x->cause < y->cause ? -1 : x->cause > y->cause;
}

static int group_order(const void *a, const void *b)
{
	uint64_t x = missing_of(&((const struct group *)a)->cpu),
		 y = missing_of(&((const struct group *)b)->cpu);

	return x < y ? 1 : x > y ? -1 : 0;
}

static void group_add(struct group *g, const struct af_coverage_row *r)
{
	g->cpu.used_user += r->cpu.used_user;
	g->cpu.used_kernel += r->cpu.used_kernel;
	g->cpu.sampled_user += r->cpu.sampled_user;
	g->cpu.sampled_kernel += r->cpu.sampled_kernel;
	g->count += r->count;
	g->cpu_ns += r->cpu_ns;
	g->nr++;
}

/* The groups of @rows that are short of samples as a whole; the most missing first. */
static struct group *groups_make(const struct findings *s, const struct af_coverage_row *rows,
                                 uint32_t nr_rows, uint32_t *nr)
{
	const struct af_coverage_row **sorted = af_xcalloc((size_t)nr_rows + 1, sizeof *sorted);
	struct group *all = af_xcalloc((size_t)nr_rows + 1, sizeof *all);
	uint32_t kept = 0;

	*nr = 0;
	for (uint32_t i = 0; i < nr_rows; i++)
		sorted[i] = &rows[i];
	if (nr_rows)
		qsort(sorted, nr_rows, sizeof *sorted, group_key);
	for (uint32_t i = 0; i < nr_rows; i++) {
		if (!sorted[i]->known)
			continue;
		if (!*nr || group_key(&all[*nr - 1].first, &sorted[i]))
			all[(*nr)++] =
			    (struct group){.first = sorted[i], .thread = sorted[i]->tid != 0};
		group_add(&all[*nr - 1], sorted[i]);
	}
	for (uint32_t i = 0; i < *nr; i++)
		if (af_coverage_short(af_covered_used(&all[i].cpu), af_covered_sampled(&all[i].cpu),
		                      s->r->coverage.period_ns))
			all[kept++] = all[i];
	*nr = kept;
	if (kept)
		qsort(all, kept, sizeof *all, group_order);
	free(sorted);
	return all;
}

static const char *group_name(struct findings *s, const struct group *g)
{
	if (g->nr == 1 || g->first == &s->r->coverage.total)
		return g->first->text;
	return af_facts_text(s->f, "%s (%s %s)", g->first->name, findings_number(s, g->nr),
	                     g->thread ? "threads" : "processes");
}

/* Each used less than it takes to be sampled once or twice. */
static bool are_short(const struct findings *s, const struct group *g)
{
	return !g->first->cause && !g->thread && g->nr > 1 &&
	       af_covered_used(&g->cpu) < 2 * g->nr * s->r->coverage.period_ns;
}

static const char *group_cause(struct findings *s, const struct group *g)
{
	const struct af_covered *c = &g->cpu;
	uint32_t cause = g->first->cause;

	if (are_short(s, g))
		return "they ended before their first samples";

	if (cause == AF_UNSAMPLED_KERNEL)
		return af_facts_text(s->f,
		                     "samples see user mode only, and %s of it was in the kernel",
		                     af_facts_ns(s->f, c->used_kernel));
	if (cause == AF_UNSAMPLED_SHORT_THREADS && g->count)
		return af_facts_text(s->f, "%s ended before their first sample, after %s in all",
		                     findings_count(s, g->count, "thread"),
		                     af_facts_ns(s->f, g->cpu_ns));
	return cause ? af_unsampled_text(cause) : "the cause is not known";
}

static void find_group(struct findings *s, const struct group *g)
{
	uint64_t used = af_covered_used(&g->cpu), sampled = af_covered_sampled(&g->cpu);
	struct finding x = {.kind = "not-sampled",
	                    .ns = af_covered_missing(used, sampled),
	                    .of_ns = af_covered_used(&s->r->coverage.total.cpu),
	                    .of = "CPU time used",
	                    .check = "aflame report coverage",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .helps = af_coverage_helps(are_short(s, g) ? AF_UNSAMPLED_SHORT_THREADS
	                                                               : g->first->cause),
	                    .comes_first = true};

	x.what =
	    af_facts_text(s->f, "%s used %s of CPU time, and %s of it was sampled (%s): %s",
	                  group_name(s, g), af_facts_ns(s->f, used), af_facts_ns(s->f, sampled),
	                  findings_share(s, sampled, used), group_cause(s, g));
	findings_add(s, &x);
}

/* Threads of processes that are short themselves are no news. */
static uint32_t threads_alone(const struct af_coverage *c, struct af_coverage_row *to)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < c->nr_threads; i++) {
		const struct af_coverage_row *of = af_coverage_of(c, c->threads[i].process);
		if (c->threads[i].short_of && of && !of->short_of)
			to[nr++] = c->threads[i];
	}
	return nr;
}

static void find_groups(struct findings *s, const struct af_coverage_row *rows, uint32_t nr_rows)
{
	uint32_t nr;
	struct group *all = groups_make(s, rows, nr_rows, &nr);

	for (uint32_t i = 0; i < nr && i < GROUPS_MOST; i++)
		find_group(s, &all[i]);
	free(all);
}

static void find_launches(struct findings *s, const struct af_coverage_launches *l)
{
	struct finding x = {.kind = "not-joined",
	                    .ns = af_covered_missing(l->calls, l->joined),
	                    .of_ns = l->calls,
	                    .of = "launches",
	                    .no_time = true,
	                    .check = "aflame report coverage",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .comes_first = true};

	x.what =
	    af_facts_text(s->f, "%s of %s launches of %s have no device work in the trace (%s)%s%s",
	                  findings_number(s, x.ns), findings_number(s, l->calls), l->text,
	                  findings_share(s, x.ns, x.of_ns), l->dropped ? "; dropped: " : "",
	                  l->dropped ? findings_count(s, l->dropped, "record") : "");
	findings_add(s, &x);
}

void findings_coverage(struct findings *s)
{
	const struct af_coverage *c = &s->r->coverage;
	uint32_t before = s->nr;

	for (uint32_t i = 0; i < c->nr_launches; i++)
		if (c->launches[i].short_of)
			find_launches(s, &c->launches[i]);
	if (!c->comparable)
		return;
	find_groups(s, c->processes, c->nr_processes);
	if (s->nr == before && c->total.short_of)
		find_groups(s, &c->total, 1);
	struct af_coverage_row *alone = af_xcalloc((size_t)c->nr_threads + 1, sizeof *alone);
	find_groups(s, alone, threads_alone(c, alone));
	free(alone);
}

/* Are shares of what was sampled far from shares of what was used? Where samples see no kernel,
 * both are of user mode. */
static bool shares_are_wrong(const struct af_coverage *c, const struct af_covered *cpu)
{
	if (c->sees_kernel)
		return af_coverage_short(af_covered_used(cpu), af_covered_sampled(cpu),
		                         c->period_ns);
	return af_coverage_short(cpu->used_user, cpu->sampled_user, c->period_ns);
}

/* By name of the process's frame, which is all that trees have of it. */
static bool process_is_wrong(const struct af_coverage *c, const char *name, size_t len)
{
	struct af_covered sum = {0};

	for (uint32_t i = 0; i < c->nr_processes; i++) {
		const struct af_coverage_row *r = &c->processes[i];
		if (!r->known || strlen(r->name) != len || memcmp(r->name, name, len) != 0)
			continue;
		sum.used_user += r->cpu.used_user;
		sum.used_kernel += r->cpu.used_kernel;
		sum.sampled_user += r->cpu.sampled_user;
		sum.sampled_kernel += r->cpu.sampled_kernel;
	}
	return shares_are_wrong(c, &sum);
}

/* Is most of what was sampled of the function in processes that are short of samples? */
static bool function_is_wrong(const struct findings *s, const char *function)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	uint64_t all = 0, wrong = 0;
	uint8_t *below = af_xcalloc((size_t)t->nr + 1, sizeof *below); /* 1: of such a process */
	size_t len;

	for (uint32_t n = 1; n < t->nr; n++) {
		const char *text = af_tree_text(t, t->nodes[n].name, &len);
		uint32_t up = t->nodes[n].parent;
		if (af_tree_frame(t, t->nodes[n].name) == AF_FRAME_PROCESS)
			below[n] = process_is_wrong(&s->r->coverage, text, len);
		else
			below[n] = up < n && below[up];
		if (len != strlen(function) || memcmp(text, function, len) != 0)
			continue;
		all += t->self[AF_WEIGHT_TIME][n];
		wrong += below[n] ? t->self[AF_WEIGHT_TIME][n] : 0;
	}
	free(below);
	return wrong && wrong >= all / 2;
}

/* ": function burn, python" */
static const char *withheld_add(struct findings *s, const char *said, const struct finding *x,
                                uint32_t nr)
{
	if (nr > KINDS_NAMED)
		return said;
	if (nr == KINDS_NAMED)
		return af_facts_text(s->f, "%s, …", said);
	return af_facts_text(s->f, "%s%s%s%s%s", said, *said ? ", " : "", x->kind,
	                     x->function ? " " : "",
	                     x->function ? findings_short(s, x->function) : "");
}

/* Those from @from on that keep their place; the others are said by name. */
static const char *withhold(struct findings *s, uint32_t from, bool all, uint32_t *nr)
{
	const char *said = "";
	uint32_t kept = from;

	for (uint32_t i = from; i < s->nr; i++) {
		const struct finding *x = &s->all[i];
		bool wrong = all || (x->function && function_is_wrong(s, x->function));
		if (wrong && x->by_samples)
			said = withheld_add(s, said, x, (*nr)++);
		else
			s->all[kept++] = *x;
	}
	s->nr = kept;
	return said;
}

static bool launches_are_wrong(const struct af_coverage *c)
{
	for (uint32_t i = 0; i < c->nr_launches; i++)
		if (c->launches[i].short_of)
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

/* It is the first finding that says which ones are not there. */
static void withheld_say(struct findings *s, const char *kind, const char *said, uint32_t nr)
{
	struct finding *x = nr ? first_of(s, kind) : NULL;

	if (x)
		x->what = af_facts_text(s->f, "%s; withheld for that: %s", x->what, said);
	s->withheld += nr;
}

void findings_withhold_cpu(struct findings *s, uint32_t from)
{
	const struct af_coverage *c = &s->r->coverage;
	uint32_t nr = 0;

	if (!c->comparable)
		return;
	const char *said = withhold(s, from, shares_are_wrong(c, &c->total.cpu), &nr);
	withheld_say(s, "not-sampled", said, nr);
}

void findings_withhold_devices(struct findings *s, uint32_t from)
{
	uint32_t nr = 0;

	if (!launches_are_wrong(&s->r->coverage))
		return;
	for (uint32_t i = from; i < s->nr; i++)
		s->all[i].by_samples = true;
	const char *said = withhold(s, from, true, &nr);
	withheld_say(s, "not-joined", said, nr);
}
