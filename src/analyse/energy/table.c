/* The table of energy: rows of one kernel and caller are one. */
#include <stdlib.h>
#include <string.h>

#include "analyse/counters/counters.h"
#include "analyse/energy/energy.h"
#include "analyse/energy/private.h"
#include "analyse/frames/caller.h"
#include "analyse/frames/marks.h"
#include "analyse/tree/tree.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"

/* A row of the table, until it is complete. */
struct made {
	const struct energy_row *like;
	const char *caller;
	uint32_t first; /* of its rows, plus 1 */
	uint64_t works, time_ns;
	double joule, alone_joule, error_joule;
};

/* A device with meters, or all CPU packages. */
struct metered {
	const char *name;
	bool is_cpu;
	const bool *is_of; /* by row: its own */
};

struct maker {
	struct energy *e;
	const struct af_world *w;
	struct af_results *out;
	struct af_callers callers;
	struct made *rows;
	uint32_t nr, cap;
	struct af_keys by_row;
	struct af_table *table;
	struct energy_draw *draw;
	struct af_buf note;
};

/* Was the stack of the call left out by --launches? */
static bool is_left_out(const struct af_world *w, uint32_t path)
{
	const struct af_stack *stack = &w->stacks[w->paths[path].stack];

	return stack->stop == AF_STOP_NOT_CHOSEN && !stack->nr;
}

static const char *caller_text(struct maker *m, uint32_t path)
{
	const struct af_caller *c = af_callers_find(&m->callers, path);
	size_t len;

	if (!c->caller)
		return is_left_out(m->w, path) ? AF_MARK_NO_STACK : "";
	const char *text =
	    af_tree_text(&m->callers.paths, m->callers.paths.nodes[c->caller].name, &len);
	return af_arena_strdup(&m->out->tables.arena, text, len);
}

static void row_take(struct maker *m, struct energy_row *row)
{
	const char *caller = row->place ? "" : caller_text(m, row->is.path);
	const char *key =
	    af_tables_text(&m->out->tables, "%u\n%u\n%s", row->is.process, row->name, caller);
	bool fresh;
	uint64_t *slot = af_keys_at(&m->by_row, AF_KEY_TEXT(key), &fresh);

	if (fresh) {
		AF_GROW(m->rows, m->nr, m->cap);
		m->rows[m->nr] = (struct made){.like = row, .caller = caller};
		*slot = m->nr++;
	}
	struct made *to = &m->rows[*slot];
	row->next = to->first;
	to->first = (uint32_t)(row - m->e->rows) + 1;
	to->works += row->works;
	to->time_ns += row->time_ns;
	to->joule += row->joule;
	to->alone_joule += row->alone_joule;
	to->error_joule += row->error_joule;
}

static int made_order(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->joule != y->joule)
		return x->joule > y->joule ? -1 : 1;
	if (x->like->name != y->like->name)
		return x->like->name < y->like->name ? -1 : 1;
	int order = strcmp(x->caller, y->caller);
	return order ? order : (x->like > y->like) - (x->like < y->like);
}

/* Thousandths, such that all up to here are @upto_j: so the rows add up, whatever is rounded. */
static uint64_t cell_upto(double upto_j, uint64_t *given)
{
	double upto = upto_j > 0 ? upto_j * AF_COUNTER_SCALE + 0.5 : 0;
	uint64_t all = upto < 1e18 ? (uint64_t)upto : (uint64_t)1e18;
	uint64_t cell = all > *given ? all - *given : 0;

	*given += cell;
	return cell;
}

static struct af_energy_row *row_add(struct maker *m)
{
	static const struct af_column columns[] = {AF_ENERGY_COLUMNS(AF_ROW_COLUMN)};

	if (!m->table)
		m->table = AF_TABLE(&m->out->tables, "energy",
		                    "Energy of devices and CPUs, by kernel or function", columns);
	struct af_energy_row *row = af_table_row(&m->out->tables, m->table);
	row->unit.text = "J";
	row->kernel.text = row->caller.text = row->device.text = row->process.text = "";
	return row;
}

