/* aflame timeline: a trace as slices on tracks, for viewers of timelines. */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/options/nearest.h"
#include "cmd/plugin/plugins.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/slices.h"

struct timeline_options {
	struct af_output output;
	const char *format, *rank;
	struct af_strings parts, plugins;
	struct af_timeline_query query;
};

static const struct timeline_options timeline_defaults = {
    .output.file = "-",
    .query = {.process = UINT64_MAX, .pid = UINT64_MAX},
};

/* The format is what the file's name says; standard output is JSON. */
static int timeline_format(const struct timeline_options *o, const struct af_format **format,
                           bool *gzip, struct af_err *err)
{
	bool named;
	const char *file = strcmp(o->output.file, "-") ? o->output.file : "json";

	*gzip = false;
	*format = af_slices_format_for(file, gzip);
	if (o->format)
		*format = af_slices_format_for(o->format, &named);
	if (*format)
		return 0;
	return af_fail_plain(err, -EINVAL,
	                     "no format for %s: name a file that ends in .json, .perfetto-trace, "
	                     ".pftrace or .pb, or any of these and .gz, or give --format",
	                     o->format ? o->format : o->output.file);
}

static int part_named(const char *word, uint32_t *parts, struct af_err *err)
{
#define PART(NAME, word) word,
	static const char *const words[] = {AF_TIMELINE_PARTS(PART)};
#undef PART
	struct af_nearest near;

	af_nearest_init(&near, word);
	for (int part = 0; part < AF_TIMELINE_END; part++) {
		if (!strcmp(words[part], word)) {
			*parts |= 1u << part;
			return 0;
		}
		af_nearest_offer(&near, words[part]);
	}
	const char *best = af_nearest_best(&near);
	return af_fail_plain(err, -EINVAL,
	                     "unknown part of a timeline: %s%s%s; see `aflame timeline --help`",
	                     word, best ? ": did you mean " : "", best ? best : "");
}

