/* A sum as it lies in shared memory (struct af_sum), as an event. */
#ifndef AF_TRACE_WRITE_SUMS_H
#define AF_TRACE_WRITE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/packet.h"

enum { AF_SUM_EVENT_BYTES = 512 }; /* of a payload at most */

/*
 * Write the payload of the event for @s, of the thread @tid, to @at, and its kind to @kind:
 * CALL_SUM or WORK_SUM. Returns its bytes. @s may be anything; it is read once.
 */
size_t af_sum_event(const struct af_sum *s, uint32_t tid, uint8_t at[AF_SUM_EVENT_BYTES],
                    uint16_t *kind);

#endif
