/*
 * What did the devices do? Two tables: kernels and copies, each with how often, how long and on
 * which device; and how much of the run each device was busy.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "analyse/work.h"

/* All work of one operation and kernel on one device. */
struct device_row {
	uint32_t process, op, kernel, device;
	uint64_t count, time_ns, min_ns, max_ns, bytes, wait_ns;
};

struct device_busy {
	uint32_t process, device;
	uint64_t busy_ns, count;
};

struct devices {
	struct af_map by_row, by_busy;
	struct device_row *rows;
	uint32_t nr_rows, cap_rows;
	struct device_busy *busy;
	uint32_t nr_busy, cap_busy;
};

/* Kernels are told apart by name: programs built twice have the same kernels. */
static struct device_row *devices_row(struct devices *d, const struct af_world *w,
                                      const struct af_shape *s, uint32_t device)
{
	const char *name = af_world_kernel(w, s->process, s->is.kernel);
	uint64_t key =
	    af_mix((uint64_t)s->process << 32 | device) ^ (af_hash(name, strlen(name)) + s->is.op);
	bool fresh;
	uint64_t *slot = af_map_at(&d->by_row, key, &fresh);

	if (fresh) {
		AF_GROW(d->rows, d->nr_rows, d->cap_rows);
		d->rows[d->nr_rows] = (struct device_row){.process = s->process,
		                                          .op = s->is.op,
		                                          .kernel = s->is.kernel,
		                                          .device = device,
		                                          .min_ns = UINT64_MAX};
		*slot = d->nr_rows++;
	}
	return &d->rows[*slot];
}

static struct device_busy *devices_busy(struct devices *d, uint32_t process, uint32_t device)
{
	bool fresh;
	uint64_t *slot = af_map_at(&d->by_busy, (uint64_t)process << 32 | device, &fresh);

	if (fresh) {
		AF_GROW(d->busy, d->nr_busy, d->cap_busy);
		d->busy[d->nr_busy] = (struct device_busy){.process = process, .device = device};
		*slot = d->nr_busy++;
	}
	return &d->busy[*slot];
}

