#include "cmd/shared/annotate.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/annotate/annotate.h"
#include "analyse/table/group_by.h"
#include "base/err.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"
#include "render/text/annotate.h"
#include "render/text/tables.h"

enum { WIDTH_LEAST = 80, WIDTH_MOST = 300, ROWS_MOST = 20000, MATCHES_SHOWN = 20 };

uint32_t af_annotate_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width = 0;

	if (isatty(1) && !ioctl(1, TIOCGWINSZ, &size))
		width = size.ws_col;
	if (!width)
		width = columns ? strtol(columns, NULL, 10) : 0;
	if (!width)
		width = 120;
	return width < WIDTH_LEAST  ? WIDTH_LEAST
	       : width > WIDTH_MOST ? WIDTH_MOST
	                            : (uint32_t)width;
}

static void show_table(const struct af_table *t)
{
	struct af_buf b = {0};

	af_table_text(&b, t, MATCHES_SHOWN, af_colour(stderr), NULL);
	fwrite(b.data, 1, b.len, stderr);
	af_buf_free(&b);
}

/* Only the rows of least rank, for programs: people are shown what is around them. */
static void keep_ranks(struct af_table *t, uint64_t limit)
{
	int column = af_table_column(t, "rank");
	uint32_t nr = 0;

	for (uint32_t r = 0; column >= 0 && r < t->nr_rows; r++) {
		const struct af_cell *row = t->cells + (size_t)r * t->nr_columns;
		const struct af_cell *rank = &row[column];
		if (!rank->value || rank->value > limit)
			continue;
		memmove(t->cells + (size_t)nr++ * t->nr_columns, row, t->nr_columns * sizeof *row);
	}
	t->nr_rows = nr;
}

static void show_json(struct af_tables *f, uint64_t limit)
{
	const struct af_document document = {.report = "annotate"};
	struct af_buf b = {0};

	for (struct af_table *t = f->first; limit && t; t = t->next)
		if (!strcmp(t->name, "lines") || !strcmp(t->name, "insns"))
			keep_ranks(t, limit);
	af_tables_json(&b, &document, f, 0);
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
}

static void show_text(const struct af_tables *f, const struct af_annotate_shown *shown)
{
	const struct af_annotate_look look = {
	    .by_insn = shown->by_insn,
	    .limit = shown->limit < UINT32_MAX ? (uint32_t)shown->limit : 0,
	    .width = af_annotate_width(),
	    .colour = af_colour(stdout),
	};
	struct af_buf b = {0};

	af_annotate_text(&b, f->first, &look);
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
}

int af_annotate_none(const char *dir, bool time, struct af_err *err)
{
	if (time)
		return af_fail_plain(
		    err, -ENODATA,
		    "the trace %s has no samples of a device's instructions in that time", dir);
	return af_fail_plain(err, -ENODATA,
	                     "the trace %s has no samples of a device's instructions: "
	                     "record it with --gpu-samples",
	                     dir);
}

/* Why there is nothing to show. */
static int show_none(const char *dir, const struct af_annotate_shown *shown,
                     const struct af_tables *f, struct af_err *err)
{
	if (!f->first)
		return af_annotate_none(dir, shown->from_ns || shown->to_ns, err);
	bool none = f->first->note;
	f->first->note = NULL;
	show_table(f->first);
	if (none)
		return af_fail_plain(err, -ENOENT, "no kernel with samples is called \"%s\"",
		                     shown->kernel);
	return af_fail_plain(err, -EINVAL,
	                     "%u kernels are called \"%s\": name more of one, or its symbol",
	                     f->first->nr_rows, shown->kernel);
}

