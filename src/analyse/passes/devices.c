/*
 * The work of devices in two tables: kernels and copies, each with how often, how long and on which
 * device; and how much of the run each device was busy. Gaps are exact on the device's clock.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/join/busy.h"
#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"
#include "base/keys.h"
#include "sym/device/stalls.h"

/* All work of one operation and kernel on one device. */
struct device_row {
	uint32_t process, op, kernel, device;
	/* The bounds of the longest one. */
	uint32_t descriptor;
	const struct af_ev_launch_config *config;
	uint64_t count, time_ns, min_ns, max_ns, bytes, wait_ns, nr_waits;
	/* Launches with fewer blocks than the device has multiprocessors, and the most of these. */
	uint64_t small_ns, small_blocks;
	/* Instruction samples, in parts. */
	uint64_t sampled, exact, stalled; /* stalled: with the commonest reason but to be issued */
	uint32_t stall;
};

struct device_busy {
	uint32_t process, device;
	uint64_t work_ns, count;
	struct af_busy busy; /* on the device's clock */
};

struct devices {
	struct af_map by_busy;
	struct af_strtab names; /* of kernels */
	struct af_keys by_row;
	struct device_row *rows;
	uint32_t nr_rows, cap_rows;
	struct device_busy *busy;
	uint32_t nr_busy, cap_busy;
	/* By work descriptor of the world: where its work is added up. */
	struct devices_place {
		uint32_t row, busy;    /* indexes plus 1, 0 not known yet */
		uint64_t small_blocks; /* 0: there are enough, or it is not known */
	} * stack_locations;
	uint32_t cap_stack_locations;
};

/* Kernels are told apart by name: programs built twice have the same kernels. */
static uint64_t *row_slot(struct devices *d, const struct af_world *w,
                          const struct af_launch_group_key *is, bool *fresh)
{
	uint64_t name = af_strtab_id_z(&d->names, af_world_kernel(w, is->process, is->kernel));

	return af_keys_at(&d->by_row, AF_KEY(is->process, is->device, is->op, name), fresh);
}

static uint32_t devices_row(struct devices *d, const struct af_world *w,
                            const struct af_work_descriptor *s, uint32_t device)
{
	const struct af_launch_group_key is = {
	    .process = s->process, .op = s->is.op, .kernel = s->is.kernel, .device = device};
	bool fresh;
	uint64_t *slot = row_slot(d, w, &is, &fresh);

	if (fresh) {
		AF_GROW(d->rows, d->nr_rows, d->cap_rows);
		d->rows[d->nr_rows] = (struct device_row){.process = s->process,
		                                          .op = s->is.op,
		                                          .kernel = s->is.kernel,
		                                          .device = device,
		                                          .min_ns = UINT64_MAX};
		*slot = d->nr_rows++;
	}
	return (uint32_t)*slot;
}

static uint32_t devices_busy(struct devices *d, const struct af_world *w, uint32_t process,
                             uint32_t device)
{
	bool fresh;
	uint64_t *slot = af_map_at(&d->by_busy, (uint64_t)process << 32 | device, &fresh);

	if (fresh) {
		AF_GROW(d->busy, d->nr_busy, d->cap_busy);
		d->busy[d->nr_busy] = (struct device_busy){
		    .process = process, .device = device, .busy = {.in_part = w->in_part}};
		*slot = d->nr_busy++;
	}
	return (uint32_t)*slot;
}

/* The blocks of a launch, if the device has more multiprocessors than that; else 0. */
static uint64_t small_blocks(const struct af_world *w, const struct af_work_descriptor *s,
                             uint32_t device)
{
	const struct af_device *on = af_world_device(w, s->process, device);
	const struct af_ev_descriptor *is = &s->is;

	if (!on || is->op != AF_OP_KERNEL || !is->local_x || !is->local_y || !is->local_z)
		return 0;
	unsigned __int128 blocks =
	    (unsigned __int128)(is->global_x / is->local_x) * (is->global_y / is->local_y);
	/* Neither factor has more than 64 bits, and the third only counts while these are few. */
	if (blocks >= on->processors)
		return 0;
	blocks *= is->global_z / is->local_z;
	return blocks < on->processors ? (uint64_t)blocks : 0;
}

static const struct devices_place *devices_place(struct devices *d, const struct af_world *w,
                                                 const struct af_work *work)
{
	const struct af_work_descriptor *s = &w->descriptors[work->descriptor];

	AF_REACH(d->stack_locations, work->descriptor, d->cap_stack_locations);
	struct devices_place *place = &d->stack_locations[work->descriptor];
	if (!place->row) {
		uint32_t device = af_work_device(w, work);
		place->row = devices_row(d, w, s, device) + 1;
		place->busy = devices_busy(d, w, s->process, device) + 1;
		place->small_blocks = small_blocks(w, s, device);
	}
	return place;
}