static void cells_fill(struct af_energy_row *row, double joule, double error, double all,
                       uint64_t ns)
{
	row->error_j.value = error > 0 ? af_tables_count(error * AF_COUNTER_SCALE + 0.499) : 0;
	row->share_percent.value = af_tables_share(joule, all);
	row->time_ns.value = ns;
	row->power_w.value =
	    ns && joule > 0 ? af_tables_count(joule / ((double)ns / 1e9) * AF_COUNTER_SCALE) : 0;
	row->power_w.unknown = !ns;
}

static void device_note(struct maker *m, const struct energy_sums *sums, const char *device,
                        bool is_cpu)
{
	af_buf_fmt(&m->note, "%s%s: a reading each %.3g ms", m->note.len ? "; " : "", device,
	           sums->period_ns / 1e6);
	if ((double)sums->longest_ns > 2 * sums->period_ns)
		af_buf_fmt(&m->note, ", once after %.3g ms", (double)sums->longest_ns / 1e6);
	if (sums->scaled)
		af_buf_fmt(&m->note,
		           ", integrated power %+.1f %% of the device's counter, to which it is "
		           "scaled",
		           100 / sums->scale - 100);
	if (is_cpu)
		af_buf_str(&m->note, ", shared among the samples of threads that ran, whatever "
		                     "other programs ran then");
}

static void row_fill(struct maker *m, const struct made *r, const struct metered *of,
                     const struct energy_sums *sums, uint64_t mj)
{
	struct af_tables *f = &m->out->tables;
	struct af_energy_row *row = row_add(m);

	row->energy_j.value = mj;
	cells_fill(row, r->joule, r->error_joule, sums->busy + sums->idle, r->time_ns);
	row->works.value = r->works;
	row->works.unknown = of->is_cpu;
	row->error_j.unknown = !sums->is_bounded;
	row->apportioned_percent.value =
	    af_tables_share(r->joule - (of->is_cpu ? 0 : r->alone_joule), r->joule);
	row->kernel.text = af_tables_text(f, "%s", af_strtab_get(&m->e->names, r->like->name));
	row->caller.text = r->caller;
	row->device.text = of->name;
	row->process.text = af_process_label(f, m->w, r->like->is.process);
}

static void device_rows(struct maker *m, const struct metered *of, const struct energy_sums *sums)
{
	double all = sums->busy + sums->idle, upto = 0;
	uint64_t given = 0;

	AF_SORT(m->rows, m->nr, made_order);
	for (uint32_t i = 0; i < m->nr; i++) {
		const struct made *r = &m->rows[i];
		upto += r->joule;
		uint64_t mj = cell_upto(upto, &given);
		row_fill(m, r, of, sums, mj);
		energy_draw_works(m->draw, r->first, r->joule, mj);
	}
	struct af_energy_row *row = row_add(m);
	row->energy_j.value = cell_upto(all, &given);
	energy_draw_idle(m->draw, of->name, of->is_cpu, row->energy_j.value);
	cells_fill(row, sums->idle, sums->idle_error, all, sums->idle_ns);
	row->works.unknown = row->apportioned_percent.unknown = true;
	row->error_j.unknown = !sums->is_bounded;
	row->kernel.text = of->is_cpu ? AF_ENERGY_CPU_IDLE : AF_ENERGY_IDLE;
	row->device.text = of->name;
	device_note(m, sums, of->name, of->is_cpu);
}

/* The rows of the table, of those in @of. */
static void rows_make(struct maker *m, const struct metered *of, const struct energy_sums *sums)
{
	m->nr = 0;
	af_keys_free(&m->by_row);
	for (uint32_t i = 0; i < m->e->nr_rows; i++)
		if (of->is_of[i])
			row_take(m, &m->e->rows[i]);
	device_rows(m, of, sums);
}

static const struct energy_meter *meter_at(const struct energy *e, uint32_t counter)
{
	const struct energy_meter *m = counter < e->cap_meters ? &e->meters[counter] : NULL;

	return m && m->joule.nr ? m : NULL;
}

