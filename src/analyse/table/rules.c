#include "analyse/table/rules.h"

#include <string.h>

#include "analyse/table/group_by.h"

#define DIFFERS UINT64_MAX /* of a cell without a value: two rows had different ones */

/* Rules and columns that a key has in all tables, where the column names none. */
static const struct key_rule {
	const char *key;
	enum af_merge_rule rule;
	const char *of, *per;
	double scale;
} key_rules[] = {
    {"mean_ns", AF_MERGE_RATIO, "time_ns", "calls", 1},
    {"bytes_per_s", AF_MERGE_RATIO, "bytes", "time_ns", 1e9},
    {"queued_ns", AF_MERGE_MEAN, "calls", NULL, 1},
    {"share", AF_MERGE_SHARE, "time_ns", NULL, 1},
    {"min_ns", AF_MERGE_MIN, NULL, NULL, 1},
    {"max_ns", AF_MERGE_MAX, NULL, NULL, 1},
    {"min_bytes", AF_MERGE_MIN, NULL, NULL, 1},
    {"max_bytes", AF_MERGE_MAX, NULL, NULL, 1},
    {"longest_ns", AF_MERGE_MAX, NULL, NULL, 1},
    {"peak_bytes", AF_MERGE_MAX, NULL, NULL, 1},
    {"tid", AF_MERGE_WHO, NULL, NULL, 1},
    {"pid", AF_MERGE_WHO, NULL, NULL, 1},
    {"ordinal", AF_MERGE_WHO, NULL, NULL, 1},
    {"parent", AF_MERGE_WHO, NULL, NULL, 1},
    {"process", AF_MERGE_WHO, NULL, NULL, 1},
    {"thread", AF_MERGE_WHO, NULL, NULL, 1},
    {"rank", AF_MERGE_WHO, NULL, NULL, 1},
    {"host", AF_MERGE_WHO, NULL, NULL, 1},
};

static const struct key_rule *key_rule(const char *key)
{
	for (unsigned i = 0; i < sizeof key_rules / sizeof *key_rules; i++)
		if (!strcmp(key_rules[i].key, key))
			return &key_rules[i];
	return NULL;
}

enum af_merge_rule af_column_rule(const struct af_column *column)
{
	const struct key_rule *of_key = key_rule(column->key);

	if (column->merge != AF_MERGE_DEFAULT)
		return column->merge;
	if (of_key)
		return of_key->rule;
	return column->unit == AF_CELL_TEXT || column->unit == AF_CELL_PERCENT || column->change
	           ? AF_MERGE_SAME
	           : AF_MERGE_SUM;
}

void af_row_rules_make(struct af_row_rules *rules, const struct af_table *t)
{
	*rules = (struct af_row_rules){.nr_columns = t->nr_columns};
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		const struct af_column *column = &t->columns[c];
		const struct key_rule *of_key = key_rule(column->key);
		struct af_row_rule *r = &rules->columns[c];
		const char *of = column->of ? column->of
		                 : of_key   ? of_key->of
		                            : "time_ns",
			   *per = column->per ? column->per
		                  : of_key    ? of_key->per
		                              : "calls";
		r->rule = af_column_rule(column);
		r->unit = column->unit;
		r->of = of ? af_table_column(t, of) : -1;
		r->per = per ? af_table_column(t, per) : -1;
		r->scale = column->scale > 0 ? column->scale : of_key ? of_key->scale : 1;
		rules->has_means |= r->rule == AF_MERGE_MEAN;
	}
}

static const char *text_of(const struct af_cell *c)
{
	return c->text ? c->text : "";
}

static struct af_row_sum sum_of(const struct af_row_rules *rules, const struct af_cell *cells,
                                uint32_t c)
{
	const struct af_row_rule *r = &rules->columns[c];

	if (r->rule != AF_MERGE_MEAN || r->of < 0 || cells[c].unknown || cells[r->of].unknown)
		return (struct af_row_sum){0, 0};
	return (struct af_row_sum){(unsigned __int128)cells[c].value * cells[r->of].value,
	                           cells[r->of].value};
}

void af_row_begin(const struct af_row_rules *rules, const struct af_cell *cells,
                  struct af_row_sum *sums)
{
	for (uint32_t c = 0; c < rules->nr_columns; c++)
		sums[c] = sum_of(rules, cells, c);
}

static void value_same(const struct af_row_rule *r, struct af_cell *to, const struct af_cell *from)
{
	if (r->unit == AF_CELL_TEXT && strcmp(text_of(to), text_of(from)) != 0)
		to->text = "";
	else if (r->unit != AF_CELL_TEXT && to->value != from->value)
		*to = (struct af_cell){.value = DIFFERS, .unknown = true};
}

