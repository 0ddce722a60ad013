/* The events of a trace, read ahead: a ring of batches, which one thread at a time fills. */
#include <stdlib.h>

#include "analyse/pass/deliver_private.h"
#include "base/arena.h"

/* So many batches that are read but not taken are enough: others have better things to do. */
enum { EVENTS_ENOUGH = 2 };

struct deliver_events {
	struct af_run runs[DELIVER_RUNS];
	uint32_t nr;
	uint64_t position; /* of the trace, behind them */
};

static uint64_t events_ready(const struct deliver *d)
{
	return d->events_read - d->events_taken;
}

bool deliver_events_wanted(const struct deliver *d, bool soon)
{
	const uint64_t most = soon ? EVENTS_ENOUGH : DELIVER_EVENTS_RING - 1;

	return d->reads_ahead && !d->reading && !d->events_end && !d->leaving &&
	       events_ready(d) < most;
}

static void events_fill(struct deliver *d, struct deliver_events *e)
{
	e->nr = af_trace_next_runs(d->trace, e->runs, DELIVER_RUNS, DELIVER_EVENTS);
	e->position = af_trace_position(d->trace);
}

void deliver_events_read(struct deliver *d)
{
	struct deliver_events *e = &d->events[d->events_read % DELIVER_EVENTS_RING];

	d->reading = true;
	pthread_mutex_unlock(&d->lock);
	events_fill(d, e);
	pthread_mutex_lock(&d->lock);
	d->events_end = !e->nr;
	d->events_read++;
	d->reading = false;
}

/* The batch that was taken is done with; another one, read by this thread if need be. */
static struct deliver_events *events_take(struct deliver *d)
{
	struct deliver_events *e = NULL;

	pthread_mutex_lock(&d->lock);
	while (!events_ready(d) && !d->events_end) {
		if (!d->reading)
			deliver_events_read(d);
		else
			deliver_help_or_wait(d);
	}
	if (events_ready(d))
		e = &d->events[d->events_taken++ % DELIVER_EVENTS_RING];
	if (events_ready(d) <= DELIVER_EVENTS_RING / 2)
		pthread_cond_signal(&d->made_more);
	pthread_mutex_unlock(&d->lock);
	return e;
}

void deliver_read(struct deliver *d, struct af_trace *trace)
{
	d->trace = trace;
	d->events = af_xcalloc(d->most_threads > 1 ? DELIVER_EVENTS_RING : 1, sizeof *d->events);
}

/* The next batch; false at the end of the trace. */
static bool events_next(struct deliver *d)
{
	struct deliver_events *e = d->events;

	if (!d->reads_ahead && d->most_threads > 1 && d->position) {
		deliver_start(d);
		pthread_mutex_lock(&d->lock);
		d->reads_ahead = d->nr_threads != 0;
		pthread_mutex_unlock(&d->lock);
	}
	if (d->reads_ahead)
		e = events_take(d);
	else
		events_fill(d, e);
	if (!e || !e->nr)
		return false;
	d->position = e->position;
	d->next = e->runs;
	d->end = e->runs + e->nr;
	return true;
}

const struct af_event *deliver_take_more(struct deliver *d)
{
	do {
		if (d->next == d->end && !events_next(d))
			return NULL;
		d->run = *d->next++;
		af_run_ids(&d->run, &d->event);
	} while (!af_run_next(&d->run, &d->event));
	return &d->event;
}
