#include "sym/elf/ranges.h"

#include <stdlib.h>

#include "base/arena.h"

/* Keeps every index below in 32 bits. */
enum { RANGES_MOST = 1 << 27 };

void af_ranges_free(struct af_ranges *r)
{
	free(r->items);
	free(r->starts);
	free(r->values);
	free(r->slices);
	*r = (struct af_ranges){0};
}

void af_ranges_add(struct af_ranges *r, uint64_t start, uint64_t end, uint32_t priority,
                   uint32_t value)
{
	if (start >= end || r->nr >= RANGES_MOST)
		return;
	AF_GROW(r->items, r->nr, r->cap);
	if (r->nr && start < r->items[r->nr - 1].start)
		r->unsorted = true;
	r->items[r->nr] = (struct af_range){start, end, priority, value, (uint32_t)r->nr};
	r->nr++;
}

static int ranges_by_start(const void *a, const void *b)
{
	const struct af_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool ranges_beats(const struct af_range *x, const struct af_range *y)
{
	if (x->priority != y->priority)
		return x->priority > y->priority;
	return x->order > y->order;
}

/* A binary heap of the ranges that have begun, with the one that wins on top. */
struct ranges_heap {
	const struct af_range **at;
	size_t nr;
};

static void heap_push(struct ranges_heap *h, const struct af_range *x)
{
	size_t i = h->nr++;

	while (i && ranges_beats(x, h->at[(i - 1) / 2])) {
		h->at[i] = h->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->at[i] = x;
}

static void heap_pop(struct ranges_heap *h)
{
	const struct af_range *last = h->at[--h->nr];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < h->nr; i = child) {
		if (child + 1 < h->nr && ranges_beats(h->at[child + 1], h->at[child]))
			child++;
		if (!ranges_beats(h->at[child], last))
			break;
		h->at[i] = h->at[child];
	}
	h->at[i] = last;
}

static void ranges_emit(struct af_ranges *r, uint64_t start, uint32_t value)
{
	if (r->nr_segments && r->starts[r->nr_segments - 1] == start)
		r->nr_segments--;
	if (r->nr_segments && r->values[r->nr_segments - 1] == value)
		return;
	r->starts[r->nr_segments] = start;
	r->values[r->nr_segments++] = value;
}

/* Remove all ranges that end by @until, and report each change of the one on top. */
static void ranges_expire(struct af_ranges *r, struct ranges_heap *h, uint64_t until)
{
	while (h->nr && h->at[0]->end <= until) {
		uint64_t at = h->at[0]->end;

		while (h->nr && h->at[0]->end <= at)
			heap_pop(h);
		ranges_emit(r, at, h->nr ? h->at[0]->value : AF_RANGES_NONE);
	}
}

static void ranges_slice(struct af_ranges *r)
{
	if (r->nr_segments < 16)
		return;
	uint64_t span = r->starts[r->nr_segments - 1] - r->starts[0];

	while (span >> r->shift >= (uint64_t)r->nr_segments * 8)
		r->shift++;
	r->nr_slices = (uint32_t)(span >> r->shift) + 1;
	r->slices = af_xcalloc(r->nr_slices + 1, sizeof *r->slices);
	uint32_t seg = 0;
	for (uint32_t k = 0; k < r->nr_slices; k++) {
		uint64_t base = r->starts[0] + ((uint64_t)k << r->shift);

		while (seg + 1 < r->nr_segments && r->starts[seg + 1] <= base)
			seg++;
		r->slices[k] = seg;
	}
	r->slices[r->nr_slices] = r->nr_segments - 1;
}

void af_ranges_build(struct af_ranges *r)
{
	struct ranges_heap heap = {0};

	if (!r->nr)
		return;
	if (r->unsorted)
		AF_SORT(r->items, r->nr, ranges_by_start);
	heap.at = af_xcalloc(r->nr, sizeof *heap.at);
	r->starts = af_xcalloc(2 * r->nr, sizeof *r->starts);
	r->values = af_xcalloc(2 * r->nr, sizeof *r->values);

	for (size_t i = 0; i < r->nr; i++) {
		const struct af_range *x = &r->items[i];

		ranges_expire(r, &heap, x->start);
		heap_push(&heap, x);
		ranges_emit(r, x->start, heap.at[0]->value);
	}
	ranges_expire(r, &heap, UINT64_MAX);

	free(heap.at);
	free(r->items);
	r->items = NULL;
	r->nr = r->cap = 0;
	ranges_slice(r);
}

uint32_t af_ranges_find(const struct af_ranges *r, uint64_t address)
{
	if (!r->nr_segments || address < r->starts[0])
		return AF_RANGES_NONE;

	uint32_t low = 0, high = r->nr_segments - 1;
	if (r->nr_slices) {
		uint64_t k = (address - r->starts[0]) >> r->shift;

		if (k < r->nr_slices) {
			low = r->slices[k];
			high = r->slices[k + 1];
		} else {
			low = high;
		}
	}
	/* The last segment that starts at or before the address is between low and high. */
	while (low < high) {
		uint32_t middle = high - (high - low) / 2;

		if (r->starts[middle] <= address)
			low = middle;
		else
			high = middle - 1;
	}
	return r->values[low];
}