/* From the call until the device began, of what was not part of a graph. */
static void row_wait(struct device_row *row, const struct af_world *w, const struct af_work *work)
{
	uint64_t from_ns = work->call_start_ns, to_ns = work->placed_ns;

	/* OpenCL has both on one clock, which need not be known. */
	if (work->queued_ns) {
		struct af_work placed = *work;
		af_work_place(w, &placed, NULL);
		from_ns = placed.queued_ns;
		to_ns = placed.start_ns;
	}
	if (work->node || !from_ns || !to_ns)
		return;
	row->nr_waits++;
	row->wait_ns += to_ns > from_ns ? to_ns - from_ns : 0;
}

static void devices_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct devices *d = self;
	uint64_t ns = af_work_busy_ns(work);

	if (work->status || !work->descriptor)
		return;
	const struct devices_place *place = devices_place(d, w, work);
	struct device_row *row = &d->rows[place->row - 1];
	struct device_busy *busy = &d->busy[place->busy - 1];
	row->time_ns += ns;
	busy->work_ns += ns;
	if (place->small_blocks) {
		row->small_ns += ns;
		if (place->small_blocks > row->small_blocks)
			row->small_blocks = place->small_blocks;
	}
	if (ns)
		af_busy_add(&busy->busy, work->start_ns, work->end_ns);
	if (work->out_of_range)
		return;
	row->count++;
	busy->count++;
	row->bytes += w->descriptors[work->descriptor].is.bytes;
	if (work->end_ns && ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns || !row->descriptor) {
		row->max_ns = ns;
		row->descriptor = work->descriptor;
		row->config = w->descriptors[work->descriptor].config;
	}
	row_wait(row, w, work);
}

/* Work that the target added up itself: it has no stamps, so it says nothing of busy time. */
static void devices_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct devices *d = self;
	struct af_ev_work_sum sum;

	if (ev->kind != AF_KIND_WORK_SUM || w->time_range.to_ns ||
	    !af_event_decode(ev, &sum, sizeof sum, tails) || !sum.count)
		return;
	const struct af_work work = {.process = ev->process,
	                             .descriptor = af_world_descriptor(w, ev, sum.descriptor)};
	if (!work.descriptor)
		return;
	const struct af_work_descriptor *s = &w->descriptors[work.descriptor];
	uint32_t i = devices_row(d, w, s, af_work_device(w, &work));
	struct device_row *row = &d->rows[i];
	row->time_ns += sum.time_ns;
	row->count += sum.count;
	row->bytes += s->is.bytes * sum.count;
	if (sum.min_ns < row->min_ns)
		row->min_ns = sum.min_ns;
	if (sum.max_ns > row->max_ns || !row->descriptor) {
		row->max_ns = sum.max_ns;
		row->descriptor = work.descriptor;
		row->config = s->config;
	}
}

static void row_merge(struct device_row *to, const struct device_row *from)
{
	to->count += from->count;
	to->time_ns += from->time_ns;
	to->bytes += from->bytes;
	to->wait_ns += from->wait_ns;
	to->nr_waits += from->nr_waits;
	to->small_ns += from->small_ns;
	if (from->small_blocks > to->small_blocks)
		to->small_blocks = from->small_blocks;
	if (from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns || !to->descriptor) {
		to->max_ns = from->max_ns;
		to->descriptor = from->descriptor;
		to->config = from->config;
	}
}

static bool devices_merge(void *self, const struct af_world *w, const void *other)
{
	const struct devices *from = other;
	struct devices *d = self;
	bool fine = true;

	for (uint32_t i = 0; i < from->nr_rows; i++) {
		const struct device_row *r = &from->rows[i];
		const struct af_work_descriptor like = {.process = r->process,
		                                        .is = {.op = r->op, .kernel = r->kernel}};
		uint32_t to = devices_row(d, w, &like, r->device);
		row_merge(&d->rows[to], r);
	}
	for (uint32_t i = 0; i < from->nr_busy; i++) {
		const struct device_busy *b = &from->busy[i];
		uint32_t to = devices_busy(d, w, b->process, b->device);
		d->busy[to].work_ns += b->work_ns;
		d->busy[to].count += b->count;
		fine &= af_busy_merge(&d->busy[to].busy, &b->busy);
	}
	return fine;
}

