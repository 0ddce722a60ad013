/*
 * libaflame-trace: reads the traces that `aflame record` writes.
 *
 *	#include <aflame/trace.h>            cc $(pkg-config --cflags --libs aflame-trace)
 *
 *	af_trace_open → { af_trace_next }* → af_trace_close
 *
 * The library only reads. Every byte of a trace may be hostile or damaged: the library checks
 * lengths before use, skips what it cannot read, and counts it (af_trace_damage()).
 *
 * Times are nanoseconds. The trace has one clock, CLOCK_MONOTONIC of the recorded host; a device
 * has its own, which af_trace_device_time() converts.
 *
 * A handle is used by one thread at a time; several handles are independent. All strings and
 * sequences point into mapped files and stay valid until af_trace_close(). If a file is truncated
 * while it is mapped, the lost part reads as zeros: for that the library installs a handler of
 * SIGBUS, which passes every other SIGBUS on to the handler before it. If memory runs out, the
 * library writes a line to standard error and calls abort().
 *
 * Stable, as long as AF_TRACE_LIBRARY_MAJOR stays: all prototypes and structs in here, the number,
 * name and fields of each kind in aflame/event.h. A later version may add functions, kinds, values
 * of enumerations, and members at the end of struct af_trace_damage; the minor number then grows.
 * Texts for people (messages, meanings) may change. The soname has the major number.
 */
#ifndef AFLAME_TRACE_H
#define AFLAME_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aflame/error.h"
#include "aflame/event.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define AF_TRACE_LIBRARY_MAJOR 0
#define AF_TRACE_LIBRARY_MINOR 1

/*
 * The version of the library that runs, for comparison with the two numbers above:
 * major << 16 | minor.
 */
uint32_t af_trace_library_version(void);

/* An open trace. */
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
 * A kind in the mask of af_trace_open(): AF_WANTED(AF_KIND_SAMPLE) | AF_WANTED(AF_KIND_NOTE). Kinds
 * from AF_KIND_LATE on share bits: an event may be of another kind that has the same.
 */
#define AF_WANTED(kind) AF_KIND_BIT(kind)

/*
 * Open the trace directory @dir. Returns 0 and the trace in *@t, or -errno and a message in @err
 * (which may be NULL) that names the cause: @dir is not a trace, is a CTF trace of another program,
 * is of a newer version (by the metadata's env), or its recording has not yet written the metadata.
 * Only reads: an unfinished trace is read as far as it is on disk. @wanted is a mask of
 * AF_WANTED(); other kinds are skipped cheaply. 0 means all kinds, unknown ones included.
 */
int af_trace_open(struct af_trace **t, const char *dir, uint64_t wanted, struct af_err *err);

/* Close the trace and unmap its streams; all pointers from its events end. NULL is fine. */
void af_trace_close(struct af_trace *t);

/*
 * The next event in order of time; false at the end. Of events at one time, the stream with the
 * lower index comes first. Inside a stream the times never decrease. The payload of a known kind is
 * as the table describes it: decoding will not fail on it.
 */
bool af_trace_next(struct af_trace *t, struct af_event *ev);

/* Final when af_trace_next() has returned false. Belongs to @t. */
const struct af_trace_damage *af_trace_damage(const struct af_trace *t);

/*
 * Describe the damage in one line for people. False, and "", when there is none (discarded events
 * and unknown kinds are not damage). @size is that of @text, at least 1.
 */
bool af_trace_damage_text(const struct af_trace_damage *d, char *text, size_t size);

/* The number of stream files. */
uint32_t af_trace_nr_streams(const struct af_trace *t);

/* When the first packet begins, on the trace's clock. Times are shown relative to it. */
uint64_t af_trace_start_ns(const struct af_trace *t);

/* Bytes in all streams, and bytes read so far: for progress. */
uint64_t af_trace_size(const struct af_trace *t);
uint64_t af_trace_position(const struct af_trace *t);

/* The value of @key in the metadata's env block, or NULL. Belongs to @t. */
const char *af_trace_env(const struct af_trace *t, const char *key);

/*
 * Fields, by typed struct.
 *
 * Fill *@to, the struct af_event_… of @kind, from @ev. False, and *@to is unchanged, when @ev is of
 * another kind, is malformed, or @size is not the size of that struct. For each kind there is a
 * function that calls this: af_event_as_sample(&ev, &sample).
 */
bool af_event_as(const struct af_event *ev, uint16_t kind, void *to, size_t size);

