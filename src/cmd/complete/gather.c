/* aflame gather: brings the traces of a set to their place that recorders left on this host. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/table/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/options/command.h"
#include "cmd/output/progress.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/summary.h"
#include "collect/stage/gather.h"
#include "collect/stage/members.h"
#include "render/text/tables.h"
#include "trace/read/files.h"

struct gather_options {
	const char *stage;
	bool json;
};

#define GATHER_COLUMNS(C)                                                                          \
	C(trace, "Trace", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                    \
	C(state, "State", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                    \
	C(host, "Host", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                      \
	C(stage, "Staging directory", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                        \
	C(bytes, "Copied", AF_CELL_BYTES, .show = AF_SHOW_ALWAYS)                                  \
	C(note, "Note", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)
struct gather_row {
	GATHER_COLUMNS(AF_ROW_CELL)
};

enum { NR_STATES = AF_GATHER_FAILED + 1 };

static const char *const states[NR_STATES] = {
    [AF_GATHER_HERE] = "here",
    [AF_GATHER_MOVED] = "moved",
    [AF_GATHER_ELSEWHERE] = "on another host",
    [AF_GATHER_RECORDED] = "still being recorded",
    [AF_GATHER_GONE] = "lost",
    [AF_GATHER_FAILED] = "not moved",
};

struct gathering {
	const struct gather_options *o;
	struct af_tables f;
	struct af_table *t;
	uint32_t nr[NR_STATES];
	uint64_t bytes;
	char first_why[512]; /* of what failed */
};

static void gather_add(struct gathering *g, const char *trace, const struct af_gathered *one,
                       const struct af_err *why)
{
	g->nr[one->state]++;
	g->bytes += one->bytes;
	if (one->state == AF_GATHER_FAILED && !g->first_why[0])
		snprintf(g->first_why, sizeof g->first_why, "%s", why->msg);
	if (one->state == AF_GATHER_HERE && !g->o->json)
		return;
	struct gather_row *row = af_table_row(&g->f, g->t);
	row->trace.text = af_tables_text(&g->f, "%s", trace);
	row->state.text = states[one->state];
	row->host.text = af_tables_text(&g->f, "%s", one->staged.host);
	row->stage.text = af_tables_text(&g->f, "%s", one->staged.path);
	row->bytes.value = one->bytes;
	row->note.text = one->state == AF_GATHER_FAILED ? af_tables_text(&g->f, "%s", why->msg)
	                 : one->state == AF_GATHER_GONE ? "its staging directory is gone"
	                                                : "";
}

static void gather_stage(void *arg, const char *place, const struct af_gathered *one,
                         const struct af_err *why)
{
	gather_add(arg, place, one, why);
}

static void gather_members(struct gathering *g, const struct af_members *m, const char *dir)
{
	struct af_progress progress = af_progress_begin("gathering traces");

	for (uint32_t i = 0; i < m->nr; i++) {
		char shown[PATH_MAX];
		struct af_gathered one = {0};
		struct af_err why = {0};
		scope_close int fd = af_trace_folder(m->fd, m->names[i]);
		snprintf(shown, sizeof shown, "%s%s%s", dir, m->single ? "" : "/",
		         m->single ? "" : m->names[i]);
		if (fd >= 0)
			af_gather(&one, fd, shown, &why);
		gather_add(g, shown, &one, &why);
		af_progress_tell(&progress, i + 1, m->nr);
	}
	af_progress_end(&progress);
}

static void gather_print(const struct gathering *g)
{
	struct af_buf b = {0};

	if (g->o->json) {
		af_tables_json(&b, &(struct af_document){.report = "gather"}, &g->f, 0);
	} else {
		if (g->t->nr_rows)
			af_table_text(&b, g->t, 0, af_colour(stdout), NULL);
		for (int i = 0, nr = 0; i < NR_STATES; i++)
			if (g->nr[i])
				af_buf_fmt(&b, "%s%u %s", nr++ ? ", " : "", g->nr[i], states[i]);
		af_buf_char(&b, '\n');
	}
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
	if (g->nr[AF_GATHER_ELSEWHERE])
		fprintf(stderr,
		        "aflame gather: %u traces are on other hosts: run it there (srun aflame "
		        "gather …)\n",
		        g->nr[AF_GATHER_ELSEWHERE]);
}

static int gather_result(const struct gathering *g, struct af_err *err)
{
	uint32_t failed = g->nr[AF_GATHER_FAILED], gone = g->nr[AF_GATHER_GONE];

	if (failed)
		return af_fail_plain(err, -EIO, "%u traces could not be moved: %s", failed,
		                     g->first_why);
	if (gone)
		return af_fail_plain(err, -ENOENT,
		                     "%u traces are lost: their staging directories on this host "
		                     "are gone",
		                     gone);
	return 0;
}

static int gather_run(void *state, int nr_words, char **words, struct af_err *err)
{
	static const struct af_column columns[] = {GATHER_COLUMNS(AF_ROW_COLUMN)};
	const struct gather_options *o = state;
	const char *dir = af_trace_dir(nr_words, words);
	struct gathering g = {.o = o};
	struct af_members m;

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one set, not %s too", words[nr_words - 1]);
	int rc = af_members_open(&m, dir, err);
	if (rc && !o->stage)
		return rc;
	g.t = AF_TABLE(&g.f, "gather", af_tables_text(&g.f, "Staged traces of %s", dir), columns);
	gather_members(&g, &m, dir);
	af_members_close(&m);
	rc =
	    o->stage ? af_gather_stages(o->stage, nr_words ? dir : NULL, gather_stage, &g, err) : 0;
	if (rc >= 0) {
		gather_print(&g);
		rc = gather_result(&g, err);
	}
	af_tables_free(&g.f);
	return rc;
}

static const struct af_option gather_options[] = {
    {AF_OPT_STRING, "stage", 0, "DIR",
     "also look through DIR, the --stage of recorders, for traces of the set whose place is gone, "
     "and remove what was moved before",
     offsetof(struct gather_options, stage)},
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: all traces as JSON",
     offsetof(struct gather_options, json)},
    {AF_OPT_END},
};

const struct af_command af_command_gather = {
    .name = "gather",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Bring staged traces of a job to their place",
    .details =
	"`aflame record --stage` records into a directory of its host and moves the trace to\n"
	"its place at the end. Where the recorder was killed, or the place was full, the trace\n"
	"stays on that host. gather, run there, completes such traces of the set DIR\n"
	"(aflame.data) and moves them. Many may run at once, on one host or on all: each trace\n"
	"is moved once. A trace whose program still runs stays.",
    .examples = "srun --ntasks-per-node=1 aflame gather run1\ton all hosts of a job\n"
		"aflame gather run1 --stage /local/scratch\talso what the set does not know",
    .options = gather_options,
    .state_size = sizeof(struct gather_options),
    .run = gather_run,
};
