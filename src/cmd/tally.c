/* aflame tally: sums of calls of device APIs, kernels, copies and memory as tables. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/table/group_by.h"
#include "base/err.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"
#include "render/text/tables.h"

struct tally_options {
	bool json;
	uint64_t limit;
	const char *sort, *group, *rank;
};

static const struct tally_options tally_defaults = {.limit = 20, .sort = "time", .group = "none"};

/* The tables that a tally is made of, in its order, and what a row of each is about. */
static const struct tally_part {
	const char *table, *key;
} tally_parts[] = {
    {"api", "function"},
    {"kernels", "kernel"},
    {"copies", "operation"},
    {"memory", "memory"},
};

/* Memory is never added up over devices and processes: peaks are not at the same time. */
static bool tally_folds(const struct af_table *t)
{
	return strcmp(t->name, "memory") != 0;
}

static struct af_table *tally_group(const struct tally_options *o, const struct tally_part *part,
                                    const struct af_table *t, struct af_tables *f)
{
	static const char *const all[] = {"process", "device", NULL};
	bool apart = !tally_folds(t) || !strcmp(o->group, "device");
	bool by_process = apart || !strcmp(o->group, "process");
	const char *keys[] = {part->key, by_process ? "process" : NULL, apart ? "device" : NULL,
	                      NULL};

	return af_table_group_by(f, t, keys, all);
}

static void tally_sort(const struct tally_options *o, const struct tally_part *part,
                       struct af_table *t)
{
	static const char *const columns[][2] = {
	    {"time", "time_ns"}, {"calls", "calls"}, {"mean", "mean_ns"},
	    {"min", "min_ns"},   {"max", "max_ns"},
	};
	int c = !strcmp(o->sort, "name") ? af_table_column(t, part->key) : -1;

	/* Rows without times, or with equal ones, are in the order of calls. */
	int calls = af_table_column(t, "calls");
	if (calls >= 0)
		af_table_sort(t, (uint32_t)calls);
	for (unsigned i = 0; i < sizeof columns / sizeof *columns; i++)
		if (!strcmp(o->sort, columns[i][0]))
			c = af_table_column(t, columns[i][1]);
	if (c >= 0)
		af_table_sort(t, (uint32_t)c);
}

static void tally_print(const struct tally_options *o, const struct af_tables *f)
{
	struct af_buf b = {0};

	if (o->json)
		af_tables_json(&b, &(struct af_document){.report = "tally"}, f, (uint32_t)o->limit);
	for (const struct af_table *t = f->first; t && !o->json; t = t->next) {
		if (b.len)
			af_buf_char(&b, '\n');
		af_table_text(&b, t, (uint32_t)o->limit, af_colour(stdout), AF_SHOW_ALL);
	}
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
}

static int tally_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct af_query query = {.answers = AF_ANSWER_TABLES | AF_ANSWER_TALLY};
	const struct tally_options *o = state;
	const char *dir = af_trace_dir(nr_words, words);
	struct af_tables f = {0};
	struct af_results r;

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one trace, not %s too", words[1]);
	int rc = af_ranks_choose(&dir, &(struct af_ranks_query){o->rank, true, o->json}, err);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = af_load(dir, &query, &r, err);
	for (unsigned i = 0; !rc && i < sizeof tally_parts / sizeof *tally_parts; i++)
		for (const struct af_table *t = r.tables.first; t; t = t->next)
			if (!strcmp(t->name, tally_parts[i].table))
				tally_sort(o, &tally_parts[i],
				           tally_group(o, &tally_parts[i], t, &f));
	if (!rc && !f.first)
		rc = af_fail_plain(err, -ENODATA, "the trace %s has no calls of a device's API",
		                   dir);
	if (!rc)
		tally_print(o, &f);
	af_tables_free(&f);
	af_results_close(&r);
	return rc;
}

static const struct af_option tally_options[] = {
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: the tables as JSON",
     offsetof(struct tally_options, json)},
    {AF_OPT_U64, "limit", 'n', "N", "rows of a table, 0 for all (20)",
     offsetof(struct tally_options, limit)},
    AF_RANK_OPTION(struct tally_options),
    {AF_OPT_CHOICE, "sort", 's', "BY", "the rows' order (time)",
     offsetof(struct tally_options, sort), "time|calls|mean|min|max|name"},
    {AF_OPT_CHOICE, "group", 'g', "BY", "rows of their own for each process, or device of it",
     offsetof(struct tally_options, group), "none|process|device"},
    {AF_OPT_END},
};

const struct af_command af_command_tally = {
    .name = "tally",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Add up calls of device APIs, kernels, copies and memory",
    .details = "Lists the calls of programs (a driver call from the CUDA runtime under the\n"
	       "runtime's name), the work of devices, and the memory that they allocated. OpenCL\n"
	       "calls are counted by the work that they enqueued.",
    .examples = "aflame tally --sort calls\twhat is called most often\n"
		"aflame tally --group process --json\tfor each rank, for programs",
    .options = tally_options,
    .state_size = sizeof(struct tally_options),
    .defaults = &tally_defaults,
    .run = tally_run,
};