#define AF_K(number, NAME, name, meaning)                                                          \
	static inline bool af_event_as_##name(const struct af_event *ev,                           \
	                                      struct af_event_##name *to)                          \
	{                                                                                          \
		return af_event_as(ev, number, to, sizeof *to);                                    \
	}
AF_KINDS(AF_K)
#undef AF_K

/* Value @i of a sequence; 0 beyond its end. */
static inline uint64_t af_seq_at(const struct af_seq *s, uint32_t i)
{
	uint64_t v = 0;

	if (i < s->nr)
		memcpy(&v, s->data + (size_t)i * s->size, s->size);
	return v;
}

/* Fields, by name. */
enum af_value_type {
	AF_VALUE_NUMBER = 1, /* unsigned */
	AF_VALUE_SIGNED = 2, /* number is an int64_t in two's complement */
	AF_VALUE_HEX = 3,    /* unsigned: an address or a handle */
	AF_VALUE_TEXT = 4,
	AF_VALUE_SEQ = 5
};

struct af_field {
	const char *name, *meaning; /* as in aflame/event.h */
	uint32_t type;              /* enum af_value_type: which of the next three is set */
	uint64_t number;
	const char *text;
	struct af_seq seq;
};

/* Field @i of @ev, in the order of aflame/event.h. False when there is none. */
bool af_event_field_at(const struct af_event *ev, uint32_t i, struct af_field *field);

/* The field @name of @ev. False when its kind has none of that name. */
bool af_event_field(const struct af_event *ev, const char *name, struct af_field *field);

/*
 * The same, for short: the number, or 0, and the text, or NULL, when there is no such field or it
 * is of another type.
 */
uint64_t af_event_number(const struct af_event *ev, const char *name);
const char *af_event_text(const struct af_event *ev, const char *name);

/*
 * The name of a field's value where that is of an enumeration ("RING_FULL"), or NULL. Of flags, the
 * name of a single one.
 */
const char *af_field_value_name(const struct af_field *field);

/* "sample" for AF_KIND_SAMPLE; NULL for an unknown kind. */
const char *af_kind_name(uint16_t kind);

/* AF_KIND_SAMPLE for "sample"; 0 when no kind is called @name. */
uint16_t af_kind_find(const char *name);

/*
 * Look-ups. The first call of one of the functions below reads all definitions of the trace,
 * whatever @wanted was, and keeps 72 bytes for each.
 *
 * Find the definition of @id that holds for the event @by: the last event of @kind that is not
 * later than @by. @kind is AF_KIND_CALLPATH, STACK, PY_STACK, KSTACK, STRING, DESCRIPTOR or
 * LAUNCH_CONFIG, whose ids belong to the stream of @by; or DEVICE, QUEUE, PROGRAM, KERNEL, PY_CODE,
 * FUNCTION, GRAPH_NODE, STALL, CODE or GPU_WINDOW, whose ids belong to its process. False when the
 * trace has none, or @kind defines nothing. *@definition is valid until af_trace_close().
 */
bool af_trace_definition(struct af_trace *t, const struct af_event *by, uint16_t kind, uint32_t id,
                         struct af_event *definition);

/* A function at an address. Strings are NULL, and numbers 0, when they are not known. */
struct af_symbol_frame {
	const char *function, *file;
	const char *module; /* file that the address lies in */
	uint64_t offset;    /* of the address, as the module's ELF file counts */
	uint32_t line;
	uint32_t source; /* enum af_symbol_source: where the name came from, or why there is none */
};

/*
 * Name @address, an entry of a STACK of @process with @epoch, or of a KSTACK (@process and @epoch
 * 0). An address may have several names: the one of @epoch is used, else the latest before it, else
 * one of a later epoch. Fills up to @nr of @frames, the innermost inlined function first, and
 * returns how many the trace has. 0: the trace has no symbol of this address; a recording that was
 * not symbolized has none at all. If a frame has no function, its source says why.
 */
uint32_t af_trace_symbol(struct af_trace *t, uint32_t process, uint64_t address, uint32_t epoch,
                         struct af_symbol_frame *frames, uint32_t nr);

/*
 * Convert @device_ns of the clock of @device (of the process with the ordinal @process) to *@ns on
 * the trace's clock. *@uncertainty_ns (may be NULL) is the possible error. False when the trace has
 * no readings of that clock.
 */
bool af_trace_device_time(struct af_trace *t, uint32_t process, uint32_t device, uint64_t device_ns,
                          uint64_t *ns, uint64_t *uncertainty_ns);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
