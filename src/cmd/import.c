/* aflame import: what other profilers wrote, as a trace that all other commands read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd/output/progress.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"
#include "collect/disk/place.h"
#include "exchange/builder/builder.h"
#include "exchange/import.h"

struct import_options {
	const char *output, *event, *unit;
	uint64_t rate;
	bool force, quiet, calls;
};

static const struct import_options import_defaults = {.output = AF_PLACE_DEFAULT, .rate = 50};

static int import_read(struct af_builder *d, int nr, char **files, struct af_err *err)
{
	char complaint[256];

	for (int i = 0; i < nr; i++) {
		struct af_progress progress = af_progress_begin("reading");
		struct af_import_watch watch = {af_progress_tell, &progress};
		int rc = af_import_file(d, files[i], (uint32_t)i, &watch, complaint,
		                        sizeof complaint, err);
		af_progress_end(&progress);
		if (rc)
			return rc;
		if (*complaint)
			fprintf(stderr, "aflame import: %s: %s\n", files[i], complaint);
	}
	return 0;
}

static int import_write(const struct import_options *o, struct af_builder *d, struct af_err *err)
{
	struct af_place p;
	int rc = af_place_make_at(&p, o->output, o->force ? AF_ROOM_REPLACE : AF_ROOM_REFUSE, err);

	if (rc)
		return rc;
	rc = af_builder_write(d, p.dir_fd, err);
	if (!rc && d->addresses.nr_stacks)
		rc = af_names_add(p.dir_fd, o->output, NULL, err);
	if (rc)
		af_place_unmake(&p);
	af_place_leave(&p);
	return rc;
}

static void import_tell(const struct import_options *o, const struct af_builder *d)
{
	fprintf(stderr,
	        "aflame import: %s: %llu CPU samples, %llu host slices, %llu pieces of device "
	        "work, %u threads\n",
	        o->output, (unsigned long long)(d->nr_samples - d->nr_calls),
	        (unsigned long long)d->nr_slices, (unsigned long long)d->nr_works, d->nr_threads);
	if (d->nr_calls)
		fprintf(stderr, "  %llu calls of device APIs, which stacks end in\n",
		        (unsigned long long)d->nr_calls);
	if (d->nr_sums)
		fprintf(stderr, "  %llu sums of stacks, of no moment\n",
		        (unsigned long long)d->nr_sums);
	if (d->stalls.nr)
		fprintf(stderr,
		        "  %llu counts of samples of device instructions, of %u functions\n",
		        (unsigned long long)d->stalls.nr, d->stalls.nr_codes);
	for (uint32_t i = 0; i < d->nr_notes; i++)
		if (!strcmp(d->notes[i].key, "import.event"))
			fprintf(stderr, "  event %s\n", d->notes[i].value);
		else if (!strcmp(d->notes[i].key, "import.unwound"))
			fprintf(stderr, "  unwound: %s\n", d->notes[i].value);
		else if (!strncmp(d->notes[i].key, "import.weights", 14) ||
		         !strcmp(d->notes[i].key, "import.tables.unused"))
			fprintf(stderr, "  %s: %s\n", d->notes[i].key + 7, d->notes[i].value);
	for (int i = 0; i < AF_BUILDER_UNUSED_END; i++)
		if (d->unused[i])
			fprintf(stderr, "  not used: %llu %s\n", (unsigned long long)d->unused[i],
			        af_builder_unused_text((enum af_builder_unused)i));
}

/* Some files say what a sample stands for. */
static bool import_goes_by_rate(const struct af_builder *d)
{
	for (uint64_t i = 0; i < d->nr_samples; i++)
		if (!d->samples[i].weight_ns && !d->samples[i].counted && !d->samples[i].function)
			return true;
	return false;
}

static int import_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct import_options *o = state;
	struct af_builder d;

	if (!nr_words)
		return af_fail_plain(err, -EINVAL, "import takes the files to read");
	if (!o->rate || o->rate > 1000000000)
		return af_fail_plain(err, -EINVAL, "--rate is samples a second, at least 1");
	af_builder_open(&d);
	d.sample_weight_ns = 1000000000 / o->rate;
	d.calls = o->calls;
	d.unit = o->unit;
	d.event = o->event;
	int rc = import_read(&d, nr_words, words, err);
	if (!rc && import_goes_by_rate(&d))
		af_builder_note(&d, "import.rate", "%llu samples a second, as --rate says",
		                (unsigned long long)o->rate);
	if (!rc)
		rc = import_write(o, &d, err);
	if (!rc && !o->quiet)
		import_tell(o, &d);
	af_builder_close(&d);
	return rc;
}

