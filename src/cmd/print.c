/*
 * aflame print: every event of a trace, a line each. Damage is reported on standard error and does
 * not fail the command while anything could be read: what is left of a trace is worth having.
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
#include "cmd/options/command.h"
#include "cmd/options/nearest.h"
#include "cmd/output/atomic_write.h"
#include "cmd/print_event.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "trace/read/reader.h"

enum { FLUSH_BYTES = 256 << 10 };

#define ANY UINT64_MAX /* a number no stream, process, pid or tid can have */

struct print {
	struct af_output output;
	bool json, count, raw;
	const char *rank;
	struct af_strings kinds;
	uint64_t process, pid, tid, stream;
	uint64_t from_ns, to_ns;
	uint64_t limit;
};

/* A trace on its way out. */
struct printing {
	const struct print *options;
	struct af_trace *trace;
	uint64_t wanted;       /* mask of the kinds to print; 0 for all, those not known included */
	bool placing;          /* stamps of device work are made times of the trace */
	struct af_world world; /* of it only what that takes */
};

#define WORK_KINDS (1ull << AF_KIND_WORK | 1ull << AF_KIND_WORK_LONG)
#define WORK_NEEDS (1ull << AF_KIND_DESCRIPTOR | 1ull << AF_KIND_QUEUE)

static const struct print print_defaults = {
    .output.file = "-",
    .process = ANY,
    .pid = ANY,
    .tid = ANY,
    .stream = ANY,
    .to_ns = UINT64_MAX,
    .limit = UINT64_MAX,
};

static int kind_named(const char *name, uint64_t *mask, struct af_err *err)
{
	struct af_nearest near;

	af_nearest_init(&near, name);
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info(kind);
		if (info && !strcmp(info->name, name)) {
			*mask |= 1ull << kind;
			return 0;
		}
		if (info)
			af_nearest_offer(&near, info->name);
	}
	const char *best = af_nearest_best(&near);
	if (best)
		return af_fail_plain(err, -EINVAL,
		                     "no kind of event is called %s: did you mean %s?", name, best);
	return af_fail_plain(
	    err, -EINVAL, "no kind of event is called %s: `aflame print --count` lists them", name);
}

