/* Findings about ranks of a set that differ from the others, which wait for them. */
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/ranks/ranks.h"

enum { NAMED = 3 }; /* groups of odd ranks; report ranks has them all */

static bool is_kind(const char *kind, enum af_rank_kind is)
{
	const char *title = strchr(kind, ' ');

	return title && !strcmp(title + 1, af_rank_kind_title(is));
}

static const char *helps_of(const char *kind)
{
	if (is_kind(kind, AF_RANK_CPU))
		return "work that is shared out evenly, or done by all ranks";
	if (is_kind(kind, AF_RANK_DEVICE))
		return "another device or host for the rank, if its device is slower with equal "
		       "work";
	if (is_kind(kind, AF_RANK_DISK))
		return "files that lie near the rank, or that one rank reads for all";
	if (is_kind(kind, AF_RANK_QUEUED))
		return "a core of its own for each rank, and no other programs beside them";
	return NULL;
}

/* "rank 37"; of several alike "8 ranks (16-23), all on node2," */
static const char *who_of(struct findings *s, const struct af_odd_rank_row *row)
{
	const struct af_table *groups = findings_table(s, "rank_groups");
	const struct af_rank_group_row *group =
	    groups && row->group.value
		? AF_ROW_AT(struct af_rank_group_row, groups, (uint32_t)row->group.value - 1)
		: NULL;

	if (!group || group->nr_ranks.value < 2)
		return row->rank.text;
	bool host = group->host.text && *group->host.text;
	return af_tables_text(s->f, "each of %llu ranks (%s)%s%s%s",
	                      (unsigned long long)group->nr_ranks.value, group->ranks.text,
	                      host ? ", all on " : "", host ? group->host.text : "",
	                      host ? "," : "");
}

static void find_rank(struct findings *s, const struct af_odd_rank_row *row)
{
	const char *function = row->function.text;
	struct finding x = {.kind = "odd-rank",
	                    .ns = row->explains_ns.value,
	                    .of_ns = s->run_ns,
	                    .of = "the run",
	                    .helps = helps_of(row->kind.text),
	                    .check = "aflame report ranks",
	                    .view = is_kind(row->kind.text, AF_RANK_DEVICE) ? "gpu" : "cpu",
	                    .function = function,
	                    .hash = is_kind(row->kind.text, AF_RANK_DEVICE) ? "#view=gpu&w=time"
	                            : is_kind(row->kind.text, AF_RANK_CPU)  ? "#view=cpu&w=time"
	                                                                   : "#view=cpu&w=off-cpu"};

	x.what = af_tables_text(
	    s->f,
	    "the other ranks waited up to %s together (%s of %s of all ranks) for %s, which came "
	    "later by %s: %s, %s where the typical rank has %s%s%s",
	    af_tables_ns(s->f, x.ns), findings_share(s, x.ns, x.of_ns), af_tables_ns(s->f, x.of_ns),
	    who_of(s, row), af_tables_ns(s->f, row->delay_ns.value), row->kind.text,
	    af_tables_ns(s->f, row->has_ns.value),
	    row->typical_ns.value ? af_tables_ns(s->f, row->typical_ns.value) : "none",
	    *row->path.text ? ", in " : "", row->path.text);
	if (*function)
		x.hash =
		    af_tables_text(s->f, "%s&exact=1",
		                   findings_link(s, x.hash, "q", findings_exactly(s, function)));
	findings_add(s, &x);
}

/* Rows are in the order of the time that others wait; ranks of one group are odd alike. */
void findings_ranks(struct findings *s)
{
	const struct af_table *t = findings_table(s, "odd_ranks");
	uint64_t named[NAMED];
	uint32_t nr = 0;

	for (uint32_t i = 0; t && i < t->nr_rows && nr < NAMED; i++) {
		const struct af_odd_rank_row *row = AF_ROW_AT(struct af_odd_rank_row, t, i);
		bool before = false;
		for (uint32_t n = 0; n < nr; n++)
			before |= row && named[n] == row->group.value;
		if (!row || before || !row->explains_ns.value)
			continue;
		named[nr++] = row->group.value;
		find_rank(s, row);
	}
}