static const struct af_option import_options[] = {
    {AF_OPT_STRING, "output", 'o', "DIR", "trace to make (aflame.data)",
     offsetof(struct import_options, output)},
    {AF_OPT_FLAG, "force", 'f', NULL, "replace an old trace",
     offsetof(struct import_options, force)},
    {AF_OPT_U64, "rate", 'F', "HZ", "CPU samples a second in the file (50)",
     offsetof(struct import_options, rate)},
    {AF_OPT_STRING, "event", 0, "NAME",
     "of perf's files with several events, the one to use (the first with call chains)",
     offsetof(struct import_options, event)},
    {AF_OPT_CHOICE, "unit", 0, "UNIT", "the unit of numbers in folded text (samples)",
     offsetof(struct import_options, unit), "samples|count|bytes|ns|us|ms|s"},
    {AF_OPT_FLAG, "calls", 0, NULL,
     "gpuperf with --uprobe: take stacks that end in any CUDA function as calls of it, not only "
     "those of launches",
     offsetof(struct import_options, calls)},
    {AF_OPT_FLAG, "quiet", 'q', NULL, "no summary", offsetof(struct import_options, quiet)},
    {AF_OPT_END},
};

const struct af_command af_command_import = {
    .name = "import",
    .usage = "[OPTIONS] FILE...",
    .summary = "Make a trace from a file of another profiler",
    .details =
	"Files may be plain or gzipped; aflame detects their format: traces of PyTorch's\n"
	"profiler (Kineto JSON), GPU traces of gpuperf (JSON) and its CPU samples (extended\n"
	"folded text: timestamp comm pid tid cpu stack), profiles of Intel's iaprof (text, of all\n"
	"its versions), perf.data and what perf script prints, profiles of pprof's (protobuf) and\n"
	"of speedscope's (JSON), folded text (f1;f2;f3 number), slices of threads in any Chrome\n"
	"trace (JSON), and what Nsight Systems exports as SQLite (nsys export --type sqlite).\n"
	"\n"
	"Device work gets the stack of the call with its correlation id; nothing is matched by\n"
	"time. PyTorch's traces give that stack by the operators and Python functions around the\n"
	"call; where autograd's threads run an operator backwards, it is the forward operator's\n"
	"stack, then [backward]. gpuperf's traces have no stacks of calls, only those that its\n"
	"probe took at about the same time (--calls); `aflame flame --match-by-time` uses these.\n"
	"Each file of PyTorch is one process; gpuperf's files together are one. iaprof's files\n"
	"have samples of GPU instructions with the stack that last launched the kernel, and no\n"
	"times of kernels.\n"
	"\n"
	"pprof's profiles and folded text have sums and no times, so they give no timeline. The\n"
	"unit and the name of a pprof value show what it is (time, samples, count, bytes,\n"
	"off-cpu); aflame reports its choice. The first frame of folded text is the process;\n"
	"--unit names what was counted.\n"
	"\n"
	"Addresses of perf.data get names from files with the recorded build-ids and from the\n"
	"kernel's symbols. If a file has several events, the first with call chains is used;\n"
	"--event takes another. Samples of a clock weigh CPU time; samples of any other event\n"
	"weigh how often it happened.\n"
	"\n"
	"A file that ends too early is used up to there. Unused data is counted on standard error\n"
	"and in the trace (aflame print -k note). Extended folded text has no sampling rate: give\n"
	"it with --rate.",
    .examples = "aflame import trace.json.gz -o run1 && aflame report run1\ta PyTorch trace\n"
		"aflame import rank0.json rank1.json\tseveral processes in one trace\n"
		"aflame import cpu.txt gpu.json -o run2\tboth halves of gpuperf's\n"
		"aflame import --calls cpu.txt gpu.json && aflame flame --match-by-time\tits "
		"kernels under stacks of launches\n"
		"aflame import profile.iaprof -o run3\tan Intel GPU\n"
		"nsys export --type sqlite r.nsys-rep && aflame import r.sqlite\tNsight Systems\n"
		"aflame import perf.data && aflame flame -o cpu.svg\tperf's samples\n"
		"perf script | aflame import -\tas text\n"
		"aflame import cpu.pprof.gz && aflame flame -o cpu.svg\ta profile of pprof's\n",
    .options = import_options,
    .state_size = sizeof(struct import_options),
    .defaults = &import_defaults,
    .run = import_run,
};
