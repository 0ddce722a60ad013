/*
 * What a stream file says that later events of the stream may need: its definitions. Of those that
 * were given anew only the last is kept; ids of stacks, call paths and shapes that begin again from
 * 1 (struct af_session, round) end the old ones.
 *
 *	af_carry_read() → use → af_carry_free()
 */
#ifndef AF_COLLECT_DISK_CARRY_H
#define AF_COLLECT_DISK_CARRY_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/packet.h"

struct af_carry {
	struct af_packet last; /* the file's last header; magic 0 when it has none */
	uint64_t bytes;        /* up to the end of its last whole packet */
	uint64_t events;       /* that are no definitions */
	uint64_t discarded;    /* how many more its last header has than its first */
	uint64_t lost[AF_LOST_END];
	uint8_t *data; /* the definitions, events as they lie on disk, in order */
	size_t len;
	uint64_t first_ns; /* time of the first of them */
};

/* Read stream file @name of the directory. 0 or -errno. Damage ends the reading. */
int af_carry_read(struct af_carry *c, int dir_fd, const char *name);
void af_carry_free(struct af_carry *c);

/* How many of the whole events in a packet's @content are no definitions. */
uint64_t af_carry_events(const void *content, size_t size);

#endif