static int kinds_mask(const struct af_strings *lists, uint64_t *mask, struct af_err *err)
{
	*mask = 0;
	for (uint32_t i = 0; i < lists->nr; i++) {
		scope_free char *list = strdup(lists->items[i]);
		if (!list)
			return af_fail(err, -ENOMEM, "cannot read --kind");
		for (char *rest = list, *name; (name = strsep(&rest, ","));) {
			int rc = kind_named(name, mask, err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static bool in_mask(uint64_t mask, uint16_t kind)
{
	return kind < AF_KIND_MAX && mask & 1ull << kind;
}

static bool print_wants(const struct printing *now, const struct af_event *ev)
{
	const struct print *p = now->options;

	return (!now->wanted || in_mask(now->wanted, ev->kind)) &&
	       (p->process == ANY || p->process == ev->process) &&
	       (p->pid == ANY || p->pid == ev->pid) && (p->tid == ANY || p->tid == ev->tid) &&
	       (p->stream == ANY || p->stream == ev->stream);
}

/* The next event that is asked for. Times only grow, so the first one past --to is the end. */
static bool print_next(struct printing *now, struct af_event *ev)
{
	const struct print *p = now->options;
	uint64_t start_ns = af_trace_start_ns(now->trace);

	while (af_trace_next(now->trace, ev)) {
		if (now->placing && in_mask(WORK_NEEDS, ev->kind))
			af_world_event(&now->world, ev);
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

static int print_events(struct printing *now, int fd)
{
	const struct print *p = now->options;
	static struct af_event_printer printer;
	struct af_buf b = {0};
	struct af_event ev;
	int rc = 0;

	af_event_printer_init(&printer, p->json, af_trace_start_ns(now->trace));
	printer.raw = p->raw;
	for (uint64_t n = 0; n < p->limit && !rc && print_next(now, &ev); n++) {
		struct af_work work;
		bool placed = now->placing && af_work_read(&now->world, &ev, &work) &&
		              af_work_place(&now->world, &work, NULL);
		af_event_print(&printer, &ev, placed ? &work : NULL, &b);
		if (b.len >= FLUSH_BYTES)
			rc = af_buf_flush(&b, fd);
	}
	if (!rc)
		rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc;
}

static void count_line(const struct print *p, struct af_buf *b, const char *name, uint64_t n)
{
	if (p->json)
		af_buf_fmt(b, "\"%s\":%llu,", name, (unsigned long long)n);
	else
		af_buf_fmt(b, "%-12s %12llu\n", name, (unsigned long long)n);
}

static int print_counts(struct printing *now, int fd)
{
	const struct print *p = now->options;
	static uint64_t counts[AF_KIND_MAX];
	uint64_t total = 0, unknown = 0;
	struct af_event ev;

	for (; total < p->limit && print_next(now, &ev); total++) {
		if (af_kind_info(ev.kind))
			counts[ev.kind]++;
		else
			unknown++;
	}

	struct af_buf b = {0};
	if (p->json)
		af_buf_char(&b, '{');
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++)
		if (counts[kind])
			count_line(p, &b, af_kind_info(kind)->name, counts[kind]);
	if (unknown)
		count_line(p, &b, "unknown", unknown);
	count_line(p, &b, "total", total);
	if (p->json) {
		b.len--; /* the last comma */
		af_buf_str(&b, "}\n");
	}
	int rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc;
}

/* For af_atomic_write(). */
static int print_write(int fd, void *arg, struct af_err *err)
{
	struct printing *now = arg;
	int rc = now->options->count ? print_counts(now, fd) : print_events(now, fd);

	if (!rc)
		return 0;
	return af_fail(err, rc, "cannot write %s",
	               fd == STDOUT_FILENO ? "standard output" : "the events");
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
	int rc = kinds_mask(&p->kinds, &now->wanted, err);

	if (!rc)
		rc = af_trace_prepare(dir, err);
	now->placing = !p->raw && !p->count && (!now->wanted || now->wanted & WORK_KINDS);
	if (!rc && now->placing)
		rc = af_clocks_read(&now->world.clocks, dir, NULL, err);
	if (rc)
		return rc;
	uint64_t read = now->wanted && now->placing ? now->wanted | WORK_NEEDS : now->wanted;
	return af_trace_open(&now->trace, dir, read, err);
}

static int print_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct print *p = state;
	const char *dir = af_trace_dir(nr_words, words);
	struct printing now = {.options = p};

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "print takes one trace directory, not %d",
		                     nr_words);
	int rc = af_ranks_choose(&dir, &(struct af_ranks_query){.rank = p->rank}, err);
	if (!rc)
		rc = print_open(&now, dir, err);
	if (rc) {
		af_world_close(&now.world);
		return rc;
	}

	rc = af_atomic_write(&p->output, print_write, &now, err);
	if (rc == -EPIPE) /* the reader has seen enough */
		rc = 0;
	else if (!rc)
		rc = print_damage(now.trace, dir, err);
	af_trace_close(now.trace);
	af_world_close(&now.world);
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
    AF_RANK_OPTION(struct print),
    {AF_OPT_GROUP, .help = "Which events"},
    {AF_OPT_LIST, "kind", 'k', "LIST", "only these kinds, separated by commas", AT(kinds),
     AF_KINDS(KIND_WORD)},
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
	"A damaged trace is printed as far as it can be read, with a line on standard error;\n"
	"the exit status is 0 unless nothing could be read.",
    .examples = "aflame print --count\thow many events of each kind there are\n"
		"aflame print -k launch,work --from 1.5s --to 1.6s\ta tenth of a second of device "
		"work\n"
		"aflame print --json -k process | head\tthe processes, for a script\n",
    .options = print_options,
    .state_size = sizeof(struct print),
    .defaults = &print_defaults,
    .run = print_run,
};
