/* Gaps, each explained by what one thread did in it. */
#include "analyse/idle/idle.h"
#include "analyse/idle/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/hash.h"

enum { CAUSES_MAX = 32 };

/* One gap while it is explained. */
struct explained {
	struct idle *i;
	uint64_t to_ns; /* its end */
	uint32_t story;
	bool is_listed;               /* it is one of the longest so far: its causes matter */
	uint64_t left_ns, sampled_ns; /* as in the story, of this gap alone */
	double square;
	struct idle_cause causes[CAUSES_MAX];
	uint32_t nr;
	uint64_t rest_ns[IDLE_RESTS]; /* of causes that found no place among these */
};

static bool is_story(const struct idle_story *a, const struct idle_story *b)
{
	return a->device == b->device && a->phase == b->phase && a->process == b->process &&
	       a->tid == b->tid && a->drained == b->drained && a->is_long == b->is_long;
}

uint32_t idle_story(struct idle *i, const struct idle_story *s)
{
	uint32_t *near = &i->near_stories[(s->tid ^ s->device << 3 ^ (uint32_t)s->drained << 5) &
	                                  (IDLE_STORIES_NEAR - 1)];
	bool fresh;

	if (*near && is_story(&i->stories[*near - 1], s))
		return *near - 1;
	const uint64_t key[] = {s->device, s->phase, s->process, s->tid, s->drained, s->is_long};
	uint64_t *slot = af_keys_at(&i->by_story, key, sizeof key, &fresh);
	if (fresh) {
		AF_GROW(i->stories, i->nr_stories, i->cap_stories);
		i->stories[i->nr_stories] = *s;
		*slot = i->nr_stories++;
	}
	*near = (uint32_t)*slot + 1;
	return (uint32_t)*slot;
}

static uint32_t sum_new(struct idle *i, const struct idle_sum *s)
{
	AF_GROW(i->sums, i->nr_sums, i->cap_sums);
	i->sums[i->nr_sums] = *s;
	i->sums[i->nr_sums].ns = 0;
	i->sums[i->nr_sums].square = 0;
	return i->nr_sums++;
}

static bool is_sum(const struct idle_sum *a, const struct idle_sum *b)
{
	return a->story == b->story && a->kind == b->kind && a->place == b->place &&
	       a->what == b->what;
}

static uint32_t sum_find(struct idle *i, const struct idle_sum *s)
{
	const uint64_t key[] = {s->story, s->kind, s->place, s->what};
	bool fresh;
	uint64_t *slot = af_keys_at(&i->by_sum, key, sizeof key, &fresh);

	if (fresh)
		*slot = sum_new(i, s);
	return (uint32_t)*slot;
}

/* Few sums get most of the time: they are found without their keys. */
void idle_sum_add(struct idle *i, const struct idle_sum *s)
{
	uint32_t *near =
	    &i->near_sums[af_near(IDLE_SUMS_NEAR_BITS, s->place, s->story, s->what, s->kind)];

	if (!*near || !is_sum(&i->sums[*near - 1], s))
		*near = sum_find(i, s) + 1;
	i->sums[*near - 1].ns += s->ns;
	i->sums[*near - 1].square += s->square;
}

static void rest_add(uint64_t rest_ns[IDLE_RESTS], const struct idle_cause *c)
{
	switch (c->kind) {
	case IDLE_KIND_CALL:
		rest_ns[IDLE_REST_CALLS] += c->ns;
		break;
	case IDLE_KIND_WAIT:
		rest_ns[c->what == AF_STATE_RUNNABLE ? IDLE_REST_STARVED : IDLE_REST_OFF] += c->ns;
		break;
	case IDLE_KIND_TICK:
		rest_ns[IDLE_REST_TICKS] += c->ns;
		break;
	default: /* The others have one cause each. */
		break;
	}
}

