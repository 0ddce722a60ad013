/* aflame export: a trace in the formats of other tools. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/output/atomic_write.h"
#include "cmd/output/picture.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/slices.h"
#include "cmd/shared/stacks.h"
#include "exchange/export/export.h"
#include "render/render.h"
#include "trace/read/reader.h"

struct export_options {
	struct af_output output;
	const char *format, *view, *weight, *depth, *rank;
	uint64_t from_ns, to_ns;
};

static const struct export_options export_defaults = {.output.file = "-"};

#define EXPORT_PROFILES "pprof|speedscope|firefox|callgrind|folded|perfetto|chrome|"

/* Trees, for af_atomic_write(). */
struct export_trees {
	const struct af_format *format;
	const struct af_tree *trees[AF_VIEWS]; /* with their labels, NULL: the next */
	const char *weight;
};

static int trees_write(int fd, void *arg, struct af_err *err)
{
	const struct export_trees *x = arg;
	const struct af_picture picture = {.weight = x->weight};
	struct af_render r = {.fd = fd, .picture = &picture};
	int rc = x->format->begin ? x->format->begin(&r, err) : 0;

	for (int v = 0; !rc && v < AF_VIEWS; v++) {
		if (!x->trees[v])
			continue;
		r.label = af_view_names[v];
		rc = x->format->tree(&r, x->trees[v], err);
	}
	int end = x->format->end ? x->format->end(&r, rc ? NULL : err) : 0;
	return rc ? rc : end;
}

/* Formats with room for one column of one tree, which is then what aflame flame shows. */
static bool export_is_of_one(const struct export_options *o)
{
	return !strcmp(o->format, "folded") || !strcmp(o->format, "firefox");
}

static int export_view(const struct export_options *o)
{
	for (int v = 0; o->view && v < AF_VIEWS; v++)
		if (!strcmp(o->view, af_view_names[v]))
			return v;
	return AF_VIEW_ALL;
}

static struct af_query export_query(const struct export_options *o)
{
	bool folded = export_is_of_one(o);
	struct af_query query = {
	    .answers = 1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU,
	    .weights = UINT32_MAX,
	    .group = folded ? AF_GROUP_NONE : AF_GROUP_TRACK,
	    /* In pprof's instructions and stalls are labels, not frames. */
	    .depth = af_query_depth(o->depth,
	                            strcmp(o->format, "pprof") ? AF_DEPTH_BEST : AF_DEPTH_STALL),
	    .locations = !folded,
	    .from_ns = o->from_ns,
	    .to_ns = o->to_ns,
	};

	if (folded || o->view)
		query.answers = 1u << export_view(o);
	return query;
}

static int export_trees(const struct export_options *o, const struct af_format *format,
                        const char *dir, struct af_err *err)
{
	struct af_query query = export_query(o);
	struct export_trees x = {.format = format, .weight = o->weight};
	struct af_results r;
	uint32_t has = 0;
	int rc = export_is_of_one(o)
	             ? af_load_view("export", dir, &query, export_view(o), &x.weight, &r, err)
	             : af_load(dir, &query, &r, err);

	for (int v = 0; !rc && v < AF_VIEWS; v++) {
		if (!(query.answers & 1u << v))
			continue;
		x.trees[v] = &r.trees[v];
		has |= r.has[v] & query.weights;
	}
	if (!rc && export_is_of_one(o))
		rc = af_load_has(dir, &r, export_view(o), o->weight, err);
	if (!rc)
		rc = af_atomic_write(&o->output, trees_write, &x, err);
	if (!rc && !has)
		fprintf(stderr, "aflame export: the trace %s has no such data%s\n", dir,
		        o->from_ns || o->to_ns
		            ? " in that time"
		            : af_load_hint(o->view && !strcmp(o->view, "gpu") ? AF_VIEW_GPU
		                                                              : AF_VIEW_ALL));
	if (!rc)
		af_load_sampled("export", &r);
	af_results_close(&r);
	return rc;
}

/* Whether @dir has sums of stacks, of no moment. */
static int export_summed(const char *dir, bool *summed, struct af_err *err)
{
	struct af_trace *t;
	struct af_event ev;
	int rc = af_trace_prepare(dir, err);

	if (!rc)
		rc = af_trace_open(&t, dir, 1ull << AF_KIND_SUMMED, err);
	if (rc)
		return rc;
	while (!*summed && af_trace_next(t, &ev))
		*summed = ev.kind == AF_KIND_SUMMED;
	af_trace_close(t);
	return 0;
}

