/*
 * CPU samples without privileges. The recorder chooses one of two ways for the session:
 *
 *	perf    one perf_event_open task-clock event with sigtrap, inherited by all later threads
 *	timer   a CPU-time timer for each thread, which the thread itself arms before it runs; the
 *	        timer's overruns weight each signal
 */
#ifndef AF_INJECT_SAMPLER_SAMPLER_H
#define AF_INJECT_SAMPLER_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Start sampling this process as the session demands, and register at the control socket. */
void af_sampler_start(void);

/*
 * Before a thread is made: wait, a tenth of a second at most and once, until the recorder has
 * completed the event that threads inherit.
 */
void af_sampler_await(void);

/*
 * Around execve(): the signal of a tick within it would reach the new program and end it. Where the
 * recorder cannot prevent that, before Linux 6.10, this switches the process's event off, and on
 * again when execve() has failed. Not for a child of vfork().
 */
void af_sampler_exec(bool begins);

/* The sampling handler, for a signal that af_sampler_is_ours(). It does not preserve errno. */
void af_sampler_signal(int signo, siginfo_t *info, void *context);

/* Is this signal a sample? Reads only its @info. */
bool af_sampler_is_ours(int signo, const siginfo_t *info);

/*
 * Starts the timer sampler (af_cpu_event_open() is the perf sampler), by CPU time or by the wall
 * clock. 0 or -errno.
 */
int af_sampler_timer_start(uint64_t period_ns, bool wall);
bool af_sampler_timer_is_on(void);

/* Did the calling thread's timer expire unseen (trace/write/cpu_event.h)? */
bool af_sampler_timer_is_overdue(void);

/*
 * In the sampling handler, once for each signal of the calling thread's timer: did its tick hit the
 * kernel? @after_syscall: the program counter stands behind a system call.
 */
bool af_sampler_timer_was_in_kernel(uint64_t weight_ns, bool after_syscall);

/* Delete the calling thread's timer, before the thread may be forbidden the system call. */
void af_sampler_timer_stop(void);

/* Where the timer sampler is on: sample the calling thread, which begins. */
void af_sampler_timer_thread_begins(void);

/* Count one more thread or process that is not sampled; the summary shows the number. */
void af_sampler_count_failed(void);

#endif
