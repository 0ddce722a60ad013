/*
 * Rows of samples that found nothing yet: for what comes later to tell of it. Epochs are windows as
 * long as there are few rows; of many, neighbours are joined, so that what waits has about twice as
 * many rows as there are different ones, however long it waits.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/addresses.h"
#include "base/arena.h"

enum { WAITING_APART = 1 << 16 }; /* so many rows stay in their windows */

static int row_order(const void *a, const void *b)
{
	const struct address_row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->stall < y->stall ? -1 : x->stall > y->stall;
}

/* Equal rows are one, unless there are more samples of it than a row can have. */
static void rows_add(struct address_rows *to, const struct address_row *row)
{
	struct address_row *last = to->nr ? &to->all[to->nr - 1] : NULL;

	if (last && !row_order(last, row) && last->count <= UINT32_MAX - row->count)
		last->count += row->count;
	else
		to->all[to->nr++] = *row;
}

static void rows_sort(struct address_rows *rows)
{
	struct address_rows sorted = {.all = rows->all};

	AF_SORT(rows->all, rows->nr, row_order);
	for (uint32_t i = 0; i < rows->nr; i++) {
		const struct address_row row = rows->all[i];
		rows_add(&sorted, &row);
	}
	rows->nr = sorted.nr;
}

/* Both in order; the sum takes the place of @to. */
static void rows_merge(struct address_rows *to, struct address_rows *from)
{
	struct address_rows sum = {.cap = to->nr + from->nr};
	uint32_t i = 0, k = 0;

	sum.all = af_xrealloc(NULL, (sum.cap + 1ull) * sizeof *sum.all);
	while (i < to->nr || k < from->nr) {
		bool first =
		    i < to->nr && (k == from->nr || row_order(&to->all[i], &from->all[k]) <= 0);
		rows_add(&sum, first ? &to->all[i++] : &from->all[k++]);
	}
	free(to->all);
	free(from->all);
	*from = (struct address_rows){0};
	sum.all = af_xrealloc(sum.all, (sum.nr + 1ull) * sizeof *sum.all);
	sum.cap = sum.nr;
	*to = sum;
}

static void epoch_ran(struct address_epoch *e, uint32_t launch_group,
                      const struct attribution_ran *ran)
{
	AF_GROW(e->ran, e->nr_ran, e->cap_ran);
	e->ran[e->nr_ran++] = (struct address_launches){launch_group, *ran};
}

void address_epoch_touch(struct attribution_private *p, const struct address_epoch *e)
{
	attribution_epoch(p);
	for (uint32_t i = 0; i < e->nr_ran; i++)
		attribution_touch(p, e->ran[i].launch_group, &e->ran[i].ran);
}

/* Remember the work that is touched as that of @e. */
static void epoch_remember(struct attribution_private *p, struct address_epoch *e)
{
	e->nr_ran = 0;
	for (uint32_t i = 0; i < p->nr_touched; i++)
		epoch_ran(e, p->touched[i], &p->seen[p->touched[i]].ran);
}

static void epoch_free(struct address_epoch *e)
{
	free(e->rows.all);
	free(e->ran);
}

/* The later of the two becomes a part of the earlier. */
static void epoch_merge(struct attribution_private *p, struct address_epoch *to,
                        struct address_epoch *from)
{
	address_epoch_touch(p, to);
	for (uint32_t i = 0; i < from->nr_ran; i++)
		attribution_touch(p, from->ran[i].launch_group, &from->ran[i].ran);
	epoch_remember(p, to);
	rows_merge(&to->rows, &from->rows);
	if (from->is.start_ns < to->is.start_ns)
		to->is.start_ns = from->is.start_ns;
	if (from->is.end_ns > to->is.end_ns)
		to->is.end_ns = from->is.end_ns;
	epoch_free(from);
}

/* Once there are many rows, each epoch has at most half as many as the one before it. */
static void waiting_shrink(struct attribution_private *p, struct address_waiting *of)
{
	while (of->nr > 1 && of->nr_rows > WAITING_APART) {
		struct address_epoch *last = &of->epochs[of->nr - 1], *before = last - 1;
		if (before->rows.nr / 2 >= last->rows.nr)
			return;
		of->nr_rows -= before->rows.nr + last->rows.nr;
		epoch_merge(p, before, last);
		of->nr_rows += before->rows.nr;
		of->nr--;
	}
}

void address_wait(struct attribution_private *p, struct address_waiting *to,
                  const struct attribution_window *win, struct address_rows *rows)
{
	struct address_epoch e = {.is = *win, .rows = *rows};

	epoch_remember(p, &e);
	*rows = (struct address_rows){0};
	rows_sort(&e.rows);
	e.rows.all = af_xrealloc(e.rows.all, (e.rows.nr + 1ull) * sizeof *e.rows.all);
	e.rows.cap = e.rows.nr;
	AF_GROW(to->epochs, to->nr, to->cap);
	to->epochs[to->nr++] = e;
	to->nr_rows += e.rows.nr;
	waiting_shrink(p, to);
}

void address_waiting_tidy(struct address_waiting *of)
{
	uint32_t kept = 0;

	of->nr_rows = 0;
	for (uint32_t i = 0; i < of->nr; i++) {
		struct address_epoch *e = &of->epochs[i];
		of->nr_rows += e->rows.nr;
		if (e->rows.nr)
			of->epochs[kept++] = *e;
		else
			epoch_free(e);
	}
	of->nr = kept;
}

void address_waiting_free(struct address_waiting *of)
{
	for (uint32_t i = 0; i < of->nr; i++)
		epoch_free(&of->epochs[i]);
	free(of->epochs);
	*of = (struct address_waiting){0};
}
