/*
 * Tables made smaller: rows that are the same but for what was not asked for become one, and rows
 * in another order. What becomes of a column is said by its title, as all tables use the same
 * words: times, shares, counts and bytes are added up, Min and Max are those of all, Mean and Per
 * second are computed anew, Queued is weighed by the calls; of others a value that is not the same
 * in all rows is dropped.
 */
#ifndef AF_ANALYSE_TABLE_FOLD_H
#define AF_ANALYSE_TABLE_FOLD_H

#include "analyse/table/facts.h"

/*
 * A copy of @t in @f, one row for all that have the same texts in the columns whose titles are
 * @keys (NULL-terminated; those that the table does not have are passed over). Keys are shown
 * (where a row has one), other columns of text only when they are not in @drop (the same form).
 */
struct af_table *af_table_fold(struct af_facts *f, const struct af_table *t,
                               const char *const *keys, const char *const *drop);

/* The index of the column called @title, or -1. */
int af_table_column(const struct af_table *t, const char *title);

/*
 * The column whose sum says how much rows matter: what a function had itself, its time, its samples
 * and the like, by title. -1: there is none.
 */
int af_table_weighs(const struct af_table *t);

/*
 * Order the rows by the column @c, the largest number or the first name first; what is not known
 * comes last, equal rows stay in their order.
 */
void af_table_sort(struct af_table *t, uint32_t c);

#endif
