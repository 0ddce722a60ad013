/*
 * Calls of APIs, added up by function and thread. An event of the APIs' tables is only its head and
 * a field at a fixed place: traces have hundreds of millions of them.
 */
#include "analyse/tally/tally.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/tally/private.h"
#include "api/tables/tables.h"

_Static_assert(AF_KIND_API + TALLY_KINDS == 0x10000, "kinds have 16 bits");

static uint32_t thread_find(struct tally *t, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&t->by_thread, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(t->threads, t->nr_threads, t->cap_threads);
		t->threads[t->nr_threads] = (struct tally_thread){.process = process, .tid = tid};
		*slot = t->nr_threads++;
	}
	return (uint32_t)*slot;
}

/* Most events of a stream are of the thread of the one before. */
static uint32_t thread_of(struct tally *t, const struct af_event *ev)
{
	AF_REACH(t->streams, ev->stream, t->cap_streams);
	struct tally_stream *s = &t->streams[ev->stream];

	if (!s->thread || s->tid != ev->tid || s->process != ev->process)
		*s = (struct tally_stream){ev->process, ev->tid,
		                           thread_find(t, ev->process, ev->tid) + 1};
	return s->thread - 1;
}

static uint32_t sum_make(struct tally *t, const struct tally_sum *is)
{
	AF_GROW(t->sums, t->nr, t->cap);
	t->sums[t->nr] = *is;
	return t->nr++;
}

static uint32_t function_number(struct tally *t, uint16_t kind)
{
	const struct af_api_function *f = af_api_function(kind);

	AF_GROW(t->functions, t->nr_functions, t->cap_functions);
	t->functions[t->nr_functions++] = (struct tally_function){
	    .kind = kind,
	    .bytes_at = f ? f->bytes_at : 0,
	    .bytes_len = f && f->bytes_len <= sizeof(uint64_t) ? f->bytes_len : 0,
	};
	return t->numbers[kind - AF_KIND_API] = (uint16_t)t->nr_functions;
}

static struct tally_sum *api_sum(struct tally *t, uint32_t thread, uint16_t kind, uint32_t *number)
{
	*number = t->numbers[kind - AF_KIND_API];
	if (!*number)
		*number = function_number(t, kind);
	struct tally_thread *of = &t->threads[thread];
	AF_REACH(of->of, *number, of->cap_of);
	if (!of->of[*number])
		of->of[*number] =
		    sum_make(t, &(struct tally_sum){.thread = thread, .kind = kind}) + 1;
	return &t->sums[of->of[*number] - 1];
}

static bool in_range(const struct af_world *w, uint64_t end_ns, uint64_t ns)
{
	return !w->time_range.to_ns ||
	       af_time_range_reaches(&w->time_range, ns < end_ns ? end_ns - ns : 0, end_ns);
}

static void tally_api(struct tally *t, const struct af_world *w, const struct af_event *ev)
{
	struct af_api_head head;
	uint32_t number;

	if (ev->payload_size < sizeof head)
		return;
	memcpy(&head, ev->payload, sizeof head);
	const uint64_t ns = af_u48_value(head.duration_ns);
	if (!in_range(w, ev->time_ns, ns))
		return;
	struct af_call_stats *stats = &api_sum(t, thread_of(t, ev), ev->kind, &number)->stats;
	if (head.flags & AF_API_CALL_FAILED) {
		stats->count++;
		stats->failed++;
		return;
	}
	af_stats_call(stats, ns);
	const struct tally_function *f = &t->functions[number - 1];
	uint64_t bytes = 0;
	if (!f->bytes_len || (uint32_t)f->bytes_at + f->bytes_len > ev->payload_size)
		return;
	memcpy(&bytes, ev->payload + f->bytes_at, f->bytes_len);
	af_stats_bytes(stats, bytes);
}

static bool is_like(const struct tally_sum *s, const struct tally_sum *like)
{
	return s->function == like->function && s->thread == like->thread &&
	       s->source == like->source && s->op == like->op;
}

/*
 * By path and then by what else tells sums apart, of which a path has few: the last one found is
 * the first to be looked at.
 */
