/*
 * aflame print: every event of a trace, a line each; calls of APIs with their arguments. Damage is
 * reported on standard error and does not fail the command while anything could be read: what is
 * left of a trace is worth having.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/calls/follow.h"
#include "cmd/print/private.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"

static const struct print print_defaults = {
    .output.file = "-",
    .process = PRINT_ANY,
    .pid = PRINT_ANY,
    .tid = PRINT_ANY,
    .stream = PRINT_ANY,
    .to_ns = UINT64_MAX,
    .limit = UINT64_MAX,
};

static int print_failed(int fd, int rc, struct af_err *err)
{
	return af_fail(err, rc, "cannot write %s",
	               fd == STDOUT_FILENO ? "standard output" : "the events");
}

/* A trace, or a set. */
struct print_run {
	struct print_query query;
	struct printing one;
	struct print_set *set;
	int fd;
};

/* For af_follow(): what is new in the trace, or its copy, at @path. */
static int print_copy(void *arg, const char *path, bool last, uint64_t *nr_new, struct af_err *err)
{
	struct print_run *run = arg;
	struct printing *now = &run->one;
	int rc = print_open(now, path, err);

	if (rc)
		return rc;
	uint64_t before = now->nr_fresh;
	for (uint32_t i = 0; i < now->cap_read; i++)
		now->read[i] = 0;
	if (run->query.options->count)
		rc = print_counts(&run->query, now, NULL, run->fd);
	else
		rc = print_events(&run->query, now, NULL, run->fd, last);
	if (rc)
		rc = print_failed(run->fd, rc, err);
	else if (last)
		rc = print_damage(now, err);
	*nr_new = now->nr_fresh - before;
	print_shut(now);
	return rc;
}

static int print_all(struct print_run *run, struct af_err *err)
{
	int rc = run->query.options->count
	             ? print_counts(&run->query, &run->one, run->set, run->fd)
	             : print_events(&run->query, &run->one, run->set, run->fd, true);

	return rc ? print_failed(run->fd, rc, err) : print_set_report(run->set, err);
}

/* For af_atomic_write(). */
static int print_write(int fd, void *arg, struct af_err *err)
{
	struct print_run *run = arg;
	uint64_t nr_new;

	run->fd = fd;
	if (run->set)
		return print_all(run, err);
	return run->query.options->follow ? af_follow(run->one.dir, print_copy, run, err)
	                                  : print_copy(run, run->one.dir, true, &nr_new, err);
}

/* Which trace, or set, and which of its events. */
static int print_begin(struct print_run *run, struct af_err *err)
{
	const struct print *p = run->query.options;
	bool is_set, colour = !strcmp(p->output.file, "-") && af_colour(stdout);
	const struct af_ranks_query query = {.rank = p->rank, .all = !p->follow, .is_set = &is_set};

	is_set = false;
	int rc = af_ranks_choose(&run->one.dir, &query, err);
	if (!rc)
		rc = print_choose(&run->query, err);
	if (!rc && is_set)
		rc = print_set_open(&run->set, &run->query, run->one.dir, colour, err);
	else if (!rc && !p->follow)
		rc = af_trace_prepare(run->one.dir, err);
	run->one.query = &run->query;
	run->one.calls.keeps = p->follow;
	run->one.calls.style.colour = colour;
	return rc;
}

static int print_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct print *p = state;
	static struct print_run run;

	run = (struct print_run){.query.options = p, .one.dir = af_trace_dir(nr_words, words)};
	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "print takes one trace directory, not %d",
		                     nr_words);
	if (p->follow && p->count)
		return af_fail_plain(err, -EINVAL, "--count needs all events: not with --follow");
	int rc = print_begin(&run, err);
	if (!rc)
		rc = af_atomic_write(&p->output, print_write, &run, err);
	if (rc == -EPIPE) /* the reader has seen enough */
		rc = 0;
	uint64_t nr_early = print_set_close(run.set) + run.one.calls.nr_early;
	if (nr_early)
		fprintf(
		    stderr,
		    "aflame print: %llu calls stand before the call around them, which had more "
		    "than %d others inside\n",
		    (unsigned long long)nr_early, AF_CALLS_HELD);
	print_free(&run.one);
	return rc;
}

