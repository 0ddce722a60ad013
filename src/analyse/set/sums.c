/* Adds up what results have beside trees and tables: counters, losses, coverage of CPU time. */
#include <stdlib.h>
#include <string.h>

#include "analyse/passes/rows.h"
#include "analyse/set/private.h"
#include "base/arena.h"
#include "base/buf.h"

static void add(uint64_t *to, uint64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = UINT64_MAX;
}

static void covered_add(struct af_covered *to, const struct af_covered *c)
{
	add(&to->used_user, c->used_user);
	add(&to->used_kernel, c->used_kernel);
	add(&to->sampled_user, c->sampled_user);
	add(&to->sampled_kernel, c->sampled_kernel);
}

static uint64_t missing_of(const struct af_coverage_row *r)
{
	return af_covered_missing(af_covered_used(&r->cpu), af_covered_sampled(&r->cpu));
}

/* A row of processes of one name; the cause is that of the row with most time missing. */
static void coverage_row_add(struct af_coverage_row *to, const struct af_coverage_row *r)
{
	if (r->cause && (!to->cause || missing_of(r) > missing_of(to))) {
		to->cause = r->cause;
		to->count = to->cpu_ns = 0;
	}
	if (r->cause == to->cause) {
		add(&to->count, r->count);
		add(&to->cpu_ns, r->cpu_ns);
	}
	covered_add(&to->cpu, &r->cpu);
	to->known |= r->known;
	to->shared_out |= r->shared_out;
	to->short_of |= r->short_of;
	to->over |= r->over;
}

/* The row of @set that is about processes or threads of the same name with the same verdict. */
static struct af_coverage_row *coverage_row_at(struct af_merge *m, struct set_covered *set,
                                               const struct af_coverage_row *r)
{
	const char *name = r->name ? r->name : "";
	struct af_buf key = {0};
	bool fresh;

	af_buf_fmt(&key, "%u %u %d %d %d ", r->cause, r->source, r->short_of, r->over, r->known);
	af_buf_str(&key, name);
	uint64_t *slot = af_keys_at(&set->index, key.data, key.len, &fresh);
	af_buf_free(&key);
	if (!fresh)
		return &set->rows[*slot];
	*slot = set->nr;
	AF_GROW(set->rows, set->nr, set->cap);
	struct af_coverage_row *to = &set->rows[set->nr++];
	*to = (struct af_coverage_row){.cause = r->cause, .source = r->source};
	to->name = to->text = set_text_of(m, name);
	return to;
}

static void coverage_rows_add(struct af_merge *m, struct set_covered *set,
                              const struct af_coverage_row *rows, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		coverage_row_add(coverage_row_at(m, set, &rows[i]), &rows[i]);
}

static void launches_add(struct af_merge *m, const struct af_coverage_launches *l)
{
	struct af_coverage *c = &m->sums.coverage;
	const char *device = l->device_text ? l->device_text : "";
	struct af_buf key = {0};
	bool fresh;

	af_buf_fmt(&key, "%u %s", l->api, device);
	uint64_t *slot = af_keys_at(&m->sums.launches, key.data, key.len, &fresh);
	af_buf_free(&key);
	if (fresh) {
		*slot = c->nr_launches;
		AF_GROW(c->launches, c->nr_launches, m->sums.cap_launches);
		c->launches[c->nr_launches++] = (struct af_coverage_launches){
		    .api = l->api,
		    .device = l->device,
		    .text = set_text_of(m, "all ranks"),
		    .device_text = l->device_text ? set_text_of(m, device) : NULL};
	}
	struct af_coverage_launches *to = &c->launches[*slot];
	add(&to->calls, l->calls);
	add(&to->joined, l->joined);
	add(&to->works, l->works);
	add(&to->alone, l->alone);
	add(&to->untimed, l->untimed);
	add(&to->dropped, l->dropped);
	to->short_of |= l->short_of;
	to->short_of_times |= l->short_of_times;
}

/* Totals are those of members whose used time is known; each may have some that are not. */
static void coverage_add(struct af_merge *m, const struct af_coverage *c,
                         const struct set_covered *processes, const struct set_covered *threads)
{
	struct af_coverage *to = &m->sums.coverage;

	if (c->comparable) {
		to->sees_kernel =
		    to->comparable ? to->sees_kernel && c->sees_kernel : c->sees_kernel;
		to->comparable = true;
		coverage_row_add(&to->total, &c->total);
		add(&to->tree_ns, c->tree_ns);
	}
	if (c->period_ns > to->period_ns)
		to->period_ns = c->period_ns;
	if (c->stolen > to->stolen)
		to->stolen = c->stolen;
	if (c->why_not && !to->why_not)
		to->why_not = set_text_of(m, c->why_not);
	coverage_rows_add(m, &m->sums.processes, processes->rows, processes->nr);
	coverage_rows_add(m, &m->sums.threads, threads->rows, threads->nr);
	for (uint32_t i = 0; i < c->nr_launches; i++)
		launches_add(m, &c->launches[i]);
}

