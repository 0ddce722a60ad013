/*
 * Reading a trace: a directory of CTF streams as the writer makes them. Every byte is hostile:
 * lengths are checked before use, a damaged packet is reported and stepped over, an unknown kind
 * is handed over as bytes. Streams are mapped and merged by time (a heap over their heads).
 *
 *	af_trace_open → { af_trace_next }* → af_trace_close
 */
#ifndef AF_TRACE_READER_H
#define AF_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct af_err;
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

/* What went wrong while reading, summed. */
struct af_trace_damage {
	uint64_t packets, bytes; /* stepped over */
	uint64_t events;         /* malformed events inside good packets */
	uint64_t discarded;      /* events the packets say were discarded when written */
	uint64_t unknown;        /* events of kinds this version does not know */
	char first[256];         /* description of the first damage, or "" */
};

/*
 * Open the trace directory @dir. Fails with a message that names the cause on what is no trace, a
 * foreign CTF trace, a trace of a newer version (magic and version are in its metadata's env), an
 * unfinished one that is still being recorded. @wanted is a mask of 1 << AF_KIND_…, 0 for all;
 * unwanted kinds are skipped cheaply.
 */
int af_trace_open(struct af_trace **t, const char *dir, uint64_t wanted, struct af_err *err);
void af_trace_close(struct af_trace *t);

/* The next event in time order; false at the end. Ties go by stream index. */
bool af_trace_next(struct af_trace *t, struct af_event *ev);

const struct af_trace_damage *af_trace_damage(const struct af_trace *t);
uint32_t af_trace_nr_streams(const struct af_trace *t);

/* Bytes in all streams, and bytes read so far: for progress. */
uint64_t af_trace_size(const struct af_trace *t);
uint64_t af_trace_position(const struct af_trace *t);

/* The value of @key in the metadata's env block, or NULL. */
const char *af_trace_env(const struct af_trace *t, const char *key);

/*
 * Checked decoding. af_event_fixed copies the fixed fields into *@fixed (struct af_ev_…) and
 * returns false when the event is too short or its tail does not parse; tails then point into
 * the event, strings are NUL-terminated there, sequences are unaligned (use memcpy).
 */
struct af_tail_view {
	const uint8_t *data;
	uint32_t len; /* bytes of a STR without its NUL; elements of a SEQ */
};
enum { AF_TAILS_MAX = 4 };
bool af_event_decode(const struct af_event *ev, void *fixed, size_t fixed_size,
                     struct af_tail_view tails[AF_TAILS_MAX]);

/* Description of the kinds, from the table: for printers, metadata and documents. */
enum af_field_class { AF_FIELD_FIX, AF_FIELD_STR, AF_FIELD_SEQ };
enum af_field_type {
	AF_TYPE_u8,
	AF_TYPE_u16,
	AF_TYPE_u32,
	AF_TYPE_u64,
	AF_TYPE_x64,
	AF_TYPE_i32,
	AF_TYPE_i64,
	AF_TYPE_str
};
struct af_field_info {
	const char *name, *meaning;
	enum af_field_class class;
	enum af_field_type type;
};
struct af_kind_info {
	uint16_t kind;
	const char *name, *meaning;
	const struct af_field_info *fields;
	uint32_t nr_fields;
	uint32_t fixed_size;
};
/* NULL for an unknown kind. */
const struct af_kind_info *af_kind_info(uint16_t kind);
uint32_t af_field_size(enum af_field_type type);
/* The name of a LOST reason, a stop, an op…, or "unknown". */
const char *af_lost_text(uint32_t reason);
const char *af_stop_text(uint32_t stop);
const char *af_op_text(uint32_t op);

/*
 * Write the metadata of a trace into directory @dirfd: TSDL text of CTF 1.8 with every kind, the
 * clock (its offset from the epoch at @mono_ns/@realtime_ns) and the env block: host, trace
 * version, tool.
 */
int af_metadata_write(int dirfd, uint64_t mono_ns, uint64_t realtime_ns, struct af_err *err);

#endif
