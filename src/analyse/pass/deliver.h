/*
 * Reads a trace, and hands events, samples and work to the passes in batches, of which each pass
 * gets its own in order. A batch goes to one pass after the other, which is faster than each event
 * to all passes. The thread that joins is the caller's. Events are read ahead, and passes work, in
 * other threads, each of which takes what is to be done. A pass runs in one thread at a time, and
 * what it sees does not depend on the number of threads.
 *
 *	deliver_open → deliver_add* → deliver_read → { deliver_take → deliver_next
 *	→ { deliver_settle | deliver_event | deliver_sample | deliver_work }* }*
 *	→ deliver_end → deliver_close
 *
 * A caller with events of its own leaves out deliver_read() and deliver_take().
 *
 * Passes look things up in the world as it was when the batch was closed. So the reader calls
 * deliver_settle() before the world learns anything: then all that was handed over is with the
 * passes. Counters of the world that go on with each event (its last time, the number of events)
 * are not for passes before they finish.
 */
#ifndef AF_ANALYSE_PASS_DELIVER_H
#define AF_ANALYSE_PASS_DELIVER_H

#include <pthread.h>

#include "analyse/pass/pass.h"

enum {
	DELIVER_BATCH = 2048,    /* deliveries of a batch */
	DELIVER_FEW = 3,         /* passes that are faster without batches: see deliver_next() */
	DELIVER_RING = 8,        /* batches that are read ahead at most, a power of two */
	DELIVER_INLINE = 256,    /* fewer are not worth waking a thread */
	DELIVER_PASSES = 24,     /* at most */
	DELIVER_THREADS = 16,    /* that help, at most: there are no more heavy passes */
	DELIVER_EVENTS = 1024,   /* events of a batch that is read, at most */
	DELIVER_RUNS = 512,      /* and runs of events: see af_run_next() */
	DELIVER_EVENTS_RING = 16 /* batches of events, a power of two */
};

struct deliver_pass {
	const struct af_pass_ops *ops;
	void *state;
	uint64_t takes;        /* kinds for event() */
	bool works;            /* it takes work */
	struct af_world *view; /* that it sees in batches */
	uint64_t done;         /* batches; guarded by the lock, as is the next */
	bool busy;
};

struct deliver_batch;
struct deliver_events;

struct deliver {
	struct deliver_pass passes[DELIVER_PASSES];
	uint32_t nr_passes, most_threads;
	const struct af_world *world;
	uint64_t takes;                  /* of all passes */
	bool samples, works, works_fast; /* fast: works, and all that take them are so */
	bool direct;       /* hand over at once, as the world learns or a batch has no use */
	uint64_t position; /* of the trace, of the last event that was taken */

	/* private */
	struct af_event event;           /* that was taken */
	struct af_run run;               /* that it was taken from */
	const struct af_run *next, *end; /* those behind it */
	struct af_trace *trace;
	uint64_t size;                 /* of the trace */
	uint64_t fills, fill_position; /* batches, and a position: of the thread that reads */
	struct deliver_events *events; /* DELIVER_EVENTS_RING of them; one of one thread alone */
	uint32_t nr_takers;            /* passes that take anything */
	bool started;                  /* the threads are there, or could not be */
	bool reads_ahead;
	struct deliver_batch *ring; /* @nr_ring of them; NULL: none was needed yet */
	uint32_t nr_ring;
	struct deliver_batch *open; /* that is filled */
	struct af_world *view;      /* for passes that the reader's thread runs itself */
	bool ahead;                 /* batches were made that passes may not have done */
	pthread_t threads[DELIVER_THREADS];
	uint32_t nr_threads;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t made_more, done_more;
	uint64_t made; /* batches */
	uint32_t ends; /* passes of which end() was begun */
	bool ending, leaving, waiting;
	bool reading, events_end;           /* events are being read; no more will come */
	uint64_t events_read, events_taken; /* batches of events */
};

/*
 * @world is the one that the reader fills, and outlives @d. There are @most_threads threads at
 * most, of which the reader's is one. deliver_add() comes next, for each pass, whose state is
 * zeroed and stays the caller's; @answers are those of the query.
 */
void deliver_open(struct deliver *d, const struct af_world *world, uint32_t most_threads);
void deliver_add(struct deliver *d, const struct af_pass_ops *ops, void *state, uint32_t answers);

/* The events of @trace, which stays the caller's, and is no other's before deliver_close(). */
void deliver_read(struct deliver *d, struct af_trace *trace);

/* Slow path of deliver_take(): the first event of the next run. */
const struct af_event *deliver_take_more(struct deliver *d);

/* The next event of the trace, good until the one after it is taken; NULL: there is none. */
static inline const struct af_event *deliver_take(struct deliver *d)
{
	return af_run_next(&d->run, &d->event) ? &d->event : deliver_take_more(d);
}

/*
 * The passes take everything that was handed over, and what comes until deliver_next() is theirs at
 * once. Call it before the world learns.
 */
void deliver_settle(struct deliver *d);

/*
 * The next event comes; does the world learn from it? Few passes get everything at once where
 * there is one thread, or where they take work fast: batches would take longer.
 */
static inline void deliver_next(struct deliver *d, bool learns)
{
	d->direct = d->nr_takers <= DELIVER_FEW && (d->works_fast || d->most_threads == 1);
	if (learns)
		deliver_settle(d);
}

/* Hand over. The payload of @ev lives as long as its trace; w->call may be the call of @ev. */
void deliver_event(struct deliver *d, const struct af_event *ev);
void deliver_sample(struct deliver *d, const struct af_sample *s);
void deliver_work(struct deliver *d, const struct af_work *work);

/* Where the next work may be made, to be handed over without a copy; NULL: nowhere. */
struct af_work *deliver_work_room(struct deliver *d);

/* No more will come: the passes' end(), beside one another. */
void deliver_end(struct deliver *d);

/*
 * Frees what takes room between deliveries, all of which the passes have; there are no threads, and
 * nothing more is delivered.
 */
void deliver_spare(struct deliver *d);

/* Ends the threads; also without deliver_end(). */
void deliver_close(struct deliver *d);

#endif
