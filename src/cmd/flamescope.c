/* aflame flamescope: when it was busy, as a heat map, and what was done then. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analyse/time/heat.h"
#include "base/err.h"
#include "cmd/output/atomic_write.h"
#include "cmd/output/picture.h"
#include "cmd/output/progress.h"
#include "cmd/ranks/scope_set.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"
#include "render/heat/heat.h"
#include "render/text/tables.h"

enum { FILES_MOST = 1000, INTERVAL_ROWS = 0 };

struct scope_options {
	struct af_output output;
	const char *view, *title, *rank, *sources;
	uint64_t from_ns, to_ns, period_ns, interval_ns, tid, device;
	bool map, json;
};

static const struct scope_options scope_defaults = {.output.file = "-"};

/* The query, for the requested time range. */
struct scope {
	const struct scope_options *o;
	const char *dir;
	bool is_set;
	struct af_heat heat;
	struct af_results results;
};

static struct af_query scope_query(const struct scope *s)
{
	return (struct af_query){
	    .from_ns = s->o->from_ns,
	    .to_ns = s->o->to_ns,
	    .tid = (uint32_t)s->o->tid,
	    .device = (uint32_t)s->o->device,
	};
}

static int scope_read(struct scope *s, struct af_err *err)
{
	struct af_query query = scope_query(s);
	const struct af_pass_ops *const passes[] = {af_heat_pass(&s->heat, &query), NULL};

	query.own = &s->heat;
	if (s->is_set)
		return af_scope_set_read(s->dir, &query, &s->heat, &s->results, err);
	struct af_progress progress = af_progress_begin("reading the trace");
	int rc = af_analyse(s->dir, passes, &query, &s->results, af_progress_tell, &progress, err);
	af_progress_end(&progress);
	if (!rc && s->results.damage[0])
		fprintf(stderr, "aflame: %s is damaged: %s\n", s->dir, s->results.damage);
	return rc;
}

/* CPU samples unless there are none, or devices are asked for. */
static int scope_load(struct scope *s, struct af_err *err)
{
	const struct scope_options *o = s->o;

	s->heat = (struct af_heat){
	    .gpu = o->view ? !strcmp(o->view, "gpu") : o->device != 0,
	    .period_ns = o->period_ns,
	    .interval_ns = o->interval_ns,
	};
	int rc = scope_read(s, err);
	if (!rc && !o->view && !s->heat.gpu && !s->heat.has_cpu && s->heat.has_gpu) {
		af_results_close(&s->results);
		s->heat.gpu = true;
		rc = scope_read(s, err);
	}
	if (rc || (s->heat.gpu ? s->heat.has_gpu : s->heat.has_cpu))
		return rc;
	return af_fail_plain(err, -ENODATA, "the trace %s has no data for --view %s%s", s->dir,
	                     s->heat.gpu ? "gpu" : "cpu",
	                     o->from_ns || o->to_ns || o->tid || o->device
	                         ? " of what is asked for"
	                         : af_load_hint(s->heat.gpu ? AF_VIEW_GPU : AF_VIEW_CPU));
}

/* The map, or the intervals. */

static void scope_text(struct scope *s, struct af_buf *b)
{
	const struct af_document document = {.report = "flamescope"};
	const struct af_table *intervals = af_tables_find(&s->results.tables, "intervals");

	if (s->o->json)
		af_tables_json(b, &document, &s->results.tables, 0);
	else if (intervals)
		af_table_text(b, intervals, INTERVAL_ROWS, af_colour(stdout), NULL);
	else
		af_heat_text(b, &s->results.tables, af_annotate_width(), af_colour(stdout));
}

static int scope_write(int fd, void *arg, struct af_err *err)
{
	struct scope *s = arg;
	struct af_buf b = {0};
	size_t len = strlen(s->o->output.file);
	bool svg = len > 4 && !strcmp(s->o->output.file + len - 4, ".svg");

	if (svg)
		af_heat_svg(&b, &s->results.tables, s->o->title ? s->o->title : "Heat map");
	else
		scope_text(s, &b);
	int rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc ? af_fail(err, rc, "cannot write the heat map") : 0;
}

static int scope_map(struct scope *s, struct af_err *err)
{
	const char *dot = strrchr(s->o->output.file, '.');
	bool known = !strcmp(s->o->output.file, "-") ||
	             (dot && (!strcmp(dot, ".svg") || !strcmp(dot, s->o->json ? ".json" : ".txt")));

	if (!known)
		return af_fail_plain(err, -EINVAL,
		                     "a heat map goes to .svg, .txt or, with --json, .json: %s is "
		                     "for the flame graph of a time, see --from and --to",
		                     s->o->output.file);
	int rc = scope_load(s, err);
	if (!rc)
		rc = af_atomic_write(&s->o->output, scope_write, s, err);
	af_results_close(&s->results);
	return rc;
}