static struct tally_sum *path_sum(struct tally *t, const struct tally_sum *like)
{
	AF_REACH(t->by_path, like->path, t->cap_by_path);
	uint32_t *first = &t->by_path[like->path];
	for (uint32_t i = *first, before = 0; i; before = i, i = t->sums[i - 1].next) {
		struct tally_sum *s = &t->sums[i - 1];
		if (!is_like(s, like))
			continue;
		if (before) {
			t->sums[before - 1].next = s->next;
			s->next = *first;
			*first = i;
		}
		return s;
	}
	uint32_t made = sum_make(t, like);
	t->sums[made].next = t->by_path[like->path];
	t->by_path[like->path] = made + 1;
	return &t->sums[made];
}

static void tally_call(struct tally *t, const struct af_world *w, const struct af_event *ev)
{
	struct af_call call;

	if (!af_call_read(w, ev, &call) || !af_time_range_call(&w->time_range, &call) ||
	    call.out_of_range)
		return;
	const struct tally_sum like = {
	    .thread = thread_of(t, ev), .function = call.function, .path = call.path};
	struct af_call_stats *stats = &path_sum(t, &like)->stats;
	if (call.status) {
		stats->count++;
		stats->failed++;
	} else {
		af_stats_call(stats, call.end_ns - call.start_ns);
	}
}

/* One with a number is a CALL, too. */
static void tally_seen(struct tally *t, const struct af_world *w, const struct af_event *ev)
{
	struct af_call call;

	if (!af_call_seen_read(w, ev, &call) || call.correlation)
		return;
	const struct tally_sum like = {.thread = thread_of(t, ev),
	                               .function = call.function,
	                               .path = call.path,
	                               .source = AF_TALLY_SEEN};
	path_sum(t, &like)->stats.count++;
}

/* A call of a function that its API's model lacks. */
static void tally_unmodelled(struct tally *t, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_api_call fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL) ||
	    !in_range(w, ev->time_ns, af_u48_value(fixed.duration_ns)))
		return;
	const struct tally_sum like = {.thread = thread_of(t, ev),
	                               .function =
	                                   af_world_function(w, ev->process, fixed.function)};
	struct af_call_stats *stats = &path_sum(t, &like)->stats;
	if (fixed.flags & AF_API_CALL_FAILED) {
		stats->count++;
		stats->failed++;
	} else {
		af_stats_call(stats, af_u48_value(fixed.duration_ns));
	}
}

/* Counts of powers of two, as the target has them, to the four buckets of each. */
static void histogram_read(struct af_histogram *h, const struct af_tail_view *counts)
{
	for (uint32_t i = 0; i < counts->len && i < 64; i++) {
		uint32_t n, buckets = i < 2 ? 1 : 4;
		memcpy(&n, counts->data + (size_t)i * sizeof n, sizeof n);
		for (uint32_t part = 0; part < buckets && n; part++) {
			uint32_t share = n / buckets + (part < n % buckets);
			unsigned bucket = i < 2 ? 1 + i : af_histogram_bucket(1ull << i) + part;
			if (share)
				af_histogram_put(h, bucket, share);
		}
	}
}

static uint64_t histogram_nr(const struct af_tail_view *counts)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < counts->len; i++) {
		uint32_t n;
		memcpy(&n, counts->data + (size_t)i * sizeof n, sizeof n);
		nr += n;
	}
	return nr;
}

/* Calls that the target added up itself. */
static void tally_summed(struct tally *t, const struct af_world *w, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_call_sum fixed;
	uint32_t number;

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails) || fixed.function > UINT16_MAX)
		return;
	uint32_t thread = thread_find(t, ev->process, fixed.tid);
	const uint32_t function = af_world_function(w, ev->process, fixed.function);
	const bool probed = function && w->functions[function].api == AF_API_FUNCTION;
	const struct tally_sum like = {.thread = thread,
	                               .function = function,
	                               .source = probed ? AF_TALLY_SEEN : AF_TALLY_TIMED};
	struct tally_sum *sum = fixed.function >= AF_KIND_API
	                            ? api_sum(t, thread, (uint16_t)fixed.function, &number)
	                            : path_sum(t, &like);
	struct af_call_stats from = {
	    .count = fixed.count,
	    .failed = fixed.failed < fixed.count ? fixed.failed : fixed.count,
	    .time_ns = fixed.time_ns,
	    .min_ns = fixed.min_ns,
	    .max_ns = fixed.max_ns,
	    .bytes = fixed.bytes,
	    .sized = histogram_nr(&tails[1]),
	};
	histogram_read(&from.times, &tails[0]);
	histogram_read(&from.sizes, &tails[1]);
	if (from.sized) { /* known as far as the histogram tells */
		from.min_bytes = af_histogram_percentile(&from.sizes, 0, 0, UINT64_MAX);
		from.max_bytes = af_histogram_percentile(&from.sizes, 100, 0, UINT64_MAX);
	}
	af_stats_merge(&sum->stats, &from);
	af_stats_free(&from);
}

