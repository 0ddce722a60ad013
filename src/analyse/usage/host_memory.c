/* Pinned and managed memory of a process, as ranges of addresses that are apart. */
#include <string.h>

#include "analyse/usage/private.h"
#include "base/arena.h"
#include "trace/read/reader.h"

/* The first range that ends after @address. */
static uint32_t range_at(const struct usage_process *p, uint64_t address)
{
	uint32_t low = 0, high = p->nr_ranges;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct usage_host_range *r = &p->ranges[middle];
		if (address >= r->address && address - r->address >= r->bytes)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void range_remove(struct usage_process *p, uint32_t i)
{
	p->nr_ranges--;
	memmove(p->ranges + i, p->ranges + i + 1, (p->nr_ranges - i) * sizeof *p->ranges);
}

/* Ranges that overlap the new one were freed where nobody saw it. */
static void range_add(struct usage_process *p, uint64_t address, uint64_t bytes)
{
	uint32_t i = range_at(p, address);

	if (!bytes || address + bytes < address)
		return;
	while (i < p->nr_ranges && p->ranges[i].address < address + bytes)
		range_remove(p, i);
	AF_GROW(p->ranges, p->nr_ranges, p->cap_ranges);
	memmove(p->ranges + i + 1, p->ranges + i, (p->nr_ranges - i) * sizeof *p->ranges);
	p->ranges[i] = (struct usage_host_range){address, bytes};
	p->nr_ranges++;
}

void usage_memory(struct usage_process *p, const struct af_event *ev)
{
	struct af_ev_memory fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	p->has_memory = true;
	if (fixed.category == AF_CATEGORY_FREE) {
		uint32_t i = range_at(p, fixed.address);
		if (i < p->nr_ranges && p->ranges[i].address == fixed.address)
			range_remove(p, i);
	} else if (fixed.memory == AF_MEMORY_PINNED || fixed.memory == AF_MEMORY_MANAGED) {
		range_add(p, fixed.address, fixed.bytes);
	}
}

bool usage_is_pinned(const struct usage_process *p, uint64_t address)
{
	uint32_t i = range_at(p, address);

	return i < p->nr_ranges && p->ranges[i].address <= address;
}
