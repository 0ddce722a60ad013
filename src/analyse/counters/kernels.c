/*
 * What did counters show while a kernel ran? Readings of single launches are exact. A reading of a
 * device over time is of all that ran then, so a kernel has the mean over its own times.
 */
#include "analyse/counters/kernels.h"

#include <stdlib.h>

#include "analyse/counters/counters.h"
#include "base/arena.h"

struct kernels_value *kernels_value(struct kernels *k, uint32_t row, uint32_t counter)
{
	bool fresh;
	uint64_t *slot = af_map_at(&k->by_value, (uint64_t)row << 32 | counter, &fresh);

	if (fresh) {
		AF_GROW(k->values, k->nr_values, k->cap_values);
		k->values[k->nr_values] = (struct kernels_value){.row = row, .counter = counter};
		*slot = k->nr_values++;
	}
	return &k->values[*slot];
}

static uint32_t kernels_row(struct kernels *k, const struct af_world *w, const struct af_work *work)
{
	const struct af_work_descriptor *d = &w->descriptors[work->descriptor];
	uint32_t device = af_work_device(w, work);
	uint32_t name = af_strtab_id_z(&k->names, af_world_kernel(w, d->process, d->is.kernel));
	bool fresh;
	uint64_t *slot = af_keys_at(&k->by_row, AF_KEY(d->process, device, name), &fresh);

	if (fresh) {
		AF_GROW(k->rows, k->nr_rows, k->cap_rows);
		k->rows[k->nr_rows] =
		    (struct kernels_row){.name = name, .process = d->process, .device = device};
		*slot = k->nr_rows++;
	}
	return (uint32_t)*slot;
}

/* Is the counter of the device that the kernel ran on? What devices are is known by then. */
static bool is_of_row(struct kernels *k, const struct af_world *w, uint32_t row, uint32_t counter)
{
	bool fresh;
	uint64_t *slot = af_map_at(&k->by_device, (uint64_t)row << 32 | counter, &fresh);

	if (fresh)
		*slot = 1 + af_counter_is_of(w, &w->counters[counter], k->rows[row].process,
		                             k->rows[row].device);
	return *slot == 2;
}

/* The curves that tell of a work: of one counter what its device's readings have in its time. */
static void work_apportion(struct kernels *k, const struct af_world *w,
                           const struct kernels_waiting *work, uint32_t counter)
{
	const struct af_curve *curve = &k->curves[counter];
	double covered_ns;

	if (!curve->nr || !is_of_row(k, w, work->row, counter))
		return;
	double sum = af_curve_sum(curve, work->start_ns, work->end_ns, &covered_ns);
	if (!(covered_ns > 0))
		return;
	struct kernels_value *v = kernels_value(k, work->row, counter);
	v->apportioned += sum;
	v->covered_ns += covered_ns;
	v->launches += work->counts;
}

/* Until which time does a device have all its readings? */
static uint64_t curves_end_ns(const struct kernels *k)
{
	uint64_t end_ns = UINT64_MAX;

	for (uint32_t i = 0; i < k->cap_curves; i++) {
		const struct af_curve *c = &k->curves[i];
		if (c->nr && c->pieces[c->nr - 1].end_ns < end_ns)
			end_ns = c->pieces[c->nr - 1].end_ns;
	}
	return end_ns;
}

/* Works that ended before @until_ns wait no longer. */
static void waiting_end(struct kernels *k, const struct af_world *w, uint64_t until_ns)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < k->nr_waiting; i++) {
		const struct kernels_waiting work = k->waiting[i];
		if (work.end_ns > until_ns) {
			k->waiting[nr++] = work;
			continue;
		}
		for (uint32_t counter = 1; counter < k->cap_curves; counter++)
			work_apportion(k, w, &work, counter);
	}
	k->nr_waiting = nr;
}

static void kernels_wait(struct kernels *k, const struct af_world *w,
                         const struct kernels_waiting *work)
{
	if (k->nr_waiting == KERNELS_WAITING) {
		waiting_end(k, w, curves_end_ns(k));
		/* Readings have stopped, or come far too late. */
		if (k->nr_waiting > KERNELS_WAITING / 2)
			waiting_end(k, w, UINT64_MAX);
	}
	AF_GROW(k->waiting, k->nr_waiting, k->cap_waiting);
	k->waiting[k->nr_waiting++] = *work;
}

static void kernels_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct kernels *k = self;
	uint64_t ns = af_work_busy_ns(work);

	if (work->status || !work->descriptor ||
	    w->descriptors[work->descriptor].is.op != AF_OP_KERNEL)
		return;
	uint32_t row = kernels_row(k, w, work);
	k->rows[row].time_ns += ns;
	if (work->placed_ns && ns)
		kernels_wait(k, w,
		             &(struct kernels_waiting){.row = row,
		                                       .counts = !work->out_of_range,
		                                       .start_ns = work->placed_ns,
		                                       .end_ns = work->placed_ns + ns});
	if (work->out_of_range)
		return;
	k->rows[row].launches++;
	kernels_join_work(k, work, row);
}

/* An amount is its own sum, a level times its span is. */
static void kernels_reading(struct kernels *k, const struct af_world *w, const struct af_event *ev)
{
	struct af_counter_values v;
	uint32_t counter;
	uint64_t value;

	if (!af_counter_values(ev, &v) || v.start_ns == v.end_ns)
		return;
	while (af_counter_next(&v, w, &counter, &value)) {
		const struct af_counter *c = &w->counters[counter];
		double sum = (double)value;
		if (!af_counter_adds_up(c))
			sum *= (double)(v.end_ns - v.start_ns);
		if (!c->device)
			continue;
		AF_REACH(k->curves, counter, k->cap_curves);
		af_curve_add(&k->curves[counter], v.start_ns, v.end_ns, sum);
	}
}

static void kernels_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	if (ev->kind == AF_KIND_READING)
		kernels_reading(self, w, ev);
	else if (ev->kind == AF_KIND_WORK_READING)
		kernels_join_reading(self, w, ev);
}

static void kernels_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct kernels *k = self;

	waiting_end(k, w, UINT64_MAX);
	kernels_table(k, w, out);
}

static void kernels_close(void *self)
{
	struct kernels *k = self;

	for (uint32_t i = 0; i < k->cap_curves; i++)
		af_curve_free(&k->curves[i]);
	af_strtab_free(&k->names);
	af_keys_free(&k->by_row);
	af_map_free(&k->by_value);
	af_map_free(&k->by_device);
	af_join_free(&k->done);
	af_join_free(&k->early);
	free(k->rows);
	free(k->values);
	free(k->curves);
	free(k->waiting);
	free(k->last_done);
	free(k->parts);
}

const struct af_pass_ops af_pass_kernel_counters = {
    .name = "kernel counters",
    .question = "what did counters show while each kernel ran?",
    .answers = AF_ANSWER_KERNEL_COUNTERS,
    .wants = 1ull << AF_KIND_MOMENT_BIT | 1ull << AF_KIND_CLOCK,
    .takes = 1ull << AF_KIND_MOMENT_BIT,
    .state_size = sizeof(struct kernels),
    .event = kernels_event,
    .work = kernels_work,
    .finish = kernels_finish,
    .close = kernels_close,
};
