/* The launches of each process, API and device, and those that got work. */
#include <stdlib.h>

#include "analyse/coverage/coverage.h"
#include "analyse/join/launches.h"
#include "analyse/join/launches_table.h"
#include "base/arena.h"

#define DEVICES_MANY UINT64_MAX

/* By process and API: the device that all its queues are on; DEVICES_MANY for several. */
static struct af_map only_devices(const struct af_world *w)
{
	struct af_map only = {0};
	bool fresh;

	for (uint32_t i = 1; i < w->nr_queues; i++) {
		const struct af_queue *q = &w->queues[i];
		const struct af_device *d = af_world_device(w, q->process, q->device);
		if (!d)
			continue;
		uint64_t *slot = af_map_at(&only, (uint64_t)q->process << 32 | d->api, &fresh);
		if (fresh)
			*slot = d->id;
		else if (*slot != d->id)
			*slot = DEVICES_MANY;
	}
	return only;
}

static int sum_order(const void *a, const void *b)
{
	const struct af_coverage_launches *x = a, *y = b;

	return (x->device > y->device) - (x->device < y->device);
}

/* Rows of a table: of each device, and of launches without work, unless all are of @only. */
static uint32_t table_sums(const struct af_launches *l, const struct launches_table *t,
                           uint32_t only, struct af_coverage_launches *sums)
{
	uint64_t unfinished = launches_unfinished(t), left = t->calls;
	uint32_t nr = 1;

	sums[0] =
	    (struct af_coverage_launches){.process = t->process, .api = t->api, .device = only};
	for (uint32_t i = t->last_device; i; i = l->devices[i - 1].before) {
		const struct launches_device *d = &l->devices[i - 1];
		struct af_coverage_launches *s = &sums[0];
		uint64_t joined = d->joined < left ? d->joined : left;
		if (d->device && d->device != only) {
			s = &sums[nr++];
			*s = (struct af_coverage_launches){
			    .process = t->process, .api = t->api, .device = d->device};
		}
		s->calls += joined;
		s->joined += joined;
		s->works += d->works;
		s->alone += d->alone;
		s->untimed += d->untimed;
		left -= joined;
	}
	sums[0].calls += left;
	sums[0].joined += left > unfinished ? left - unfinished : 0;
	if (!sums[0].calls && !sums[0].works)
		sums[0] = sums[--nr];
	AF_SORT(sums, nr, sum_order);
	return nr;
}

uint32_t af_launches_sums(const struct af_launches *l, const struct af_world *w,
                          struct af_coverage_launches **sums)
{
	struct af_map devices = only_devices(w);
	uint32_t nr = 0;

	*sums = af_xcalloc((size_t)l->nr_tables + l->nr_devices + 1, sizeof **sums);
	for (uint32_t i = 0; i < l->nr_tables; i++) {
		const struct launches_table *t = &l->tables[i];
		const uint64_t *only = af_map_get(&devices, (uint64_t)t->process << 32 | t->api);
		bool one = only && *only != DEVICES_MANY;
		nr += table_sums(l, t, one ? (uint32_t)*only : 0, *sums + nr);
	}
	af_map_free(&devices);
	return nr;
}
