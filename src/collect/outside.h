/*
 * CPU samples from outside, without privileges: of programs that libaflame is not in (static ones,
 * of another libc, set-user-id where we are root), of those that its sampler does not work in (Go),
 * and of threads that block its signal by the bare system call. The recorder opens perf events on
 * them (task-clock, user mode, as perf_event_open(2) grants it to the owner of a process) with a
 * copy of the stack, and unwinds that. Where the collector `bpf` runs, it does all this.
 *
 *	af_outside_open()    nothing is opened before somebody is to be watched
 *	af_outside_run()     the program that is about to be executed
 *	af_outside_admit()   a process said hello
 *	af_outside_pump()    each turn of the recorder: finds whom to watch, moves samples to
 *streams af_outside_stop() af_outside_close()
 *
 * All but open accept NULL. One thread.
 */
#ifndef AF_COLLECT_OUTSIDE_H
#define AF_COLLECT_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct af_guest;
struct af_outside;
struct af_recording;

/* NULL in a build that has no unwinder for it. */
struct af_outside *af_outside_open(struct af_recording *r);

/* Can libaflame not be loaded into @program, as execvp() finds it? */
bool af_outside_wanted(const struct af_outside *o, const char *program);

/* Watch @pid, a child of ours that waits for us before it executes such a program. */
void af_outside_run(struct af_outside *o, int pid);

/* @g carries libaflame; @sampler_error: its own sampler does not work there. */
void af_outside_admit(struct af_outside *o, const struct af_guest *g, int sampler_error);

/*
 * @g samples itself no more: it is watched from now on. False where that is not possible; its own
 * event is off in any case.
 */
bool af_outside_take(struct af_outside *o, const struct af_guest *g);

void af_outside_pump(struct af_outside *o);

/* Is anybody watched? Then the recorder is to come by more often. */
bool af_outside_is_busy(const struct af_outside *o);

/* The ordinal of what @pid runs or ran last, 0 when it was not watched. */
uint32_t af_outside_process_of(struct af_outside *o, int pid);

void af_outside_stop(struct af_outside *o);
void af_outside_close(struct af_outside *o);

#endif