#define AT(field) offsetof(struct print, field)
#define KIND_WORD(number, id, name, text) #name "|"

static const struct af_option print_options[] = {
    {AF_OPT_STRING, "output", 'o', "FILE", "write to FILE, - for standard output", AT(output.file)},
    AF_PUBLIC_OPTION(struct print, output.public),
    {AF_OPT_FLAG, "json", 0, NULL, "one JSON object a line", AT(json)},
    {AF_OPT_FLAG, "raw", 0, NULL, "stamps of device work as the device gave them", AT(raw)},
    {AF_OPT_FLAG, "count", 0, NULL, "only the number of events of each kind", AT(count)},
    {AF_OPT_FLAG, "follow", 'f', NULL, "of a recording that goes on: what comes, until it ends",
     AT(follow)},
    AF_RANK_OPTION(struct print),
    {AF_OPT_GROUP, .help = "Which events"},
    {AF_OPT_FLAG, "calls", 0, NULL, "only calls of APIs, by their beginnings", AT(calls)},
    {AF_OPT_LIST, "kind", 'k', "LIST", "only these kinds or functions, separated by commas",
     AT(kinds), AF_KINDS(KIND_WORD)},
    {AF_OPT_U64, "process", 0, "N", "only of the process shown as pN", AT(process)},
    {AF_OPT_U64, "pid", 'p', "PID", "only of this process id", AT(pid)},
    {AF_OPT_U64, "tid", 't', "TID", "only of this thread id", AT(tid)},
    {AF_OPT_U64, "stream", 0, "N", "only of the stream shown as sN", AT(stream)},
    {AF_OPT_TIME, "from", 0, "TIME", "from this time after the start of the trace", AT(from_ns)},
    {AF_OPT_TIME, "to", 0, "TIME", "up to this time after the start of the trace", AT(to_ns)},
    {AF_OPT_U64, "limit", 'n', "N", "at most N events", AT(limit)},
    {AF_OPT_END},
};

const struct af_command af_command_print = {
    .name = "print",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Print the events of a trace, one a line",
    .details =
	"The columns are the time in seconds since the trace began, the stream (s), the\n"
	"process (p, an ordinal of the trace; p0 is the recorder), pid/tid, the kind and its\n"
	"fields. Strings are quoted; what a terminal would act on is shown as \\xNN.\n"
	"\n"
	"With --json, time_ns is on the trace's clock (CLOCK_MONOTONIC), integers are numbers,\n"
	"and addresses, handles, bytes and named values are strings.\n"
	"\n"
	"The four stamps of device work are shown on the trace's clock: in seconds like the\n"
	"first column, with --json in nanoseconds like time_ns; ? or null when the trace does\n"
	"not have them. With --raw the fields are printed as they are, on the device's clock.\n"
	"\n"
	"Calls of APIs have their arguments by name. --calls, and --kind with functions alone\n"
	"(names or patterns such as 'cu*'), print a line for each call with the time of its\n"
	"begin, before the calls that it made, which are indented. Objects are named in the\n"
	"order in which their process first used them (stream#1); an arrow stands before what\n"
	"the call wrote. Calls that failed are red on a terminal.\n"
	"\n"
	"Of a folder of ranks, the events of all are printed in the order of time, on the clock "
	"of\n"
	"the first rank's host. A column has the rank, as r3; with --json it is \"rank\", and\n"
	"\"trace\" is the name of its trace. Numbers of streams and processes are those of the\n"
	"rank, and so are times in fields, except those of device work. --rank chooses one.\n"
	"\n"
	"A damaged trace is printed as far as it can be read, with a line on standard error;\n"
	"the exit status is 0 unless nothing could be read.",
    .examples = "aflame print --count\thow many events of each kind there are\n"
		"aflame print -k launch,work --from 1.5s --to 1.6s\ta tenth of a second of device "
		"work\n"
		"aflame print --json -k process | head\tthe processes, for a script\n"
		"aflame print --calls --follow\tcalls of a program that is being recorded\n"
		"aflame print -k 'cuMem*'\twhat was allocated, copied and freed\n",
    .options = print_options,
    .state_size = sizeof(struct print),
    .defaults = &print_defaults,
    .run = print_run,
};
