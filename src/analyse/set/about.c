/* The table `set`: for how many members the results stand, and which are missing and why. */
#include "analyse/set/private.h"
#include "base/buf.h"

uint64_t af_merge_members(const struct af_merge *m)
{
	return m->nr_members;
}

static void named_line(const struct set_named *of, const char *how, struct af_buf *to)
{
	for (uint64_t i = 0; i < of->nr && i < SET_NAMED_IN_LINE; i++)
		af_buf_fmt(to, "; %s%s: %s", of->first[i].label, how, of->first[i].why);
	if (of->nr > SET_NAMED_IN_LINE)
		af_buf_fmt(to, "; and %llu more%s",
		           (unsigned long long)(of->nr - SET_NAMED_IN_LINE), how);
}

void af_merge_about(const struct af_merge *m, struct af_buf *to)
{
	unsigned long long all = m->nr_members + m->missing.nr;

	af_buf_fmt(to, "%llu of %llu rank%s", (unsigned long long)m->nr_members, all,
	           all == 1 ? "" : "s");
	named_line(&m->missing, " is missing", to);
	named_line(&m->parts, " in part", to);
}

static void named_rows(const struct set_named *of, const char *key, const char *what,
                       struct af_tables *f, struct af_table *t)
{
	for (uint64_t i = 0; i < of->nr && i < SET_NAMED; i++)
		af_pair_row(f, t, key, af_tables_text(f, "%s: %s", what, of->first[i].label),
		            af_tables_text(f, "%s", of->first[i].why));
	if (of->nr > SET_NAMED)
		af_pair_row(
		    f, t, key, what,
		    af_tables_text(f, "%llu more", (unsigned long long)(of->nr - SET_NAMED)));
}

static void row_lengths(const struct af_merge *m, struct af_tables *f, struct af_table *t)
{
	const struct set_counters *c = &m->sums.counters;

	if (!c->longest_ns)
		return;
	af_pair_row(f, t, "recorded_for", "recorded for",
	            af_tables_text(f, "%s to %s, %s in all", af_tables_ns(f, c->shortest_ns),
	                           af_tables_ns(f, c->longest_ns),
	                           af_tables_ns(f, c->sums[SET_SHOWN_NS])));
}

static void row_worst(const struct af_merge *m, struct af_tables *f, struct af_table *t)
{
	const struct set_sums *s = &m->sums;
	uint64_t used = af_covered_used(&s->worst);

	if (!s->worst_who || !used)
		return;
	af_pair_row(f, t, "least_covered", "least covered",
	            af_tables_text(f, "%s: %.1f %% of %s CPU time was sampled",
	                           af_strtab_get(&m->texts, s->worst_who),
	                           (double)af_covered_sampled(&s->worst) * 100 / (double)used,
	                           af_tables_ns(f, used)));
}

void set_about_table(const struct af_merge *m, struct af_tables *f)
{
	struct af_table *t = af_pairs_table(f, "set", "The set");
	unsigned long long all = m->nr_members + m->missing.nr;
	struct af_buf b = {0};

	af_buf_fmt(&b, "%llu of %llu", (unsigned long long)m->nr_members, all);
	af_pair_row(f, t, "ranks", "ranks", af_tables_text(f, "%s", b.data));
	af_buf_free(&b);
	named_rows(&m->missing, "missing", "missing", f, t);
	named_rows(&m->parts, "in_part", "in part", f, t);
	row_lengths(m, f, t);
	row_worst(m, f, t);
	t->note = "sums are over all ranks; Least, Median and Most are of one rank, and a rank "
		  "without the row counts as 0; Imbalance is the most by the mean";
}