static void tally_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct tally *t = self;

	if (ev->kind >= AF_KIND_API) {
		tally_api(t, w, ev);
		return;
	}
	switch (ev->kind) {
	case AF_KIND_CALL:
	case AF_KIND_CALL_LONG:
		tally_call(t, w, ev);
		break;
	case AF_KIND_CALL_SEEN:
		tally_seen(t, w, ev);
		break;
	case AF_KIND_API_CALL:
		tally_unmodelled(t, w, ev);
		break;
	case AF_KIND_CALL_SUM:
		tally_summed(t, w, ev);
		break;
	case AF_KIND_CALL_OPEN:
		t->nr_open++;
		break;
	}
}

/* OpenCL's calls need not have events of their own: then the work that they enqueued is counted. */
static void tally_work(void *self, const struct af_world *w, const struct af_work *work)
{
	const uint32_t op = work->descriptor ? w->descriptors[work->descriptor].is.op : 0;
	struct tally *t = self;

	if (work->api != AF_API_OPENCL || !op || !work->launched || work->out_of_range)
		return;
	/* The kernel saw the drivers' calls by themselves, and OpenMP's have events. */
	const struct af_device *device = af_world_device(w, work->process, af_work_device(w, work));
	if (device && (device->api == AF_API_DRM || device->api == AF_API_OPENMP))
		return;
	const struct tally_sum like = {.thread = thread_find(t, work->process, work->tid),
	                               .source = AF_TALLY_ENQUEUED,
	                               .op = op};
	struct af_call_stats *stats = &path_sum(t, &like)->stats;
	stats->count++;
	stats->failed += work->status != 0;
}

static bool tally_merge(void *self, const struct af_world *w, const void *other)
{
	const struct tally *from = other;
	struct tally *t = self;

	(void)w;
	for (uint32_t i = 0; i < from->nr; i++) {
		const struct tally_sum *s = &from->sums[i];
		const struct tally_thread *of = &from->threads[s->thread];
		struct tally_sum like = *s;
		uint32_t number;

		like.thread = thread_find(t, of->process, of->tid);
		like.stats = (struct af_call_stats){0};
		like.next = 0;
		struct tally_sum *to = s->kind ? api_sum(t, like.thread, (uint16_t)s->kind, &number)
		                               : path_sum(t, &like);
		af_stats_merge(&to->stats, &s->stats);
	}
	t->nr_open += from->nr_open;
	return true;
}

static void tally_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct tally *t = self;

	if (out->query.own)
		tally_rows(t, w, out->query.own);
}

static void tally_close(void *self)
{
	struct tally *t = self;

	for (uint32_t i = 0; i < t->nr; i++)
		af_stats_free(&t->sums[i].stats);
	for (uint32_t i = 0; i < t->nr_threads; i++)
		free(t->threads[i].of);
	free(t->sums);
	free(t->functions);
	free(t->threads);
	free(t->streams);
	free(t->by_path);
	af_map_free(&t->by_thread);
}

const struct af_pass_ops af_pass_tally = {
    .name = "tally",
    .question = "which functions of APIs were called, how often and for how long?",
    .answers = AF_ANSWER_TALLY,
    .wants = 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_CALL_SEEN |
             1ull << AF_KIND_API_CALL | 1ull << AF_KIND_CALL_SUM | 1ull << AF_KIND_CALL_OPEN |
             1ull << AF_KIND_API_BIT,
    .state_size = sizeof(struct tally),
    .event = tally_event,
    .work = tally_work,
    .merge = tally_merge,
    .finish = tally_finish,
    .close = tally_close,
};