int af_annotate_show(const char *dir, const struct af_annotate_shown *shown, struct af_err *err)
{
	const struct af_query query = {
	    .answers = AF_ANSWER_ANNOTATE,
	    .kernel = shown->kernel,
	    .sources = shown->sources,
	    .context = UINT32_MAX,
	    .rows = ROWS_MOST,
	    .kernels = 1,
	    .from_ns = shown->from_ns,
	    .to_ns = shown->to_ns,
	};
	struct af_results r;

	if (shown->to_ns && shown->to_ns <= shown->from_ns)
		return af_fail_plain(err, -EINVAL, "--to is not after --from");
	int rc = af_load(dir, &query, &r, err);

	if (!rc && (!r.annotated.first || strcmp(r.annotated.first->name, "kernel") != 0))
		rc = show_none(dir, shown, &r.annotated, err);
	else if (!rc && shown->json)
		show_json(&r.annotated, shown->limit);
	else if (!rc)
		show_text(&r.annotated, shown);
	if (!rc)
		af_load_sampled("annotate", &r);
	af_results_close(&r);
	return rc;
}

struct annotate_options {
	const char *by, *sources, *rank;
	uint64_t from_ns, to_ns;
	bool json;
	uint64_t limit;
};

static const struct annotate_options annotate_defaults = {.by = "line", .limit = UINT64_MAX};

static bool is_directory(const char *word)
{
	struct stat st;

	return !stat(word, &st) && S_ISDIR(st.st_mode);
}

static int annotate_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct annotate_options *o = state;
	struct af_annotate_shown shown = {
	    .sources = o->sources,
	    .from_ns = o->from_ns,
	    .to_ns = o->to_ns,
	    .by_insn = !strcmp(o->by, "insn"),
	    .json = o->json,
	    .limit = o->limit != UINT64_MAX ? o->limit
	             : o->json              ? 0
	                                    : AF_ANNOTATE_LIMIT,
	};

	if (nr_words > 2)
		return af_fail_plain(err, -EINVAL, "one kernel and one trace, not %s too",
		                     words[2]);
	if (nr_words == 2 || (nr_words && !is_directory(words[0]))) {
		shown.kernel = words[0];
		words++;
		nr_words--;
	}
	const char *dir = af_trace_dir(nr_words, words);
	bool is_set;
	int rc = af_ranks_or_set(&dir, o->rank, &is_set, err);
	return rc ? rc : af_annotate_show(dir, &shown, err);
}

static const struct af_option annotate_options[] = {
    {AF_OPT_CHOICE, "by", 0, "BY", "lines of source, or instructions in their order (line)",
     offsetof(struct annotate_options, by), "line|insn"},
    {AF_OPT_U64, "limit", 'n', "N", "lines or instructions of most samples, 0 for all (20)",
     offsetof(struct annotate_options, limit)},
    {AF_OPT_TIME, "from", 0, "TIME",
     "only samples from this time on, counted from the start of the trace",
     offsetof(struct annotate_options, from_ns)},
    {AF_OPT_TIME, "to", 0, "TIME",
     "only samples until this time; windows that reach beyond are cut",
     offsetof(struct annotate_options, to_ns)},
    AF_SOURCES_OPTION(struct annotate_options, 's'),
    AF_RANK_OPTION(struct annotate_options),
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: the tables as JSON, all rows unless limited",
     offsetof(struct annotate_options, json)},
    {AF_OPT_END},
};

const struct af_command af_command_annotate = {
    .name = "annotate",
    .usage = "[OPTIONS] [KERNEL] [DIR]",
    .summary = "Show a kernel's source and instructions with their samples and stalls",
    .details =
	"KERNEL is a part of a kernel's name, mangled or demangled; without it, the kernel that\n"
	"took most time is shown. Source lines are in the order of their file, with their\n"
	"instructions beside or below them. The letters of a bar are stall reasons, explained\n"
	"above it; the lines below a stalled instruction show what it waits for. Record with\n"
	"--gpu-samples.",
    .examples = "aflame annotate\tthe kernel that took most time\n"
		"aflame annotate gemm --by insn --limit 0\tall of its instructions\n"
		"aflame annotate --json softmax other.data\tfor a script or an agent",
    .options = annotate_options,
    .state_size = sizeof(struct annotate_options),
    .defaults = &annotate_defaults,
    .run = annotate_run,
};
