/*
 * aflame tally: calls of APIs, kernels, copies and memory, added up, as tables; of a folder of
 * ranks those of all of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/table/group_by.h"
#include "analyse/tally/columns.h"
#include "analyse/tally/tally.h"
#include "base/err.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"
#include "render/text/tables.h"

struct tally_options {
	bool json, csv, percentiles;
	uint64_t limit;
	const char *sort, *group, *rank;
};

static const struct tally_options tally_defaults = {.limit = 20, .sort = "time", .group = "none"};

/* The sums of one trace after the other. */
struct tally {
	const struct tally_options *options;
	enum af_tally_group group;
	bool apart; /* by device */
	struct af_tally calls;
	struct af_tables works; /* the rows of all traces: kernels, copies, memory */
	struct af_tables shown;
};

/* The tables of device work, in their order, and what a row of each is about. */
static const struct tally_part {
	const char *table, *key;
} tally_parts[] = {{"kernels", "kernel"}, {"copies", "operation"}, {"memory", "memory"}};

/* Memory is never added up over devices and processes: peaks are not at the same time. */
static bool tally_folds(const char *table)
{
	return strcmp(table, "memory") != 0;
}

/* The cell "process" of device work, by what rows are told apart. */
static const char *tally_whose(const struct tally *t, const char *label)
{
	for (uint32_t i = 0; i < t->calls.nr_processes; i++) {
		const struct af_tally_process *p = &t->calls.processes[i];
		if (strcmp(p->label, label) != 0)
			continue;
		return t->group == AF_TALLY_BY_HOST   ? p->host
		       : t->group == AF_TALLY_BY_RANK ? p->rank
		                                      : label;
	}
	return label;
}

/* Add the rows of @from to the table of all traces. */
static void tally_append(struct tally *t, const struct af_table *from)
{
	struct af_table *to = (struct af_table *)af_tables_find(&t->works, from->name);
	int process = tally_folds(from->name) ? af_table_column(from, "process") : -1;
	uint32_t first = to ? to->nr_rows : 0;

	if (!to)
		to = af_tables_copy(&t->works, from, from->name, from->title);
	for (uint32_t r = 0; first && r < from->nr_rows; r++) {
		struct af_cell *row = af_table_row(&t->works, to);
		memcpy(row, from->cells + (size_t)r * from->nr_columns,
		       from->nr_columns * sizeof *row);
		for (uint32_t c = 0; c < from->nr_columns; c++)
			if (from->columns[c].unit == AF_CELL_TEXT && row[c].text)
				row[c].text = af_tables_text(&t->works, "%s", row[c].text);
	}
	for (uint32_t r = first; process >= 0 && r < to->nr_rows; r++) {
		struct af_cell *whose = &to->cells[(size_t)r * to->nr_columns + (uint32_t)process];
		if (whose->text)
			whose->text = af_tables_text(&t->works, "%s", tally_whose(t, whose->text));
	}
}

/* For af_ranks_each(). */
static int tally_load(void *arg, const char *dir, struct af_err *err)
{
	struct tally *t = arg;
	const struct af_query query = {.answers = AF_ANSWER_TALLY, .own = &t->calls};
	struct af_results r;

	int rc = af_load(dir, &query, &r, err);
	for (unsigned i = 0; !rc && i < sizeof tally_parts / sizeof *tally_parts; i++) {
		const struct af_table *from = af_tables_find(&r.tables, tally_parts[i].table);
		if (from)
			tally_append(t, from);
	}
	af_results_close(&r);
	return rc;
}

static struct af_table *tally_work(struct tally *t, const struct tally_part *part,
                                   struct af_table *from)
{
	static const char *const all[] = {"process", "device", NULL};
	bool apart = !tally_folds(part->table) || t->apart;
	bool by_process = apart || t->group != AF_TALLY_BY_FUNCTION;
	const char *keys[] = {part->key, by_process ? "process" : NULL, apart ? "device" : NULL,
	                      NULL};
	int process = af_table_column(from, "process");

