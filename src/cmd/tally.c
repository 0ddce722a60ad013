/*
 * aflame tally: calls of APIs, kernels, copies and memory, added up, as tables; of a folder of
 * ranks those of all of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/set/read.h"
#include "analyse/table/group_by.h"
#include "analyse/tally/columns.h"
#include "base/err.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"
#include "cmd/shared/together.h"
#include "cmd/tally/follow.h"
#include "cmd/tally/sums.h"
#include "render/text/tables.h"

struct tally_options {
	bool json, csv, percentiles, follow, energy;
	uint64_t limit, jobs, interval_ns;
	const char *sort, *group, *rank;
};

static const struct tally_options tally_defaults = {
    .limit = 20, .interval_ns = 2000000000, .sort = "time", .group = "none"};

struct tally {
	const struct tally_options *options;
	struct tally_sums sums;
	struct af_tables shown;
	struct af_err failure; /* of the last member that could not be read */
	uint32_t nr_set;       /* members of the set */
	uint32_t threads;      /* that read each of them */
};

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
	if (!strcmp(o->sort, "time") && af_table_column(t, "energy_j") >= 0)
		c = af_table_column(t, "energy_j");
	if (c >= 0)
		af_table_sort(t, (uint32_t)c);
}

static void tally_titles(const struct tally *t, struct af_table *of)
{
	int process = af_table_column(of, "process");

	if (process < 0 || !tally_folds(of->name))
		return;
	if (t->sums.by.group == AF_TALLY_BY_HOST)
		of->columns[process].title = "Host";
	if (t->sums.by.group == AF_TALLY_BY_RANK)
		of->columns[process].title = "Rank";
}

#define MISSING_COLUMNS(C)                                                                         \
	C(member, "Rank", AF_CELL_TEXT)                                                            \
	C(reason, "Reason", AF_CELL_TEXT)                                                          \
	C(counted, "Counted", AF_CELL_TEXT) /* "in part" or "no" */
struct missing_row {
	MISSING_COLUMNS(AF_ROW_CELL)
};

/* A sum of some members is not that of all: these are named. */
static void tally_missing(struct tally *t)
{
	static const struct af_column columns[] = {MISSING_COLUMNS(AF_ROW_COLUMN)};
	const struct tally_sums *s = &t->sums;

	if (!s->nr_named || t->nr_set < 2)
		return;
	const char *title =
	    af_tables_text(&t->shown, "%llu of %u ranks were read; missing or damaged are",
	                   (unsigned long long)s->nr_members, t->nr_set);
	struct af_table *of = AF_TABLE(&t->shown, "missing", title, columns);
	for (uint32_t i = 0; i < s->nr_named; i++) {
		struct missing_row *row = af_table_row(&t->shown, of);
		row->member.text = s->missing[i].member;
		row->reason.text = s->missing[i].why;
		row->counted.text = s->missing[i].damaged ? "in part" : "no";
	}
	of->left_out = (uint32_t)(s->nr_missing + s->nr_damaged - s->nr_named);
	of->left_column = UINT32_MAX;
}

