/*
 * The perf event that samples CPU time, and what is asked of its timers: what the sampler does in a
 * target, and the recorder's probe before it, so that what was tried is what will be used.
 */
#ifndef AF_TRACE_WRITE_CPU_EVENT_H
#define AF_TRACE_WRITE_CPU_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* What si_perf_data and si_value carry, so that a program's own events are told from ours. */
#define AF_SAMPLER_COOKIE 0xaf1a3e5au
#define AF_PROBE_COOKIE 0xaf1a3e5bu /* a recorder that is recorded tries what works */

/*
 * A SIGTRAP each @period_ns of the calling thread's CPU time in user mode; threads that it creates
 * inherit the event (perf_event_open(2): sigtrap, inherit_thread and remove_on_exec are of Linux
 * 5.13). With @kernel also of its time in the kernel, where the signal waits for the way out of it.
 * Not @enabled: who gets the descriptor will. @cookie comes with each. Returns a descriptor or
 * -errno. Libc only.
 */
int af_cpu_event_open(uint64_t period_ns, bool kernel, bool enabled, uint64_t cookie);

/*
 * Has a thread's CPU timer, as timer_create(2) numbers it, run out without a tick that saw it, as
 * where others preempt the thread between ticks? The kernel then says that 1 ns is left
 * (kernel/time/posix-cpu-timers.c). Libc only.
 */
bool af_cpu_timer_is_overdue(int timer);

#endif
