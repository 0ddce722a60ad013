/*
 * A large trace in parts of time, each of which is read by itself, so that several threads read
 * beside one another. A part has the events of its time, as they stand in the trace: work that was
 * launched in one part is often found in the next one.
 *
 *	af_parts_find → { af_trace_open_definitions | af_trace_open_part }* → af_parts_free
 *
 * Where the parts begin depends on the trace alone.
 */
#ifndef AF_TRACE_PARTS_PARTS_H
#define AF_TRACE_PARTS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_event;
struct af_trace;
struct af_cursor_place;

/* An API's function, of the tables of APIs, that a process called, and its first call. */
struct af_part_call {
	uint32_t process, stream;
	uint16_t kind;
	uint64_t time_ns;
	const uint8_t *payload;
};

struct af_parts {
	uint32_t nr, nr_streams;
	uint64_t *from_ns; /* by part, and the end: events before the next part's are of this one */
	struct af_cursor_place *places; /* by part and stream */
	uint64_t kinds;                 /* bits of af_kind_bit(): which there are in the trace */
	struct af_part_call *calls;     /* which there are, by their first calls */
	uint32_t nr_calls, cap_calls;
	uint64_t discarded; /* events that were lost, by the headers */
	/* Packets that define something; those of stream s begin at defining_of[s]. */
	struct af_cursor_place *defining;
	uint32_t *defining_of;
};

/*
 * Divide @t, an open trace on disk that stays open as long as @p, into at most @most parts of
 * @bytes or more. All of it is walked through once, by @threads threads. False: it is too small to
 * be divided, or it is damaged, and what damage costs depends on all that is read before.
 */
bool af_parts_find(struct af_parts *p, const struct af_trace *t, uint64_t bytes, uint32_t most,
                   uint32_t threads);

/* Does the first call @c come before the event @ev in the trace? */
bool af_part_call_before(const struct af_part_call *c, const struct af_event *ev);

/* Free what @p holds. A zeroed struct is fine. */
void af_parts_free(struct af_parts *p);

/*
 * Read @of for events of the kinds @wanted from the begin of the part on. The first ones may be
 * earlier, and the reader stops at the part's end. @of must outlive it.
 */
struct af_trace *af_trace_open_part(const struct af_trace *of, uint64_t wanted,
                                    const struct af_parts *p, uint32_t part);

/* Read @of for what it defines: events of the kinds @wanted that do not count at their moment. */
struct af_trace *af_trace_open_definitions(const struct af_trace *of, uint64_t wanted,
                                           const struct af_parts *p);

#endif
