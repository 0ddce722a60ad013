/* Launches of parts of a trace that were read beside one another, joined part after part. */
#include <stdlib.h>
#include <string.h>

#include "analyse/join/launches.h"
#include "analyse/join/launches_private.h"
#include "analyse/join/launches_table.h"
#include "base/arena.h"

void af_launches_captured(struct af_launches *l, const uint64_t *captured_ns, uint32_t nr_streams)
{
	if (!nr_streams)
		return;
	AF_REACH(l->captured_ns, nr_streams - 1, l->nr_streams);
	memcpy(l->captured_ns, captured_ns, nr_streams * sizeof *captured_ns);
}

/* How much ids of @from lack: each part extends those of 32 bits for itself. */
static uint64_t ids_shift(const struct launches_table *t, const struct launches_table *from)
{
	if (!t->highest || !from->lowest)
		return 0;
	struct launches_table here = {.highest = t->highest};
	return launches_extend(&here, (uint32_t)from->lowest) - from->lowest;
}

/* By table of @from: what its ids lack. */
static uint64_t *shifts_find(struct af_launches *l, const struct af_launches *from)
{
	uint64_t *shifts = af_xcalloc((size_t)from->nr_tables + 1, sizeof *shifts);

	for (uint32_t i = 0; i < from->nr_tables; i++) {
		const struct launches_table *f = &from->tables[i];
		shifts[i] = ids_shift(launches_table_of(l, f->process, f->api), f);
	}
	return shifts;
}

/* Works of the parts before whose calls are in this one. */
static void earlier_works(struct af_launches *l, const struct af_world *w, struct af_launches *from,
                          const uint64_t *shifts)
{
	struct launches_early later = {0};
	struct af_work *work;

	while ((work = launches_early_oldest(&l->early, UINT64_MAX))) {
		struct launches_table *f = launches_table_of(from, work->process, work->api);
		uint64_t shift = shifts[f - from->tables];
		struct launches_call *call = launches_find(f, work->id - shift);
		uint64_t until_ns = launches_early_until(work);
		if (call)
			launches_hand_over(l, w, launches_table_of(l, work->process, work->api),
			                   work, until_ns < call->end_ns ? NULL : call);
		else
			launches_early_put(&later, work, until_ns);
	}
	launches_early_free(&l->early);
	l->early = later;
}

/* Works of this part whose calls are in those before; the others wait for those to come. */
static void later_works(struct af_launches *l, const struct af_world *w, struct af_launches *from,
                        const uint64_t *shifts)
{
	struct af_work *work;

	while ((work = launches_early_oldest(&from->early, UINT64_MAX))) {
		struct launches_table *f = launches_table_of(from, work->process, work->api);
		struct launches_table *t = launches_table_of(l, work->process, work->api);
		work->id += shifts[f - from->tables];
		struct launches_call *call = launches_find(t, work->id);
		if (call)
			launches_hand_over(l, w, t, work, call);
		else
			launches_early_put(&l->early, work, launches_early_until(work));
	}
}

static void tables_add(struct af_launches *l, const struct af_launches *from,
                       const uint64_t *shifts)
{
	for (uint32_t i = 0; i < from->nr_tables; i++) {
		const struct launches_table *f = &from->tables[i];
		struct launches_table *t = launches_table_of(l, f->process, f->api);
		launches_add(t, f, shifts[i]);
	}
	for (uint32_t i = 0; i < from->nr_devices; i++) {
		const struct launches_device *f = &from->devices[i];
		const struct launches_table *table = &from->tables[f->table];
		const struct launches_table *t = launches_table_of(l, table->process, table->api);
		struct launches_device *d =
		    launches_device_of(l, (uint32_t)(t - l->tables), f->device);
		d->joined += f->joined;
		d->works += f->works;
		d->alone += f->alone;
		d->untimed += f->untimed;
	}
	l->unlaunched += from->unlaunched;
	l->stackless += from->stackless;
	l->failed += from->failed;
	l->unstamped += from->unstamped;
	l->unknown += from->unknown;
}

void af_launches_merge(struct af_launches *l, const struct af_world *w, struct af_launches *from)
{
	uint64_t *shifts;

	/* Tables of all works that wait, so that there is a shift for each. */
	for (uint32_t i = 0; i < l->nr_tables; i++)
		launches_table_of(from, l->tables[i].process, l->tables[i].api);
	shifts = shifts_find(l, from);
	earlier_works(l, w, from, shifts);
	later_works(l, w, from, shifts);
	tables_add(l, from, shifts);
	/* A part does not know whether libaflame's record of a call that was seen was lost. */
	l->unfit |= from->unfit || from->sees || l->early.nr > AF_LAUNCHES_EARLY_PART;
	free(shifts);
	af_launches_free(from);
}
