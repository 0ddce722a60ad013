/* Counters as columns of kernels: one row a kernel, for those counters that were chosen. */
#include <stdlib.h>

#include "analyse/counters/counters.h"
#include "analyse/counters/kernels.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"

enum { COLUMNS_MOST = AF_TABLE_COLUMNS - 6 /* of a set */ };

/* The columns of all kernels. */
#define KERNEL_COLUMNS(C)                                                                          \
	C(kernel, "Kernel", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(kernel_ns, "Time", AF_CELL_NS)                                                           \
	C(launches, "Launches", AF_CELL_COUNT)                                                     \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_USED)
struct kernel_row {
	KERNEL_COLUMNS(AF_ROW_CELL)
};

enum { COLUMNS_FIXED = sizeof(struct kernel_row) / sizeof(struct af_cell) };

/* One of a counter; it may have two. */
struct counter_column {
	uint32_t counter;
	bool measured;
};

/* Counters of several processes, and of several devices, that are called the same are one. */
static bool is_like(const struct af_counter *a, const struct af_counter *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->unit, b->unit) && a->flags == b->flags;
}

static int column_of(const struct af_world *w, const struct counter_column *columns, uint32_t nr,
                     const struct counter_column *is)
{
	for (uint32_t i = 0; i < nr; i++)
		if (columns[i].measured == is->measured &&
		    is_like(&w->counters[columns[i].counter], &w->counters[is->counter]))
			return (int)i;
	return -1;
}

static void column_fill(struct af_tables *f, const struct af_world *w,
                        const struct counter_column *is, struct af_column *columns, uint32_t nr)
{
	const struct af_counter *c = &w->counters[is->counter];
	const char *unit = af_counter_unit(f, c, !is->measured && af_counter_adds_up(c));
	const char *about = is->measured ? "" : "~";

	columns[nr] = (struct af_column){
	    .title = *unit ? af_tables_text(f, "%s%s, %s", about, c->name, unit)
	                   : af_tables_text(f, "%s%s", about, c->name),
	    .unit = AF_CELL_NUMBER,
	    .key =
		af_column_key(f, columns, nr, is->measured ? "measured_" : "apportioned_", c->name),
	    .merge = AF_MERGE_MEAN,
	    .of = is->measured ? "launches" : "kernel_ns",
	};
}

/* The rows of the table by row of @k, and that row of it. */
static struct kernel_row *row_of(const struct kernels *k, const struct af_world *w,
                                 struct af_tables *f, struct af_table *t, uint32_t *numbers,
                                 uint32_t row)
{
	const struct kernels_row *is = &k->rows[row];

	if (numbers[row])
		return (void *)(t->cells + (size_t)(numbers[row] - 1) * t->nr_columns);
	struct kernel_row *cells = af_table_row(f, t);
	struct af_cell *counters = (struct af_cell *)cells + COLUMNS_FIXED;
	numbers[row] = t->nr_rows;
	cells->kernel.text = kernels_name(k, f, row);
	cells->kernel_ns.value = is->time_ns;
	cells->launches.value = is->launches;
	cells->device.text = af_device_name(f, w, is->process, is->device);
	cells->process.text = kernels_process(k, w, f, row);
	for (uint32_t i = 0; i + COLUMNS_FIXED < t->nr_columns; i++)
		counters[i].unknown = true;
	return cells;
}

void kernels_columns(const struct kernels *k, const struct af_world *w, struct af_tables *f,
                     const struct kernels_table_row *rows, uint32_t nr)
{
	struct af_column columns[AF_TABLE_COLUMNS] = {KERNEL_COLUMNS(AF_ROW_COLUMN)};
	struct counter_column counters[COLUMNS_MOST];
	uint32_t *numbers = af_xcalloc((size_t)k->nr_rows + 1, sizeof *numbers);
	uint32_t nr_columns = 0, left_out = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct counter_column is = {rows[i].value->counter, rows[i].measured};
		if (column_of(w, counters, nr_columns, &is) >= 0)
			continue;
		if (nr_columns + COLUMNS_FIXED == COLUMNS_MOST) {
			left_out++;
			continue;
		}
		column_fill(f, w, &is, columns, COLUMNS_FIXED + nr_columns);
		counters[nr_columns++] = is;
	}
	struct af_table *t = af_tables_table(f, "kernels_by_counter", "Kernels by counters",
	                                     columns, COLUMNS_FIXED + nr_columns);
	t->note = left_out ? "~: apportioned by time; some counters have no column: choose fewer"
	                   : "~: apportioned by time; without it: measured, the mean of a launch";
	for (uint32_t i = 0; i < nr; i++) {
		const struct counter_column is = {rows[i].value->counter, rows[i].measured};
		int at = column_of(w, counters, nr_columns, &is);
		if (at < 0)
			continue;
		struct af_cell *cells =
		    (struct af_cell *)row_of(k, w, f, t, numbers, rows[i].value->row);
		cells[COLUMNS_FIXED + at] = kernels_mean(rows[i].value, w, is.measured);
	}
	free(numbers);
}
