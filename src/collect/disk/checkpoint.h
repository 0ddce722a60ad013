/*
 * The definitions of a stream file, which later events of the stream may need (checkpoint
 * definitions). Of several definitions of one id only the last is kept. When ids of stacks, call
 * paths and descriptors begin again from 1 (a new epoch of struct af_session), the old ones end.
 *
 *	af_checkpoint_read() → use → af_checkpoint_free()
 */
#ifndef AF_COLLECT_DISK_CHECKPOINT_H
#define AF_COLLECT_DISK_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"
#include "trace/packet.h"

struct af_checkpoint {
	struct af_packet last; /* the file's last header; magic 0 when it has none */
	uint64_t bytes;        /* up to the end of its last whole packet */
	uint64_t events;       /* other than definitions */
	uint64_t discarded;    /* difference between its last header and its first */
	uint64_t lost[AF_LOST_END];
	uint8_t *data; /* the definitions, events as they lie on disk, in order */
	size_t len;
	uint64_t first_ns; /* time of the first of them */
};

/* Read stream file @name of the directory. 0 or -errno. Damage ends the reading. */
int af_checkpoint_read(struct af_checkpoint *c, int dir_fd, const char *name);
void af_checkpoint_free(struct af_checkpoint *c);

/* The number of whole events in a packet's @content that are not definitions. */
uint64_t af_checkpoint_events(const void *content, size_t size);

#endif
