/*
 * aflame print: every event of a trace, a line each; calls of APIs with their arguments. Damage is
 * reported on standard error and does not fail the command while anything could be read: what is
 * left of a trace is worth having.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/calls/calls.h"
#include "cmd/calls/choice.h"
#include "cmd/calls/follow.h"
#include "cmd/options/command.h"
#include "cmd/options/nearest.h"
#include "cmd/output/atomic_write.h"
#include "cmd/print_event.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"
#include "trace/read/reader.h"

enum { FLUSH_BYTES = 256 << 10, COUNT_WIDTH = 12 };

#define ANY UINT64_MAX /* a number no stream, process, pid or tid can have */

struct print {
	struct af_output output;
	bool json, count, raw, calls, follow;
	const char *rank;
	struct af_strings kinds;
	uint64_t process, pid, tid, stream;
	uint64_t from_ns, to_ns;
	uint64_t limit;
};

/* A trace on its way out. */
struct printing {
	const struct print *options;
	const char *dir;
	struct af_trace *trace;
	uint64_t wanted; /* mask of the kinds to print; 0 for all, those not known included */
	struct af_call_choice choice; /* of functions, where calls of APIs are among them */
	bool ordered;                 /* calls alone, in the order in which they began */
	struct af_calls calls;
	uint64_t nr; /* events printed */
	/* A recording that is followed: events of each stream that were read, by instance. */
	struct af_map seen;
	uint64_t nr_fresh; /* events that were in no earlier one */
	uint64_t *read;    /* of this copy, by stream */
	uint32_t cap_read;
	bool placing;          /* stamps of device work are made times of the trace */
	struct af_world world; /* of it only what that takes */
};

#define WORK_KINDS (1ull << AF_KIND_WORK | 1ull << AF_KIND_WORK_LONG)
#define WORK_NEEDS (1ull << AF_KIND_DESCRIPTOR | 1ull << AF_KIND_QUEUE)
#define CALLS_BIT (1ull << AF_KIND_API_BIT)
#define CALL_NEEDS (1ull << AF_KIND_FUNCTION)

static const struct print print_defaults = {
    .output.file = "-",
    .process = ANY,
    .pid = ANY,
    .tid = ANY,
    .stream = ANY,
    .to_ns = UINT64_MAX,
    .limit = UINT64_MAX,
};

static int kind_named(struct printing *now, const char *name, struct af_err *err)
{
	struct af_nearest near;

	af_nearest_init(&near, name);
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info(kind);
		if (info && !strcmp(info->name, name)) {
			now->wanted |= 1ull << kind;
			now->choice.all |= kind == AF_KIND_API_CALL;
			now->wanted |= kind == AF_KIND_API_CALL ? CALLS_BIT : 0;
			return 0;
		}
		if (info)
			af_nearest_offer(&near, info->name);
	}
	if (af_call_choice_add(&now->choice, name)) {
		now->wanted |= CALLS_BIT;
		return 0;
	}
	af_call_choice_offer(&near);
	const char *best = af_nearest_best(&near);
	if (best)
		return af_fail_plain(err, -EINVAL,
		                     "no kind of event is called %s: did you mean %s?", name, best);
	return af_fail_plain(
	    err, -EINVAL, "no kind of event is called %s: `aflame print --count` lists them", name);
}

