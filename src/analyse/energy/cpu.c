/* Samples of CPUs as works that take the energy of CPU packages. */
#include "analyse/energy/private.h"
#include "analyse/frames/frames.h"
#include "base/arena.h"

uint32_t energy_cpu_row(struct energy *e, const struct af_stack_location *at, uint32_t doing)
{
	uint32_t place = af_stack_locations_number(&e->cpu_stacks, at);
	bool fresh;
	uint64_t *slot = af_map_at(&e->by_place, (uint64_t)place << 32 | doing, &fresh);

	if (fresh) {
		AF_GROW(e->rows, e->nr_rows, e->cap_rows);
		e->rows[e->nr_rows] = (struct energy_row){
		    .is = {.process = at->process, .doing = doing}, .place = place + 1};
		*slot = e->nr_rows++;
	}
	return (uint32_t)*slot;
}

static bool has_package(struct energy *e, const struct af_world *w)
{
	for (; e->nr_looked_at < w->nr_counters; e->nr_looked_at++)
		e->has_package |= energy_is_package(&w->counters[e->nr_looked_at]);
	return e->has_package;
}

/* A sample stands for the time before its moment, as long as its weight. */
void energy_cpu_sample(struct energy *e, const struct af_world *w, const struct af_sample *s)
{
	if (s->counted || !s->weight_ns || s->weight_ns > s->time_ns || !has_package(e, w))
		return;
	uint32_t row = energy_cpu_row(e, &s->at, w->annotations.apart ? s->doing : 0);
	e->rows[row].works += !s->out_of_range;
	e->rows[row].time_ns += s->weight_ns;
	AF_GROW(e->works, e->nr_works, e->cap_works);
	e->works[e->nr_works++] = (struct energy_work){s->time_ns - s->weight_ns, s->time_ns, row};
}

void energy_cpu_name(struct energy *e, const struct af_world *w, struct af_tree *t,
                     struct energy_row *row)
{
	const struct af_stack_location *at = &e->cpu_stacks.all[row->place - 1];
	uint32_t node = af_frames_place(t, w, 0, at);
	size_t len = 0;
	const char *text = node ? af_tree_text(t, t->nodes[node].name, &len) : "";

	row->name = af_strtab_id(&e->names, text, len);
}
