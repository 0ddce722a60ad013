/*
 * Where code of processes lies. Of a device, an index has the addresses cut into segments, each
 * with the placements that lie there: of several processes, and of one at different times.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/addresses.h"
#include "analyse/world/world.h"
#include "base/arena.h"

enum { PLACEMENTS_ACTIVE = 64 }; /* at one address; of more, the earlier ones are not found */

void address_placements_event(struct address_placements *all, uint32_t process, uint64_t time_ns,
                              const struct af_ev_code_placed *ev)
{
	bool fresh;
	uint64_t *slot =
	    af_keys_at(&all->by_code,
	               AF_KEY((uint64_t)process << 32 | ev->device, ev->code, ev->address), &fresh);
	bool there = *slot && all->all[*slot - 1].to_ns == UINT64_MAX;

	/* Rings on disk repeat definitions. */
	if (there == (ev->size != 0))
		return;
	all->version++;
	if (there) {
		all->all[*slot - 1].to_ns = time_ns;
		return;
	}
	AF_GROW(all->all, all->nr, all->cap);
	all->all[all->nr++] = (struct address_placement){
	    .process = process,
	    .code = ev->code,
	    .device = ev->device,
	    .address = ev->address,
	    .size = ev->size,
	    .from_ns = time_ns,
	    .to_ns = UINT64_MAX,
	};
	*slot = all->nr;
}

void address_placements_free(struct address_placements *all)
{
	free(all->all);
	af_keys_free(&all->by_code);
}

/* Where a placement begins or ends. */
struct edge {
	uint64_t at;
	uint32_t placement;
	bool begins;
};

struct edges {
	struct edge *all;
	size_t nr, cap;
};

static int edge_order(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->placement > y->placement) - (x->placement < y->placement);
}

/* From @start for @size bytes, less 1 so that it may be all there are. */
static void edges_add(struct edges *e, uint32_t placement, uint64_t start, uint64_t size_less_1)
{
	AF_ROOM(e->all, e->nr + 2, e->cap);
	e->all[e->nr++] = (struct edge){start, placement, true};
	if (start + size_less_1 < UINT64_MAX)
		e->all[e->nr++] = (struct edge){start + size_less_1 + 1, placement, false};
}

/* In 32 bits a placement may begin at the end of the addresses, and go on at their beginning. */
static void edges_of(struct edges *e, uint32_t placement, const struct address_placement *is,
                     bool is_32)
{
	uint64_t start = is_32 ? (uint32_t)is->address : is->address;
	uint64_t most = is_32 ? UINT32_MAX : UINT64_MAX, size = is->size - 1;

	if (size > most)
		size = most;
	if (size <= most - start) {
		edges_add(e, placement, start, size);
		return;
	}
	edges_add(e, placement, start, most - start);
	if (is_32)
		edges_add(e, placement, 0, size - (most - start) - 1);
}

/* The placements that lie where the sweep is, in the order in which they came. */
struct lying {
	uint32_t all[PLACEMENTS_ACTIVE];
	uint32_t nr;
};

static void lying_change(struct lying *l, const struct edge *e)
{
	uint32_t i = 0;

	while (i < l->nr && l->all[i] < e->placement)
		i++;
	bool has = i < l->nr && l->all[i] == e->placement;
	if (has && !e->begins) {
		memmove(l->all + i, l->all + i + 1, (l->nr - i - 1) * sizeof *l->all);
		l->nr--;
	}
	if (has || !e->begins)
		return;
	if (l->nr == PLACEMENTS_ACTIVE) {
		if (!i)
			return;
		memmove(l->all, l->all + 1, (i - 1) * sizeof *l->all);
		l->all[i - 1] = e->placement;
		return;
	}
	memmove(l->all + i + 1, l->all + i, (l->nr - i) * sizeof *l->all);
	l->all[i] = e->placement;
	l->nr++;
}

/* Until when @i lies there: another one of its process may have come without a word. */
static uint64_t lies_until(const struct address_placements *all, const struct lying *l, uint32_t i)
{
	const struct address_placement *is = &all->all[l->all[i]];
	uint64_t to_ns = is->to_ns;

	for (uint32_t k = i + 1; k < l->nr; k++) {
		const struct address_placement *other = &all->all[l->all[k]];
		if (other->process == is->process && other->device == is->device &&
		    other->from_ns < to_ns)
			to_ns = other->from_ns;
	}
	return to_ns;
}

static void segment_add(struct address_index *index, const struct address_placements *all,
                        const struct lying *l, uint64_t start)
{
	AF_GROW(index->segments, index->nr_segments, index->cap_segments);
	index->segments[index->nr_segments++] =
	    (struct address_segment){.start = start, .first = index->nr_candidates, .nr = l->nr};
	for (uint32_t i = 0; i < l->nr; i++) {
		AF_GROW(index->candidates, index->nr_candidates, index->cap_candidates);
		index->candidates[index->nr_candidates++] =
		    (struct address_candidate){l->all[i], lies_until(all, l, i)};
	}
}

void address_index_make(struct address_index *index, const struct address_placements *all,
                        const struct af_world *w, uint32_t device)
{
	struct edges edges = {0};
	struct lying lying = {0};

	if (index->version == all->version)
		return;
	index->version = all->version;
	index->nr_segments = index->nr_candidates = 0;
	memset(index->near, 0, sizeof index->near);
	for (uint32_t i = 0; i < all->nr; i++)
		if (af_sampled_device_is(w, device, all->all[i].process, all->all[i].device))
			edges_of(&edges, i, &all->all[i], index->is_32);
	AF_SORT(edges.all, edges.nr, edge_order);
	for (size_t i = 0; i < edges.nr; i++) {
		lying_change(&lying, &edges.all[i]);
		if (i + 1 == edges.nr || edges.all[i + 1].at != edges.all[i].at)
			segment_add(index, all, &lying, edges.all[i].at);
	}
	free(edges.all);
}

/* The last segment that begins at @address or before it, else the first. */
static uint32_t segment_search(const struct address_index *index, uint64_t address)
{
	const struct address_segment *at = index->segments;

	/* Without branches that nobody could predict. */
	for (uint32_t nr = index->nr_segments; nr > 1;) {
		uint32_t half = nr / 2;
		at = at[half].start <= address ? at + half : at;
		nr -= half;
	}
	return (uint32_t)(at - index->segments);
}

struct address_segment *address_index_find(struct address_index *index, uint64_t address)
{
	/* Few kernels lie in 2 KiB. */
	uint32_t *near =
	    &index->near[(uint32_t)(address >> 11) * 0x9e3779b1u >> (32 - ADDRESS_NEAR_BITS)];

	if (!index->nr_segments)
		return NULL;
	const struct address_segment *at = &index->segments[*near];
	bool in =
	    address >= at->start && (*near + 1 == index->nr_segments || address < at[1].start);
	if (!in)
		*near = segment_search(index, address);
	at = &index->segments[*near];
	return at->start <= address ? &index->segments[*near] : NULL;
}

void address_index_free(struct address_index *index)
{
	free(index->segments);
	free(index->candidates);
}