static int kinds_mask(struct printing *now, struct af_err *err)
{
	const struct af_strings *lists = &now->options->kinds;

	for (uint32_t i = 0; i < lists->nr; i++) {
		scope_free char *list = strdup(lists->items[i]);
		if (!list)
			return af_fail(err, -ENOMEM, "cannot read --kind");
		for (char *rest = list, *name; (name = strsep(&rest, ","));) {
			int rc = kind_named(now, name, err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Choose the kinds to print. Calls alone are printed in the order in which they began. */
static int print_choose(struct printing *now, struct af_err *err)
{
	int rc = kinds_mask(now, err);

	if (rc)
		return rc;
	if (!now->wanted)
		now->choice.all = true;
	if (now->options->calls && now->wanted && !(now->wanted & AF_CALL_KINDS))
		return af_fail_plain(err, -EINVAL, "none of the kinds of --kind are calls");
	if (now->options->calls)
		now->wanted = now->wanted ? now->wanted & AF_CALL_KINDS : AF_CALL_KINDS;
	now->ordered = now->options->calls ||
	               (now->wanted && !(now->wanted & ~(CALLS_BIT | 1ull << AF_KIND_API_CALL)));
	return 0;
}

static bool in_mask(uint64_t mask, uint16_t kind)
{
	return mask & af_kind_bit(kind);
}

static bool print_wants(const struct printing *now, const struct af_event *ev)
{
	const struct print *p = now->options;

	if (ev->kind >= AF_KIND_API && !af_call_choice_has(&now->choice, ev->kind))
		return false;
	return (!now->wanted || in_mask(now->wanted, ev->kind)) &&
	       (p->process == ANY || p->process == ev->process) &&
	       (p->pid == ANY || p->pid == ev->pid) && (p->tid == ANY || p->tid == ev->tid) &&
	       (p->stream == ANY || p->stream == ev->stream);
}

/* Was the event, which is the next of its stream, in an earlier copy of the recording? */
static bool print_has_seen(struct printing *now, const struct af_event *ev)
{
	if (!now->options->follow)
		return false;
	AF_REACH(now->read, ev->stream, now->cap_read);
	uint64_t *seen = af_map_at(&now->seen, af_trace_instance(now->trace, ev->stream), NULL);
	uint64_t nr = ++now->read[ev->stream];
	if (nr <= *seen)
		return true;
	*seen = nr;
	now->nr_fresh++;
	return false;
}

/* The next event that is asked for. Times only grow, so the first one past --to is the end. */
static bool print_next(struct printing *now, struct af_event *ev)
{
	const struct print *p = now->options;
	uint64_t start_ns = af_trace_start_ns(now->trace);

	while (af_trace_next(now->trace, ev)) {
		if ((now->placing && in_mask(WORK_NEEDS, ev->kind)) ||
		    in_mask(CALL_NEEDS, ev->kind))
			af_world_event(&now->world, ev);
		if (print_has_seen(now, ev))
			continue;
		uint64_t ns = ev->time_ns - start_ns;
		if (ev->time_ns < start_ns)
			ns = 0;
		if (ns > p->to_ns)
			return false;
		if (ns >= p->from_ns && print_wants(now, ev))
			return true;
	}
	return false;
}

/* One event of any kind, where calls are not ordered. */
static void print_event(struct printing *now, const struct af_event_printer *printer,
                        const struct af_event *ev, struct af_buf *b)
{
	struct af_work work;
	struct af_line line;

	if (ev->kind >= AF_KIND_API && af_api_function(ev->kind) && af_line_read(ev, &line)) {
		if (now->options->json) {
			af_line_put(&line, &now->calls.style, &now->world, &now->calls.values, b);
			return;
		}
		af_event_head(printer, ev, b);
		af_line_call(&line, &now->world, &now->calls.values, b);
		af_buf_char(b, '\n');
		return;
	}
	bool placed = now->placing && af_work_read(&now->world, ev, &work) &&
	              af_work_place(&now->world, &work, NULL);
	af_event_print(printer, ev, placed ? &work : NULL, b);
}

static int print_events(struct printing *now, int fd, bool last)
{
	const struct print *p = now->options;
	static struct af_event_printer printer;
	struct af_buf b = {0};
	struct af_event ev;
	int rc = 0;

	af_event_printer_init(&printer, p->json, af_trace_start_ns(now->trace));
	printer.raw = p->raw;
	now->calls.values.json = p->json;
	now->calls.style.start_ns = printer.start_ns;
	for (; now->nr < p->limit && !rc && print_next(now, &ev); now->nr++) {
		if (now->ordered)
			af_calls_event(&now->calls, &now->world, &ev, &b);
		else
			print_event(now, &printer, &ev, &b);
		if (b.len >= FLUSH_BYTES)
			rc = af_buf_flush(&b, fd);
	}
	if (last)
		af_calls_end(&now->calls, &now->world, &b);
	if (!rc)
		rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc;
}

static void count_line(const struct print *p, struct af_buf *b, const char *name, int width,
                       uint64_t n)
{
	if (p->json)
		af_buf_fmt(b, "\"%s\":%llu,", name, (unsigned long long)n);
	else
		af_buf_fmt(b, "%-*s %12llu\n", width, name, (unsigned long long)n);
}

static const char *count_name(unsigned kind)
{
	const struct af_kind_info *info = af_kind_info((uint16_t)kind);
	const struct af_api_function *f =
	    kind >= AF_KIND_API ? af_api_function((uint16_t)kind) : NULL;

	return info ? info->name : f ? f->name : NULL;
}

static int print_counts(struct printing *now, int fd)
{
	const struct print *p = now->options;
	static uint64_t counts[UINT16_MAX + 1];
	uint64_t total = 0, unknown = 0;
	struct af_event ev;

	for (; total < p->limit && print_next(now, &ev); total++)
		counts[ev.kind]++;

	struct af_buf b = {0};
	int width = COUNT_WIDTH;
	for (unsigned kind = 0; kind <= UINT16_MAX; kind++)
		if (counts[kind] && count_name(kind) && (int)strlen(count_name(kind)) > width)
			width = (int)strlen(count_name(kind));
	if (p->json)
		af_buf_char(&b, '{');
	for (unsigned kind = 0; kind <= UINT16_MAX; kind++) {
		if (counts[kind] && count_name(kind))
			count_line(p, &b, count_name(kind), width, counts[kind]);
		else
			unknown += counts[kind];
	}
	if (unknown)
		count_line(p, &b, "unknown", width, unknown);
	count_line(p, &b, "total", width, total);
	if (p->json) {
		b.len--; /* the last comma */
		af_buf_str(&b, "}\n");
	}
	int rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc;
}

/* Tell of damage. An error only when damage is all there is. */
static int print_damage(struct af_trace *t, const char *dir, struct af_err *err)
{
	const struct af_trace_damage *d = af_trace_damage(t);
	char text[768];
	bool damaged = af_trace_damage_text(d, text, sizeof text);

	if (damaged && !af_trace_start_ns(t)) /* not one packet */
		return af_fail_plain(err, -EIO, "could not read anything of %s: %s", dir, text);
	if (damaged)
		fprintf(stderr, "aflame: %s is damaged: %s\n", dir, text);
	if (d->unknown)
		fprintf(stderr, "aflame: %llu events are of kinds that aflame %s does not know\n",
		        (unsigned long long)d->unknown, AFLAME_VERSION);
	if (d->discarded)
		fprintf(stderr, "aflame: %llu events were discarded when the trace was written\n",
		        (unsigned long long)d->discarded);
	return 0;
}

static int print_open(struct printing *now, const char *dir, struct af_err *err)
{
	const struct print *p = now->options;
	uint64_t read = now->wanted;
	int rc = 0;

	now->placing = !p->raw && !p->count && (!now->wanted || now->wanted & WORK_KINDS);
	if (now->placing)
		rc = af_clocks_read(&now->world.clocks, dir, NULL, err);
	if (rc)
		return rc;
	if (read && now->placing)
		read |= WORK_NEEDS;
	if (read & AF_CALL_KINDS)
		read |= CALL_NEEDS;
	return af_trace_open(&now->trace, dir, read, err);
}

static int print_failed(int fd, int rc, struct af_err *err)
{
	return af_fail(err, rc, "cannot write %s",
	               fd == STDOUT_FILENO ? "standard output" : "the events");
}

struct print_copy {
	struct printing *now;
	int fd;
};

/* For af_follow(): what is new in the trace, or its copy, at @path. */
static int print_copy(void *arg, const char *path, bool last, uint64_t *nr_new, struct af_err *err)
{
	const struct print_copy *to = arg;
	struct printing *now = to->now;
	int rc = print_open(now, path, err);

	if (rc)
		return rc;
	uint64_t before = now->nr_fresh;
	for (uint32_t i = 0; i < now->cap_read; i++)
		now->read[i] = 0;
	if (now->options->count)
		rc = print_counts(now, to->fd);
	else
		rc = print_events(now, to->fd, last);
	if (rc)
		rc = print_failed(to->fd, rc, err);
	else if (last)
		rc = print_damage(now->trace, now->dir, err);
	*nr_new = now->nr_fresh - before;
	af_trace_close(now->trace);
	af_world_close(&now->world);
	return rc;
}

/* For af_atomic_write(). */
static int print_write(int fd, void *arg, struct af_err *err)
{
	struct print_copy to = {arg, fd};
	struct printing *now = arg;
	uint64_t nr_new;

	return now->options->follow ? af_follow(now->dir, print_copy, &to, err)
	                            : print_copy(&to, now->dir, true, &nr_new, err);
}

static int print_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct print *p = state;
	static struct printing now;

	now = (struct printing){.options = p, .dir = af_trace_dir(nr_words, words)};
	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "print takes one trace directory, not %d",
		                     nr_words);
	if (p->follow && p->count)
		return af_fail_plain(err, -EINVAL, "--count needs all events: not with --follow");
	int rc = af_ranks_choose(&now.dir, &(struct af_ranks_query){.rank = p->rank}, err);
	if (!rc)
		rc = print_choose(&now, err);
	if (!rc && !p->follow)
		rc = af_trace_prepare(now.dir, err);
	if (rc)
		return rc;
	now.calls.keeps = p->follow;
	now.calls.style.colour = !strcmp(p->output.file, "-") && af_colour(stdout);
	rc = af_atomic_write(&p->output, print_write, &now, err);
	if (rc == -EPIPE) /* the reader has seen enough */
		rc = 0;
	if (now.calls.nr_early)
		fprintf(
		    stderr,
		    "aflame print: %llu calls stand before the call around them, which had more "
		    "than %d others inside\n",
		    (unsigned long long)now.calls.nr_early, AF_CALLS_HELD);
	af_calls_free(&now.calls);
	af_map_free(&now.seen);
	free(now.read);
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