static void tally_tables(struct tally *t)
{
	const struct tally_options *o = t->options;

	af_tally_tables(&t->sums.calls, t->sums.by.group, o->percentiles, &t->shown);
	for (struct af_table *of = t->shown.first; of; of = of->next)
		tally_sort(o, "function", of);
	for (unsigned i = 0; i < TALLY_PARTS; i++) {
		struct af_table *of = tally_sums_work(&t->sums, i, &t->shown);
		if (!of)
			continue;
		tally_titles(t, of);
		tally_sort(o, tally_parts[i].key, of);
	}
	tally_missing(t);
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

/* A document's line ends are between its values, never in them. */
static void one_line(struct af_buf *b)
{
	for (size_t i = 0; i + 1 < b->len; i++)
		if (b->data[i] == '\n')
			b->data[i] = ' ';
}

static void tally_print(const struct tally_options *o, const struct af_tables *f)
{
	struct af_buf b = {0};

	if (o->json)
		af_tables_json(&b, &(struct af_document){.report = "tally"}, f, (uint32_t)o->limit);
	if (o->json && o->follow)
		one_line(&b);
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

/* A line of JSON, the terminal drawn again, or a paragraph more. */
static void tally_moment(void *arg, const struct tally_sums *sums, const struct tally_moment *at)
{
	const struct tally_options *o = arg;
	struct tally t = {.options = o, .sums = *sums, .nr_set = at->nr};

	tally_tables(&t);
	if (!o->json)
		printf("%s%u ranks, %u still recorded, after %.0f s\n",
		       isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "", at->nr, at->nr_live,
		       (double)at->ns / 1e9);
	if (t.shown.first)
		tally_print(o, &t.shown);
	if (!o->json)
		putchar('\n');
	fflush(stdout);
	af_tables_free(&t.shown);
}

static int tally_while(const struct tally *t, const char *dir, struct af_err *err)
{
	const struct tally_options *o = t->options;
	const struct tally_follow follow = {
	    .by = t->sums.by,
	    .interval_ns = o->interval_ns,
	    .jobs = o->jobs,
	    .show = tally_moment,
	    .arg = (void *)o,
	};

	if (o->csv)
		return af_fail_plain(err, -EINVAL,
		                     "--follow has no --csv: use --json, a line each time");
	return tally_follow(&follow, dir, err);
}

static void tally_prepare(void *sum, struct af_set *set, uint32_t first, uint32_t nr)
{
	struct tally *t = sum;

	(void)set;
	(void)first;
	t->threads = af_set_threads_each(af_set_threads(t->options->jobs), nr);
}

/* Any thread. */
static void *tally_read(void *sum, const struct af_member *who, struct af_err *err)
{
	const struct tally *t = sum;
	struct tally_sums *part = af_xcalloc(1, sizeof *part);

	part->by = t->sums.by;
	part->threads = t->threads;
	if (!tally_sums_read(part, who->path, who->label, err))
		return part;
	tally_sums_free(part);
	free(part);
	return NULL;
}

static void tally_drop(void *result)
{
	tally_sums_free(result);
	free(result);
}

static int tally_take(void *sum, const struct af_member *who, void *result,
                      const struct af_err *why)
{
	struct tally *t = sum;

	if (result) {
		tally_sums_join(&t->sums, result);
		tally_drop(result);
	} else {
		tally_sums_missing(&t->sums, who->label, why->msg);
		t->failure = *why;
	}
	return 0;
}

static void tally_write(const void *sum, struct af_buf *to)
{
	const struct tally *t = sum;

	tally_sums_write(&t->sums, to);
}

static int tally_join(void *sum, const void *data, size_t size, struct af_err *err)
{
	struct tally *t = sum;

	return tally_sums_join_bytes(&t->sums, data, size, err);
}

static void tally_empty(void *sum)
{
	struct tally *t = sum;

	tally_sums_free(&t->sums);
}

static int tally_load(struct tally *t, const char *dir, bool *silent, struct af_err *err)
{
	const struct af_together how = {
	    .what = "adding up the ranks",
	    .jobs = t->options->jobs,
	    .prepare = tally_prepare,
	    .read = tally_read,
	    .take = tally_take,
	    .drop = tally_drop,
	    .ops = {.write = tally_write, .join = tally_join, .empty = tally_empty},
	    .sum = t,
	};
	struct af_set set;

	int rc = af_together_read(&how, dir, &set, silent, err);
	t->nr_set = set.nr;
	char lacks[256];
	if (!rc && !*silent && af_set_lacks(&set, lacks, sizeof lacks))
		fprintf(stderr, "aflame: %s: %s\n", dir, lacks);
	af_set_close(&set);
	const struct tally_sums *s = &t->sums;
	if (rc || *silent || s->nr_members)
		return rc;
	if (t->failure.code)
		*err = t->failure;
	return t->failure.code ? t->failure.code
	                       : af_fail_plain(err, -ENODATA, "no rank of %s can be read: %s: %s",
	                                       dir, s->missing[0].member, s->missing[0].why);
}

/* A single trace needs no table of members: its own message is enough. */
static void tally_warn(const struct tally *t, const char *dir)
{
	const struct tally_sums *s = &t->sums;

	if (t->nr_set == 1 && s->nr_damaged)
		fprintf(stderr, "aflame: %s is damaged: %s\n", dir, s->missing[0].why);
	if (!t->shown.first)
		fprintf(stderr, "aflame: %s has no calls of a traced API, and no device's work\n",
		        dir);
	if (t->options->energy && !af_tables_find(&t->shown, "energy"))
		fprintf(stderr,
		        "aflame: %s has no readings of power or energy: record it with --telemetry "
		        "nvml, gpu, or rapl\n",
		        dir);
}

static int tally_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct tally_options *o = state;
	const char *dir = af_trace_dir(nr_words, words);
	struct tally t = {.options = o,
	                  .sums.by = {.group = tally_group(o->group),
	                              .apart = !strcmp(o->group, "device"),
	                              .energy = o->energy}};
	bool silent = false;

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one trace, not %s too", words[1]);
	if (o->json && o->csv)
		return af_fail_plain(err, -EINVAL, "either --json or --csv");
	int rc =
	    o->rank ? af_ranks_choose(&dir, &(struct af_ranks_query){.rank = o->rank}, err) : 0;
	if (!rc && af_together_idle(dir))
		return 0;
	if (!rc && o->follow && af_reduce_launched_rank())
		return 0;
	if (!rc && o->follow)
		rc = tally_while(&t, dir, err);
	rc = rc ? rc : tally_load(&t, dir, &silent, err);
	if (!rc && !silent) {
		tally_tables(&t);
		tally_warn(&t, dir);
		tally_print(o, &t.shown);
	}
	af_tables_free(&t.shown);
	tally_sums_free(&t.sums);
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
    AF_JOBS_OPTION(struct tally_options),
    {AF_OPT_CHOICE, "sort", 's', "BY", "the rows' order (time)",
     offsetof(struct tally_options, sort), "time|calls|mean|min|max|failed|bytes|name"},
    {AF_OPT_CHOICE, "group", 'g', "BY", "rows of their own for each host, rank, …",
     offsetof(struct tally_options, group), "none|host|rank|process|thread|device"},
    {AF_OPT_FLAG, "follow", 'f', NULL,
     "while the job runs: what was counted so far, again and again until it ends",
     offsetof(struct tally_options, follow)},
    {AF_OPT_TIME, "interval", 'i', "TIME", "with --follow: how often (2 s)",
     offsetof(struct tally_options, interval_ns)},
    {AF_OPT_FLAG, "energy", 'e', NULL,
     "joules of kernels and functions, too: of traces with --telemetry nvml, gpu or rapl",
     offsetof(struct tally_options, energy)},
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
	"name), the bytes that they moved, the work of devices, the memory that they allocated,\n"
	"and with --energy the joules. Of a folder of ranks, the calls of all ranks are added\n"
	"up. APIs that call each other have a table each, because the times of one contain those\n"
	"of the other.\n"
	"\n"
	"Calls that failed are counted; times are of those that worked. OpenCL calls that were\n"
	"not recorded themselves are counted by the work that they enqueued.",
    .examples = "aflame tally --sort calls\twhat is called most often\n"
		"aflame tally --group rank --percentiles\twhich rank waits, and how unevenly\n"
		"aflame tally --group process --json\tfor each process, for programs\n"
		"aflame tally --follow run1\tof a job that runs\n"
		"mpirun -n 8 aflame tally run1\tmany ranks, read by 8 processes",
    .options = tally_options,
    .state_size = sizeof(struct tally_options),
    .defaults = &tally_defaults,
    .run = tally_run,
};
