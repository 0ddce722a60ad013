/*
 * CPU samples from outside, without privileges: of programs without libaflame (static ones, of
 * another libc, set-user-ID where we are root), of programs in which its sampler does not work
 * (Go), and of threads that block its signal by the bare system call. The recorder opens perf
 * events on them (task-clock, user mode, as perf_event_open(2) allows the owner of a process) with
 * a copy of the stack, and unwinds that copy. Where the collector `bpf` runs, it does all this
 * instead.
 */
#ifndef AF_COLLECT_OUTSIDE_OUTSIDE_H
#define AF_COLLECT_OUTSIDE_OUTSIDE_H

/* A watcher (watcher.h). In a build for a machine without an unwinder it never watches. */
extern const struct af_watcher_ops af_outside_watcher;

#endif
