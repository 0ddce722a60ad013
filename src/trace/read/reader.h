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

/* Close its directory, so that thousands can be open: no object of it can be had any more. */
void af_trace_detach(struct af_trace *t);

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