static int row_order(const void *a, const void *b)
{
	const struct device_row *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

/* Is it a reason to wait? */
static bool is_stall(const struct af_world *w, uint32_t stall)
{
	const struct af_stall *s = stall ? af_stall_find(w->stalls[stall].name) : NULL;

	return stall && !(s && s->sort == AF_STALL_ISSUED);
}

/* Samples of @launch_group to the row of its kernel; by_stall: (row, stall) → parts. */
static void row_sampled(struct devices *d, const struct af_world *w, const struct af_attribution *a,
                        const struct af_launch_group *launch_group, struct af_map *by_stall)
{
	bool fresh;
	const uint64_t *slot = row_slot(d, w, &launch_group->is, &fresh);

	if (fresh)
		return;
	struct device_row *row = &d->rows[*slot];
	for (uint32_t i = launch_group->first; i < launch_group->first + launch_group->nr; i++) {
		const struct af_attributed *f = &a->found[i];
		row->sampled += f->parts;
		row->exact += f->exact_parts;
		if (!is_stall(w, f->stall))
			continue;
		uint64_t *parts = af_map_at(by_stall, *slot << 32 | f->stall, NULL);
		*parts += f->parts;
		if (*parts > row->stalled) {
			row->stalled = *parts;
			row->stall = f->stall;
		}
	}
}

/* Before the rows are sorted. */
static void devices_sampled(struct devices *d, const struct af_world *w,
                            const struct af_attribution *a)
{
	struct af_map by_stall = {0};

	for (uint32_t j = 0; a && j < a->nr_launch_groups; j++)
		if (a->launch_groups[j].recorded && a->launch_groups[j].nr)
			row_sampled(d, w, a, &a->launch_groups[j], &by_stall);
	af_map_free(&by_stall);
}

static void cells_sampled(const struct device_row *r, const struct af_world *w, struct af_tables *f,
                          struct af_kernel_row *c)
{
	char name[AF_STALL_NAME];

	c->samples.value = r->sampled / AF_ATTRIBUTION_PARTS;
	c->exact_percent.value = af_tables_ratio(r->exact, r->sampled, 1e4);
	c->stall.text = r->stall ? af_tables_text(f, "%s %.0f %%",
	                                          af_stall_name(w->stalls[r->stall].name, name),
	                                          100 * (double)r->stalled / (double)r->sampled)
	                         : "";
}

/* How the longest of a kernel was launched. */
static void row_launch(const struct device_row *r, const struct af_world *w, struct af_tables *f,
                       struct af_kernel_row *c)
{
	const struct af_ev_launch_config *config = r->config;
	const struct af_ev_descriptor *is = &w->descriptors[r->descriptor].is;

	c->registers.unknown = c->shared_bytes.unknown = !config;
	c->grid.text = c->block.text = "";
	if (!config)
		return;
	c->registers.value = config->registers;
	c->shared_bytes.value = (uint64_t)config->static_shared + config->dynamic_shared;
	if (!is->local_x || !is->local_y || !is->local_z)
		return;
	c->grid.text = af_tables_text(f, "%llu x %llu x %llu",
	                              (unsigned long long)(is->global_x / is->local_x),
	                              (unsigned long long)(is->global_y / is->local_y),
	                              (unsigned long long)(is->global_z / is->local_z));
	c->block.text = af_tables_text(f, "%u x %u x %u", is->local_x, is->local_y, is->local_z);
}

static void table_kernels(const struct devices *d, const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_KERNEL_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = NULL;
	uint64_t all = 0;

	for (uint32_t i = 0; i < d->nr_rows; i++)
		all += d->rows[i].time_ns;
	for (uint32_t i = 0; i < d->nr_rows; i++) {
		const struct device_row *r = &d->rows[i];
		if (r->op != AF_OP_KERNEL)
			continue;
		if (!t)
			t = AF_TABLE(f, "kernels", "Where device time went: kernels", columns);
		t->whole = all;
		const char *name = af_world_kernel(w, r->process, r->kernel);
		struct af_kernel_row *c = af_table_row(f, t);
		c->kernel.text = af_tables_text(f, "%s", *name ? name : "[unnamed kernel]");
		c->time_ns.value = r->time_ns;
		c->share.value = af_tables_ratio(r->time_ns, all, 1e4);
		c->calls.value = r->count;
		c->mean_ns.value = r->count ? r->time_ns / r->count : 0;
		c->mean_ns.unknown = c->min_ns.unknown = c->max_ns.unknown = !r->count;
		c->min_ns.value = r->min_ns == UINT64_MAX ? 0 : r->min_ns;
		c->max_ns.value = r->max_ns;
		c->queued_ns.value = r->nr_waits ? r->wait_ns / r->nr_waits : 0;
		row_launch(r, w, f, c);
		const struct af_device *on = af_world_device(w, r->process, r->device);
		c->small_ns.value = r->small_ns;
		c->small_blocks.value = r->small_blocks;
		c->processors.value = on ? on->processors : 0;
		c->device.text = af_device_name(f, w, r->process, r->device);
		c->process.text = af_process_label(f, w, r->process);
		cells_sampled(r, w, f, c);
		if (*c->grid.text)
			t->note = "registers, shared memory, grid and block are those of the "
				  "longest launch";
	}
}

static void table_copies(const struct devices *d, const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_COPY_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = NULL;

	for (uint32_t i = 0; i < d->nr_rows; i++) {
		const struct device_row *r = &d->rows[i];
		if (r->op == AF_OP_KERNEL)
			continue;
		if (!t)
			t = AF_TABLE(f, "copies", "Copies and other device work", columns);
		struct af_copy_row *c = af_table_row(f, t);
		c->operation.text = af_op_text(r->op);
		c->op.value = r->op;
		c->time_ns.value = r->time_ns;
		c->calls.value = r->count;
		c->bytes.value = r->bytes;
		c->bytes_per_s.value = af_tables_ratio(r->bytes, r->time_ns, 1e9);
		c->device.text = af_device_name(f, w, r->process, r->device);
		c->process.text = af_process_label(f, w, r->process);
	}
}

static void table_devices(const struct devices *d, const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_DEVICE_COLUMNS(AF_ROW_COLUMN)};
	uint64_t run = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;
	uint64_t late_ns = 0;
	bool many = false;

	if (!d->nr_busy)
		return;
	struct af_table *t = AF_TABLE(f, "devices", "Devices", columns);
	t->whole = run;
	t->note = "busy with one piece of work at least; added up, what overlaps counts for each";
	for (uint32_t i = 0; i < d->nr_busy; i++) {
		many |= d->busy[i].process != d->busy[0].process;
		late_ns += d->busy[i].busy.late_ns;
	}
	if (late_ns)
		t->note =
		    af_tables_text(f, "%s; up to %s that came too late are not in the busy time",
		                   t->note, af_tables_ns(f, late_ns));
	for (uint32_t i = 0; i < d->nr_busy; i++) {
		const struct device_busy *b = &d->busy[i];
		const struct af_device *device = af_world_device(w, b->process, b->device);
		struct af_device_row *c = af_table_row(f, t);
		c->device.text = af_device_name(f, w, b->process, b->device);
		c->busy_ns.value = b->busy.busy_ns;
		c->busy_percent.value = af_tables_ratio(b->busy.busy_ns, run, 1e4);
		c->work_ns.value = b->work_ns;
		c->works.value = b->count;
		c->process.text = many ? af_process_label(f, w, b->process) : "";
		c->driver.text = af_tables_text(f, "%s", device ? device->driver : "");
	}
}