static int timeline_parts(struct timeline_options *o, struct af_err *err)
{
	for (uint32_t i = 0; i < o->parts.nr; i++) {
		scope_free char *list = af_xstrdup(o->parts.items[i]);
		for (char *rest = list, *word; (word = strsep(&rest, ","));) {
			int rc = part_named(word, &o->query.parts, err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Slices of plug-ins stand beside all of one trace, and only one format takes those of several. */
static int plugins_check(const struct timeline_options *o, const struct af_slices_request *request,
                         const char *dir, bool is_set, struct af_err *err)
{
	const char *other = o->query.min_ns                  ? "--min"
	                    : o->query.limit                 ? "--limit"
	                    : o->query.process != UINT64_MAX ? "--process"
	                    : o->query.pid != UINT64_MAX     ? "--pid"
	                                                     : NULL;

	if (is_set)
		return af_fail_plain(err, -EINVAL,
		                     "slices of plug-ins are of one trace, and %s is a folder of "
		                     "ranks: choose one with --rank",
		                     dir);
	if (!request->format->can_join)
		return af_fail_plain(err, -EINVAL,
		                     "slices of plug-ins beside those of the trace need Perfetto's "
		                     "format: -o NAME.perfetto-trace");
	if (other)
		return af_fail_plain(err, -EINVAL,
		                     "%s does not go with --plugin: it cannot choose a plug-in's "
		                     "slices",
		                     other);
	return 0;
}

/* The slices of the trace, and behind them those of plug-ins. */
static int timeline_write(const struct timeline_options *o, struct af_slices_request *request,
                          const char *dir, struct af_err *err)
{
	const struct af_plugins_options to = {.paths = o->plugins,
	                                      .dir = dir,
	                                      .memory = AF_PLUGIN_MEMORY,
	                                      .call_ns = AF_PLUGIN_NS,
	                                      .from_ns = o->query.from_ns,
	                                      .to_ns = o->query.to_ns};
	struct plugins *plugins = NULL;
	int rc = 0;

	if (o->plugins.nr)
		rc = af_plugins_slices_run(&plugins, &to, request->format, request->gzip, err);
	if (plugins)
		request->more = af_plugins_slices_append;
	request->arg = plugins;
	if (!rc)
		rc = af_slices_write(request, dir, err);
	af_plugins_slices_free(plugins);
	return rc;
}

static int timeline_run(void *state, int nr_words, char **words, struct af_err *err)
{
	struct timeline_options *o = state;
	const char *dir = af_trace_dir(nr_words, words);
	struct af_slices_request request = {.who = "timeline", .to = o->output};

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "timeline takes one trace directory, not %d",
		                     nr_words);
	if (o->query.to_ns && o->query.to_ns <= o->query.from_ns)
		return af_fail_plain(err, -EINVAL, "--to is not after --from");
	int rc = timeline_format(o, &request.format, &request.gzip, err);
	if (!rc)
		rc = af_output_refuse(&o->output, request.format->name, err);
	if (!rc)
		rc = timeline_parts(o, err);
	bool is_set = false;
	if (!rc)
		rc = af_ranks_or_set(&dir, o->rank, &is_set, err);
	if (!rc && !is_set)
		rc = af_trace_prepare(dir, err);
	request.query = o->query;
	if (!rc && is_set && (o->query.process != UINT64_MAX || o->query.pid != UINT64_MAX))
		rc = af_fail_plain(err, -EINVAL,
		                   "--process and --pid are of one trace: choose it with --rank");
	if (!rc && o->plugins.nr)
		rc = plugins_check(o, &request, dir, is_set, err);
	if (!rc)
		rc = is_set ? af_slices_write_set(&request, dir, err)
		            : timeline_write(o, &request, dir, err);
	if (!rc)
		af_output_tell(&o->output, "timeline", "open it in ui.perfetto.dev");
	return rc;
}

#define AT(field) offsetof(struct timeline_options, field)
#define PART_WORD(NAME, word) word "|"

static const struct af_option timeline_options[] = {
    {AF_OPT_STRING, "output", 'o', "FILE", "file to write, - for standard output (-)",
     AT(output.file)},
    AF_PUBLIC_OPTION(struct timeline_options, output.public),
    {AF_OPT_STRING, "format", 0, "NAME", "json or perfetto, if the name of FILE does not show it",
     AT(format), "json|perfetto"},
    AF_RANK_OPTION(struct timeline_options),
    {AF_OPT_GROUP, .help = "What is in it"},
    {AF_OPT_LIST, "show", 0, "LIST", "only these parts, separated by commas, see above (all)",
     AT(parts), AF_TIMELINE_PARTS(PART_WORD)},
    {AF_OPT_TIME, "from", 0, "TIME", "from this time after the start of the trace",
     AT(query.from_ns)},
    {AF_OPT_TIME, "to", 0, "TIME", "up to this time after the start of the trace", AT(query.to_ns)},
    {AF_OPT_TIME, "min", 0, "TIME", "leave shorter slices out", AT(query.min_ns)},
    {AF_OPT_U64, "process", 0, "N", "only of the process that `aflame print` shows as pN",
     AT(query.process)},
    {AF_OPT_U64, "pid", 'p', "PID", "only of this process id", AT(query.pid)},
    {AF_OPT_U64, "limit", 'n', "N", "at most N slices", AT(query.limit)},
    {AF_OPT_LIST, "plugin", 0, "FILE",
     "also the slices that the shared object FILE gives (docs/plugins.md); may be given again",
     AT(plugins)},
    {AF_OPT_END},
};

const struct af_command af_command_timeline = {
    .name = "timeline",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Write a trace as a timeline, for ui.perfetto.dev or chrome://tracing",
    .details =
	"The name of the output decides the format: .json is Chrome's trace events, and\n"
	".perfetto-trace, .pftrace or .pb is Perfetto's own, which is smaller and opens\n"
	"faster; with .gz behind it is compressed. Without a name, JSON goes to standard\n"
	"output. DIR is aflame.data unless given.\n"
	"\n"
	"Parts: calls of device APIs by thread; work of devices by queue or stream, with an\n"
	"arrow from the call that launched it; ranges and marks of NVTX, and regions; run,\n"
	"where samples found a thread on the CPU; waits, where it was off the CPU and why;\n"
	"device memory in use; counters of devices and of the host, of amounts their rates;\n"
	"overhead of tracing as the driver reports it; lost, what was dropped and when.\n"
	"\n"
	"Slices that overlap and do not lie within one another stand on tracks side by side.\n"
	"What could not be shown is reported on standard error and in the file.\n"
	"\n"
	"A folder of ranks is one timeline in Perfetto's format, with the tracks of all ranks\n"
	"and times of the first rank's host: messages of MPI tell how far the clocks of the\n"
	"other hosts are from it (aflame report clocks).",
    .examples =
	"aflame timeline -o run.perfetto-trace\tto be opened in ui.perfetto.dev\n"
	"aflame timeline -o run.json.gz --show calls,work --from 2s --to 2.5s\thalf a second of "
	"calls and device work\n"
	"aflame timeline | jq '.otherData'\twhat the trace holds, and what is missing\n",
    .options = timeline_options,
    .state_size = sizeof(struct timeline_options),
    .defaults = &timeline_defaults,
    .run = timeline_run,
};
