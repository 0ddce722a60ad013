/* The events of one trace, chosen and printed; those of a set come one by one, too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/world/work.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/options/nearest.h"
#include "cmd/print/private.h"

enum { FLUSH_BYTES = 256 << 10, COUNT_WIDTH = 12 };

#define WORK_KINDS (1ull << AF_KIND_WORK | 1ull << AF_KIND_WORK_LONG)
#define WORK_NEEDS (1ull << AF_KIND_DESCRIPTOR | 1ull << AF_KIND_QUEUE)
#define CALLS_BIT (1ull << AF_KIND_API_BIT)
#define CALL_NEEDS (1ull << AF_KIND_FUNCTION)

static int kind_named(struct print_query *q, const char *name, struct af_err *err)
{
	struct af_nearest near;

	af_nearest_init(&near, name);
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info(kind);
		if (info && !strcmp(info->name, name)) {
			q->wanted |= AF_KIND_BIT(kind);
			q->late |= kind < AF_KIND_LATE ? 0 : 1ull << (kind - AF_KIND_LATE);
			q->choice.all |= kind == AF_KIND_API_CALL;
			q->wanted |= kind == AF_KIND_API_CALL ? CALLS_BIT : 0;
			return 0;
		}
		if (info)
			af_nearest_offer(&near, info->name);
	}
	if (af_call_choice_add(&q->choice, name)) {
		q->wanted |= CALLS_BIT;
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

static int kinds_mask(struct print_query *q, struct af_err *err)
{
	const struct af_strings *lists = &q->options->kinds;

	for (uint32_t i = 0; i < lists->nr; i++) {
		scope_free char *list = af_xstrdup(lists->items[i]);
		for (char *rest = list, *name; (name = strsep(&rest, ","));) {
			int rc = kind_named(q, name, err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Choose the kinds to print. Calls alone are printed in the order in which they began. */
int print_choose(struct print_query *q, struct af_err *err)
{
	int rc = kinds_mask(q, err);

	if (rc)
		return rc;
	if (!q->wanted)
		q->choice.all = true;
	if (q->options->calls && q->wanted && !(q->wanted & AF_CALL_KINDS))
		return af_fail_plain(err, -EINVAL, "none of the kinds of --kind are calls");
	if (q->options->calls)
		q->wanted = q->wanted ? q->wanted & AF_CALL_KINDS : AF_CALL_KINDS;
	q->ordered = q->options->calls ||
	             (q->wanted && !(q->wanted & ~(CALLS_BIT | 1ull << AF_KIND_API_CALL)));
	q->placing =
	    !q->options->raw && !q->options->count && (!q->wanted || q->wanted & WORK_KINDS);
	return 0;
}

static bool in_mask(uint64_t mask, uint16_t kind)
{
	return mask & af_kind_bit(kind);
}

static bool is_or_any(uint64_t wanted, uint64_t is)
{
	return wanted == PRINT_ANY || wanted == is;
}

static bool print_wants(const struct print_query *q, const struct af_event *ev)
{
	const struct print *p = q->options;

	if (ev->kind >= AF_KIND_API && !af_call_choice_has(&q->choice, ev->kind))
		return false;
	if (q->wanted && ev->kind >= AF_KIND_LATE && ev->kind < AF_KIND_END &&
	    !(q->late >> (ev->kind - AF_KIND_LATE) & 1))
		return false;
	return (!q->wanted || in_mask(q->wanted, ev->kind)) && is_or_any(p->process, ev->process) &&
	       is_or_any(p->pid, ev->pid) && is_or_any(p->tid, ev->tid) &&
	       is_or_any(p->stream, ev->stream);
}

/* Was the event, which is the next of its stream, in an earlier copy of the recording? */
static bool print_has_seen(struct printing *now, const struct af_event *ev)
{
	if (!now->query->options->follow)
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

/* A time of the trace on the clock of what is printed. */
static uint64_t print_time(const struct printing *now, uint64_t ns)
{
	return now->times ? now->times->start_ns + af_set_times_of(now->times, now->member, ns)
	                  : ns;
}

static uint64_t print_start(const struct printing *now)
{
	return now->times ? now->times->start_ns : af_trace_start_ns(now->trace);
}

/* Times only grow, so the first one past --to is the end. */
bool print_next(struct printing *now, struct af_event *ev)
{
	const struct print *p = now->query->options;
	uint64_t start_ns = print_start(now);

	while (af_trace_next(now->trace, ev)) {
		if ((now->query->placing && in_mask(WORK_NEEDS, ev->kind)) ||
		    in_mask(CALL_NEEDS, ev->kind))
			af_world_event(&now->world, ev);
		if (print_has_seen(now, ev))
			continue;
		now->calls.shift_ns = ev->time_ns;
		ev->time_ns = print_time(now, ev->time_ns);
		now->calls.shift_ns = ev->time_ns - now->calls.shift_ns;
		uint64_t ns = ev->time_ns > start_ns ? ev->time_ns - start_ns : 0;
		if (ns > p->to_ns)
			return false;
		if (ns >= p->from_ns && print_wants(now->query, ev))
			return true;
	}
	return false;
}

static struct printing *next_of(struct printing *one, struct print_set *set, struct af_event *ev,
                                struct af_buf *b)
{
	if (set)
		return print_set_next(set, ev, b);
	return print_next(one, ev) ? one : NULL;
}

/* Its stamps on the clock of what is printed; false: they are not known. */
static bool work_placed(struct printing *now, const struct af_event *ev, struct af_work *work)
{
	uint64_t *const stamps[] = {&work->queued_ns, &work->submit_ns, &work->start_ns,
	                            &work->end_ns};

	if (!now->query->placing || !af_work_read(&now->world, ev, work) ||
	    !af_work_place(&now->world, work, NULL))
		return false;
	for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++)
		*stamps[i] = *stamps[i] ? print_time(now, *stamps[i]) : 0;
	return true;
}