static void devices_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct devices *d = self;

	for (uint32_t i = 0; i < d->nr_busy; i++)
		af_busy_end(&d->busy[i].busy);
	devices_sampled(d, w, out->attribution);
	AF_SORT(d->rows, d->nr_rows, row_order);
	table_devices(d, w, &out->tables);
	table_kernels(d, w, &out->tables);
	table_copies(d, w, &out->tables);
}

static void devices_close(void *self)
{
	struct devices *d = self;

	af_strtab_free(&d->names);
	af_keys_free(&d->by_row);
	af_map_free(&d->by_busy);
	for (uint32_t i = 0; i < d->nr_busy; i++)
		af_busy_free(&d->busy[i].busy);
	free(d->rows);
	free(d->busy);
	free(d->stack_locations);
}

const struct af_pass_ops af_pass_devices = {
    .name = "devices",
    .question = "what did the devices do?",
    .answers = AF_ANSWER_TABLES | AF_ANSWER_TOP | AF_ANSWER_TALLY,
    .attributes = AF_ANSWER_TABLES | AF_ANSWER_TOP,
    .wants = 1ull << AF_KIND_CLOCK | 1ull << AF_KIND_WORK_SUM,
    .state_size = sizeof(struct devices),
    .event = devices_event,
    .work = devices_work,
    .merge = devices_merge,
    .finish = devices_finish,
    .close = devices_close,
};
