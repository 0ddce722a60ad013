/*
 * The parts of a ring that are no packets, as events, when it goes away: calls of traced APIs that
 * the thread is inside of (CALL_OPEN), and its sums (CALL_SUM, WORK_SUM).
 */
#ifndef AF_COLLECT_DISK_RING_REST_H
#define AF_COLLECT_DISK_RING_REST_H

#include <stddef.h>
#include <stdint.h>

#include "trace/packet.h"

enum { AF_OPEN_CALLS_BYTES = 2048 }; /* of the events of one ring at most */

/*
 * Write an event for each open call of @ring to @at, which has AF_OPEN_CALLS_BYTES, all with the
 * time @ns. Returns the bytes written. The ring may hold anything: its process wrote it.
 */
size_t af_open_calls_write(const struct af_ring *ring, uint64_t ns, uint8_t *at);

/*
 * Write an event for each sum from the number *@sum on, as many as @room has room for (at least
 * AF_SUM_EVENT_BYTES and a header). *@sum becomes the number to go on with, AF_SUMS at the end.
 */
size_t af_sums_write(const struct af_ring *ring, uint32_t *sum, uint64_t ns, uint8_t *at,
                     size_t room);

/* A packet of such events. */
struct af_ring_last {
	struct af_packet packet;
	uint8_t events[16 << 10];
	uint64_t ns; /* of all of them */
};

#endif
