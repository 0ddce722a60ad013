/* aflame open: shows a trace's report, or a report that is there already, in the browser. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"
#include "cmd/output/browser.h"
#include "cmd/output/report_file.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"

struct open_options {
	const char *report, *sources;
	bool public;
};

/* Writes the report of the trace in @dir to @file, a name of @size bytes. */
static int open_write(const struct open_options *o, const char *dir, char *file, size_t size,
                      struct af_err *err)
{
	struct af_query query = AF_QUERY_ALL;
	struct af_results r;

	query.sources = o->sources;
	query.trace = dir;
	int rc = af_load(dir, &query, &r, err);
	if (!rc) {
		if (o->report)
			snprintf(file, size, "%s", o->report);
		else
			af_report_name(file, size, "report", ".html", false, "open");
		rc = af_report_write(dir, (struct af_output){file, o->public}, &r, NULL, err);
	}
	af_results_close(&r);
	if (!rc)
		fprintf(stderr, "The report is %s\n", file);
	return rc;
}

static int open_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct open_options *o = state;
	const char *what = af_trace_dir(nr_words, words);
	char file[PATH_MAX];
	struct stat st;

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one trace or one report, not %s too",
		                     words[nr_words - 1]);
	/* A folder is a trace. Reading reports what is missing. */
	if (stat(what, &st) || S_ISDIR(st.st_mode)) {
		int rc = open_write(o, what, file, sizeof file, err);
		if (rc)
			return rc;
		what = file;
	}
	return af_browser_open(what, err);
}

#define AT(field) offsetof(struct open_options, field)

static const struct af_option open_options[] = {
    {AF_OPT_STRING, "report", 0, "FILE", "the report to write (" AF_REPORT_DEFAULT ")", AT(report)},
    AF_PUBLIC_OPTION(struct open_options, public),
    AF_SOURCES_OPTION(struct open_options, 0),
    {AF_OPT_END},
};

const struct af_command af_command_open = {
    .name = "open",
    .usage = "[OPTIONS] [DIR|REPORT]",
    .summary = "Show a trace's report in the browser",
    .details =
	"Writes report.html of the trace DIR (aflame.data), then starts $BROWSER, or what\n"
	"xdg-open chooses. A report that is there already is only shown. A file that is not a\n"
	"report of aflame's is not replaced, unless it is named by --report.",
    .examples = "aflame open\tthe last recording\n"
		"aflame open report.html\ta report, as it is",
    .options = open_options,
    .state_size = sizeof(struct open_options),
    .run = open_run,
};
