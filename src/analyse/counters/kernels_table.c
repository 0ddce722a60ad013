/* The table of kernels' counters: the heaviest kernel first, counters as they are defined. */
#include "analyse/counters/counters.h"
#include "analyse/counters/kernels.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"

static int row_order(const void *a, const void *b)
{
	const struct kernels_table_row *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	if (x->value->row != y->value->row)
		return x->value->row < y->value->row ? -1 : 1;
	if (x->value->counter != y->value->counter)
		return x->value->counter < y->value->counter ? -1 : 1;
	return x->measured > y->measured ? -1 : x->measured < y->measured;
}

const char *kernels_name(const struct kernels *k, struct af_tables *f, uint32_t row)
{
	const char *name = af_strtab_get(&k->names, k->rows[row].name);

	return af_tables_text(f, "%s", *name ? name : "[unnamed kernel]");
}

const char *kernels_process(const struct kernels *k, const struct af_world *w, struct af_tables *f,
                            uint32_t row)
{
	for (uint32_t i = 1; i < k->nr_rows; i++)
		if (k->rows[i].process != k->rows[0].process)
			return af_process_label(f, w, k->rows[row].process);
	return "";
}

struct af_cell kernels_mean(const struct kernels_value *v, const struct af_world *w, bool measured)
{
	const struct af_counter *c = &w->counters[v->counter];
	double per_s = af_counter_adds_up(c) ? 1e9 : 1;

	return (struct af_cell){
	    .value = measured ? af_counter_cell_of((double)v->sum / (double)v->measured, c->per)
	                      : af_counter_cell_of(v->apportioned / v->covered_ns * per_s, c->per)};
}

static void cells_measured(const struct kernels_value *v, const struct af_counter *c,
                           struct af_kernel_counter_row *row)
{
	row->how.text = AF_COUNTER_MEASURED;
	row->total.unknown = !af_counter_adds_up(c);
	row->total.value = row->total.unknown ? 0 : af_counter_cell(v->sum, c->per);
	row->measured.value = row->mean_of.value = v->measured;
	row->covered_ns.unknown = true;
}

static void cells_apportioned(const struct kernels_value *v, struct af_kernel_counter_row *row)
{
	row->how.text = AF_COUNTER_APPORTIONED;
	row->total.unknown = true;
	row->measured.value = v->launches;
	row->covered_ns.value = row->mean_of.value = af_tables_count(v->covered_ns);
}

static void table_row(const struct kernels *k, const struct af_world *w, struct af_tables *f,
                      const struct kernels_table_row *r, struct af_kernel_counter_row *row)
{
	const struct kernels_row *kernel = &k->rows[r->value->row];
	const struct af_counter *c = &w->counters[r->value->counter];

	row->kernel.text = kernels_name(k, f, r->value->row);
	row->counter.text = af_tables_text(f, "%s", c->name);
	row->launches.value = kernel->launches;
	row->kernel_ns.value = kernel->time_ns;
	row->device.text = af_device_name(f, w, kernel->process, kernel->device);
	row->process.text = kernels_process(k, w, f, r->value->row);
	row->mean = kernels_mean(r->value, w, r->measured);
	row->unit.text = af_counter_unit(f, c, !r->measured && af_counter_adds_up(c));
	if (r->measured)
		cells_measured(r->value, c, row);
	else
		cells_apportioned(r->value, row);
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
	struct kernels_table_row *rows = NULL;
	uint32_t nr = 0, cap = 0;
	bool apportioned = false;

	for (uint32_t i = 0; i < k->nr_values; i++)
		for (int measured = 0; measured < 2; measured++) {
			const struct kernels_value *v = &k->values[i];
			if (measured ? !v->measured : !(v->covered_ns > 0))
				continue;
			if (!af_counter_chosen(&w->counters[v->counter], out->query.counters))
				continue;
			AF_GROW(rows, nr, cap);
			rows[nr++] =
			    (struct kernels_table_row){k->rows[v->row].time_ns, v, measured};
			apportioned |= !measured;
		}
	AF_SORT(rows, nr, row_order);
	if (nr) {
		struct af_table *t = AF_TABLE(f, "kernel_counters", "Counters of kernels", columns);
		t->note = table_note(k, f, apportioned, w->time_range.to_ns != 0);
		for (uint32_t i = 0; i < nr; i++)
			table_row(k, w, f, &rows[i], af_table_row(f, t));
		if (out->query.counters)
			kernels_columns(k, w, f, rows, nr);
	}
	free(rows);
}
