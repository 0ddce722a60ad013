#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/commands.h"
#include "cmd/picture.h"
#include "cmd/record.h"
#include "cmd/study.h"
#include "cmd/summary.h"

enum { RUN_ROWS = 10 };

static int run_report(const struct af_record_options *o, const struct af_results *r,
                      const char *title, struct af_err *err)
{
	struct af_picture picture = {.title = title};
	struct af_picture_job job = {
	    .format = af_format_for("html"),
	    .file = o->report,
	    .picture = &picture,
	    .results = r,
	    .dir = o->output,
	};

	return af_picture_write(&job, err);
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

/* The summary goes to standard error: standard output is the program's. */
static void run_summary(const struct af_results *r)
{
	struct af_buf b = {0};

	af_buf_char(&b, '\n');
	af_summary_text(&b, &r->facts, af_colour(stderr), RUN_ROWS, AF_SHOW_ALL_ELSEWHERE);
	fwrite(b.data, 1, b.len, stderr);
	af_buf_free(&b);
}

static int run_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct af_record_options *o = state;
	struct af_results r;
	char title[120];
	int status = af_record(o, nr_words, words, err);

	if (status < 0)
		return status;
	int rc = af_study(o->output, o->no_report ? &AF_ASKED_TABLES : &AF_ASKED_ALL, &r, err);
	if (!rc && !o->quiet)
		run_summary(&r);
	if (!rc && !o->no_report)
		rc = run_report(o, &r, run_title(nr_words, words, title, sizeof title), err);
	af_results_close(&r);
	if (rc)
		return rc;
	if (!o->no_report) {
		char full[PATH_MAX];
		fprintf(stderr, "\nThe report is %s\n",
		        realpath(o->report, full) ? full : o->report);
	}
	return status;
}

static const struct af_record_options run_defaults = {
    .output = "aflame.data",
    .sample = "auto",
    .rate = 99,
    .report = "report.html",
};

static const struct af_option run_options[] = {
    {AF_OPT_STRING, "report", 0, "FILE", "the report to write (report.html)",
     offsetof(struct af_record_options, report)},
    {AF_OPT_FLAG, "no-report", 0, NULL, "only the summary",
     offsetof(struct af_record_options, no_report)},
    AF_RECORD_OPTIONS(struct af_record_options),
    {AF_OPT_END},
};

const struct af_command af_command_run = {
    .name = "run",
    .usage = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .summary = "Run a program, print where its time went, write report.html",
    .details =
	"The same as `aflame record`, then a summary on standard error and the report: one file\n"
	"that opens in any browser, without a network.",
    .examples = "aflame run -- python3 train.py\tthe whole story",
    .flags = AF_CMD_STOP_AT_WORD,
    .options = run_options,
    .state_size = sizeof(struct af_record_options),
    .defaults = &run_defaults,
    .run = run_run,
};
