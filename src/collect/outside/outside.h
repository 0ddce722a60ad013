/*
 * CPU samples from outside, without privileges: of programs that libaflame is not in (static ones,
 * of another libc, set-user-id where we are root), of those that its sampler does not work in (Go),
 * and of threads that block its signal by the bare system call. The recorder opens perf events on
 * them (task-clock, user mode, as perf_event_open(2) grants it to the owner of a process) with a
 * copy of the stack, and unwinds that. Where the collector `bpf` runs, it does all this.
 */
#ifndef AF_COLLECT_OUTSIDE_OUTSIDE_H
#define AF_COLLECT_OUTSIDE_OUTSIDE_H

/* A watcher (watcher.h); in a build that has no unwinder for it one that never watches. */
extern const struct af_watcher_ops af_outside_watcher;

#endif
