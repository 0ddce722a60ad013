/*
 * The files of a trace that keeps only its newest events (--ring). A stream is cut into segments:
 * files `s1-0`, `s1-0.1`, `s1-0.2` and so on. Each begins with a packet of the definitions that its
 * events may need (carry.h), so that every file reads alone and the oldest files are simply
 * removed. Nothing is ever rewritten: a recorder that is killed leaves whole files.
 *
 *	af_segments_open() → { af_segments_stream() → { af_segments_place → af_segments_wrote }*
 *	→ af_segments_end() }* → af_segments_close()
 */
#ifndef AF_COLLECT_DISK_SEGMENTS_H
#define AF_COLLECT_DISK_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

struct af_packet;
struct af_session;

/* A file. */
struct af_segment {
	uint32_t stream, number;
	uint64_t bytes, events, discarded, end_ns;
	bool gone;
};

struct af_segment_stream {
	char name[40];
	uint32_t process;
	uint32_t newest;           /* number of the segment that is written to */
	uint32_t epoch;            /* epoch of the session in which the segment began */
	uint64_t checkpoint_bytes; /* of definitions it began with */
	uint64_t last_discarded;
	bool ended;
	bool over; /* its process has ended without an event that is left */
};

struct af_segments {
	int dir_fd; /* borrowed */
	/* borrowed: the limit, the epoch, the counts of dropped events */
	struct af_session *session;
	uint64_t bytes;           /* that all files take on disk, in whole blocks */
	uint64_t own_bytes;       /* of the recorder's stream, which counts too (compact.h) */
	uint64_t compacted_bytes; /* of it, when it was last written anew */
	uint64_t gone_ns;         /* end of the newest dropped file */
	uint64_t portion_bytes;   /* written since the epoch began */
	struct af_segment *files;
	struct af_segment_stream *streams;
	uint32_t nr_files, cap_files, nr_streams, cap_streams;
	uint64_t lost[AF_LOST_END]; /* sums of dropped LOST events, to be written again */
};

/* @dir_fd and @session are borrowed. Close removes no file. */
void af_segments_open(struct af_segments *s, int dir_fd, struct af_session *session);
void af_segments_close(struct af_segments *s);

/* Take in the files that exist already, after the recorder was killed. */
void af_segments_load(struct af_segments *s);

/* The number of stream @name, found or made. */
uint32_t af_segments_stream(struct af_segments *s, const char *name, uint32_t process);

enum { AF_SEGMENT_NAME = 56 };

/*
 * The name of the stream's current file. Returns the number to add to the instance of its packets.
 */
uint64_t af_segments_name(const struct af_segments *s, uint32_t stream, char name[AF_SEGMENT_NAME]);

/*
 * Call it before @size bytes are written to the stream: drops the oldest files, and begins a new
 * file when the epoch is over. @name and *@offset tell where to write; returns as
 * af_segments_name().
 */
uint64_t af_segments_place(struct af_segments *s, uint32_t stream, size_t size,
                           char name[AF_SEGMENT_NAME], uint64_t *offset);

/* A packet was written there. */
void af_segments_wrote(struct af_segments *s, uint32_t stream, const struct af_packet *head,
                       const void *content);

/* Nothing more will be written to the stream. */
void af_segments_end(struct af_segments *s, uint32_t stream);

#endif
