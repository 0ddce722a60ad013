/* How much energy did kernels take, and who launched them? Works and readings are kept. */
#include "analyse/energy/energy.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/counters/counters.h"
#include "analyse/energy/private.h"
#include "base/arena.h"

/* Power in W, energy in J, of a device: the names are those of docs/telemetry.md. */
static bool is_meter(const struct af_counter *c, bool *is_power)
{
	bool adds_up = af_counter_adds_up(c);

	*is_power = !adds_up;
	return c->device && ((!adds_up && !strcmp(c->name, "power") && !strcmp(c->unit, "W")) ||
	                     (adds_up && !strcmp(c->name, "energy") && !strcmp(c->unit, "J")));
}

/* Its cores and its memory are zones within a package, or beside it. */
bool energy_is_package(const struct af_counter *c)
{
	static const char zone[] = "energy of package-";

	return !c->device && af_counter_adds_up(c) && !strcmp(c->unit, "J") &&
	       !strncmp(c->name, zone, sizeof zone - 1) && !strchr(c->name, ',');
}

static void meter_read(struct energy_meter *m, const struct af_counter *c, uint64_t value,
                       const struct af_counter_values *v)
{
	double of_unit = (double)value / (double)c->per;

	if (v->start_ns < v->end_ns)
		af_curve_add(&m->joule, v->start_ns, v->end_ns,
		             m->is_power ? of_unit * (double)(v->end_ns - v->start_ns) / 1e9
		                         : of_unit);
	else if (m->is_power && m->was_ns && m->was_ns < v->end_ns)
		af_curve_add(&m->joule, m->was_ns, v->end_ns,
		             (double)m->was / (double)c->per * (double)(v->end_ns - m->was_ns) /
		                 1e9);
	m->is_of_spans |= v->start_ns < v->end_ns;
	m->was_watt = of_unit;
	m->first_ns = m->readings++ ? m->first_ns : v->start_ns;
	m->last_ns = v->end_ns;
	m->was_ns = v->end_ns;
	m->was = value;
}

static void energy_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct energy *e = self;
	struct af_counter_values v;
	uint32_t counter;
	uint64_t value;
	bool is_power;

	if (ev->kind != AF_KIND_READING || !af_counter_values(ev, &v))
		return;
	while (af_counter_next(&v, w, &counter, &value)) {
		bool is_package = energy_is_package(&w->counters[counter]);
		if (!is_meter(&w->counters[counter], &is_power) && !is_package)
			continue;
		AF_REACH(e->meters, counter, e->cap_meters);
		e->meters[counter].is_power = is_power;
		e->meters[counter].is_package = is_package;
		meter_read(&e->meters[counter], &w->counters[counter], value, &v);
	}
}

static uint32_t row_find(struct energy *e, const struct af_launch_group_key *is, const char *text)
{
	uint32_t name = af_strtab_id_z(&e->names, text);
	bool fresh;
	uint64_t *slot = af_keys_at(
	    &e->by_row,
	    AF_KEY((uint64_t)is->process << 32 | is->device, (uint64_t)is->path << 32 | name,
	           (uint64_t)is->function << 32 | is->doing,
	           (uint64_t)is->node << 33 | (uint64_t)is->queue << 1 | is->matched),
	    &fresh);

	if (fresh) {
		AF_GROW(e->rows, e->nr_rows, e->cap_rows);
		e->rows[e->nr_rows] = (struct energy_row){.is = *is, .name = name};
		*slot = e->nr_rows++;
	}
	return (uint32_t)*slot;
}

static uint32_t row_of(struct energy *e, const struct af_world *w, const struct af_work *work)
{
	const struct af_launch_group_key is = af_launch_group_key(w, work);
	const char *text =
	    is.op == AF_OP_KERNEL ? af_world_kernel(w, is.process, is.kernel) : af_op_text(is.op);

	return row_find(e, &is, *text ? text : "[unnamed kernel]");
}