static void devices_work(void *self, const struct af_world *w, const struct af_work *is)
{
	struct devices *d = self;
	struct af_work work = *is;

	if (work.status || !work.shape)
		return;
	const struct af_shape *s = &w->shapes[work.shape];
	uint32_t device = af_work_device(w, &work);
	struct device_row *row = devices_row(d, w, s, device);
	uint64_t ns = af_work_busy_ns(&work);

	af_work_place(w, &work, NULL);
	row->count++;
	row->time_ns += ns;
	row->bytes += s->is.bytes;
	if (ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
	if (work.queued_ns && work.start_ns > work.queued_ns)
		row->wait_ns += work.start_ns - work.queued_ns;

	struct device_busy *busy = devices_busy(d, s->process, device);
	busy->busy_ns += ns;
	busy->count++;
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

static const char *device_name(const struct af_world *w, uint32_t process, uint32_t device)
{
	const struct af_device *d = af_world_device(w, process, device);
	return d ? d->name : "unknown device";
}

static void table_kernels(const struct devices *d, const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {
	    {"Kernel", AF_CELL_TEXT}, {"Time", AF_CELL_NS},   {"Share", AF_CELL_PERCENT},
	    {"Calls", AF_CELL_COUNT}, {"Mean", AF_CELL_NS},   {"Min", AF_CELL_NS},
	    {"Max", AF_CELL_NS},      {"Queued", AF_CELL_NS}, {"Device", AF_CELL_TEXT},
	};
	struct af_table *t = NULL;
	uint64_t all = 0;

	for (uint32_t i = 0; i < d->nr_rows; i++)
		all += d->rows[i].time_ns;
	for (uint32_t i = 0; i < d->nr_rows; i++) {
		const struct device_row *r = &d->rows[i];
		if (r->op != AF_OP_KERNEL)
			continue;
		if (!t)
			t = af_facts_table(f, "kernels", "Where device time went: kernels", columns,
			                   9);
		const char *name = af_world_kernel(w, r->process, r->kernel);
		struct af_cell *c = af_table_row(f, t);
		c[0].text = af_facts_text(f, "%s", *name ? name : "[unnamed kernel]");
		c[1].value = r->time_ns;
		c[2].value = all ? r->time_ns * 10000 / all : 0;
		c[3].value = r->count;
		c[4].value = r->time_ns / r->count;
		c[5].value = r->min_ns;
		c[6].value = r->max_ns;
		c[7].value = r->wait_ns / r->count;
		c[8].text = af_facts_text(f, "%s", device_name(w, r->process, r->device));
	}
}

static void table_copies(const struct devices *d, const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {
	    {"Operation", AF_CELL_TEXT}, {"Time", AF_CELL_NS},          {"Calls", AF_CELL_COUNT},
	    {"Bytes", AF_CELL_BYTES},    {"Per second", AF_CELL_BYTES}, {"Device", AF_CELL_TEXT},
	};
	struct af_table *t = NULL;

	for (uint32_t i = 0; i < d->nr_rows; i++) {
		const struct device_row *r = &d->rows[i];
		if (r->op == AF_OP_KERNEL)
			continue;
		if (!t)
			t = af_facts_table(f, "copies", "Copies and other device work", columns, 6);
		struct af_cell *c = af_table_row(f, t);
		c[0].text = af_op_text(r->op);
		c[1].value = r->time_ns;
		c[2].value = r->count;
		c[3].value = r->bytes;
		c[4].value =
		    r->time_ns ? (uint64_t)((double)r->bytes * 1e9 / (double)r->time_ns) : 0;
		c[5].text = af_facts_text(f, "%s", device_name(w, r->process, r->device));
	}
}

static void table_devices(const struct devices *d, const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {
	    {"Device", AF_CELL_TEXT},        {"Busy", AF_CELL_NS},
	    {"Of the run", AF_CELL_PERCENT}, {"Pieces of work", AF_CELL_COUNT},
	    {"Driver", AF_CELL_TEXT},
	};
	uint64_t run = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;

	if (!d->nr_busy)
		return;
	struct af_table *t = af_facts_table(f, "devices", "Devices", columns, 5);
	t->note = "busy time is the sum over queues: work that overlaps counts for each";
	for (uint32_t i = 0; i < d->nr_busy; i++) {
		const struct device_busy *b = &d->busy[i];
		const struct af_device *device = af_world_device(w, b->process, b->device);
		struct af_cell *c = af_table_row(f, t);
		c[0].text = af_facts_text(f, "%s", device_name(w, b->process, b->device));
		c[1].value = b->busy_ns;
		c[2].value = run ? (uint64_t)((double)b->busy_ns * 10000 / (double)run) : 0;
		c[3].value = b->count;
		c[4].text = af_facts_text(f, "%s", device ? device->driver : "");
	}
}

static void devices_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct devices *d = self;

	if (d->nr_rows)
		qsort(d->rows, d->nr_rows, sizeof *d->rows, row_order);
	table_devices(d, w, &out->facts);
	table_kernels(d, w, &out->facts);
	table_copies(d, w, &out->facts);
}

static void devices_close(void *self)
{
	struct devices *d = self;

	af_map_free(&d->by_row);
	af_map_free(&d->by_busy);
	free(d->rows);
	free(d->busy);
}

const struct af_pass_ops af_pass_devices = {
    .name = "devices",
    .question = "what did the devices do?",
    .answers = AF_ANSWER_TABLES | AF_ANSWER_TOP,
    .wants = 1ull << AF_KIND_CLOCK,
    .state_size = sizeof(struct devices),
    .work = devices_work,
    .finish = devices_finish,
    .close = devices_close,
};
