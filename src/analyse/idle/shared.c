/*
 * GPUs that several processes use. Each process has its own device, to which what others do looks
 * idle; the GPU is one more, which takes the work of all of them. It begins as a copy of the first
 * process's device when a second one comes, so that what nobody shares costs nothing.
 */
#include "analyse/idle/idle.h"

#include <string.h>

#include "analyse/idle/rows.h"
#include "analyse/table/table.h"
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

void idle_shared_refresh(struct idle *i, const struct af_world *w)
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

void idle_table_shared(struct idle_names *n, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_GPU_COLUMNS(AF_ROW_COLUMN)};
	const struct af_world *w = n->w;
	uint64_t run = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;
	struct af_table *t = NULL;

	for (uint32_t k = 0; k < n->i->nr_devices; k++) {
		const struct idle_device *d = &n->i->devices[k];
		if (!d->nr_sharing)
			continue;
		const char *name = idle_device_name(n->i, w, f, k);
		if (!t)
			t = AF_TABLE(f, "gpus", "GPUs that several processes share", columns);
		t->whole = run;
		struct af_gpu_row *c = af_table_row(f, t);
		c->gpu.text = name;
		c->processes.value = d->nr_sharing;
		c->busy_ns.value = d->busy_ns;
		c->busy_percent.value = af_tables_ratio(d->busy_ns, run, 1e4);
		c->kernels_ns.value = d->kernels_ns;
		c->works.value = d->nr_works;
		c->uuid.text = af_tables_text(f, "%s", af_strtab_get(&w->strings, d->gpu));
		t->note = "busy when one process at least had work there";
	}
}
