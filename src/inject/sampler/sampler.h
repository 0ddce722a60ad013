/*
 * CPU samples without privileges. Two ways, one chosen by the recorder for the session:
 * perf: one perf_event_open task-clock event with sigtrap, inherited by all later threads;
 * timer: a CPU-time timer for each thread, armed by the thread itself before it runs, each signal
 * weighted by the timer's overruns.
 */
#ifndef AF_INJECT_SAMPLER_SAMPLER_H
#define AF_INJECT_SAMPLER_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Start sampling this process as the session says, and say hello at the recorder's door. */
void af_sampler_start(void);

/*
 * Before a thread is made: wait, a tenth of a second at most and once, until the recorder has what
 * it adds to the event that threads inherit.
 */
void af_sampler_await(void);

/*
 * Around execve(): the signal of a tick within it would reach the new program, and end it. Where
 * the recorder cannot keep that back, before Linux 6.10, this switches the process's event off, and
 * on again when execve() has failed. A child of vfork() has none.
 */
void af_sampler_exec(bool begins);

/* The sampling handler, of a signal that is_ours. It does not preserve errno. */
void af_sampler_signal(int signo, siginfo_t *info, void *context);

/* Is this signal a sample? Only its @info is looked at. */
bool af_sampler_is_ours(int signo, const siginfo_t *info);

/* The second way; af_cpu_event_open() is the first. 0 or -errno. */
int af_sampler_timer_start(uint64_t period_ns);
bool af_sampler_timer_is_on(void);

/* Has the calling thread's timer run out unseen (trace/write/cpu_event.h)? */
bool af_sampler_timer_is_overdue(void);

/*
 * In the sampling handler, once for each signal of the calling thread's timer: did the tick that it
 * is of hit the kernel? @after_syscall: the program counter stands behind a system call.
 */
bool af_sampler_timer_was_in_kernel(uint64_t weight_ns, bool after_syscall);

/* The calling thread's timer is over, before it may not say so any more. */
void af_sampler_timer_stop(void);

/* Where it is on: sample the calling thread, which begins. */
void af_sampler_timer_thread_begins(void);

/* One more thread or process that is not sampled; the summary has how many. */
void af_sampler_count_failed(void);

#endif
