/*
 * The table `set`: for how many members the results stand, which are missing and why, and what the
 * list of members has: hosts, versions, second traces of a rank.
 */
#include "analyse/set/private.h"
#include "base/buf.h"

uint64_t af_merge_members(const struct af_merge *m)
{
	return m->nr_members;
}

bool af_merge_lacks(const struct af_merge *m)
{
	return m->missing.nr || m->parts.nr;
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

	af_buf_fmt(to, "%llu of %llu %s%s", (unsigned long long)m->nr_members, all,
	           m->how.runs ? "trace" : "rank", all == 1 ? "" : "s");
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
	af_pair_row(f, t, "ranks", m->how.runs ? "traces" : "ranks",
	            af_tables_text(f, "%s", b.data));
	af_buf_free(&b);
	named_rows(&m->missing, "missing", "missing", f, t);
	named_rows(&m->parts, "in_part", "in part", f, t);
	row_lengths(m, f, t);
	row_worst(m, f, t);
	const char *one = m->how.runs ? "trace" : "rank";
	t->note = af_tables_text(f,
	                         "sums are over all %ss; Least, Median and Most are of one %s, "
	                         "and a %s without the row counts as 0; Imbalance is the most by "
	                         "the mean",
	                         one, one, one);
}

/* How many different texts members have, but for "". */
static uint32_t texts_of(const struct af_set *set, bool hosts)
{
	struct af_keys texts = {0};

	for (uint32_t i = 0; i < set->nr; i++) {
		const struct af_member *m = &set->members[i];
		const char *text = hosts ? m->host : m->version;
		if (*text)
			af_keys_at(&texts, AF_KEY_TEXT(text), NULL);
	}
	uint32_t nr = (uint32_t)texts.nr;
	af_keys_free(&texts);
	return nr;
}

void af_set_about(const struct af_set *set, struct af_tables *f)
{
	struct af_table *t = (struct af_table *)af_tables_find(f, "set");
	uint32_t twins = af_set_twins(set), versions = texts_of(set, false);
	char lacks[512];

	if (!t)
		return;
	af_pair_row(f, t, "hosts", "hosts", af_tables_text(f, "%u", texts_of(set, true)));
	if (af_set_lacks(set, lacks, sizeof lacks))
		af_pair_row(f, t, "lacks", "ranks of the job", af_tables_text(f, "%s", lacks));
	if (twins)
		af_pair_row(f, t, "duplicates", "traces of a rank that has another",
		            af_tables_text(f, "%u: their labels name the trace", twins));
	if (versions > 1)
		af_pair_row(f, t, "versions", "versions of aflame",
		            af_tables_text(f, "%u", versions));
}
