/*
 * The recorder's own stream of a trace that keeps only its newest events. It tells of every process
 * that there was, so it is written anew now and then, without those of which nothing is left: as a
 * draft that takes the file's place when it is whole.
 */
#ifndef AF_COLLECT_DISK_CONDENSE_H
#define AF_COLLECT_DISK_CONDENSE_H

#include "collect/disk/segments.h"
#include "trace/write/stream.h"

/*
 * @stream writes to @name in the directory of @s. Notes, the oldest clock pair and what is younger
 * than @until_ns stay; ends of processes that go are counted among what gave way, sums of LOST go
 * to s->lost. On failure (0 or -errno) all is as it was.
 */
int af_condense(struct af_segments *s, struct af_stream *stream, const char *name,
                uint64_t until_ns);

/* Once a second: sets s->own_bytes, and condenses where that has become too much of the bound. */
void af_condense_look(struct af_segments *s, struct af_stream *stream, const char *name);

#endif