/* One event of any kind, where calls are not ordered. */
static void print_event(struct printing *now, const struct af_event *ev, struct af_buf *b)
{
	const struct af_event_printer *printer = &now->query->printer;
	struct af_work work;
	struct af_line line;

	if (ev->kind >= AF_KIND_API && af_api_function(ev->kind) && af_line_read(ev, &line)) {
		if (printer->json) {
			af_line_put(&line, &now->calls.style, &now->world, &now->calls.values, b);
			return;
		}
		af_event_head(printer, ev, b);
		af_line_call(&line, &now->world, &now->calls.values, b);
		af_buf_char(b, '\n');
		return;
	}
	af_event_print(printer, ev, work_placed(now, ev, &work) ? &work : NULL, b);
}

static void print_one(struct printing *now, const struct af_event *ev, struct af_buf *b)
{
	struct print_query *q = now->query;

	q->printer.of = now->label;
	now->calls.style.of = now->label;
	now->calls.style.start_ns = q->printer.start_ns;
	now->calls.values.json = q->options->json;
	if (q->ordered)
		af_calls_event(&now->calls, &now->world, ev, b);
	else
		print_event(now, ev, b);
}

int print_events(struct print_query *q, struct printing *one, struct print_set *set, int fd,
                 bool last)
{
	struct printing *now;
	struct af_buf b = {0};
	struct af_event ev;
	int rc = 0;

	af_event_printer_init(&q->printer, q->options->json,
	                      set ? print_set_start_ns(set) : print_start(one));
	q->printer.raw = q->options->raw;
	for (; q->nr < q->options->limit && !rc && (now = next_of(one, set, &ev, &b)); q->nr++) {
		print_one(now, &ev, &b);
		if (b.len >= FLUSH_BYTES)
			rc = af_buf_flush(&b, fd);
	}
	if (set)
		print_set_end(set, &b);
	else if (last)
		af_calls_end(&one->calls, &one->world, &b);
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

int print_counts(struct print_query *q, struct printing *one, struct print_set *set, int fd)
{
	const struct print *p = q->options;
	static uint64_t counts[UINT16_MAX + 1];
	uint64_t total = 0, unknown = 0;
	struct af_event ev;

	for (; total < p->limit && next_of(one, set, &ev, NULL); total++)
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

bool print_is_damaged(const struct printing *now)
{
	const struct af_trace_damage *d = af_trace_damage(now->trace);
	char text[768];

	return af_trace_damage_text(d, text, sizeof text) || d->unknown || d->discarded;
}

/* No call was printed: does the trace have sums of calls in their place? */
static void report_sums(const struct printing *now)
{
	struct af_trace *t;
	struct af_event ev;

	if (af_trace_open(&t, now->dir, AF_WANTED(AF_KIND_CALL_SUM), NULL))
		return;
	while (af_trace_next(t, &ev))
		if (ev.kind == AF_KIND_CALL_SUM) {
			fprintf(stderr,
			        "aflame print: the trace %s has sums of calls alone "
			        "(--tally-only): aflame tally shows them\n",
			        now->dir);
			break;
		}
	af_trace_close(t);
}

int print_damage(const struct printing *now, struct af_err *err)
{
	struct af_trace *t = now->trace;
	const char *dir = now->dir;
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
	if (now->query->options->calls && !now->query->options->count && !now->query->nr)
		report_sums(now);
	return 0;
}

int print_open(struct printing *now, const char *dir, struct af_err *err)
{
	const struct print_query *q = now->query;
	uint64_t read = q->wanted;
	int rc = 0;

	if (q->placing)
		rc = af_clocks_read(&now->world.clocks, dir, NULL, err);
	if (rc)
		return rc;
	if (read && q->placing)
		read |= WORK_NEEDS;
	if (read & AF_CALL_KINDS)
		read |= CALL_NEEDS;
	return af_trace_open(&now->trace, dir, read, err);
}

void print_shut(struct printing *now)
{
	af_trace_close(now->trace);
	now->trace = NULL;
	af_world_close(&now->world);
}

void print_free(struct printing *now)
{
	af_calls_free(&now->calls);
	af_map_free(&now->seen);
	free(now->read);
}
