/*
 * Debuggers that come to a process while it is recorded. They stop at the signal of a sample as at
 * a breakpoint, so the event that the process has handed over is off while one is attached. With
 * the collector bpf the clock of the CPU takes the process over; else its samples are lost,
 * counted.
 */
#ifndef AF_COLLECT_SESSION_DEBUGGER_H
#define AF_COLLECT_SESSION_DEBUGGER_H

struct af_guest;
struct af_recording;

/* This is what /proc/PID/status says of @g: has one come, or gone? */
void af_debugger_saw(struct af_recording *r, struct af_guest *g, const char *status);

/* @g has ended, or recording does: what was lost of it is written. */
void af_debuggers_leave(struct af_recording *r, struct af_guest *g);

#endif