	if (process >= 0 && t->group == AF_TALLY_BY_HOST && tally_folds(part->table))
		from->columns[process].title = "Host";
	if (process >= 0 && t->group == AF_TALLY_BY_RANK && tally_folds(part->table))
		from->columns[process].title = "Rank";
	return af_table_group_by(&t->shown, from, keys, all);
}

static void tally_sort(const struct tally_options *o, const char *key, struct af_table *t)
{
	static const char *const columns[][2] = {
	    {"time", "time_ns"}, {"calls", "calls"},   {"mean", "mean_ns"}, {"min", "min_ns"},
	    {"max", "max_ns"},   {"failed", "failed"}, {"bytes", "bytes"},
	};
	int c = !strcmp(o->sort, "name") ? af_table_column(t, key) : -1;

	/* Rows without times or bytes, or with equal ones, are in the order of calls. */
	int calls = af_table_column(t, "calls"), bytes = af_table_column(t, "bytes");
	if (calls >= 0)
		af_table_sort(t, (uint32_t)calls);
	if (bytes >= 0 && af_table_column(t, "time_ns") < 0)
		af_table_sort(t, (uint32_t)bytes);
	for (unsigned i = 0; i < sizeof columns / sizeof *columns; i++)
		if (!strcmp(o->sort, columns[i][0]))
			c = af_table_column(t, columns[i][1]);
	if (c >= 0)
		af_table_sort(t, (uint32_t)c);
}

static void tally_tables(struct tally *t)
{
	const struct tally_options *o = t->options;

	af_tally_tables(&t->calls, t->group, o->percentiles, &t->shown);
	for (struct af_table *of = t->shown.first; of; of = of->next)
		tally_sort(o, "function", of);
	for (unsigned i = 0; i < sizeof tally_parts / sizeof *tally_parts; i++) {
		const struct tally_part *part = &tally_parts[i];
		struct af_table *from = (struct af_table *)af_tables_find(&t->works, part->table);
		if (!from)
			continue;
		struct af_table *of = tally_work(t, part, from);
		tally_sort(o, part->key, of);
		if (tally_folds(part->table))
			af_table_sum_up(&t->shown, of);
	}
}

static void count_text(struct af_buf *b, const char *before, const struct af_cell *nr,
                       const char *one, const char *many)
{
	if (!nr->value)
		return;
	af_buf_str(b, before);
	af_cell_text(b, AF_CELL_COUNT, nr->value);
	af_buf_fmt(b, " %s", nr->value == 1 ? one : many);
}

/* "CUDA, MPI: 2 hosts, 16 processes, 40 threads, 8 devices" */
static void tally_header(struct af_buf *b, const struct af_table *t)
{
	const struct af_tally_total_row *row = AF_ROW_AT(struct af_tally_total_row, t, 0);

	if (!row)
		return;
	af_buf_terminal(b, row->apis.text, strlen(row->apis.text), "");
	count_text(b, *row->apis.text ? ": " : "", &row->hosts, "host", "hosts");
	count_text(b, ", ", &row->processes, "process", "processes");
	count_text(b, ", ", &row->threads, "thread", "threads");
	count_text(b, ", ", &row->devices, "device", "devices");
	af_buf_char(b, '\n');
	count_text(b, "  ! ", &row->open_calls, "call had", "calls had");
	if (row->open_calls.value)
		af_buf_str(b, " not returned when recording ended\n");
	count_text(b, "  ! ", &row->lost_events, "event was", "events were");
	if (row->lost_events.value)
		af_buf_str(b, " lost, and the calls among them: `aflame report lost`\n");
	count_text(b, "  ! ", &row->unknown_calls, "call is", "calls are");
	if (row->unknown_calls.value)
		af_buf_str(b, " of functions that aflame " AFLAME_VERSION " does not know\n");
}

