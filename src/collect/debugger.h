/*
 * Debuggers that come to a process while it is recorded. They stop at the signal of a sample as at
 * a breakpoint, so the event that the process has handed over is off while one is attached. With
 * the collector bpf the clock of the CPU takes the process over; else its samples are lost,
 * counted.
 */
#ifndef AF_COLLECT_DEBUGGER_H
#define AF_COLLECT_DEBUGGER_H

#include <stdint.h>

struct af_guest;
struct af_recording;

struct af_debuggers {
	uint64_t looked_ns;
	uint32_t next; /* guest to look at */
};

/* See who has come and gone. To be called often: it looks at a few guests, 25 times a second. */
void af_debuggers_look(struct af_recording *r);

/* @g has ended, or recording does: what was lost of it is written. */
void af_debuggers_leave(struct af_recording *r, struct af_guest *g);

#endif
