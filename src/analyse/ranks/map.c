/* The map rank × time on the clock of the set, and as a table that a page draws. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/private.h"

enum { LESS_THAN = 500, SHADES = 9 }; /* of a bin, in 10,000ths: less is nothing */

uint32_t af_ranks_member(const struct af_ranks *all, const struct af_set *set, uint32_t rank,
                         uint32_t from)
{
	while (from < set->nr && strcmp(set->members[from].path, all->ranks[rank].who->path) != 0)
		from++;
	return from;
}

uint32_t *af_ranks_first(const struct af_ranks *all, const struct af_set *set, uint32_t *nr)
{
	const struct af_ranks_result *r = &all->result;
	uint32_t *first = af_xcalloc(r->nr_odd + r->nr_groups + 1ull, sizeof *first);

	*nr = 0;
	for (uint32_t i = 0; i < r->nr_odd; i++)
		first[(*nr)++] = af_ranks_member(all, set, r->odd[i], 0);
	for (uint32_t i = 0; i < r->nr_groups; i++)
		first[(*nr)++] = af_ranks_member(all, set, r->groups[i].typical, 0);
	return first;
}

void af_ranks_heat_placed(const struct af_ranks *all, const struct af_set *set,
                          const struct af_set_times *times, struct af_ranks_heat *to)
{
	int64_t *shifts = af_xcalloc(all->nr + 1ull, sizeof *shifts);
	uint64_t worst_ns = 0, bound_ns;
	struct af_tables texts = {0};

	for (uint32_t i = 0, m = 0; times->members && i < all->nr; i++) {
		uint64_t at_ns = all->profiles[i].start_ns;
		m = af_ranks_member(all, set, i, m);
		if (m == set->nr)
			break;
		af_set_clocks_convert(&times->clocks, m, at_ns, &bound_ns);
		shifts[i] = (int64_t)(times->start_ns + af_set_times_of(times, m, at_ns) - at_ns);
		worst_ns = bound_ns > worst_ns ? bound_ns : worst_ns;
	}
	af_ranks_heat(all, shifts, to);
	if (worst_ns == AF_CLOCK_UNKNOWN)
		snprintf(to->clocks, sizeof to->clocks,
		         "hosts are aligned by their time of day, with an unknown error");
	else if (worst_ns)
		snprintf(to->clocks, sizeof to->clocks, "hosts are aligned to within %s",
		         af_tables_ns(&texts, worst_ns));
	af_tables_free(&texts);
	free(shifts);
}

enum af_rank_kind af_ranks_heat_kind(const struct af_ranks_heat *h, uint32_t row, uint32_t first,
                                     uint32_t end, uint32_t *share)
{
	uint64_t sums[AF_RANK_KINDS] = {0}, most = 0;
	enum af_rank_kind is = AF_RANK_KINDS;

	for (uint32_t b = first; b < end && b < h->nr_bins; b++)
		for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
			sums[k] += af_ranks_heat_at(h, row, b)[k];
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
		if (sums[k] > most) {
			most = sums[k];
			is = (enum af_rank_kind)k;
		}
	most /= end - first;
	*share = most < 10000 ? (uint32_t)most : 10000;
	return most < LESS_THAN ? AF_RANK_KINDS : is;
}

/* A character for each bin: the kind that took most of it, and how much. */
static const char *row_text(struct af_tables *f, const struct af_ranks_heat *h, uint32_t row)
{
	static const char signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01";
	char text[AF_RANKS_BINS + 1];
	uint32_t share, nr = h->nr_bins < AF_RANKS_BINS ? h->nr_bins : AF_RANKS_BINS;

	_Static_assert(sizeof signs == AF_RANK_KINDS * SHADES + 1, "a sign for each");
	for (uint32_t b = 0; b < nr; b++) {
		enum af_rank_kind kind = af_ranks_heat_kind(h, row, b, b + 1, &share);
		text[b] = kind == AF_RANK_KINDS
		              ? '.'
		              : signs[kind * SHADES + share * (SHADES - 1) / 10000];
	}
	text[nr] = 0;
	return af_tables_text(f, "%s", text);
}

static bool is_shown(const struct af_ranks *all, uint32_t rank)
{
	const struct af_ranks_result *r = &all->result;

	if (r->nr <= AF_RANKS_MAP_ROWS || r->ranks[rank].odd)
		return true;
	for (uint32_t g = 0; g < r->nr_groups; g++)
		if (r->groups[g].typical == rank)
			return true;
	return false;
}

void af_ranks_map_table(const struct af_ranks *all, const struct af_ranks_heat *h,
                        uint64_t start_ns, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_RANK_MAP_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, AF_RANK_MAP, "What each rank did over time", columns);
	const struct af_ranks_result *r = &all->result;
	const uint64_t from_ns = h->start_ns > start_ns ? h->start_ns - start_ns : 0;
	uint32_t nr_left_out = 0;

	for (uint32_t i = 0; i < r->nr; i++) {
		if (!is_shown(all, i)) {
			nr_left_out++;
			continue;
		}
		struct af_rank_map_row *c = af_table_row(f, t);
		c->rank.text = af_tables_text(f, "%s", r->ranks[i].who->label);
		c->host.text = af_tables_text(f, "%s", r->ranks[i].who->host);
		c->group.value = r->ranks[i].group + 1;
		c->odd.value = r->ranks[i].odd;
		c->from_ns.value = from_ns;
		c->each_ns.value = h->each_ns;
		c->bins.text = row_text(f, h, i);
	}
	if (nr_left_out)
		t->note = af_tables_text(f, "%u like the typical ones are left out%s%s",
		                         nr_left_out, *h->clocks ? "; " : "", h->clocks);
	else
		t->note = af_tables_text(f, "%s", h->clocks);
}
