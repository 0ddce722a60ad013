/* Rank × time: the activities of all ranks, in bins of one length and one clock. */
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/private.h"

static uint64_t shifted(uint64_t ns, int64_t by)
{
	uint64_t is = ns + (uint64_t)by;

	return by < 0 && is > ns ? 0 : by > 0 && is < ns ? UINT64_MAX : is;
}

/* Add the bin of @p to those of row @row, by how much of it lies in each. */
static void bin_spread(struct af_ranks_heat *h, uint32_t row, const struct ranks_profile *p,
                       uint32_t bin, uint64_t from_ns)
{
	const uint32_t *parts = p->bins + (size_t)bin * AF_RANK_KINDS;
	uint64_t end_ns = from_ns + p->each_ns;

	for (uint64_t at = from_ns; at < end_ns;) {
		uint64_t to_bin = (at - h->start_ns) / h->each_ns;
		uint64_t until = h->start_ns + (to_bin + 1) * h->each_ns;
		uint64_t to = until < end_ns ? until : end_ns;
		if (to_bin >= h->nr_bins)
			return;
		uint32_t *cell = h->cells + ((size_t)row * h->nr_bins + to_bin) * AF_RANK_KINDS;
		for (uint32_t k = 0; k < AF_RANK_KINDS; k++) {
			double more = (double)parts[k] * (double)(to - at) / (double)h->each_ns;
			cell[k] =
			    more + cell[k] < 4e9 ? cell[k] + (uint32_t)(more + 0.5) : 4000000000u;
		}
		at = to;
	}
}

/* From the first bin of any to the last; false when no rank did anything. */
static bool extent_find(const struct af_ranks *all, const int64_t *shifts, struct af_ranks_heat *to,
                        uint64_t *end_ns)
{
	bool any = false;

	for (uint32_t i = 0; i < all->nr; i++) {
		const struct ranks_profile *p = &all->profiles[i];
		uint64_t from = shifted(p->start_ns, shifts ? shifts[i] : 0);
		uint64_t length = p->nr_bins * p->each_ns;
		if (!p->nr_bins || from > UINT64_MAX / 2)
			continue;
		to->start_ns = !any || from < to->start_ns ? from : to->start_ns;
		*end_ns = !any || from + length > *end_ns ? from + length : *end_ns;
		any = true;
	}
	return any;
}

uint64_t af_ranks_start_ns(const struct af_ranks *all, uint32_t rank)
{
	return all->profiles[rank].start_ns;
}

void af_ranks_heat(const struct af_ranks *all, const int64_t *shifts, struct af_ranks_heat *to)
{
	uint64_t end_ns = 0;

	*to = (struct af_ranks_heat){.nr = all->nr};
	if (!extent_find(all, shifts, to, &end_ns))
		return;
	to->each_ns = (end_ns - to->start_ns + AF_RANKS_BINS - 1) / AF_RANKS_BINS;
	to->nr_bins = (uint32_t)((end_ns - to->start_ns + to->each_ns - 1) / to->each_ns);
	to->cells = af_xcalloc((size_t)to->nr * to->nr_bins * AF_RANK_KINDS, sizeof *to->cells);
	for (uint32_t i = 0; i < all->nr; i++) {
		const struct ranks_profile *p = &all->profiles[i];
		uint64_t from = shifted(p->start_ns, shifts ? shifts[i] : 0);
		for (uint32_t b = 0; b < p->nr_bins && from <= UINT64_MAX / 2; b++)
			bin_spread(to, i, p, b, from + b * p->each_ns);
	}
}

void af_ranks_heat_close(struct af_ranks_heat *h)
{
	free(h->cells);
	*h = (struct af_ranks_heat){0};
}

void af_ranks_heat_table(const struct af_ranks *all, const struct af_ranks_heat *h,
                         struct af_tables *f)
{
	static const struct af_column columns[] = {AF_RANK_HEAT_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "heat", "What each rank did over time", columns);

	t->note = af_tables_text(f, "parts of bins of %s%s%s", af_tables_ns(f, h->each_ns),
	                         *h->clocks ? "; " : "", h->clocks);
	for (uint32_t i = 0; i < h->nr; i++) {
		const char *label = af_tables_text(f, "%s", all->ranks[i].who->label);
		for (uint32_t b = 0; b < h->nr_bins; b++) {
			const uint32_t *cell = af_ranks_heat_at(h, i, b);
			uint32_t any = 0;
			for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
				any |= cell[k];
			if (!any)
				continue;
			struct af_rank_heat_row *c = af_table_row(f, t);
			c->rank.text = label;
			c->bin.value = b;
			c->start_ns.value = b * h->each_ns;
			c->cpu.value = cell[AF_RANK_CPU];
			c->device.value = cell[AF_RANK_DEVICE];
			c->disk.value = cell[AF_RANK_DISK];
			c->mpi.value = cell[AF_RANK_MPI];
			c->wait.value = cell[AF_RANK_WAIT];
			c->queued.value = cell[AF_RANK_QUEUED];
		}
	}
}