static void tally_print(const struct tally_options *o, const struct af_tables *f)
{
	struct af_buf b = {0};

	if (o->json)
		af_tables_json(&b, &(struct af_document){.report = "tally"}, f, (uint32_t)o->limit);
	for (const struct af_table *t = f->first; t && !o->json; t = t->next) {
		if (b.len)
			af_buf_char(&b, '\n');
		if (o->csv)
			af_table_csv(&b, t);
		else if (!strcmp(t->name, "tally"))
			tally_header(&b, t);
		else
			af_table_text(&b, t, (uint32_t)o->limit, af_colour(stdout), AF_SHOW_ALL);
	}
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
}

static enum af_tally_group tally_group(const char *name)
{
	static const char *const names[] = {
	    [AF_TALLY_BY_FUNCTION] = "none", [AF_TALLY_BY_HOST] = "host",
	    [AF_TALLY_BY_RANK] = "rank",     [AF_TALLY_BY_PROCESS] = "process",
	    [AF_TALLY_BY_THREAD] = "thread",
	};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return (enum af_tally_group)i;
	return AF_TALLY_BY_PROCESS; /* of the device */
}

static int tally_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct tally_options *o = state;
	const char *dir = af_trace_dir(nr_words, words);
	struct tally t = {
	    .options = o, .group = tally_group(o->group), .apart = !strcmp(o->group, "device")};

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one trace, not %s too", words[1]);
	if (o->json && o->csv)
		return af_fail_plain(err, -EINVAL, "either --json or --csv");
	int rc = o->rank ? 0 : af_ranks_each(dir, tally_load, &t, err);
	if (!rc) {
		rc = af_ranks_choose(&dir, &(struct af_ranks_query){.rank = o->rank}, err);
		rc = rc ? rc : tally_load(&t, dir, err);
	}
	if (rc >= 0) {
		tally_tables(&t);
		rc = 0;
	}
	if (!rc && !t.shown.first)
		fprintf(stderr, "aflame: %s has no calls of a traced API, and no device's work\n",
		        dir);
	if (!rc)
		tally_print(o, &t.shown);
	af_tables_free(&t.shown);
	af_tables_free(&t.works);
	af_tally_free(&t.calls);
	return rc;
}

static const struct af_option tally_options[] = {
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: the tables as JSON",
     offsetof(struct tally_options, json)},
    {AF_OPT_FLAG, "csv", 0, NULL, "for spreadsheets: all rows of the tables as CSV",
     offsetof(struct tally_options, csv)},
    {AF_OPT_U64, "limit", 'n', "N", "rows of a table, 0 for all (20)",
     offsetof(struct tally_options, limit)},
    AF_RANK_OPTION(struct tally_options),
    {AF_OPT_CHOICE, "sort", 's', "BY", "the rows' order (time)",
     offsetof(struct tally_options, sort), "time|calls|mean|min|max|failed|bytes|name"},
    {AF_OPT_CHOICE, "group", 'g', "BY", "rows of their own for each host, rank, …",
     offsetof(struct tally_options, group), "none|host|rank|process|thread|device"},
    {AF_OPT_FLAG, "percentiles", 'P', NULL, "show the median, the 95th and the 99th percentile",
     offsetof(struct tally_options, percentiles)},
    {AF_OPT_END},
};

const struct af_command af_command_tally = {
    .name = "tally",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Add up calls of APIs, kernels, copies and memory",
    .details =
	"Lists the calls of programs (a driver call from the CUDA runtime under the runtime's\n"
	"name), the bytes that they moved, the work of devices, and the memory that they\n"
	"allocated. Of a folder of ranks, the calls of all ranks are added up. APIs that call\n"
	"each other have a table each, because the times of one contain those of the other.\n"
	"\n"
	"Calls that failed are counted; times are of those that worked. OpenCL calls that were\n"
	"not recorded themselves are counted by the work that they enqueued.",
    .examples = "aflame tally --sort calls\twhat is called most often\n"
		"aflame tally --group rank --percentiles\twhich rank waits, and how unevenly\n"
		"aflame tally --group process --json\tfor each process, for programs",
    .options = tally_options,
    .state_size = sizeof(struct tally_options),
    .defaults = &tally_defaults,
    .run = tally_run,
};
