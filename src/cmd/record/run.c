/* aflame run: records a program, then prints the summary and writes report.html. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/output/browser.h"
#include "cmd/output/report_file.h"
#include "cmd/record/record.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/screen.h"

/*
 * Where the report goes: ranks of a job have one each. A file that was named is replaced, as by any
 * tool; under the name that nobody chose only a page of ours is.
 */
static int report_name(const struct af_record_options *o, const struct af_recorded *done,
                       char *file, size_t size, struct af_err *err)
{
	char stem[PATH_MAX - 64], dot[16] = "";
	int pattern = af_job_name(stem, sizeof stem, o->report ? o->report : AF_REPORT_DEFAULT,
	                          &done->job, err);

	if (pattern < 0)
		return pattern;
	char *end = strrchr(stem, '.');
	if (end && !strchr(end, '/') && strlen(end) < sizeof dot) {
		strcpy(dot, end);
		*end = 0;
	}
	size_t len = strlen(stem);
	if (done->job.is_rank && !pattern)
		snprintf(stem + len, sizeof stem - len, "-rank-%04llu",
		         strtoull(done->job.rank, NULL, 10));
	af_report_name(file, size, stem, dot, o->report, done->who);
	return 0;
}

/* The command as one would say it: "python3 train.py --steps 3". */
static const char *run_title(int nr_words, char **words, char *title, size_t size)
{
	const char *slash = strrchr(words[0], '/');
	size_t used = (size_t)snprintf(title, size, "%s", slash ? slash + 1 : words[0]);

	for (int i = 1; i < nr_words && used < size; i++)
		used += (size_t)snprintf(title + used, size - used, " %s", words[i]);
	return title;
}

/* Without a browser the program ran and was recorded all the same. */
static void run_show(const char *file)
{
	struct af_err err = {0};

	if (af_browser_open(file, &err))
		fprintf(stderr, "aflame run: %s\n", err.msg);
}

/* After the program: the trace, read again for the summary and the report. */
static int run_tell(const struct af_record_options *o, const struct af_recorded *done,
                    const char *title, struct af_err *err)
{
	bool summary = !o->quiet && !done->job.is_rank; /* many at once are no help */
	char file[PATH_MAX], full[PATH_MAX];
	struct af_results r;
	struct af_query query = o->no_report ? AF_QUERY_TABLES : AF_QUERY_ALL;

	if (summary)
		query.answers |= AF_ANSWER_STEADY;
	query.sources = o->sources;
	query.trace = af_record_shown(done->dir);
	int rc = af_load(done->dir, &query, &r, err);

	if (!rc && summary)
		af_screen_print(&r);
	if (!rc && !o->no_report)
		rc = report_name(o, done, file, sizeof file, err);
	if (!rc && !o->no_report)
		rc = af_report_write(done->dir, (struct af_output){file, o->report_public}, &r,
		                     title, err);
	af_results_close(&r);
	if (rc)
		return rc;
	if (done->job.is_rank)
		fprintf(stderr, "aflame: the trace of rank %s is %s\n", done->job.rank,
		        af_record_shown(done->dir));
	if (!o->no_report)
		fprintf(stderr, "The report is %s\n", realpath(file, full) ? full : file);
	if (!o->no_report && o->open_report)
		run_show(file);
	return 0;
}

static int run_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct af_record_options *o = state;
	struct af_recorded done = {.who = "run"};
	char title[120];

	if (o->tally_only)
		return af_fail_plain(
		    err, -EINVAL,
		    "a report needs more than --tally-only has: use `aflame record "
		    "--tally-only`, then `aflame tally`");
	int status = af_record(o, nr_words, words, &done, err);

	if (status < 0 || !done.dir[0])
		return status;
	if (done.unnamed) {
		fprintf(stderr, "aflame: the trace is %s: `aflame open %s` writes its report\n",
		        af_record_shown(done.dir), af_record_shown(done.dir));
		return status;
	}
	int rc = run_tell(o, &done, run_title(nr_words, words, title, sizeof title), err);
	if (rc)
		return nr_words ? af_record_failed(o, done.who, status, rc, err) : rc;
	return status;
}

static const struct af_option run_options[] = {
    {AF_OPT_STRING, "report", 0, "FILE", "the report to write (report.html)",
     offsetof(struct af_record_options, report)},
    {AF_OPT_FLAG, "no-report", 0, NULL, "only the summary",
     offsetof(struct af_record_options, no_report)},
    {AF_OPT_FLAG, "open", 0, NULL, "show the report in the browser",
     offsetof(struct af_record_options, open_report)},
    AF_PUBLIC_OPTION(struct af_record_options, report_public),
    AF_SOURCES_OPTION(struct af_record_options, 0),
    AF_RECORD_OPTIONS(struct af_record_options),
    {AF_OPT_END},
};

const struct af_command af_command_run = {
    .name = "run",
    .usage = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .summary = "Run a program, print where its time went, write report.html",
    .details =
	"The same as `aflame record`, then a summary on standard error and the report: one file\n"
	"that opens in any browser, without a network. A file that is not a report of aflame's\n"
	"is not replaced, unless it is named by --report. Ranks of a job have a report each.",
    .examples = "aflame run -- python3 train.py\tthe whole story\n"
		"aflame run --open -- ./app\tand the report in the browser",
    .flags = AF_CMD_STOP_AT_WORD | AF_CMD_KEEPS_RIGHTS,
    .options = run_options,
    .state_size = sizeof(struct af_record_options),
    .defaults = &af_record_defaults,
    .run = run_run,
};