/* Is a smaller share of @a sampled than of @b? */
static bool is_worse(const struct af_covered *a, const struct af_covered *b)
{
	return (unsigned __int128)af_covered_sampled(a) * af_covered_used(b) <
	       (unsigned __int128)af_covered_sampled(b) * af_covered_used(a);
}

static void sampled_add(struct af_sampled_device *to, const struct af_sampled_device *d)
{
	add(&to->windows, d->windows);
	add(&to->full_windows, d->full_windows);
	add(&to->serialized_windows, d->serialized_windows);
	add(&to->samples, d->samples);
	add(&to->exact, d->exact);
	add(&to->apportioned, d->apportioned);
	add(&to->unattributed, d->unattributed);
	add(&to->by_launches, d->by_launches);
	add(&to->shared, d->shared);
	add(&to->edge, d->edge);
	add(&to->dropped, d->dropped);
	add(&to->other, d->other);
	add(&to->ran_ns, d->ran_ns);
	add(&to->bare_ns, d->bare_ns);
}

static void stacks_add(struct af_stack_losses *to, const struct af_stack_losses *s)
{
	add(&to->sampled_ns, s->sampled_ns);
	add(&to->cut_ns, s->cut_ns);
	add(&to->middle_ns, s->middle_ns);
	add(&to->pointers_ns, s->pointers_ns);
	add(&to->none_ns, s->none_ns);
}

static void counters_add(struct set_counters *to, const struct set_counters *c)
{
	uint64_t *sums = to->sums;

	for (int i = 0; i < SET_COUNTERS; i++)
		add(&sums[i], c->sums[i]);
	for (uint32_t i = 0; i < AF_LOST_END; i++)
		add(&to->lost[i], c->lost[i]);
	sampled_add(&to->sampled, &c->sampled);
	stacks_add(&to->stacks, &c->stacks);
	if (c->longest_ns > to->longest_ns)
		to->longest_ns = c->longest_ns;
	if (c->any && (!to->any || c->shortest_ns < to->shortest_ns))
		to->shortest_ns = c->shortest_ns;
	to->any |= c->any;
}

static void counters_of(struct set_counters *to, const struct af_results *r)
{
	*to = (struct set_counters){
	    .sums = {[SET_LAUNCHES_UNFINISHED] = r->launches_unfinished,
	             [SET_WORKS_FAILED] = r->works_failed,
	             [SET_WORKS_UNLAUNCHED] = r->works_unlaunched,
	             [SET_WORKS_UNSTAMPED] = r->works_unstamped,
	             [SET_WORKS_UNKNOWN] = r->works_unknown,
	             [SET_WORKS_MATCHED] = r->works_matched,
	             [SET_WORKS_STACKLESS] = r->works_stackless,
	             [SET_CALLS_SEEN_ALONE] = r->calls_seen_alone,
	             [SET_SHOWN_NS] = r->shown_ns,
	             [SET_EVENTS] = r->nr_events,
	             [SET_COST_HANDLER_NS] = r->cost.handler_ns,
	             [SET_COST_HANDLER_CALLS] = r->cost.handler_calls,
	             [SET_COST_RECORDER_NS] = r->cost.recorder_ns,
	             [SET_COST_RUN_NS] = r->cost.run_ns,
	             [SET_COST_REPLAY_HITS] = r->cost.replay_hits,
	             [SET_COST_REPLAY_WRONG] = r->cost.replay_wrong},
	    .sampled = r->sampled,
	    .stacks = r->stacks,
	    .longest_ns = r->shown_ns,
	    .shortest_ns = r->shown_ns,
	    .any = true,
	};
	memcpy(to->lost, r->lost, sizeof to->lost);
}

void set_sums_add(struct af_merge *m, const struct af_member *who, const struct af_results *r)
{
	struct set_sums *s = &m->sums;
	struct set_counters counters;

	counters_of(&counters, r);
	counters_add(&s->counters, &counters);
	const struct set_covered processes = {.rows = r->coverage.processes,
	                                      .nr = r->coverage.nr_processes},
				 threads = {.rows = r->coverage.threads,
	                                    .nr = r->coverage.nr_threads};
	coverage_add(m, &r->coverage, &processes, &threads);
	if (r->coverage.comparable && af_covered_used(&r->coverage.total.cpu) &&
	    (!s->worst_who || is_worse(&r->coverage.total.cpu, &s->worst))) {
		s->worst = r->coverage.total.cpu;
		s->worst_who = af_strtab_id_z(&m->texts, who->label);
	}
	for (uint32_t i = 1; i < r->own_python.nr; i++)
		af_strtab_id_z(&m->own_python, af_strtab_get(&r->own_python, i));
}

void set_sums_join(struct af_merge *m, const struct af_merge *later)
{
	const struct set_sums *from = &later->sums;
	struct set_sums *s = &m->sums;

	counters_add(&s->counters, &from->counters);
	coverage_add(m, &from->coverage, &from->processes, &from->threads);
	if (from->worst_who && (!s->worst_who || is_worse(&from->worst, &s->worst))) {
		s->worst = from->worst;
		s->worst_who =
		    af_strtab_id_z(&m->texts, af_strtab_get(&later->texts, from->worst_who));
	}
	for (uint32_t i = 1; i < later->own_python.nr; i++)
		af_strtab_id_z(&m->own_python, af_strtab_get(&later->own_python, i));
}

