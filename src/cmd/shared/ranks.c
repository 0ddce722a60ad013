#include "cmd/shared/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/set/set.h"
#include "analyse/table/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/shared/set.h"
#include "cmd/shared/summary.h"
#include "render/text/tables.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"

void af_ranks_table(const struct af_set *set, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_MEMBER_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(
	    f, "ranks",
	    af_tables_text(f, "The %s in %s", af_set_is_runs(set) ? "runs" : "ranks", set->path),
	    columns);

	for (uint32_t i = 0; i < set->nr; i++)
		af_member_cells(f, &set->members[i], af_table_row(f, t));
	char lacks[512];
	if (af_set_lacks(set, lacks, sizeof lacks))
		t->note = af_tables_text(f, "%s", lacks);
}

/* On standard error: a command that cannot read all of them names them. */
static void ranks_list(struct af_set *set)
{
	struct af_tables f = {0};
	struct af_buf b = {0};

	for (uint32_t i = 0; i < set->nr; i++)
		if (set->members[i].state == AF_MEMBER_UNFINISHED)
			af_set_prepare(set, i);
	af_ranks_table(set, &f);
	af_table_text(&b, f.first, 0, af_colour(stderr), NULL);
	fwrite(b.data, 1, b.len, stderr);
	fprintf(stderr, "--rank N reads the trace of one\n");
	af_buf_free(&b);
	af_tables_free(&f);
}

static int rank_missing(const struct af_set *set, const char *rank, struct af_err *err)
{
	const char *one = af_set_is_runs(set) ? "run" : "rank";
	struct af_list l = {0};

	for (const struct af_member *m = set->members; m < set->members + set->nr; m++)
		af_list_add(&l, m->has_rank ? NULL : m->name, m->rank, m->rank);
	af_fail_plain(err, -ENOENT, "%s has no %s %s: the %ss are %s", set->path, one, rank, one,
	              l.text.data ? l.text.data : "");
	af_buf_free(&l.text);
	return -ENOENT;
}

/* By the rank's number, or the name of the trace, as runs have. */
static int ranks_choose(const struct af_set *set, const char *rank, const char **dir,
                        struct af_err *err)
{
	static char *kept; /* as long as the program, like the words of the command line */
	const struct af_member *found = NULL;
	uint64_t number;

	const bool by_number = af_rank_parse(rank, &number) && !af_set_is_runs(set);
	for (uint32_t i = 0; i < set->nr; i++) {
		const struct af_member *m = &set->members[i];
		if (by_number ? !m->has_rank || m->rank != number
		              : strcmp(rank, m->name) != 0 && strcmp(rank, m->label) != 0)
			continue;
		if (found)
			return af_fail_plain(err, -EINVAL,
			                     "%s has several traces of rank %s: name one of them, "
			                     "%s or %s",
			                     *dir, rank, found->path, m->path);
		found = m;
	}
	if (!found)
		return rank_missing(set, rank, err);
	*dir = kept = af_xstrdup(found->path);
	return 0;
}

int af_ranks_set(const char *dir, struct af_set *set, struct af_err *err)
{
	scope_close int fd = af_trace_dir_open(dir);

	*set = (struct af_set){0};
	if (fd < 0 || af_trace_is_one(fd))
		return 0; /* the reader of a trace reports what is wrong with it */
	struct af_err none = {0};
	int rc = af_set_open(set, dir, &none);
	if (!rc)
		return 1;
	af_set_close(set);
	return rc == -ENODATA && af_trace_has(fd, AF_JOB_FILE)
	           ? af_fail_plain(err, -ENODATA, "%s", none.msg)
	           : 0;
}

int af_ranks_choose(const char **dir, const struct af_ranks_query *query, struct af_err *err)
{
	struct af_set set;
	int rc = af_ranks_set(*dir, &set, err);

	if (rc < 0)
		return rc;
	if (!rc)
		return query->rank ? af_fail_plain(err, -EINVAL,
		                                   "%s is not a folder of ranks, which --rank "
		                                   "needs",
		                                   *dir)
		                   : 0;
	if (query->rank) {
		rc = ranks_choose(&set, query->rank, dir, err);
	} else if (query->all) {
		if (query->is_set)
			*query->is_set = true;
		rc = 0;
	} else {
		ranks_list(&set);
		rc = af_fail_plain(err, -EISDIR,
		                   "%s has the traces of %u ranks: choose one with --rank", *dir,
		                   set.nr);
	}
	af_set_close(&set);
	return rc;
}

int af_ranks_or_set(const char **dir, const char *rank, bool *is_set, struct af_err *err)
{
	const struct af_ranks_query query = {.rank = rank, .all = true, .is_set = is_set};

	*is_set = false;
	return af_ranks_choose(dir, &query, err);
}