/* Causes that come when there are too many are only in the sum. */
static void cause_add(struct explained *e, enum idle_kind kind, uint32_t place, uint32_t what,
                      uint64_t ns)
{
	uint32_t n = 0;

	while (n < e->nr && (e->causes[n].kind != kind || e->causes[n].place != place ||
	                     e->causes[n].what != what))
		n++;
	if (n == CAUSES_MAX) {
		rest_add(e->rest_ns, &(const struct idle_cause){kind, place, what, ns});
		return;
	}
	if (n == e->nr)
		e->causes[e->nr++] = (struct idle_cause){kind, place, what, 0};
	e->causes[n].ns += ns;
}

static void explained_add(struct explained *e, enum idle_kind kind, uint32_t place, uint32_t what,
                          uint64_t ns)
{
	if (!ns)
		return;
	const struct idle_sum sum = {e->story, kind, place, what, ns, (double)ns * (double)ns};
	idle_sum_add(e->i, &sum);
	if (e->is_listed)
		cause_add(e, kind, place, what, ns);
}

static void explained_span(void *arg, bool is_call, const struct af_span *span, uint64_t ns)
{
	struct explained *e = arg;

	e->i->unsure |= span->end_ns > e->to_ns + IDLE_SURE_NS;
	explained_add(arg, is_call ? IDLE_KIND_CALL : IDLE_KIND_WAIT, span->place, span->what, ns);
}

static uint32_t first_tick(const struct idle_thread *t, uint64_t from_ns)
{
	uint32_t low = 0, high = t->nr_ticks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (t->ticks[middle].time_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The thread's activity in [@from_ns, @to_ns). */
static void explained_thread(struct explained *e, struct idle_thread *t, uint64_t from_ns,
                             uint64_t to_ns)
{
	const struct af_spans spans = {t->calls,    t->waits,      t->nr_calls,
	                               t->nr_waits, &t->near_call, &t->near_wait};
	uint64_t left_ns = af_spans_walk(&spans, from_ns, to_ns, explained_span, e);

	t->read_from_ns = from_ns < t->read_from_ns || !t->read_to_ns ? from_ns : t->read_from_ns;
	t->read_to_ns = to_ns > t->read_to_ns ? to_ns : t->read_to_ns;
	e->left_ns += left_ns;
	if (!left_ns)
		return;
	for (uint32_t n = t->nr_ticks ? first_tick(t, from_ns) : 0; n < t->nr_ticks; n++) {
		const struct idle_tick *tick = &t->ticks[n];
		if (tick->time_ns >= to_ns)
			break;
		if (af_spans_has_near(t->calls, t->nr_calls, tick->time_ns, &t->near_call) ||
		    af_spans_has_near(t->waits, t->nr_waits, tick->time_ns, &t->near_wait))
			continue;
		explained_add(e, IDLE_KIND_TICK, tick->place, 0, tick->weight_ns);
		e->sampled_ns += tick->weight_ns;
		e->square += (double)tick->weight_ns * (double)tick->weight_ns;
	}
}

/* @part of @all of @ns, where @part is at most @all. */
static uint64_t share(uint64_t ns, uint64_t part, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)ns * part / all) : 0;
}

uint64_t idle_sum_ns(const struct idle *i, const struct idle_sum *sum)
{
	const struct idle_story *s = &i->stories[sum->story];

	if (sum->kind != IDLE_KIND_TICK || s->sampled_ns <= s->left_ns)
		return sum->ns;
	return share(sum->ns, s->left_ns, s->sampled_ns);
}

