/*
 * Which message a receive got. Messages of one channel do not overtake one another: they go to the
 * receives that got a message of the channel in the order in which these were posted. A receive of
 * any source or tag belongs to a channel only when it is complete, so those behind it wait for it.
 */
#include <stdlib.h>

#include "analyse/clocks/private.h"
#include "base/arena.h"

enum { WAITING_MAX = 65536 };

struct receive {
	uint32_t comm, tid;
	int32_t source, tag;
	int64_t ns;      /* of its completion, 0: not yet */
	bool has_number; /* it has its place in the channel */
	bool is_over;
	uint64_t number;
};

struct clock_receives {
	struct clock_messages *to;
	struct receive *all; /* from number first on */
	uint32_t nr, cap;
	uint64_t first;
	uint32_t unnumbered; /* those before it have their places */
	bool broken;
};

struct clock_receives *clock_receives_new(struct clock_messages *to)
{
	struct clock_receives *r = af_xcalloc(1, sizeof *r);

	r->to = to;
	return r;
}

void clock_receives_free(struct clock_receives *r)
{
	if (r)
		free(r->all);
	free(r);
}

void clock_receives_break(struct clock_receives *r)
{
	r->broken = true;
}

static void put(struct clock_receives *r, const struct receive *is)
{
	struct clock_channel *c =
	    clock_channel_of(r->to, is->comm, (uint32_t)is->source, is->tag, false, is->tid);

	if (c && is->ns)
		clock_channel_put(r->to, c, is->number, is->ns);
}

/* Give places to those at the front whose channel is known, and forget those that are over. */
static void advance(struct clock_receives *r)
{
	uint32_t gone = 0;

	for (; r->unnumbered < r->nr; r->unnumbered++) {
		struct receive *is = &r->all[r->unnumbered];
		if (is->source == CLOCK_ANY_SOURCE || is->tag == CLOCK_ANY_TAG)
			break;
		struct clock_channel *c = clock_channel_of(r->to, is->comm, (uint32_t)is->source,
		                                           is->tag, false, is->tid);
		is->number = c ? c->nr++ : 0;
		is->has_number = true;
		if (is->is_over)
			put(r, is);
	}
	while (gone < r->unnumbered && r->all[gone].is_over)
		gone++;
	/* In large steps: each moves what is left. */
	if (gone < 1024 && gone < r->nr)
		return;
	for (uint32_t i = gone; i < r->nr; i++)
		r->all[i - gone] = r->all[i];
	r->nr -= gone;
	r->unnumbered -= gone;
	r->first += gone;
}

uint64_t clock_receive_post(struct clock_receives *r, uint32_t comm, int32_t source, int32_t tag,
                            uint32_t tid)
{
	if (r->nr >= WAITING_MAX)
		r->broken = true;
	if (r->broken)
		return 0;
	AF_GROW(r->all, r->nr, r->cap);
	r->all[r->nr++] = (struct receive){.comm = comm, .source = source, .tag = tag, .tid = tid};
	uint64_t number = r->first + r->nr - 1;
	advance(r);
	return number;
}

static struct receive *receive_of(struct clock_receives *r, uint64_t receive)
{
	if (r->broken || receive < r->first || receive - r->first >= r->nr ||
	    r->all[receive - r->first].is_over)
		return NULL;
	return &r->all[receive - r->first];
}

void clock_receive_complete(struct clock_receives *r, uint64_t receive, int32_t source, int32_t tag,
                            int64_t ns)
{
	struct receive *is = receive_of(r, receive);

	if (!is)
		return;
	if (is->source == CLOCK_ANY_SOURCE)
		is->source = source;
	if (is->tag == CLOCK_ANY_TAG)
		is->tag = tag;
	/* Nobody knows which message it was. */
	if (is->source == CLOCK_ANY_SOURCE || is->tag == CLOCK_ANY_TAG) {
		r->broken = true;
		return;
	}
	is->ns = ns;
	is->is_over = true;
	if (is->has_number)
		put(r, is);
	advance(r);
}

void clock_receive_lost(struct clock_receives *r, uint64_t receive, bool cancelled)
{
	struct receive *is = receive_of(r, receive);

	if (!is)
		return;
	if (cancelled || is->source == CLOCK_ANY_SOURCE || is->tag == CLOCK_ANY_TAG)
		r->broken = true;
	is->is_over = true;
	advance(r);
}
