/*
 * Streams merged by time. Internal to the reader, except for af_trace_open_memory(), which takes
 * streams from memory in place of af_trace_open(), for tests and the fuzzer.
 */
#ifndef AF_TRACE_READ_MERGE_H
#define AF_TRACE_READ_MERGE_H

#include "base/system/fs.h"
#include "trace/metadata.h"
#include "trace/read/cursor.h"
#include "trace/read/reader.h"

/* Time, then stream index: one comparison orders both. */
typedef unsigned __int128 af_merge_key;

struct af_lookup;
struct af_near;

struct af_trace {
	struct af_cursor *cursors; /* by stream index; those of struct af_event */
	uint32_t nr_streams;
	struct af_cursor *now; /* stands at the event to hand out, NULL at the end */
	af_merge_key *heap;    /* of the other streams that have an event */
	uint32_t nr_heap;
	uint64_t start_ns;
	struct af_filter filter, far;
	struct af_trace_damage damage;

	/* Only of a trace on disk. */
	struct af_file *files; /* what the cursors read, nr_streams of them */
	struct af_env env;
	int dirfd;

	/* Only of a trace that libaflame-trace looks things up in (trace/library/lookup.c). */
	struct af_lookup *lookup;
	void (*lookup_free)(struct af_lookup *lookup);
};

struct af_stream_bytes {
	const uint8_t *data;
	size_t size;
};

/* Read @nr streams in memory, which stay the caller's. Fails only without memory. */
int af_trace_open_memory(struct af_trace **t, const struct af_stream_bytes *streams, uint32_t nr,
                         uint64_t wanted);

/*
 * Read the streams of @of, an open trace on disk, for events of other kinds: neither its metadata
 * nor its folder is read again. @of must outlive it.
 */
struct af_trace *af_trace_open_again(const struct af_trace *of, uint64_t wanted,
                                     const struct af_near *near);

/* The same, before af_merge_start(). */
struct af_trace *af_trace_reopen(const struct af_trace *of, uint64_t wanted);

/* Read only what is near: see near.h. Before af_merge_start(). */
void af_merge_near(struct af_trace *t, const struct af_near *near);

/* Put every stream before its first event. Call it once, when all cursors are open. */
void af_merge_start(struct af_trace *t);

#endif