static void counters_take(const struct set_counters *c, struct af_results *out)
{
	out->launches_unfinished = c->sums[SET_LAUNCHES_UNFINISHED];
	out->works_failed = c->sums[SET_WORKS_FAILED];
	out->works_unlaunched = c->sums[SET_WORKS_UNLAUNCHED];
	out->works_unstamped = c->sums[SET_WORKS_UNSTAMPED];
	out->works_unknown = c->sums[SET_WORKS_UNKNOWN];
	out->works_matched = c->sums[SET_WORKS_MATCHED];
	out->works_stackless = c->sums[SET_WORKS_STACKLESS];
	out->calls_seen_alone = c->sums[SET_CALLS_SEEN_ALONE];
	out->shown_ns = c->sums[SET_SHOWN_NS];
	out->nr_events = c->sums[SET_EVENTS];
	out->cost = (struct af_cost){
	    .handler_ns = c->sums[SET_COST_HANDLER_NS],
	    .handler_calls = c->sums[SET_COST_HANDLER_CALLS],
	    .recorder_ns = c->sums[SET_COST_RECORDER_NS],
	    .run_ns = c->sums[SET_COST_RUN_NS],
	    .replay_hits = c->sums[SET_COST_REPLAY_HITS],
	    .replay_wrong = c->sums[SET_COST_REPLAY_WRONG],
	};
	out->sampled = c->sampled;
	out->stacks = c->stacks;
	memcpy(out->lost, c->lost, sizeof out->lost);
}

static int by_missing(const void *a, const void *b)
{
	const struct af_coverage_row *x = a, *y = b;

	if (missing_of(x) != missing_of(y))
		return missing_of(x) < missing_of(y) ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Whether much is missing in all of them together is decided by their sums. */
static void coverage_verdicts(struct af_coverage *c)
{
	struct af_coverage_row *t = &c->total;
	uint64_t used = af_covered_used(&t->cpu), sampled = af_covered_sampled(&t->cpu);

	t->over = t->known && af_coverage_over(c, &t->cpu);
	t->short_of = t->known && !t->over && af_coverage_short(used, sampled, c->period_ns);
}

/* The rows with texts of @f, for the results. */
static struct af_coverage_row *covered_take(struct set_covered *set, struct af_tables *f,
                                            uint32_t *nr)
{
	struct af_coverage_row *rows = set->rows;

	AF_SORT(rows, set->nr, by_missing);
	for (uint32_t i = 0; i < set->nr; i++)
		rows[i].name = rows[i].text = af_tables_text(f, "%s", rows[i].name);
	*nr = set->nr;
	set->rows = NULL;
	set->nr = set->cap = 0;
	return rows;
}

/* Shares have no distribution over members. */
static void stacks_rows(struct af_tables *f, struct af_table *t, const struct af_stack_losses *lost)
{
	const uint32_t own = sizeof(struct af_lost_row) / sizeof(struct af_cell);
	uint32_t r = t->nr_rows;

	af_lost_stacks(f, t, lost);
	for (; r < t->nr_rows; r++)
		for (uint32_t c = own; c < t->nr_columns; c++)
			t->cells[(size_t)r * t->nr_columns + c].unknown = true;
}

void set_sums_finish(struct af_merge *m, struct af_results *out)
{
	struct set_sums *s = &m->sums;
	struct af_coverage *c = &s->coverage;
	struct af_tables *f = &out->tables;

	counters_take(&s->counters, out);
	coverage_verdicts(c);
	c->processes = covered_take(&s->processes, f, &c->nr_processes);
	c->threads = covered_take(&s->threads, f, &c->nr_threads);
	for (uint32_t i = 0; i < c->nr_launches; i++) {
		struct af_coverage_launches *l = &c->launches[i];
		l->text = af_tables_text(f, "%s", l->text);
		l->device_text = l->device_text ? af_tables_text(f, "%s", l->device_text) : NULL;
	}
	c->why_not = c->why_not && !c->comparable ? af_tables_text(f, "%s", c->why_not) : NULL;
	out->coverage = *c;
	*c = (struct af_coverage){0};
	af_coverage_tables(&out->coverage, f);
	if ((out->cost.recorder_ns || out->cost.handler_calls) && m->how.by == AF_BY_NOTHING)
		af_cost_table(f, &out->cost);
	for (struct af_table *t = f->first; t; t = t->next)
		if (!strcmp(t->name, "lost"))
			stacks_rows(f, t, &out->stacks);
	out->own_python = m->own_python;
	m->own_python = (struct af_strtab){0};
}

void set_sums_close(struct af_merge *m)
{
	struct set_sums *s = &m->sums;

	af_coverage_free(&s->coverage);
	free(s->processes.rows);
	free(s->threads.rows);
	af_keys_free(&s->processes.index);
	af_keys_free(&s->threads.index);
	af_keys_free(&s->launches);
	af_strtab_free(&m->own_python);
}