static void energy_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct energy *e = self;
	uint64_t ns = af_work_busy_ns(work);

	if (work->status || !work->descriptor || !work->placed_ns || !ns)
		return;
	uint32_t row = row_of(e, w, work);
	e->rows[row].works += !work->out_of_range;
	e->rows[row].time_ns += ns;
	AF_GROW(e->works, e->nr_works, e->cap_works);
	e->works[e->nr_works++] = (struct energy_work){work->placed_ns, work->placed_ns + ns, row};
}

static void energy_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	energy_cpu_sample(self, w, s);
}

/* Power holds from the last reading of a part until the first of the next one. */
static void meter_merge(struct energy_meter *to, const struct energy_meter *from,
                        const struct af_counter *c)
{
	if (!from->readings)
		return;
	to->is_power = from->is_power;
	to->is_package = from->is_package;
	to->is_of_spans |= from->is_of_spans;
	to->was_watt = from->was_watt;
	if (to->is_power && to->was_ns && to->was_ns < from->first_ns)
		af_curve_add(&to->joule, to->was_ns, from->first_ns,
		             (double)to->was / (double)c->per *
		                 (double)(from->first_ns - to->was_ns) / 1e9);
	af_curve_append(&to->joule, &from->joule);
	to->first_ns = to->readings ? to->first_ns : from->first_ns;
	to->readings += from->readings;
	to->last_ns = from->last_ns;
	to->was_ns = from->was_ns;
	to->was = from->was;
}

static bool energy_merge(void *self, const struct af_world *w, const void *other)
{
	const struct energy *from = other;
	struct energy *e = self;
	uint32_t *rows = af_xcalloc((size_t)from->nr_rows + 1, sizeof *rows);

	for (uint32_t i = 0; i < from->cap_meters && i < w->nr_counters; i++) {
		AF_REACH(e->meters, i, e->cap_meters);
		meter_merge(&e->meters[i], &from->meters[i], &w->counters[i]);
	}
	for (uint32_t i = 0; i < from->nr_rows; i++) {
		const struct energy_row *row = &from->rows[i];
		rows[i] =
		    row->place
			? energy_cpu_row(e, &from->cpu_stacks.all[row->place - 1], row->is.doing)
			: row_find(e, &row->is, af_strtab_get(&from->names, row->name));
		e->rows[rows[i]].works += row->works;
		e->rows[rows[i]].time_ns += row->time_ns;
	}
	for (size_t i = 0; i < from->nr_works; i++) {
		AF_GROW(e->works, e->nr_works, e->cap_works);
		e->works[e->nr_works] = from->works[i];
		e->works[e->nr_works++].row = rows[from->works[i].row];
	}
	free(rows);
	return true;
}

static void energy_finish(void *self, const struct af_world *w, struct af_results *out)
{
	energy_table(self, w, out);
}

static void energy_close(void *self)
{
	struct energy *e = self;

	for (uint32_t i = 0; i < e->cap_meters; i++)
		af_curve_free(&e->meters[i].joule);
	af_keys_free(&e->by_row);
	af_map_free(&e->by_place);
	af_stack_locations_free(&e->cpu_stacks);
	af_strtab_free(&e->names);
	free(e->meters);
	free(e->rows);
	free(e->works);
}

const struct af_pass_ops af_pass_energy = {
    .name = "energy",
    .question = "how much energy did each kernel and function take, and who launched it?",
    .answers = AF_ANSWER_ENERGY,
    .wants = 1ull << AF_KIND_MOMENT_BIT | 1ull << AF_KIND_CLOCK,
    .takes = 1ull << AF_KIND_MOMENT_BIT,
    .state_size = sizeof(struct energy),
    .event = energy_event,
    .sample = energy_sample,
    .work = energy_work,
    .merge = energy_merge,
    .finish = energy_finish,
    .close = energy_close,
};
