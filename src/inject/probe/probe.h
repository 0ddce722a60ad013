/*
 * Calls of any function, recorded in the process: probes over the first instructions of functions
 * (trace/write/probes.h).
 *
 *	af_probe_start()            once, when recording has begun
 *	af_probe_thread_ends(t)     while @t is entered
 *	af_probe_flush()            before the process ends or runs another program
 */
#ifndef AF_INJECT_PROBE_PROBE_H
#define AF_INJECT_PROBE_PROBE_H

struct af_thread_context;

/* Place the session's probes, if it has any. Once, when recording has begun. */
void af_probe_start(void);

/* Write the calls that no event has yet. */
void af_probe_thread_ends(struct af_thread_context *t);
void af_probe_flush(void);

#endif