static int export_folded(const struct export_options *o, const struct af_format *format,
                         const char *file, struct af_err *err)
{
	static const struct af_stacks_how how = {.who = "export"};
	struct export_trees x = {.format = format};
	struct af_stacks stacks;
	int rc = af_stacks_open(&stacks, file, &how, err);

	x.trees[AF_VIEW_ALL] = &stacks.tree;
	if (!rc)
		rc = af_atomic_write(&o->output, trees_write, &x, err);
	af_stacks_close(&stacks);
	return rc;
}

static int export_slices(const struct export_options *o, const struct af_format *format,
                         const char *dir, bool is_set, struct af_err *err)
{
	const struct af_query trees = {.weights = UINT32_MAX,
	                               .depth = AF_DEPTH_KERNEL,
	                               .locations = true,
	                               .from_ns = o->from_ns,
	                               .to_ns = o->to_ns};
	bool samples = strcmp(o->format, "chrome") != 0; /* it has no place for them */
	const struct af_slices_request request = {
	    .who = "export",
	    .to = o->output,
	    .format = format,
	    .query = {.process = UINT64_MAX,
	              .pid = UINT64_MAX,
	              .from_ns = o->from_ns,
	              .to_ns = o->to_ns,
	              .cuts = o->from_ns || o->to_ns,
	              .trees = samples ? &trees : NULL},
	};
	if (is_set)
		return af_slices_write_set(&request, dir, err);
	int rc = af_trace_prepare(dir, err);

	return rc ? rc : af_slices_write(&request, dir, err);
}

/* One of what the exchange writes, for af_atomic_write(). */
struct exporting {
	const struct af_export_format *format;
	struct af_export_request request;
	struct af_export_count count;
};

static int events_write(int fd, void *arg, struct af_err *err)
{
	struct exporting *x = arg;

	x->request.fd = fd;
	return x->format->write(&x->request, &x->count, err);
}

static void events_tell(const struct exporting *x)
{
	if (!x->count.written)
		fprintf(stderr, "aflame export: the trace %s has no %s%s\n", x->request.dir,
		        x->format->unit,
		        x->request.from_ns || x->request.to_ns ? " in that time" : "");
	if (x->count.left_out)
		fprintf(stderr, "aflame export: left out: %llu %s\n",
		        (unsigned long long)x->count.left_out, x->format->left_out);
}

static int export_events(const struct export_options *o, const char *dir, struct af_err *err)
{
	struct exporting x = {.format = af_export_formats,
	                      .request = {.dir = dir, .from_ns = o->from_ns, .to_ns = o->to_ns}};

	while (strcmp(x.format->name, o->format) != 0)
		x.format++;
	int rc = af_trace_prepare(dir, err);
	if (!rc)
		rc = af_atomic_write(&o->output, events_write, &x, err);
	if (!rc)
		events_tell(&x);
	return rc;
}

static const struct af_format *format_among(const struct af_format *const *formats,
                                            const char *name)
{
	while (*formats && strcmp((*formats)->name, name) != 0)
		formats++;
	return *formats;
}

static bool is_file(const char *name)
{
	struct stat st;

	return !strcmp(name, "-") || (!stat(name, &st) && !S_ISDIR(st.st_mode));
}

static void export_tell(const struct export_options *o, const char *dir)
{
	char what[PATH_MAX + 64];

	snprintf(what, sizeof what, "%s as %s", dir, o->format);
	af_output_tell(&o->output, "export", what);
}

static int export_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct export_options *o = state;
	const char *dir = af_trace_dir(nr_words, words);

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "export takes one trace directory, not %d",
		                     nr_words);
	if (!o->format)
		return af_fail_plain(
		    err, -EINVAL,
		    "name the format with --format: " EXPORT_PROFILES AF_EXPORT_NAMES);
	if (o->to_ns && o->to_ns <= o->from_ns)
		return af_fail_plain(err, -EINVAL, "--to is not after --from");
	const struct af_format *tree = format_among(af_profile_formats, o->format);
	const struct af_format *slices =
	    format_among(af_slices_formats, strcmp(o->format, "chrome") ? o->format : "json");
	bool is_set = false;
	int rc = af_output_refuse(&o->output, o->format, err);
	if (!rc && (!is_file(dir) || o->rank))
		rc = af_ranks_choose(&dir,
		                     &(struct af_ranks_query){
					 .rank = o->rank,
					 .all = tree ? !tree->slice : slices && slices->can_join,
					 .is_set = &is_set},
		                     err);
	if (rc)
		return rc;
	bool folded = is_file(dir);
	if (folded && !(tree && tree->tree))
		return af_fail_plain(err, -EINVAL, "%s needs a trace, and %s is none", o->format,
		                     dir);
	if (folded && (o->from_ns || o->to_ns))
		return af_fail_plain(err, -EINVAL,
		                     "folded text has no times: --from and --to are for traces");
	/* In order of time, unless there is none: what another profiler added up. */
	bool summed = false;
	rc = !folded && tree && tree->slice ? export_summed(dir, &summed, err) : 0;
	if (rc)
		return rc;
	if (tree && tree->slice && !summed)
		slices = tree;
	rc = folded   ? export_folded(o, tree, dir, err)
	     : slices ? export_slices(o, slices, dir, is_set, err)
	     : tree   ? export_trees(o, tree, dir, err)
	              : export_events(o, dir, err);
	if (!rc)
		export_tell(o, dir);
	return rc == -EPIPE ? 0 : rc; /* the reader has seen enough */
}

