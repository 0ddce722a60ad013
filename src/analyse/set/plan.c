/* Decides how each table of the members is merged, and makes a merged table without rows. */
#include <string.h>

#include "analyse/set/private.h"
#include "analyse/table/group_by.h"

/*
 * Tables whose columns do not show what becomes of them. The others: with a key they are merged,
 * labelled values are compared, and of the rest the heaviest rows are listed.
 */
static const struct set_planned {
	const char *table;
	enum set_plan plan;
} planned[] = {
    {"calls_twice", SET_MERGE},
    {"mpi", SET_MERGE},
    /* Made anew: of sums of coverage, of trees, of merged tables. */
    {"coverage", SET_LEAVE},
    {"coverage_threads", SET_LEAVE},
    {"coverage_devices", SET_LEAVE},
    {"verdict", SET_LEAVE},
    {"findings", SET_LEAVE},
    {"steady_verdict", SET_LEAVE},
    {"steady_findings", SET_LEAVE},
    {"cost", SET_LEAVE},
};

enum set_plan set_plan_of(const struct af_table *t)
{
	for (unsigned i = 0; i < sizeof planned / sizeof *planned; i++)
		if (!strcmp(planned[i].table, t->name))
			return planned[i].plan;
	if (t->nr_columns == 3 && !strcmp(t->columns[0].key, "label") &&
	    !strcmp(t->columns[1].key, "value"))
		return SET_PAIRS;
	for (uint32_t c = 0; c < t->nr_columns; c++)
		if (af_column_rule(&t->columns[c]) == AF_MERGE_KEY)
			return SET_MERGE;
	return SET_LIST;
}

static int weight_of(const struct af_table *t)
{
	static const char *const others[] = {"calls", "count", "requests", "span_ns", "seen"};
	int c = af_table_weighs(t);

	for (unsigned i = 0; c < 0 && i < sizeof others / sizeof *others; i++)
		c = af_table_column(t, others[i]);
	return c;
}

static void columns_copy(struct af_merge *m, struct af_table *head, const struct af_table *t)
{
	for (uint32_t c = 0; c < t->nr_columns && head->nr_columns < AF_TABLE_COLUMNS - 6; c++) {
		struct af_column *column = &head->columns[head->nr_columns++];
		*column = t->columns[c];
		column->title = set_text_of(m, column->title);
		column->key = set_text_of(m, column->key);
		/* In a row of many members this is mostly blank. */
		if (column->show == AF_SHOW_ALWAYS && af_column_rule(column) == AF_MERGE_WHO)
			column->show = AF_SHOW_USED;
	}
}

/* The last column: of the words of --by, or of a list the member. */
static struct af_column by_column(struct af_merge *m, enum set_plan plan)
{
	static const char *const titles[] = {
	    [AF_BY_HOST] = "Host",    [AF_BY_RANK] = "Rank",   [AF_BY_DEVICE] = "Device",
	    [AF_BY_PROCESS] = "Rank", [AF_BY_GROUP] = "Group",
	};
	struct af_column column = {.unit = AF_CELL_TEXT, .merge = AF_MERGE_KEY, .key = "by"};

	if (plan == SET_LIST)
		column =
		    (struct af_column){.title = "Rank", .unit = AF_CELL_TEXT, .key = "of_rank"};
	else
		column.title = m->how.by == AF_BY_GROUP && m->how.group
		                   ? set_text_of(m, m->how.group)
		                   : titles[m->how.by];
	return column;
}

/* The table's own column for --by device and --by process, if it has one; else -1. */
static int own_by_column(const struct af_merge *m, const struct af_table *t)
{
	return m->how.by == AF_BY_DEVICE    ? af_table_column(t, "device")
	       : m->how.by == AF_BY_PROCESS ? af_table_column(t, "process")
	                                    : -1;
}

static void table_append(struct af_merge *m, struct set_table *t)
{
	if (m->last_table)
		m->last_table->next = t;
	else
		m->tables = t;
	m->last_table = t;
}

struct set_table *set_table_open(struct af_merge *m, const struct af_table *t, enum set_plan plan)
{
	struct set_table *to = af_xcalloc(1, sizeof *to);

	to->plan = plan;
	to->by = -1;
	to->head.name = set_text_of(m, t->name);
	to->head.title = set_text_of(m, t->title);
	to->head.note = t->note ? set_text_of(m, t->note) : NULL;
	int own = plan == SET_MERGE ? own_by_column(m, t) : -1;
	bool by = plan == SET_LIST || (plan == SET_MERGE && own < 0 && m->how.by != AF_BY_NOTHING &&
	                               m->how.by != AF_BY_DEVICE);
	columns_copy(m, &to->head, t);
	if (by) {
		to->by = (int)to->head.nr_columns;
		to->head.columns[to->head.nr_columns++] = by_column(m, plan);
	}
	if (own >= 0) {
		to->head.columns[own].merge = AF_MERGE_KEY;
		to->head.columns[own].show = AF_SHOW_ALWAYS;
	}
	for (uint32_t c = 0; plan == SET_PAIRS && c < to->head.nr_columns; c++)
		if (strcmp(to->head.columns[c].key, "value") != 0)
			to->head.columns[c].merge = AF_MERGE_KEY;
	af_row_rules_make(&to->rules, &to->head);
	to->weight = plan == SET_PAIRS ? -1 : weight_of(&to->head);
	table_append(m, to);
	return to;
}

struct set_table *set_table_like(struct af_merge *m, const struct set_table *from)
{
	struct af_table head = from->head;
	struct set_table *to = af_xcalloc(1, sizeof *to);

	*to = (struct set_table){.plan = from->plan, .by = from->by, .weight = from->weight};
	to->head.name = set_text_of(m, head.name);
	to->head.title = set_text_of(m, head.title);
	to->head.note = head.note ? set_text_of(m, head.note) : NULL;
	for (uint32_t c = 0; c < head.nr_columns; c++) {
		struct af_column *column = &to->head.columns[to->head.nr_columns++];
		*column = head.columns[c];
		column->title = set_text_of(m, column->title);
		column->key = set_text_of(m, column->key);
		column->of = column->of ? set_text_of(m, column->of) : NULL;
		column->per = column->per ? set_text_of(m, column->per) : NULL;
	}
	af_row_rules_make(&to->rules, &to->head);
	table_append(m, to);
	return to;
}
