/* aflame export: a trace in the formats of other tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd/commands.h"
#include "cmd/names.h"
#include "cmd/partial.h"
#include "exchange/export.h"

struct export_options {
	const char *format, *output;
};

static const struct export_options export_defaults = {.output = "-"};

static const struct af_export_format *export_format(const char *name)
{
	const struct af_export_format *f = af_export_formats;

	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f;
}

static void export_tell(const struct af_export_format *f, const struct af_export_count *c,
                        const char *dir)
{
	if (!c->written)
		fprintf(stderr, "aflame export: the trace %s has no %s\n", dir, f->unit);
	if (c->left_out)
		fprintf(stderr, "aflame export: left out: %llu %s\n",
		        (unsigned long long)c->left_out, f->left_out);
}

/* One export, for af_partial_write(). */
struct exporting {
	const struct af_export_format *format;
	const char *dir;
	struct af_export_count count;
};

static int export_write(int fd, void *arg, struct af_err *err)
{
	struct exporting *x = arg;

	return x->format->write(x->dir, fd, &x->count, err);
}

static int export_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct export_options *o = state;
	struct exporting x = {.dir = af_trace_dir(nr_words, words)};

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "export takes one trace directory, not %d",
		                     nr_words);
	if (!o->format)
		return af_fail_plain(err, -EINVAL,
		                     "name the format with --format: " AF_EXPORT_NAMES);
	x.format = export_format(o->format);
	int rc = af_trace_prepare(x.dir, err);
	if (!rc)
		rc = af_partial_write(o->output, export_write, &x, err);
	if (rc == -EPIPE) /* the reader has seen enough */
		return 0;
	if (!rc)
		export_tell(x.format, &x.count, x.dir);
	return rc;
}

static const struct af_option export_options[] = {
    {AF_OPT_CHOICE, "format", 0, "NAME", "format to write; there is no default",
     offsetof(struct export_options, format), AF_EXPORT_NAMES},
    {AF_OPT_STRING, "output", 'o', "FILE", "write to FILE, - for standard output",
     offsetof(struct export_options, output)},
    {AF_OPT_END},
};

const struct af_command af_command_export = {
    .name = "export",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Write a trace in a format of another tool",
    .details =
	"gpuperf-cpu is gpuperf's extended folded text, a line a CPU sample: timestamp comm pid\n"
	"tid cpu stack. gpuperf-gpu is its GPU trace, JSON in Trace Event Format. gpuperf-folded\n"
	"is what it merges of both: stack;[GPU_Kernel]name and microseconds, but each kernel is\n"
	"under the stack of the call that launched it. aflame import reads the first two.\n"
	"\n"
	"iaprof is the profile of Intel's iaprof, of any device's instruction samples: text that\n"
	"its flame command and aflame import read; samples of CPUs have no place in it.\n"
	"iaprof-folded is what that command makes of it, for flamegraph.pl --colors=gpu.\n"
	"\n"
	"Folded text for flame graphs is a format of aflame flame.",
    .examples = "aflame export --format gpuperf-gpu -o gpu.json run1\tfor chrome://tracing\n"
		"aflame export --format gpuperf-cpu run1 > cpu.txt\tevery CPU sample\n"
		"aflame export --format iaprof-folded run1 | flamegraph.pl --colors=gpu\n",
    .options = export_options,
    .state_size = sizeof(struct export_options),
    .defaults = &export_defaults,
    .run = export_run,
};