#define AT(field) offsetof(struct export_options, field)

static const struct af_option export_options[] = {
    {AF_OPT_CHOICE, "format", 0, "NAME", "format to write; there is no default", AT(format),
     EXPORT_PROFILES AF_EXPORT_NAMES},
    {AF_OPT_STRING, "output", 'o', "FILE", "write to FILE, - for standard output", AT(output.file)},
    AF_PUBLIC_OPTION(struct export_options, output.public),
    {AF_OPT_TIME, "from", 0, "TIME",
     "only events from this time on, counted from the start of the trace", AT(from_ns)},
    {AF_OPT_TIME, "to", 0, "TIME", "only events until this time; longer ones are cut", AT(to_ns)},
    AF_RANK_OPTION(struct export_options),
    {AF_OPT_GROUP, .help = "Of pprof, speedscope, callgrind and folded"},
    {AF_OPT_CHOICE, "view", 0, "NAME", "cpu, gpu or both in one tree (cpu and gpu)", AT(view),
     "cpu|gpu|all"},
    {AF_OPT_CHOICE, "weight", 'w', "NAME", "of folded: as of aflame flame (time)", AT(weight),
     AF_WEIGHT_WORDS},
    {AF_OPT_CHOICE, "depth", 0, "LEVEL", "how far into kernels: kernel, line, insn, stall",
     AT(depth), "kernel|line|insn|stall"},
    {AF_OPT_END},
};

const struct af_command af_command_export = {
    .name = "export",
    .usage = "[OPTIONS] [DIR|FILE.folded]",
    .summary = "Write a trace in a format of another tool",
    .details =
	"Profiles, with all weights of a trace, or of folded text: pprof for go tool pprof,\n"
	"Pyroscope and others; speedscope; callgrind for KCachegrind; firefox for\n"
	"profiler.firefox.com; folded for flame graphs, as aflame flame writes it. Timelines:\n"
	"perfetto and chrome, as aflame timeline writes them. docs/export.md lists what\n"
	"each can hold.\n"
	"\n"
	"gpuperf-cpu is gpuperf's extended folded text, a line a CPU sample, one a launch of a\n"
	"CUDA kernel: timestamp comm pid tid cpu stack. gpuperf-gpu is its GPU trace, JSON in\n"
	"Trace Event Format. gpuperf-folded is its merge of both: stack;[GPU_Kernel]name and\n"
	"microseconds, but with each kernel under the stack of the call that launched it. aflame\n"
	"import reads the first two.\n"
	"\n"
	"iaprof is the profile format of Intel's iaprof, here with any device's instruction\n"
	"samples: text that its flame command and aflame import read, without CPU samples.\n"
	"iaprof-folded is the output of that command, for flamegraph.pl --colors=gpu.",
    .examples =
	"aflame export --format pprof -o run.pb.gz\tthen go tool pprof -http=: run.pb.gz\n"
	"aflame export --format speedscope -o run.speedscope.json run1\tfor speedscope.app\n"
	"aflame export --format firefox -o run.json\tfor profiler.firefox.com\n"
	"aflame export --format perfetto --from 12.3s --to 12.5s -o part.pftrace\tof a time\n"
	"aflame export --format pprof -o perf.pb.gz perf.folded\tof folded text\n"
	"aflame export --format iaprof-folded run1 | flamegraph.pl --colors=gpu\n",
    .options = export_options,
    .state_size = sizeof(struct export_options),
    .defaults = &export_defaults,
    .run = export_run,
};
