/*
 * Calls of device APIs: how often, and how long they took, for the tables of the report. Calls that
 * only the kernel saw have no times.
 */
#include "analyse/passes/calls.h"

#include <stdlib.h>

#include "analyse/pass/pass.h"
#include "analyse/world/work.h"
#include "base/arena.h"

static bool is_sum_of(const struct call_sum *s, const struct call_sum *key)
{
	return s->process == key->process && s->function == key->function &&
	       s->source == key->source;
}

static uint32_t sum_find(struct calls *c, const struct call_sum *key)
{
	bool fresh;
	uint64_t *slot =
	    af_keys_at(&c->by_key, AF_KEY(key->process, key->function, key->source), &fresh);

	if (fresh) {
		AF_GROW(c->sums, c->nr, c->cap);
		c->sums[c->nr] = (struct call_sum){.process = key->process,
		                                   .function = key->function,
		                                   .source = key->source,
		                                   .min_ns = UINT64_MAX};
		*slot = c->nr++;
	}
	return (uint32_t)*slot;
}

/* Most calls of a function have the sum of the one before; NULL: this one has not. */
static struct call_sum *sum_near(const struct calls *c, const struct call_sum *key)
{
	uint32_t last = key->function < c->cap_last ? c->last[key->function] : 0;

	return last && is_sum_of(&c->sums[last - 1], key) ? &c->sums[last - 1] : NULL;
}

static struct call_sum *sum_of(struct calls *c, const struct call_sum *key)
{
	struct call_sum *near = sum_near(c, key);

	if (near)
		return near;
	AF_REACH(c->last, key->function, c->cap_last);
	c->last[key->function] = sum_find(c, key) + 1;
	return &c->sums[c->last[key->function] - 1];
}

static void calls_overhead(struct calls *c, const struct af_event *ev)
{
	struct af_ev_overhead fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	struct call_cost *cost = &c->cost[fixed.overhead < AF_OVERHEAD_END ? fixed.overhead : 0];
	cost->count++;
	cost->time_ns += fixed.busy_ns;
}

/* Is the function one of an API that calls others? These are what the table is about. */
static bool is_upper(const struct af_world *w, uint32_t function)
{
	return af_call_of_runtime(w, function) ||
	       (function && w->functions[function].api == AF_API_MPI);
}

static void calls_timed(struct calls *c, const struct af_world *w, const struct af_call *call)
{
	const struct call_sum key = {
	    .process = call->process,
	    .function = call->function,
	    .source = af_call_of_program(w, call->function) ? CALL_PROBED : CALL_TIMED,
	};
	uint64_t ns = call->end_ns - call->start_ns;

	struct call_sum *sum = sum_near(c, &key);
	if (!sum && is_upper(w, call->function))
		return;
	sum = sum ? sum : sum_of(c, &key);

	sum->time_ns += ns;
	if (call->out_of_range)
		return;
	sum->count++;
	sum->timed++;
	sum->failed += call->status != 0;
	sum->min_ns = ns < sum->min_ns ? ns : sum->min_ns;
	sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
}

static void calls_seen(struct calls *c, const struct af_world *w, const struct af_call *call)
{
	const struct call_sum key = {
	    .process = call->process,
	    .function = call->function,
	    .source = af_call_of_program(w, call->function) ? CALL_PROBED : CALL_SEEN,
	};

	/* One with a number is a CALL, too. */
	if (call->correlation)
		c->nr_twice++;
	else
		sum_of(c, &key)->count++;
}

/* Calls that the target added up itself. */
static void calls_summed(struct calls *c, const struct af_world *w, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_call_sum fixed;

	if (w->time_range.to_ns || !af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	const uint32_t function = af_world_function(w, ev->process, fixed.function);
	const struct call_sum key = {.process = ev->process,
	                             .function = function,
	                             .source = af_call_of_program(w, function) ? CALL_PROBED
	                                                                       : CALL_TIMED};
	if (is_upper(w, key.function))
		return;
	struct call_sum *sum = sum_of(c, &key);
	sum->time_ns += fixed.time_ns;
	sum->count += fixed.count;
	sum->failed += fixed.failed;
	sum->min_ns = fixed.min_ns < sum->min_ns ? fixed.min_ns : sum->min_ns;
	sum->max_ns = fixed.max_ns > sum->max_ns ? fixed.max_ns : sum->max_ns;
}

static void calls_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct calls *c = self;
	const struct af_call *call;
	struct af_call room;

	switch (ev->kind) {
	case AF_KIND_OVERHEAD:
		calls_overhead(c, ev);
		break;
	case AF_KIND_CALL_SUM:
		calls_summed(c, w, ev);
		break;
	case AF_KIND_CALL_SEEN:
		if (af_call_seen_read(w, ev, &room))
			calls_seen(c, w, &room);
		break;
	default:
		call = af_time_range_call_at(w, ev, &room);
		if (call)
			calls_timed(c, w, call);
	}
}

static bool calls_merge(void *self, const struct af_world *w, const void *other)
{
	const struct calls *from = other;
	struct calls *c = self;

	(void)w;
	for (uint32_t i = 0; i < from->nr; i++) {
		const struct call_sum *s = &from->sums[i];
		struct call_sum *to = sum_of(c, s);
		to->time_ns += s->time_ns;
		to->count += s->count;
		to->timed += s->timed;
		to->failed += s->failed;
		to->min_ns = s->min_ns < to->min_ns ? s->min_ns : to->min_ns;
		to->max_ns = s->max_ns > to->max_ns ? s->max_ns : to->max_ns;
	}
	for (uint32_t i = 0; i < AF_OVERHEAD_END; i++) {
		c->cost[i].count += from->cost[i].count;
		c->cost[i].time_ns += from->cost[i].time_ns;
	}
	c->nr_twice += from->nr_twice;
	return true;
}

static void calls_finish(void *self, const struct af_world *w, struct af_results *out)
{
	const struct calls *c = self;

	calls_tables(c, w, out);
}

static void calls_close(void *self)
{
	struct calls *c = self;

	free(c->sums);
	free(c->last);
	af_keys_free(&c->by_key);
}

const struct af_pass_ops af_pass_calls = {
    .name = "calls",
    .question = "what was asked of device APIs?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_CALL_SEEN |
             1ull << AF_KIND_OVERHEAD | 1ull << AF_KIND_API_CALL | 1ull << AF_KIND_CALL_SUM |
             1ull << AF_KIND_API_BIT,
    .state_size = sizeof(struct calls),
    .event = calls_event,
    .merge = calls_merge,
    .finish = calls_finish,
    .close = calls_close,
};
