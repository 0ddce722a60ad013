/* The merged tables as a reader of one trace knows them, with the distributions of their rows. */
#include <stdlib.h>
#include <string.h>

#include "analyse/set/private.h"
#include "analyse/table/group_by.h"

/* Columns of the distribution of a row over members; the unit is that of the weight. */
#define SPREAD_COLUMNS(C, unit)                                                                    \
	C(min_ranks, "Least", unit, AF_SHOW_ALWAYS)                                                \
	C(median_ranks, "Median", unit, AF_SHOW_ALWAYS)                                            \
	C(max_ranks, "Most", unit, AF_SHOW_ALWAYS)                                                 \
	C(max_rank, "Most of", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                       \
	C(imbalance, "Imbalance", AF_CELL_PERCENT, AF_SHOW_ALWAYS)
struct spread_row {
	SPREAD_COLUMNS(AF_ROW_CELL, 0)
};
enum { SPREAD = sizeof(struct spread_row) / sizeof(struct af_cell) };

/* The number of members that might have the row: all, or those with its value of --by. */
static uint64_t members_of(const struct af_merge *m, const struct set_table *t,
                           const struct set_row *row)
{
	if (t->by < 0)
		return m->how.by == AF_BY_DEVICE ? row->spread.nr : m->nr_members;
	const char *by = row->cells[t->by].text;
	uint32_t text = af_strtab_find(&m->texts, by, strlen(by));
	for (uint32_t i = 0; i < m->nr_by; i++)
		if (m->by_values[i].text == text)
			return m->by_values[i].nr;
	return row->spread.nr;
}

static void spread_fill(const struct af_merge *m, struct af_tables *f, const struct set_table *t,
                        const struct set_row *row, struct spread_row *c)
{
	const struct set_spread *s = &row->spread;
	uint64_t members = members_of(m, t, row), sum = row->cells[t->weight].value;

	c->min_ranks.value = set_spread_least(s, members);
	c->median_ranks.value = set_spread_median(s, members);
	c->max_ranks.value = s->most;
	c->max_rank.text = af_tables_text(f, "%s", af_strtab_get(&m->texts, s->who));
	c->imbalance.value = af_tables_ratio(s->most, sum, 1e4 * (double)members);
	c->imbalance.unknown = !sum;
	if (row->cells[t->weight].unknown)
		c->min_ranks.unknown = c->median_ranks.unknown = c->max_ranks.unknown = true;
}

static bool has_spread(const struct af_merge *m, const struct set_table *t)
{
	return t->weight >= 0 && t->plan == SET_MERGE && m->nr_members > 1 &&
	       m->how.by != AF_BY_RANK && m->how.by != AF_BY_PROCESS;
}

static void cells_fill(struct af_tables *f, const struct set_table *t, const struct set_row *row,
                       struct af_cell *to)
{
	for (uint32_t c = 0; c < t->head.nr_columns; c++) {
		to[c] = row->cells[c];
		if (to[c].unknown)
			to[c].value = 0; /* a column of such alone is for nobody */
		if (t->head.columns[c].unit == AF_CELL_TEXT)
			to[c].text = af_tables_text(f, "%s", to[c].text ? to[c].text : "");
	}
}

/* A name stands for the processes and threads that have it, where their own labels differ. */
static void columns_name(struct af_table *t)
{
	static const char *const labels[][3] = {{"threads", "thread", "Thread"},
	                                        {"processes", "process", "Process"}};

	for (unsigned i = 0; i < sizeof labels / sizeof *labels; i++) {
		if (strcmp(t->name, labels[i][0]) != 0)
			continue;
		int label = af_table_column(t, labels[i][1]), name = af_table_column(t, "name");
		for (uint32_t r = 0; label >= 0 && name >= 0 && r < t->nr_rows; r++) {
			struct af_cell *cells = &t->cells[(size_t)r * t->nr_columns];
			if (!cells[label].text || !*cells[label].text)
				cells[label].text = cells[name].text;
		}
	}
}

static void column_text(struct af_tables *f, struct af_column *column)
{
	column->title = af_tables_text(f, "%s", column->title);
	column->key = af_tables_text(f, "%s", column->key);
	column->of = column->of ? af_tables_text(f, "%s", column->of) : NULL;
	column->per = column->per ? af_tables_text(f, "%s", column->per) : NULL;
}

static void table_finish(const struct af_merge *m, struct set_table *t, struct af_tables *f)
{
	const struct af_column spread[] = {
	    SPREAD_COLUMNS(AF_ROW_COLUMN, t->head.columns[t->weight >= 0 ? t->weight : 0].unit)};
	struct af_row_sum none[AF_TABLE_COLUMNS] = {{0, 0}};
	bool spreads = has_spread(m, t);
	uint32_t nr = t->head.nr_columns;

	if (t->plan == SET_LIST)
		set_list_cut(t);
	if (spreads)
		memcpy(&t->head.columns[nr], spread, sizeof spread);
	struct af_table *to = af_tables_table(f, af_tables_text(f, "%s", t->head.name),
	                                      af_tables_text(f, "%s", t->head.title),
	                                      t->head.columns, nr + (spreads ? SPREAD : 0));
	for (uint32_t c = 0; c < to->nr_columns; c++)
		column_text(f, &to->columns[c]);
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		struct set_row *row = &t->rows[r];
		struct af_cell *cells = af_table_row(f, to);
		af_row_finish(&t->rules, row->cells, row->sums ? row->sums : none, t->whole,
		              row->part);
		cells_fill(f, t, row, cells);
		if (spreads)
			spread_fill(m, f, t, row, (struct spread_row *)(void *)(cells + nr));
	}
	to->note = t->head.note ? af_tables_text(f, "%s", t->head.note) : NULL;
	to->whole = t->whole;
	to->left_out = t->left_out < UINT32_MAX ? (uint32_t)t->left_out : UINT32_MAX;
	to->left_weight = t->left_weight;
	to->left_column = t->weight >= 0 ? (uint32_t)t->weight : UINT32_MAX;
	columns_name(to);
	if (t->weight >= 0)
		af_table_sort(to, (uint32_t)t->weight);
}

/* Labelled values: those that members share, or the first with the number of others. */
static void pairs_finish(const struct set_table *t, struct af_tables *f)
{
	struct af_table *to = af_pairs_table(f, af_tables_text(f, "%s", t->head.name),
	                                     af_tables_text(f, "%s", t->head.title));

	for (uint32_t r = 0; r < t->nr_rows; r++) {
		const struct af_pair_row *c = (const void *)t->rows[r].cells;
		const char *value = c->value.text;
		af_pair_row(f, to, af_tables_text(f, "%s", c->key.text),
		            af_tables_text(f, "%s", c->label.text),
		            af_tables_text(f, "%s", value && *value ? value : "(differs)"));
	}
}

void set_tables_finish(struct af_merge *m, struct af_tables *f)
{
	for (struct set_table *t = m->tables; t; t = t->next)
		if (t->plan == SET_PAIRS)
			pairs_finish(t, f);
		else
			table_finish(m, t, f);
}