/* Flame graphs. */

static int scope_draw(struct scope *s, const struct af_format *format, const char *file,
                      const struct af_query *when, struct af_err *err)
{
	int view = s->heat.gpu ? AF_VIEW_GPU : AF_VIEW_CPU;
	struct af_query query = format->tables ? AF_QUERY_ALL : (struct af_query){0};
	struct af_picture picture = {.title = s->o->title};

	query.from_ns = when->from_ns;
	query.to_ns = when->to_ns;
	query.tid = when->tid;
	query.device = when->device;
	query.sources = s->o->sources;
	if (!format->tables)
		query.answers = 1u << view;
	int rc = format->tables ? af_load(s->dir, &query, &s->results, err)
	                        : af_load_view("flamescope", s->dir, &query, view, &picture.weight,
	                                       &s->results, err);
	struct af_picture_request request = {
	    .format = format,
	    .to = {file, s->o->output.public},
	    .picture = &picture,
	    .results = &s->results,
	    .tree = format->tables ? NULL : &s->results.trees[view],
	    .label = af_view_names[view],
	    .dir = s->dir,
	};
	if (!rc)
		rc = af_picture_write(&request, err);
	af_results_close(&s->results);
	return rc;
}

static int scope_format(const struct scope *s, const struct af_format **format, struct af_err *err)
{
	const char *file = s->o->output.file;

	*format = af_format_for(strcmp(file, "-") ? file : "folded");
	return *format ? 0
	               : af_fail_plain(err, -EINVAL,
	                               "a flame graph goes to .svg, .html, .folded or .txt, not %s",
	                               file);
}

/* "flame.svg" of the third of 500 ms is "flame.1000ms.svg": names sort as the times do. */
static void interval_file(char *file, size_t size, const char *output, uint64_t from_ns,
                          uint64_t last_ns)
{
	const char *dot = strrchr(output, '.');
	int digits = snprintf(NULL, 0, "%llu", (unsigned long long)(last_ns / 1000000));

	snprintf(file, size, "%.*s.%0*llums%s", (int)(dot - output), output, digits,
	         (unsigned long long)(from_ns / 1000000), dot);
}

static int scope_files(struct scope *s, const struct af_format *format, struct af_err *err)
{
	int rc = scope_load(s, err);
	const struct af_table *t = rc ? NULL : af_tables_find(&s->results.tables, "heat_about");
	const struct af_heat_about_row *about = AF_ROW_AT(struct af_heat_about_row, t, 0);
	uint64_t from_ns = about ? about->from_ns.value : 0;
	uint64_t to_ns = about ? about->to_ns.value : 0, each_ns = s->o->interval_ns;
	uint64_t nr = (to_ns - from_ns + each_ns - 1) / each_ns;
	char file[4096];

	af_results_close(&s->results);
	if (!rc && nr > FILES_MOST)
		rc = af_fail_plain(err, -EINVAL,
		                   "that would be %llu files: choose a longer --interval, or a "
		                   "shorter time by --from and --to",
		                   (unsigned long long)nr);
	for (uint64_t i = 0; !rc && i < nr; i++) {
		struct af_query when = scope_query(s);
		when.from_ns = from_ns + i * each_ns;
		when.to_ns = i + 1 < nr || s->o->to_ns ? when.from_ns + each_ns : 0;
		if (s->o->to_ns && when.to_ns > s->o->to_ns)
			when.to_ns = s->o->to_ns;
		interval_file(file, sizeof file, s->o->output.file, when.from_ns, to_ns);
		rc = scope_draw(s, format, file, &when, err);
		if (!rc)
			printf("%s\n", file);
	}
	return rc;
}

static int scope_flame(struct scope *s, struct af_err *err)
{
	const struct af_format *format;
	struct af_query when = scope_query(s);
	int rc = scope_format(s, &format, err);

	if (rc || s->o->interval_ns)
		return rc ? rc : scope_files(s, format, err);
	rc = scope_load(s, err);
	af_results_close(&s->results);
	return rc ? rc : scope_draw(s, format, s->o->output.file, &when, err);
}

