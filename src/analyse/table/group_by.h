/*
 * Tables made smaller: rows that are the same but for what was not asked for become one, and rows
 * in another order. Rules (rules.h) say what becomes of a column.
 */
#ifndef AF_ANALYSE_TABLE_GROUP_BY_H
#define AF_ANALYSE_TABLE_GROUP_BY_H

#include "analyse/table/table.h"

/*
 * A copy of @t in @f, one row for all that have the same texts in the columns whose keys are
 * @keys (NULL-terminated; those that the table does not have are passed over). Keys are shown
 * (where a row has one), other columns of text only when they are not in @drop (the same form).
 */
struct af_table *af_table_group_by(struct af_tables *f, const struct af_table *t,
                                   const char *const *keys, const char *const *drop);

/*
 * Give @t a total, of which each column is what it would be if all rows were one. Where a column is
 * not the same in all of them, it has none.
 */
void af_table_sum_up(struct af_tables *f, struct af_table *t);

/* The index of the column with the key @key, or -1. */
int af_table_column(const struct af_table *t, const char *key);

/*
 * The column whose sum says how much rows matter: what a function had itself, its time, its samples
 * and the like, by key. -1: there is none.
 */
int af_table_weighs(const struct af_table *t);

/*
 * Order the rows by the column @c, the largest number or the first name first; what is not known
 * comes last, equal rows stay in their order.
 */
void af_table_sort(struct af_table *t, uint32_t c);

#endif
