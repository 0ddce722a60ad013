/* The table of kernels' counters: the heaviest kernel first, counters as they are defined. */
#include "analyse/counters/counters.h"
#include "analyse/counters/kernels.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"

/* A row of the table: @value's exact part, or the apportioned one. */
struct table_row {
	uint64_t time_ns;
	const struct kernels_value *value;
	bool measured;
};

static int row_order(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	if (x->value->row != y->value->row)
		return x->value->row < y->value->row ? -1 : 1;
	if (x->value->counter != y->value->counter)
		return x->value->counter < y->value->counter ? -1 : 1;
	return x->measured > y->measured ? -1 : x->measured < y->measured;
}

static void cells_measured(const struct kernels_value *v, const struct af_counter *c,
                           struct af_tables *f, struct af_kernel_counter_row *row)
{
	row->how.text = AF_COUNTER_MEASURED;
	row->unit.text = af_counter_unit(f, c, false);
	row->mean.value = af_counter_cell_of((double)v->sum / (double)v->measured, c->per);
	row->total.unknown = !af_counter_adds_up(c);
	row->total.value = row->total.unknown ? 0 : af_counter_cell(v->sum, c->per);
	row->measured.value = row->mean_of.value = v->measured;
	row->covered_ns.unknown = true;
}

static void cells_apportioned(const struct kernels_value *v, const struct af_counter *c,
                              struct af_tables *f, struct af_kernel_counter_row *row)
{
	bool rate = af_counter_adds_up(c);

	row->how.text = AF_COUNTER_APPORTIONED;
	row->unit.text = af_counter_unit(f, c, rate);
	row->mean.value =
	    af_counter_cell_of(v->apportioned / v->covered_ns * (rate ? 1e9 : 1), c->per);
	row->total.unknown = true;
	row->measured.value = v->launches;
	row->covered_ns.value = row->mean_of.value = af_tables_count(v->covered_ns);
}

static void table_row(const struct kernels *k, const struct af_world *w, struct af_tables *f,
                      const struct table_row *r, struct af_kernel_counter_row *row)
{
	const struct kernels_row *kernel = &k->rows[r->value->row];
	const struct af_counter *c = &w->counters[r->value->counter];
	const char *name = af_strtab_get(&k->names, kernel->name);

	row->kernel.text = af_tables_text(f, "%s", *name ? name : "[unnamed kernel]");
	row->counter.text = af_tables_text(f, "%s", c->name);
	row->launches.value = kernel->launches;
	row->kernel_ns.value = kernel->time_ns;
	row->device.text = af_device_name(f, w, kernel->process, kernel->device);
	row->process.text = k->rows[0].process != k->rows[k->nr_rows - 1].process
	                        ? af_process_label(f, w, kernel->process)
	                        : "";
	if (r->measured)
		cells_measured(r->value, c, f, row);
	else
		cells_apportioned(r->value, c, f, row);
}

static const char *table_note(const struct kernels *k, struct af_tables *f, bool apportioned,
                              bool in_range)
{
	static const char *const share = "apportioned: the mean of the device's readings over the "
					 "kernel's times, in which other "
					 "work may have run, too";

	if (!k->early.nr || in_range)
		return apportioned ? share : NULL;
	return af_tables_text(f, "%s%snot in it: readings of launches without work, %llu",
	                      apportioned ? share : "", apportioned ? "; " : "",
	                      (unsigned long long)k->early.nr);
}

void kernels_table(struct kernels *k, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {AF_KERNEL_COUNTER_COLUMNS(AF_ROW_COLUMN)};
	struct af_tables *f = &out->tables;
	struct table_row *rows = NULL;
	uint32_t nr = 0, cap = 0;
	bool apportioned = false;

	for (uint32_t i = 0; i < k->nr_values; i++)
		for (int measured = 0; measured < 2; measured++) {
			const struct kernels_value *v = &k->values[i];
			if (measured ? !v->measured : !(v->covered_ns > 0))
				continue;
			AF_GROW(rows, nr, cap);
			rows[nr++] = (struct table_row){k->rows[v->row].time_ns, v, measured};
			apportioned |= !measured;
		}
	if (nr) {
		struct af_table *t = AF_TABLE(f, "kernel_counters", "Counters of kernels", columns);
		t->note = table_note(k, f, apportioned, w->time_range.to_ns != 0);
		AF_SORT(rows, nr, row_order);
		for (uint32_t i = 0; i < nr; i++)
			table_row(k, w, f, &rows[i], af_table_row(f, t));
	}
	free(rows);
}