static int scope_check(const struct scope_options *o, int nr_words, struct af_err *err)
{
	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "flamescope takes one trace, not %d", nr_words);
	if (o->to_ns && o->to_ns <= o->from_ns)
		return af_fail_plain(err, -EINVAL, "--to is not after --from");
	if (o->period_ns && (o->period_ns < 1000 || o->period_ns % AF_HEAT_ROWS))
		return af_fail_plain(err, -EINVAL, "--period takes 1us and more, as 1s or 100ms");
	if (o->interval_ns && o->interval_ns < 1000000)
		return af_fail_plain(err, -EINVAL, "--interval takes 1ms and more");
	if (o->tid > UINT32_MAX || o->device > UINT32_MAX)
		return af_fail_plain(err, -EINVAL, "no thread or device has that number");
	if (o->device && o->view && !strcmp(o->view, "cpu"))
		return af_fail_plain(err, -EINVAL, "--device is for --view gpu");
	return 0;
}

static int scope_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct scope_options *o = state;
	struct scope s = {.o = o, .dir = af_trace_dir(nr_words, words)};
	bool to_file = strcmp(o->output.file, "-") != 0, timed = o->from_ns || o->to_ns;
	int rc = scope_check(o, nr_words, err);

	if (!rc)
		rc = af_ranks_or_set(&s.dir, o->rank, &s.is_set, err);
	if (!rc && !s.is_set)
		rc = af_trace_prepare(s.dir, err);
	if (rc)
		return rc;
	if (o->interval_ns && !to_file)
		return scope_map(&s, err);
	return (timed || o->interval_ns) && !o->map && !o->json ? scope_flame(&s, err)
	                                                        : scope_map(&s, err);
}

#define AT(field) offsetof(struct scope_options, field)

static const struct af_option scope_options[] = {
    {AF_OPT_STRING, "output", 'o', "FILE", "file to write, - for standard output (-)",
     AT(output.file)},
    AF_PUBLIC_OPTION(struct scope_options, output.public),
    {AF_OPT_CHOICE, "view", 0, "VIEW", "cpu: samples of threads; gpu: what devices did (cpu)",
     AT(view), "cpu|gpu"},
    {AF_OPT_U64, "thread", 0, "TID", "only this thread, and the work it launched", AT(tid)},
    {AF_OPT_U64, "device", 0, "N", "only this device, numbered as in a timeline", AT(device)},
    {AF_OPT_STRING, "title", 0, "TEXT", "above the picture", AT(title)},
    AF_RANK_OPTION(struct scope_options),
    AF_SOURCES_OPTION(struct scope_options, 0),
    {AF_OPT_GROUP, .help = "The map"},
    {AF_OPT_TIME, "period", 0, "TIME", "length of a column (1s, or less if the trace is short)",
     AT(period_ns)},
    {AF_OPT_FLAG, "map", 0, NULL,
     "with --from and --to, the map of that time instead of its flame graph", AT(map)},
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: the map, its periods, and intervals", AT(json)},
    {AF_OPT_GROUP, .help = "A time"},
    {AF_OPT_TIME, "from", 0, "TIME", "the flame graph from this time after the trace began",
     AT(from_ns)},
    {AF_OPT_TIME, "to", 0, "TIME", "up to this one; what reaches beyond is cut", AT(to_ns)},
    {AF_OPT_TIME, "interval", 0, "TIME", "a series: a line or, with -o, a file for each",
     AT(interval_ns)},
    {AF_OPT_END},
};

const struct af_command af_command_flamescope = {
    .name = "flamescope",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Show in a heat map when it was busy, and what ran at a time",
    .details =
	"Each column of the map is a second, or less if the trace is short. Time goes up in a\n"
	"column and continues in the next one. Darker cells have more samples, or more device\n"
	"time. Events at the same point of each column form a line; other periods are reported\n"
	"below the map.\n"
	"\n"
	"With --from and --to it prints the flame graph of that time as folded stacks, or writes\n"
	"it in the format that the name of the file shows (.svg, .html, .folded, .txt). With\n"
	"--interval it prints a line for each interval with the function that took most of it, or\n"
	"with -o writes a file for each (flame.1500ms.svg) and prints their names. DIR is\n"
	"aflame.data unless given.\n"
	"\n"
	"A folder of ranks is one map, of all ranks together on the clock of the first rank's\n"
	"host; times are since the first trace began. `aflame report ranks --heat` has a row for\n"
	"each rank.",
    .examples =
	"aflame flamescope\twhen threads were on a CPU\n"
	"aflame flamescope --view gpu -o map.svg\twhen devices were busy, as a picture\n"
	"aflame flamescope --from 12.3s --to 12.5s -o flame.svg\twhat was done in these 200 ms\n"
	"aflame flamescope --interval 500ms\teach half second, and what took most of it\n",
    .options = scope_options,
    .state_size = sizeof(struct scope_options),
    .defaults = &scope_defaults,
    .run = scope_run,
};