/* The meter of the same device that is of the other kind. */
static const struct energy_meter *other_meter(const struct energy *e, const struct af_world *w,
                                              uint32_t counter)
{
	const struct af_counter *c = &w->counters[counter];

	for (uint32_t i = 1; i < w->nr_counters; i++) {
		const struct energy_meter *m = meter_at(e, i);
		if (m && !m->is_package && w->counters[i].process == c->process &&
		    w->counters[i].device == c->device &&
		    m->is_power != e->meters[counter].is_power)
			return m;
	}
	return NULL;
}

static void device_take(struct maker *m, uint32_t counter, const struct energy_meter *power,
                        const struct energy_meter *energy)
{
	const struct af_counter *c = &m->w->counters[counter];
	bool *is_of = af_xcalloc((size_t)m->e->nr_rows + 1, sizeof *is_of);
	const struct metered of = {
	    .name = af_counter_device(&m->out->tables, m->w, c),
	    .is_of = is_of,
	};

	for (uint32_t i = 0; i < m->e->nr_rows; i++)
		is_of[i] =
		    !m->e->rows[i].place &&
		    af_counter_is_of(m->w, c, m->e->rows[i].is.process, m->e->rows[i].is.device);
	struct energy_sums sums = energy_share(m->e, power, energy, &m->w->time_range, is_of);
	rows_make(m, &of, &sums);
	free(is_of);
}

static void cpu_rows(struct maker *m, bool *is_of)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	struct af_tree names;

	af_tree_open(&names, none, 1);
	for (uint32_t i = 0; i < m->e->nr_rows; i++) {
		struct energy_row *row = &m->e->rows[i];
		is_of[i] = row->place != 0;
		if (is_of[i])
			energy_cpu_name(m->e, m->w, &names, row);
	}
	af_tree_close(&names);
}

/* Nobody knows which package a sample ran on, so each of them is shared among all samples. */
static void packages_take(struct maker *m)
{
	bool *is_of = af_xcalloc((size_t)m->e->nr_rows + 1, sizeof *is_of);
	struct metered of = {.is_cpu = true, .is_of = is_of};
	struct energy_sums sums = {.scale = 1, .is_bounded = true};
	uint32_t nr = 0;

	cpu_rows(m, is_of);
	for (uint32_t i = 1; i < m->w->nr_counters; i++) {
		const struct energy_meter *meter = meter_at(m->e, i);
		if (!meter || !meter->is_package)
			continue;
		struct energy_sums one = energy_share(m->e, NULL, meter, &m->w->time_range, is_of);
		sums.idle += one.idle;
		sums.busy += one.busy;
		sums.idle_error += one.idle_error;
		sums.is_bounded &= one.is_bounded;
		sums.idle_ns = one.idle_ns;
		sums.longest_ns = one.longest_ns;
		sums.period_ns = one.period_ns;
		nr++;
		of.name = strrchr(m->w->counters[i].name, ' ') + 1;
	}
	if (nr > 1)
		of.name = af_tables_text(&m->out->tables, "%u packages", nr);
	if (nr) {
		of.name = af_tables_text(&m->out->tables, "CPU: %s", of.name);
		rows_make(m, &of, &sums);
	}
	free(is_of);
}

void energy_table(struct energy *e, const struct af_world *w, struct af_results *out)
{
	struct maker m = {.e = e, .w = w, .out = out};

	af_callers_open(&m.callers, w);
	m.draw = energy_draw_open(e, w, out);
	for (uint32_t i = 1; i < w->nr_counters; i++) {
		const struct energy_meter *mine = meter_at(e, i);
		const struct energy_meter *other = mine ? other_meter(e, w, i) : NULL;
		/* A device that has both comes by its power. */
		if (!mine || mine->is_package || (other && !mine->is_power))
			continue;
		device_take(&m, i, mine->is_power ? mine : NULL, mine->is_power ? other : mine);
	}
	packages_take(&m);
	if (m.table)
		m.table->note = af_tables_text(&out->tables, "%s", m.note.data);
	energy_draw_close(m.draw);
	af_buf_free(&m.note);
	af_callers_close(&m.callers);
	af_keys_free(&m.by_row);
	free(m.rows);
}
