/*
 * Debuggers that attach to a process while it is recorded. They stop at the signal of a sample as
 * at a breakpoint, so the event that the process has handed over is off while a debugger is
 * attached. The collector bpf then samples the process by the CPU clocks; without it the samples
 * are lost, and counted.
 */
#ifndef AF_COLLECT_SESSION_DEBUGGER_H
#define AF_COLLECT_SESSION_DEBUGGER_H

struct af_client;
struct af_recording;

/* @status is the text of /proc/PID/status of @g: handle a debugger that has come or gone. */
void af_debugger_saw(struct af_recording *r, struct af_client *g, const char *status);

/* @g has ended, or recording does: write the samples that it lost. */
void af_debuggers_leave(struct af_recording *r, struct af_client *g);

#endif
