/*
 * Spans of a thread between two callbacks, written at their end as calls of
 * src/api/models/openmp.api: the head of a call, then its arguments, 64 bits each.
 */
#include <string.h>

#include "base/pages.h"
#include "inject/api/api.h"
#include "inject/api/clock.h"
#include "inject/core/callpath.h"
#include "inject/core/thread.h"
#include "inject/omp/host.h"
#include "trace/layout.h"

enum { KIND = 0x3000, SPANS_MAX = 40, IN_REGION = 1 /* place among arguments */ };

struct omp_span {
	uint64_t begin_ns;        /* 0: not recorded */
	struct af_omp_team *team; /* NULL: none is known */
	uint64_t args[AF_OMP_HOST_ARGS];
	uint32_t callpath, epoch; /* epoch: of the thread's context, whose id callpath is */
	uint8_t function, nr_args;
	bool is_user; /* of the team, which it leaves */
};

/* Spans deeper than the table are only counted. */
static __thread struct {
	struct omp_span *all; /* SPANS_MAX of them, while nr is not 0 and there is memory */
	uint32_t nr;
} spans;

static struct af_spares spares = {.size = SPANS_MAX * sizeof(struct omp_span)};

uint64_t af_omp_span_now(void)
{
	const struct af_session *session = af_inject_recording();

	return session ? af_call_now_ns() : 0;
}

const struct af_omp_team *af_omp_span_team(void)
{
	return spans.nr && spans.nr <= SPANS_MAX && spans.all ? spans.all[spans.nr - 1].team : NULL;
}

static void span_write(struct af_thread_context *t, const struct omp_span *s, uint64_t end_ns,
                       uint32_t depth)
{
	/* Another event may be the later one, by a tick or two of its clock. */
	if (end_ns < t->stream.last_ns)
		end_ns = t->stream.last_ns;
	const struct af_api_head head = {
	    .callpath = s->epoch == t->epoch ? s->callpath : 0,
	    .duration_ns = af_u48_make(end_ns - s->begin_ns),
	    .depth = (uint8_t)(depth < UINT8_MAX ? depth : UINT8_MAX),
	};
	size_t args = s->nr_args * sizeof *s->args;
	char *p = af_stream_begin(&t->stream, (enum af_kind)(KIND + s->function), end_ns,
	                          sizeof head + args);
	if (!p)
		return;
	memcpy(p, &head, sizeof head);
	memcpy(p + sizeof head, s->args, args);
	af_stream_end(&t->stream);
}

/* These have the stacks by which people know them; other spans where calls are to have one. */
static void span_stack(struct omp_span *s, struct af_thread_context *t, const struct af_regs *regs,
                       uint8_t how)
{
	bool is_known_by = s->function == AF_OMP_PARALLEL || s->function == AF_OMP_TASKWAIT;

	if (!regs || !(how & AF_HOW_STACK || is_known_by))
		return;
	s->callpath = af_thread_callpath(t, regs);
	s->epoch = t->epoch;
}

bool af_omp_span_begin(enum af_omp_host function, struct af_omp_team *team, bool is_user,
                       const uint64_t *args, uint32_t nr_args, const struct af_regs *regs)
{
	uint8_t how = af_api_how((uint16_t)(KIND + function));
	uint32_t i = spans.nr++;

	if (!i)
		spans.all = af_spares_take(&spares);
	if (i >= SPANS_MAX || !spans.all) {
		if (is_user)
			af_omp_team_leave(team);
		return false;
	}
	struct omp_span *s = &spans.all[i];
	*s = (struct omp_span){.team = team ? team
	                               : i  ? spans.all[i - 1].team
	                                    : NULL,
	                       .nr_args = (uint8_t)nr_args,
	                       .function = (uint8_t)function,
	                       .is_user = is_user && team};
	memcpy(s->args, args, nr_args * sizeof *args);
	struct af_thread_context *t = how && af_inject_recording() ? af_thread_enter() : NULL;
	if (t) {
		span_stack(s, t, regs, how);
		af_thread_leave(t);
		s->begin_ns = af_omp_span_now();
	}
	return true;
}

/* How much of a span that ends at @end_ns was before the end of its region. */
static uint64_t in_region_ns(const struct omp_span *s, uint64_t end_ns)
{
	uint64_t until_ns = s->team ? atomic_load(&s->team->end_ns) : 0;

	if (!until_ns || until_ns > end_ns)
		until_ns = end_ns;
	return until_ns > s->begin_ns ? until_ns - s->begin_ns : 0;
}

static void span_end(struct omp_span *s)
{
	uint64_t end_ns = af_omp_span_now();
	struct af_thread_context *t = s->begin_ns && end_ns ? af_thread_enter() : NULL;

	if (s->function == AF_OMP_PARALLEL && s->team)
		atomic_store(&s->team->end_ns, end_ns);
	if (!t)
		return;
	if (end_ns < s->begin_ns)
		end_ns = s->begin_ns;
	if (s->function == AF_OMP_IMPLICIT_TASK ||
	    (s->function >= AF_OMP_BARRIER_IMPLICIT && s->function <= AF_OMP_TASKGROUP))
		s->args[IN_REGION] = in_region_ns(s, end_ns);
	span_write(t, s, end_ns, spans.nr);
	af_thread_leave(t);
}

/* The innermost span of @function in the table, counted from 1; 0: there is none. */
static uint32_t span_find(enum af_omp_host function)
{
	uint32_t i = spans.nr;

	while (i && spans.all[i - 1].function != function)
		i--;
	return i;
}

void af_omp_span_end(enum af_omp_host function)
{
	if (spans.nr > SPANS_MAX || !spans.all) {
		spans.nr -= spans.nr != 0;
		return;
	}
	uint32_t found = span_find(function);
	while (found && spans.nr >= found) {
		struct omp_span *s = &spans.all[--spans.nr];
		if (spans.nr + 1 == found)
			span_end(s);
		if (s->is_user)
			af_omp_team_leave(s->team);
	}
	if (spans.nr)
		return;
	af_spares_give(&spares, spans.all);
	spans.all = NULL;
}

void af_omp_span_put(enum af_omp_host function, uint64_t begin_ns, const uint64_t *args,
                     uint32_t nr_args, const struct af_regs *regs)
{
	uint8_t how = af_api_how((uint16_t)(KIND + function));
	uint64_t now_ns = how ? af_omp_span_now() : 0;
	struct af_thread_context *t = now_ns ? af_thread_enter() : NULL;
	struct omp_span s = {.begin_ns = begin_ns && begin_ns < now_ns ? begin_ns : now_ns,
	                     .nr_args = (uint8_t)nr_args,
	                     .function = (uint8_t)function};

	if (!t)
		return;
	memcpy(s.args, args, nr_args * sizeof *args);
	span_stack(&s, t, regs, how);
	span_write(t, &s, now_ns, spans.nr);
	af_thread_leave(t);
}
