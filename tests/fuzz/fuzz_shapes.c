/*
 * Results as another process sends them, of hostile bytes: a tree, tables, a tally, a list of
 * members, a merge of all (the first byte chooses). But for the last, all is written and read
 * again: it is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/merge.h"
#include "analyse/set/set.h"
#include "analyse/table/bytes.h"
#include "analyse/table/group_by.h"
#include "analyse/tally/tally.h"
#include "analyse/tree/bytes.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct af_tree_weight weights[] = {{"time", "ns"}, {"samples", "samples"}};

/* Two of the same, the second written by the first's reader. */
static void same(const struct af_buf *a, const struct af_buf *b)
{
	if (a->len != b->len || (a->len && memcmp(a->data, b->data, a->len)))
		abort();
}

static bool tree_again(struct af_cursor c, struct af_buf *to)
{
	struct af_tree t;

	af_tree_open(&t, weights, 2);
	af_tree_keep_locations(&t);
	int rc = af_tree_read(&t, &c, NULL);
	if (!rc) {
		af_tree_finish(&t);
		af_tree_write(&t, to);
	}
	af_tree_close(&t);
	return !rc;
}

static bool tables_again(struct af_cursor c, struct af_buf *to)
{
	static const char *const keys[] = {"function", "kernel", NULL};
	struct af_tables f = {0}, grouped = {0};

	int rc = af_tables_read(&f, &c, NULL);
	if (!rc)
		af_tables_write(&f, to);
	for (struct af_table *t = f.first; !rc && t; t = t->next) {
		struct af_table *g = af_table_group_by(&grouped, t, keys, keys);
		if (g->nr_rows && g->nr_columns)
			af_table_sort(g, 0);
	}
	af_tables_free(&grouped);
	af_tables_free(&f);
	return !rc;
}

static bool tally_again(struct af_cursor c, struct af_buf *to)
{
	struct af_tally t = {0}, all = {0};
	struct af_tables f = {0};

	int rc = af_tally_read(&t, &c, NULL);
	if (!rc) {
		af_tally_join(&all, &t, AF_TALLY_BY_PROCESS);
		af_tally_join(&all, &t, AF_TALLY_BY_PROCESS);
		af_tally_tables(&all, AF_TALLY_BY_HOST, true, &f);
		/* Keys have another order in each table. */
		af_keys_free(&t.devices);
		af_keys_free(&t.hosts);
		af_tally_write(&t, to);
	}
	af_tables_free(&f);
	af_tally_free(&all);
	af_tally_free(&t);
	return !rc;
}

static bool set_again(struct af_cursor c, struct af_buf *to)
{
	struct af_set s;

	int rc = af_set_read_bytes(&s, c.at, (size_t)(c.end - c.at), NULL);
	if (!rc)
		af_set_write(&s, to);
	af_set_close(&s);
	return !rc;
}

/* A merge is joined with what is there and finished. */
static bool merge_once(struct af_cursor c, struct af_buf *to)
{
	const struct af_merge_how how = {.query = {.answers = AF_ANSWER_TABLES | 1 << AF_VIEW_CPU}};
	struct af_merge *m = af_merge_open(&how);
	struct af_results r = {0};

	(void)to;
	for (int i = 0; i < 2; i++)
		af_merge_read(m, c.at, (size_t)(c.end - c.at), NULL);
	af_merge_end(m, &r);
	af_results_close(&r);
	af_merge_close(m);
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool (*const readers[])(struct af_cursor c, struct af_buf * to) = {
	    tree_again, tables_again, tally_again, set_again, merge_once};
	struct af_buf first = {0}, second = {0};

	if (!size)
		return 0;
	bool (*again)(struct af_cursor c, struct af_buf * to) = readers[data[0] % 5];
	if (again((struct af_cursor){data + 1, data + size, false}, &first)) {
		if (!again(af_buf_cursor(&first), &second))
			abort();
		same(&first, &second);
	}
	af_buf_free(&first);
	af_buf_free(&second);
	return 0;
}
