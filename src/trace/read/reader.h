/*
 * Reads a trace: a directory of CTF streams as the writer makes them. Every byte is hostile:
 * lengths are checked before use, a damaged packet is reported and skipped, an event of an unknown
 * kind is handed over as bytes. Streams are mapped and merged by time (a heap over their heads).
 *
 *	af_trace_open → { af_trace_next }* → af_trace_close
 */
#ifndef AF_TRACE_READ_READER_H
#define AF_TRACE_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/kinds.h"
#include "trace/layout.h"
#include "trace/metadata.h"

struct af_err;
struct af_file;
struct af_trace;

/* One event, pointing into the mapped stream. Valid until af_trace_close(). */
struct af_event {
	uint16_t kind; /* may be one this version does not know */
	uint64_t time_ns;
	uint32_t process, pid, tid; /* of the packet; process 0 is the recorder */
	uint32_t stream;            /* dense index in this trace: scopes stack and callpath ids */
	const uint8_t *payload;     /* after the header; unaligned */
	uint32_t payload_size;
};

/* Damage met while reading, summed. */
struct af_trace_damage {
	uint64_t packets, bytes; /* skipped, or cut short */
	uint64_t missing;        /* packets that are missing by their sequence numbers */
	uint64_t disordered;     /* packets with an impossible sequence number */
	uint64_t events;         /* malformed events inside good packets */
	uint64_t retimed;        /* events whose time went back, or past their packet's end */
	uint64_t discarded;      /* events that the writer discarded, by the packets */
	uint64_t unknown;        /* events of kinds this version does not know */
	char first[256];         /* description of the first damage, or "" */
};

/*
 * Open the trace directory @dir. Fails with a message that names the cause when it is not a trace,
 * is a CTF trace of another program, is of a newer version (by the metadata's env), or its
 * recording has not yet written the metadata. Only reads: an unfinished trace is read as far as it
 * is on disk. @wanted is a mask of 1 << AF_KIND_…; other kinds are skipped cheaply. 0 means all
 * kinds, unknown ones included.
 */
int af_trace_open(struct af_trace **t, const char *dir, uint64_t wanted, struct af_err *err);

/* The same for an open directory, which messages call @dir. */
int af_trace_open_at(struct af_trace **t, int dirfd, const char *dir, uint64_t wanted,
                     struct af_err *err);

/* Close the trace and unmap its streams; all pointers from its events end. NULL is fine. */
void af_trace_close(struct af_trace *t);

/*
 * The next event in order of time; false at the end. Of events at one time, the stream with the
 * lower index comes first. Inside a stream the times never decrease. The payload of a known kind is
 * as the table describes it: af_event_decode() will not fail on it.
 */
bool af_trace_next(struct af_trace *t, struct af_event *ev);

/* Final when af_trace_next() has returned false. */
const struct af_trace_damage *af_trace_damage(const struct af_trace *t);

/*
 * Describe the damage in one line for people. False, and "", when there is none (discarded events
 * and unknown kinds are not damage).
 */
bool af_trace_damage_text(const struct af_trace_damage *d, char *text, size_t size);

/* The number of stream files. */
uint32_t af_trace_nr_streams(const struct af_trace *t);

/* When the first packet begins, on the trace's clock. Times are shown relative to it. */
uint64_t af_trace_start_ns(const struct af_trace *t);

/* Bytes in all streams, and bytes read so far: for progress. */
uint64_t af_trace_size(const struct af_trace *t);
uint64_t af_trace_position(const struct af_trace *t);

/* The value of @key in the metadata's env block, or NULL. */
const char *af_trace_env(const struct af_trace *t, const char *key);

/* Map the object @name of the trace's objects/: af_object_map(). */
int af_trace_object(const struct af_trace *t, const char *name, struct af_file *f,
                    struct af_err *err);

/*
 * Checked decoding. Copies the fixed fields into *@fixed (struct af_ev_…; @fixed_size is its
 * sizeof) and returns false when the event is not of that size or its tails do not parse. The tails
 * point into the event: strings are NUL-terminated there, sequences are unaligned (use memcpy).
 */
bool af_event_decode(const struct af_event *ev, void *fixed, size_t fixed_size,
                     struct af_tail_view tails[AF_TAILS_MAX]);

#endif