/* The order of places that does not depend on what came before. */
static int place_order(const struct idle *i, uint32_t a, uint32_t b)
{
	if (a == b || !(a & b & IDLE_PLACE_OWN))
		return a < b ? -1 : a > b;
	const struct af_stack_location *x = &i->stack_locations.all[a & ~IDLE_PLACE_OWN];
	const struct af_stack_location *y = &i->stack_locations.all[b & ~IDLE_PLACE_OWN];
	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	if (x->kstack != y->kstack)
		return x->kstack < y->kstack ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int cause_order(const void *a, const void *b, void *arg)
{
	const struct idle_cause *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	int order = place_order(arg, x->place, y->place);
	return order ? order : x->what < y->what ? -1 : x->what > y->what;
}

/* In one gap, too, samples explain no more than was left. */
static void explained_causes(struct explained *e, struct idle_gap *gap)
{
	uint64_t unseen_ns = e->left_ns > e->sampled_ns ? e->left_ns - e->sampled_ns : 0;

	for (uint32_t n = 0; n < e->nr; n++)
		if (e->causes[n].kind == IDLE_KIND_TICK && e->sampled_ns > e->left_ns)
			e->causes[n].ns = share(e->causes[n].ns, e->left_ns, e->sampled_ns);
	if (e->sampled_ns > e->left_ns)
		e->rest_ns[IDLE_REST_TICKS] =
		    share(e->rest_ns[IDLE_REST_TICKS], e->left_ns, e->sampled_ns);
	if (unseen_ns && e->nr == CAUSES_MAX)
		rest_add(e->rest_ns, &e->causes[--e->nr]);
	if (unseen_ns)
		e->causes[e->nr++] = (struct idle_cause){IDLE_KIND_UNSEEN, 0, 0, unseen_ns};
	qsort_r(e->causes, e->nr, sizeof *e->causes, cause_order, e->i);
	for (uint32_t n = AF_IDLE_CAUSES; n < e->nr; n++)
		rest_add(e->rest_ns, &e->causes[n]);
	memcpy(gap->rest_ns, e->rest_ns, sizeof gap->rest_ns);
	while (gap->nr_causes < e->nr && gap->nr_causes < AF_IDLE_CAUSES) {
		gap->causes[gap->nr_causes] = e->causes[gap->nr_causes];
		gap->nr_causes++;
	}
}

static bool gap_shorter(const struct idle_gap *a, const struct idle_gap *b)
{
	uint64_t x = a->end_ns - a->start_ns, y = b->end_ns - b->start_ns;

	return x != y ? x < y : a->start_ns > b->start_ns;
}

/* Williams' heap: its root is the shortest of the longest, which gives way to a longer one. */
void idle_longest_put(struct idle *i, const struct idle_gap *gap)
{
	uint32_t at = 0;

	if (i->nr_longest < AF_IDLE_LONGEST) {
		AF_GROW(i->longest, i->nr_longest, i->cap_longest);
		for (at = i->nr_longest++; at && gap_shorter(gap, &i->longest[(at - 1) / 2]);
		     at = (at - 1) / 2)
			i->longest[at] = i->longest[(at - 1) / 2];
		i->longest[at] = *gap;
		return;
	}
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child + 1 < i->nr_longest &&
		    gap_shorter(&i->longest[child + 1], &i->longest[child]))
			child++;
		if (child >= i->nr_longest || !gap_shorter(&i->longest[child], gap))
			break;
		i->longest[at] = i->longest[child];
		at = child;
	}
	i->longest[at] = *gap;
}

bool idle_is_long(const struct idle *i, uint64_t ns)
{
	return i->nr_longest < AF_IDLE_LONGEST ||
	       ns > i->longest[0].end_ns - i->longest[0].start_ns;
}

/*
 * As far as a program can be ahead of its device by what it has launched. Of a gap that is longer,
 * not the wait before it is the reason.
 */
enum { AHEAD_NS = 10000000 };

/* Did the thread wait for the device when it ran out of work: for the work it was last given? */
static bool is_drained(const struct idle_device *d, const struct idle_piece *ends, uint32_t process,
                       uint64_t from_ns)
{
	return d->launched && ends && ends->launched && d->process == process &&
	       d->tid == ends->tid && d->call_start_ns < from_ns && d->call_end_ns > from_ns;
}

