/*
 * Reads a trace: a directory of CTF streams as the writer makes them. Every byte is hostile:
 * lengths are checked before use, a damaged packet is reported and skipped, an event of an unknown
 * kind is handed over as bytes. Streams are mapped and merged by time (a heap over their heads).
 *
 *	af_trace_open → { af_trace_next }* → af_trace_close
 *
 * Those functions are public: aflame/trace.h has their prototypes.
 */
#ifndef AF_TRACE_READ_READER_H
#define AF_TRACE_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aflame/trace.h"
#include "trace/kinds.h"
#include "trace/layout.h"
#include "trace/metadata.h"

struct af_err;
struct af_file;

/* af_trace_open() of an open directory, which messages call @dir. */
int af_trace_open_at(struct af_trace **t, int dirfd, const char *dir, uint64_t wanted,
                     struct af_err *err);

/*
 * The number of the stream @stream of events, which is the same in each copy of a recording, as
 * their places are not.
 */
uint64_t af_trace_instance(const struct af_trace *t, uint32_t stream);

/*
 * Call @take for each event of @kinds (a mask) in the stream called @name, if @t has that, with its
 * kind, time and payload alone. It changes nothing for af_trace_next().
 */
void af_trace_each_event(const struct af_trace *t, const char *name, uint64_t kinds,
                         void (*take)(void *arg, const struct af_event *ev), void *arg);

/* Close its directory, so that thousands can be open: no object of it can be had any more. */
void af_trace_detach(struct af_trace *t);

/* Map the object @name of the trace's objects/: af_object_map(). */
int af_trace_object(const struct af_trace *t, const char *name, struct af_file *f,
                    struct af_err *err);

/*
 * Events that follow one another in the trace and in the file of their stream, where they lie side
 * by side. So they are handed from thread to thread by their place, and read where they are used.
 */
struct af_run {
	const uint8_t *at; /* the next event's header */
	uint32_t bytes;    /* from there on */
	uint32_t process, pid, tid, stream;
	uint64_t time_ns; /* of the next event, if that in its header is impossible; else 0 */
};

/*
 * The next events, with no other between them, as @most runs and @most_events at most; returns the
 * number of runs, 0 at the end of the trace. For af_trace_next() they are over.
 */
uint32_t af_trace_next_runs(struct af_trace *t, struct af_run *runs, uint32_t most,
                            uint32_t most_events);

/* The ids that all events of @run share, to *@ev. */
static inline void af_run_ids(const struct af_run *run, struct af_event *ev)
{
	ev->process = run->process;
	ev->pid = run->pid;
	ev->tid = run->tid;
	ev->stream = run->stream;
}

/*
 * The next event of @run, without those ids; false at its end. A file may have been cut off since
 * the run was made, so its bytes are checked again.
 */
static inline bool af_run_next(struct af_run *run, struct af_event *ev)
{
	const struct af_event_header *h = (const void *)run->at;

	if (run->bytes < sizeof *h || h->size < sizeof *h || h->size > run->bytes)
		return false;
	ev->kind = h->kind;
	ev->time_ns = run->time_ns ? run->time_ns : h->time_ns;
	ev->payload = (const uint8_t *)(h + 1);
	ev->payload_size = h->size - (uint32_t)sizeof *h;
	run->time_ns = 0;
	run->at += h->size;
	run->bytes -= h->size;
	return true;
}

/*
 * Checked decoding. Copies the fixed fields into *@fixed (struct af_ev_…; @fixed_size is its
 * sizeof) and returns false when the event is not of that size or its tails do not parse. The tails
 * point into the event: strings are NUL-terminated there, sequences are unaligned (use memcpy).
 */
bool af_event_decode(const struct af_event *ev, void *fixed, size_t fixed_size,
                     struct af_tail_view tails[AF_TAILS_MAX]);

/* The same of a kind that has no tails, whose struct the caller knows: for many events. */
static inline bool af_event_fixed(const struct af_event *ev, void *fixed, size_t fixed_size)
{
	if (ev->payload_size != fixed_size)
		return false;
	memcpy(fixed, ev->payload, fixed_size);
	return true;
}

#endif
