/*
 * GPUs that several processes use. Each process has its own device, to which what others do looks
 * idle; the GPU is one more, which takes the work of all of them. It begins as a copy of the first
 * process's device when a second one comes, so that what nobody shares costs nothing.
 */
#include "analyse/idle/idle.h"

#include <string.h>

#include "analyse/table/facts.h"
#include "analyse/world/world.h"
#include "base/arena.h"

static uint32_t shared_begin(struct idle *i, uint32_t first)
{
	uint32_t at = i->nr_devices;

	AF_GROW(i->devices, i->nr_devices, i->cap_devices);
	i->devices[i->nr_devices++] = i->devices[first];
	i->devices[at].nr_sharing = 1;
	i->devices[first].shared = at;
	idle_explain_copy(i, first, at);
	return at;
}

/* None of the works of a device that comes here for the first time is settled yet. */
static void device_join(struct idle *i, uint32_t device)
{
	bool fresh;
	uint64_t *first = af_map_at(&i->by_gpu, i->devices[device].gpu, &fresh);

	i->devices[device].joined = true;
	if (fresh) {
		*first = device;
		return;
	}
	uint32_t shared = i->devices[*first].shared;
	if (!shared)
		shared = shared_begin(i, (uint32_t)*first);
	i->devices[device].shared = shared;
	i->devices[shared].nr_sharing++;
}

void idle_shared_look(struct idle *i, const struct af_world *w)
{
	uint32_t nr = i->nr_devices;

	for (uint32_t n = 0; n < nr; n++) {
		struct idle_device *d = &i->devices[n];
		if (d->joined)
			continue;
		d->gpu = af_world_gpu(w, d->process, d->id);
		if (d->gpu)
			device_join(i, n);
	}
}

void idle_table_shared(struct idle_names *n, struct af_facts *f)
{
	static const struct af_column columns[] = {
	    {"GPU", AF_CELL_TEXT},   {"Processes", AF_CELL_COUNT},
	    {"Busy", AF_CELL_NS},    {"Of the run", AF_CELL_PERCENT},
	    {"Kernels", AF_CELL_NS}, {"Pieces of work", AF_CELL_COUNT},
	    {"UUID", AF_CELL_TEXT},
	};
	const struct af_world *w = n->w;
	uint64_t run = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;
	struct af_table *t = NULL;

	for (uint32_t k = 0; k < n->i->nr_devices; k++) {
		const struct idle_device *d = &n->i->devices[k];
		if (!d->nr_sharing)
			continue;
		const char *name = idle_device_name(n->i, w, f, k);
		if (!t)
			t = af_facts_table(f, "gpus", "GPUs that several processes share", columns,
			                   sizeof columns / sizeof *columns);
		struct af_cell *c = af_table_row(f, t);
		c[0].text = name;
		c[1].value = d->nr_sharing;
		c[2].value = d->busy_ns;
		c[3].value = af_facts_ratio(d->busy_ns, run, 1e4);
		c[4].value = d->kernels_ns;
		c[5].value = d->nr_works;
		c[6].text = af_facts_text(f, "%s", af_strtab_get(&w->strings, d->gpu));
		t->note = "busy when one process at least had work there";
	}
}