/* Or in a call that is there for waiting? */
static bool is_waiting(const struct af_world *w, struct idle_thread *t, uint64_t from_ns)
{
	const struct af_span *call =
	    af_spans_has_near(t->calls, t->nr_calls, from_ns, &t->near_call);

	/* MPI's waits are for other processes. */
	return call && call->what && w->functions[call->what].category == AF_CATEGORY_SYNC &&
	       w->functions[call->what].api != AF_API_MPI;
}

static void explained_known(struct explained *e, const struct idle_story *s, struct idle_thread *t,
                            uint64_t from_ns, uint64_t to_ns, const struct idle_piece *ends)
{
	uint64_t back_ns = ends ? ends->call_end_ns : to_ns;

	if (ends && s->phase == IDLE_BETWEEN && back_ns <= from_ns) {
		explained_add(e, IDLE_KIND_QUEUED, ends->place, ends->function, to_ns - from_ns);
		return;
	}
	back_ns = back_ns < from_ns ? from_ns : back_ns > to_ns ? to_ns : back_ns;
	explained_thread(e, t, from_ns, back_ns);
	if (ends && to_ns > back_ns)
		explained_add(e, IDLE_KIND_ON_WAY, ends->place, ends->function, to_ns - back_ns);
}

static void gap_put(struct explained *e, const struct idle_story *s, uint64_t from_ns,
                    uint64_t to_ns, const struct idle_piece *ends)
{
	struct idle_device *d = &e->i->devices[s->device];
	uint64_t ns = to_ns - from_ns;

	d->nr_gaps++;
	if (ns > d->longest_ns)
		d->longest_ns = ns;
	if (!e->is_listed)
		return;
	struct idle_gap gap = {
	    .device = s->device,
	    .start_ns = from_ns,
	    .end_ns = to_ns,
	    .descriptor = ends->descriptor,
	    .tid = s->tid,
	    .drained = s->drained,
	};
	explained_causes(e, &gap);
	idle_longest_put(e->i, &gap);
}

void idle_explain(struct idle *i, const struct af_world *w, uint32_t device, enum idle_phase phase,
                  uint64_t from_ns, uint64_t to_ns, const struct idle_piece *ends)
{
	struct idle_device *d = &i->devices[device];
	bool known = ends ? ends->launched : d->launched;
	uint32_t process = ends ? i->devices[ends->device].process : d->process;
	struct idle_story story = {
	    .device = device,
	    .phase = phase,
	    .process = process,
	    .tid = !known ? 0
	           : ends ? ends->tid
	                  : d->tid,
	};
	struct explained e;

	if (to_ns <= from_ns || i->taking)
		return;
	struct idle_thread *t = known ? idle_thread(i, process, story.tid) : NULL;
	if (t && ends && phase == IDLE_BETWEEN && ends->call_end_ns > from_ns &&
	    to_ns - from_ns <= AHEAD_NS)
		story.drained = is_drained(d, ends, process, from_ns) || is_waiting(w, t, from_ns);
	story.is_long = to_ns - from_ns >= AF_IDLE_LONG_NS;
	d->phase_ns[phase] += to_ns - from_ns;
	e.i = i;
	e.to_ns = to_ns;
	e.story = idle_story(i, &story);
	e.left_ns = e.sampled_ns = e.nr = 0;
	e.square = 0;
	e.is_listed = ends && phase == IDLE_BETWEEN && idle_is_long(i, to_ns - from_ns);
	if (e.is_listed)
		memset(e.rest_ns, 0, sizeof e.rest_ns);
	if (t)
		explained_known(&e, &story, t, from_ns, to_ns, ends);
	else
		explained_add(&e, IDLE_KIND_NO_CALL, 0, 0, to_ns - from_ns);
	struct idle_story *sum = &i->stories[e.story];
	sum->left_ns += e.left_ns;
	sum->sampled_ns += e.sampled_ns;
	sum->square += e.square + (double)e.left_ns * (double)e.left_ns;
	if (ends && phase == IDLE_BETWEEN)
		gap_put(&e, &story, from_ns, to_ns, ends);
}
