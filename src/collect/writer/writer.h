/*
 * Writes events of process 0, the recorder, into a stream of its own: what collectors outside of
 * the program have to report. One thread. Calls in order:
 *
 *	af_event_writer_open() → { events into @stream → af_event_writer_wrote() }*
 *	→ af_event_writer_close()
 */
#ifndef AF_COLLECT_WRITER_WRITER_H
#define AF_COLLECT_WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/write/stream.h"

struct af_recording;

struct af_event_writer {
	struct af_recording *r;
	struct af_stream stream;
	bool is_open;
	bool beside; /* events are written by another thread than the recorder's */
	uint32_t finish_as, epoch;
	uint64_t written; /* bytes, about, since the recorder last drained */
};

/* False: there is no room for a stream, which is counted. */
bool af_event_writer_open(struct af_event_writer *w, struct af_recording *r);

/* Hand what was written to the trace. Without effect where it is not open. */
void af_event_writer_close(struct af_event_writer *w);

/* Are definitions to be written: is the stream new, or begins it anew? True once for each. */
bool af_event_writer_is_new(struct af_event_writer *w);

/* DEVICE_NOTE: @key of a device is @value. */
void af_event_writer_note(struct af_event_writer *w, uint32_t device, const char *key,
                          const char *value);

/* So many bytes more: empty the ring now and then, where this is the recorder's thread. */
void af_event_writer_wrote(struct af_event_writer *w, uint32_t bytes);

#endif