/* A value that one row lacks is taken from the other, except where two have differed. */
static void cell_add(const struct af_row_rule *r, struct af_cell *to, const struct af_cell *from)
{
	if (from->unknown || to->unknown) {
		bool differ = (to->unknown && to->value == DIFFERS) ||
		              (from->unknown && from->value == DIFFERS);
		if (differ)
			*to = (struct af_cell){.value = DIFFERS, .unknown = true};
		else if (to->unknown)
			*to = *from;
		return;
	}
	switch (r->rule) {
	case AF_MERGE_SUM:
		if (__builtin_add_overflow(to->value, from->value, &to->value))
			to->value = UINT64_MAX;
		break;
	case AF_MERGE_MIN:
		to->value = from->value < to->value ? from->value : to->value;
		break;
	case AF_MERGE_MAX:
		to->value = from->value > to->value ? from->value : to->value;
		break;
	case AF_MERGE_MEAN:
	case AF_MERGE_RATIO:
	case AF_MERGE_SHARE:
	case AF_MERGE_PART:
		break;
	case AF_MERGE_KEY:
	case AF_MERGE_SAME:
	case AF_MERGE_WHO:
	case AF_MERGE_DEFAULT:
		value_same(r, to, from);
		break;
	}
}

static void sum_add(struct af_row_sum *to, struct af_row_sum from)
{
	/* 2^64 values of 2^64: a hostile trace alone reaches it, and a mean of it means nothing. */
	to->of += from.of;
	to->by += from.by;
}

void af_row_add(const struct af_row_rules *rules, struct af_cell *to, struct af_row_sum *sums,
                const struct af_cell *from)
{
	for (uint32_t c = 0; c < rules->nr_columns; c++) {
		if (rules->columns[c].rule == AF_MERGE_MEAN)
			sum_add(&sums[c], sum_of(rules, from, c));
		cell_add(&rules->columns[c], &to[c], &from[c]);
	}
}

void af_row_join(const struct af_row_rules *rules, struct af_cell *to, struct af_row_sum *sums,
                 const struct af_cell *from, const struct af_row_sum *from_sums)
{
	for (uint32_t c = 0; c < rules->nr_columns; c++) {
		sum_add(&sums[c], from_sums[c]);
		cell_add(&rules->columns[c], &to[c], &from[c]);
	}
}

static uint64_t value_at(const struct af_cell *cells, int c)
{
	return c >= 0 && !cells[c].unknown ? cells[c].value : 0;
}

void af_row_finish(const struct af_row_rules *rules, struct af_cell *cells,
                   const struct af_row_sum *sums, uint64_t whole, uint64_t part)
{
	for (uint32_t c = 0; c < rules->nr_columns; c++) {
		const struct af_row_rule *r = &rules->columns[c];
		uint64_t of = value_at(cells, r->of);
		if (cells[c].unknown || r->of < 0)
			continue;
		if (r->rule == AF_MERGE_MEAN)
			cells[c].value =
			    sums[c].by ? (uint64_t)((sums[c].of + sums[c].by / 2) / sums[c].by) : 0;
		else if (r->rule == AF_MERGE_RATIO && r->per >= 0)
			cells[c].value = af_tables_ratio(of, value_at(cells, r->per), r->scale);
		else if (r->rule == AF_MERGE_SHARE)
			cells[c].value = af_tables_ratio(of, whole, 1e4);
		else if (r->rule == AF_MERGE_PART)
			cells[c].value = af_tables_ratio(of, part, 1e4);
	}
}

/* The column that the shares of @t are of, or -1. */
static int shared_column(const struct af_table *t)
{
	struct af_row_rules rules;

	af_row_rules_make(&rules, t);
	for (uint32_t c = 0; c < t->nr_columns; c++)
		if (rules.columns[c].rule == AF_MERGE_SHARE ||
		    rules.columns[c].rule == AF_MERGE_PART)
			return rules.columns[c].of;
	return -1;
}

uint64_t af_table_whole(const struct af_table *t)
{
	int of = shared_column(t);
	uint64_t whole = 0;

	if (t->whole || of < 0)
		return t->whole;
	if (t->left_out && t->left_column == (uint32_t)of)
		whole = t->left_weight;
	for (uint32_t r = 0; r < t->nr_rows; r++)
		if (__builtin_add_overflow(
			whole, value_at(t->cells + (size_t)r * t->nr_columns, of), &whole))
			return UINT64_MAX;
	return whole;
}
