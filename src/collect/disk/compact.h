/*
 * Compacts the recorder's own stream in a trace that keeps only its newest events. The stream
 * describes every process that ever ran, so now and then it is written again without the processes
 * of which nothing is left. The new file takes the old one's place when it is whole.
 */
#ifndef AF_COLLECT_DISK_COMPACT_H
#define AF_COLLECT_DISK_COMPACT_H

#include "collect/disk/segments.h"
#include "trace/write/stream.h"

/*
 * @stream writes to @name in the directory of @s. Notes, the oldest clock pair and everything
 * younger than @until_ns stay. Removed ends of processes count as dropped events, and sums of LOST
 * go to s->lost. 0 or -errno; after a failure everything is as before.
 */
int af_compact(struct af_segments *s, struct af_stream *stream, const char *name,
               uint64_t until_ns);

/*
 * Once a second: sets s->own_bytes, and compacts when that has become too large a part of the
 * bound.
 */
void af_compact_poll(struct af_segments *s, struct af_stream *stream, const char *name);

#endif
