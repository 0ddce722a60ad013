/* The heat maps of the traces of a set, as one. */
#include <stdlib.h>

#include "analyse/time/heat_private.h"
#include "base/arena.h"

void heat_free(struct heat *h)
{
	heat_bins_free(&h->cells);
	heat_bins_free(&h->series);
	free(h->counts);
	free(h->windows);
	af_map_free(&h->by_window);
	free(h->intervals);
	af_stack_locations_free(&h->stack_locations);
	af_map_free(&h->by_what);
	af_strtab_free(&h->names);
	af_map_free(&h->by_name);
}

void af_heat_close(struct af_heat *all)
{
	if (all->kept)
		heat_free(all->kept);
	free(all->kept);
	all->kept = NULL;
}

/* Both have cells of one length: the longer one. The lengths are those that heat_until() makes. */
static void cells_equal(struct heat *a, struct heat *b)
{
	while (a->cells.each_ns < b->cells.each_ns)
		heat_cells_coarsen(a);
	while (b->cells.each_ns < a->cells.each_ns)
		heat_cells_coarsen(b);
	while (a->series.each_ns < b->series.each_ns)
		heat_bins_coarsen(&a->series, 2);
	while (b->series.each_ns < a->series.each_ns)
		heat_bins_coarsen(&b->series, 2);
}

static void intervals_join(struct heat *a, const struct heat *b)
{
	while (a->nr_intervals < b->nr_intervals) {
		AF_GROW(a->intervals, a->nr_intervals, a->cap_intervals);
		a->intervals[a->nr_intervals++] = (struct heat_interval){0};
	}
	for (uint32_t i = 0; i < b->nr_intervals; i++) {
		a->intervals[i].count += b->intervals[i].count;
		a->intervals[i].ns += b->intervals[i].ns;
	}
	for (size_t i = 0; i < b->by_name.cap; i++) {
		const struct af_map_slot *slot = &b->by_name.slots[i];
		if (!slot->used)
			continue;
		const char *name = af_strtab_get(&b->names, (uint32_t)slot->key);
		uint64_t key = slot->key >> 32 << 32 | af_strtab_id_z(&a->names, name);
		*af_map_at(&a->by_name, key, NULL) += slot->value;
	}
}

static void heat_join(struct heat *a, struct heat *b)
{
	cells_equal(a, b);
	heat_bins_join(&a->cells, &b->cells);
	heat_bins_join(&a->series, &b->series);
	for (uint32_t i = 0; i < b->nr_counts; i++)
		if (b->counts[i])
			heat_count_add(a, i, b->counts[i]);
	intervals_join(a, b);
	a->weight_ns = a->weight_ns > b->weight_ns ? a->weight_ns : b->weight_ns;
	a->end_ns = a->end_ns > b->end_ns ? a->end_ns : b->end_ns;
	a->left_out += b->left_out;
	a->busy |= b->busy;
	a->sampled_only |= b->sampled_only;
}

void af_heat_join(struct af_heat *all, struct af_heat *one)
{
	all->has_cpu |= one->has_cpu;
	all->has_gpu |= one->has_gpu;
	if (!all->kept) {
		all->kept = one->kept;
		one->kept = NULL;
	} else if (one->kept) {
		heat_join(all->kept, one->kept);
		af_heat_close(one);
	}
}

void af_heat_tables(struct af_heat *all, struct af_tables *f)
{
	struct heat *h = all->kept;

	if (!h)
		return;
	heat_until(h, all, h->end_ns);
	heat_tables(h, all, all->from_ns, f);
	if (all->interval_ns)
		heat_intervals_table(h, all, all->from_ns, f);
}
