/*
 * A plug-in of aflame: GPU kernels by the size of their grid, as a table. The same kernel may be
 * fast with one grid and slow with another, which a table by name alone does not show.
 *
 *	cc -shared -fPIC kernels_by_grid.c -o kernels_by_grid.so
 *	aflame report --plugin ./kernels_by_grid.so [NAME] [DIR]     only kernels whose names have NAME
 */
#include <aflame/pass.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *name;
	uint64_t items[3];
	uint32_t group[3];
	uint64_t calls, time_ns, least_ns, most_ns;
};

struct kernels {
	const char *only;
	struct row *rows;
	size_t nr, cap;
};

static int begin(const struct af_pass_host *h, int argc, char **argv, void **state)
{
	struct kernels *k = calloc(1, sizeof *k);

	if (!k)
		return h->fail(h, "out of memory");
	if (argc > 1)
		return h->fail(h, "one part of a name, not \"%s\" too", argv[1]);
	k->only = argc ? argv[0] : "";
	*state = k;
	return 0;
}

/* The last rows first: a kernel mostly runs again soon. */
static struct row *row_of(struct kernels *k, const struct af_pass_work *w)
{
	for (size_t i = k->nr; i-- > 0;)
		if (!memcmp(k->rows[i].items, w->items, sizeof w->items) &&
		    !memcmp(k->rows[i].group, w->group, sizeof w->group) &&
		    !strcmp(k->rows[i].name, w->name))
			return &k->rows[i];
	if (k->nr == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 64;
		struct row *rows = realloc(k->rows, cap * sizeof *rows);
		if (!rows)
			return NULL;
		k->rows = rows;
		k->cap = cap;
	}
	struct row *row = &k->rows[k->nr++];
	memset(row, 0, sizeof *row);
	row->name = w->name;
	row->least_ns = UINT64_MAX;
	memcpy(row->items, w->items, sizeof w->items);
	memcpy(row->group, w->group, sizeof w->group);
	return row;
}

static void work(const struct af_pass_host *h, void *state, const struct af_pass_work *w)
{
	struct kernels *k = state;

	if (strcmp(w->op, "kernel") != 0 || w->status || !strstr(w->name, k->only))
		return;
	struct row *row = row_of(k, w);
	if (!row) {
		h->fail(h, "out of memory");
		return;
	}
	row->calls++;
	row->time_ns += w->busy_ns;
	if (w->busy_ns < row->least_ns)
		row->least_ns = w->busy_ns;
	if (w->busy_ns > row->most_ns)
		row->most_ns = w->busy_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->time_ns < y->time_ns   ? 1
	       : x->time_ns > y->time_ns ? -1
	                                 : strcmp(x->name, y->name);
}

/* "4096 x 1 x 1" */
static const char *size(char text[64], uint64_t x, uint64_t y, uint64_t z)
{
	snprintf(text, 64, "%llu x %llu x %llu", (unsigned long long)x, (unsigned long long)y,
	         (unsigned long long)z);
	return text;
}

static int finish(const struct af_pass_host *h, void *state)
{
	static const struct af_pass_column columns[] = {
	    {"kernel", "Kernel", AF_PASS_UNIT_TEXT, AF_PASS_MERGE_KEY, NULL, NULL, {NULL, NULL}},
	    {"items", "Work items", AF_PASS_UNIT_TEXT, AF_PASS_MERGE_KEY, NULL, NULL, {NULL, NULL}},
	    {"group", "Group", AF_PASS_UNIT_TEXT, AF_PASS_MERGE_KEY, NULL, NULL, {NULL, NULL}},
	    {"calls", "Calls", AF_PASS_UNIT_COUNT, AF_PASS_MERGE_SUM, NULL, NULL, {NULL, NULL}},
	    {"time_ns", "Time", AF_PASS_UNIT_NS, AF_PASS_MERGE_SUM, NULL, NULL, {NULL, NULL}},
	    {"mean_ns",
	     "Mean",
	     AF_PASS_UNIT_NS,
	     AF_PASS_MERGE_RATIO,
	     "time_ns",
	     "calls",
	     {NULL, NULL}},
	    {"min_ns", "Least", AF_PASS_UNIT_NS, AF_PASS_MERGE_MIN, NULL, NULL, {NULL, NULL}},
	    {"max_ns", "Most", AF_PASS_UNIT_NS, AF_PASS_MERGE_MAX, NULL, NULL, {NULL, NULL}},
	};
	enum { NR = sizeof columns / sizeof *columns };
	struct kernels *k = state;
	int table =
	    h->table(h, "kernels_by_grid", "Kernels by the size of their grid", columns, NR);

	if (k->nr)
		qsort(k->rows, k->nr, sizeof *k->rows, by_time);
	for (size_t i = 0; i < k->nr; i++) {
		const struct row *r = &k->rows[i];
		char items[64], group[64];
		const struct af_pass_cell cells[NR] = {
		    {r->name, 0, 0, 0},
		    {size(items, r->items[0], r->items[1], r->items[2]), 0, 0, 0},
		    {size(group, r->group[0], r->group[1], r->group[2]), 0, 0, 0},
		    {NULL, r->calls, 0, 0},
		    {NULL, r->time_ns, 0, 0},
		    {NULL, r->time_ns / r->calls, 0, 0},
		    {NULL, r->least_ns, 0, 0},
		    {NULL, r->most_ns, 0, 0},
		};
		if (h->row(h, table, cells, NR) < 0)
			return -1;
	}
	return 0;
}

AF_PASS_DESCRIPTOR = {sizeof(struct af_pass_descriptor),
                      AF_PASS_MAJOR,
                      AF_PASS_MINOR,
                      "kernels by grid",
                      "GPU kernels by the size of their grid",
                      begin,
                      NULL,
                      NULL,
                      work,
                      finish};
