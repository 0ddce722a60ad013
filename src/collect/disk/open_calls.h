/* Calls of traced APIs that threads are inside of when their ring goes away: CALL_OPEN. */
#ifndef AF_COLLECT_DISK_OPEN_CALLS_H
#define AF_COLLECT_DISK_OPEN_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/packet.h"

/* The processor's counter on the trace's clock, as in struct af_session; mult 0: not known. */
struct af_ticks {
	uint64_t at, ns;
	uint32_t mult;
};

enum { AF_OPEN_CALLS_BYTES = 2048 }; /* of the events of one ring at most */

/*
 * Write an event for each open call of @ring to @at, which has AF_OPEN_CALLS_BYTES, all with the
 * time @ns. Returns the bytes written. The ring may hold anything: its process wrote it.
 */
size_t af_open_calls_write(const struct af_ring *ring, const struct af_ticks *ticks, uint64_t ns,
                           uint8_t *at);

#endif
