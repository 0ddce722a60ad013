/*
 * The perf event that samples CPU time, and the state of its timers. The sampler in a target and
 * the recorder's probe both use these functions, so the probe tests exactly what will be used.
 */
#ifndef AF_TRACE_WRITE_CPU_EVENT_H
#define AF_TRACE_WRITE_CPU_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* The value in si_perf_data and si_value, which tells our events from the program's own. */
#define AF_SAMPLER_COOKIE 0xaf1a3e5au
#define AF_PROBE_COOKIE 0xaf1a3e5bu /* a recorder that is recorded probes with it */

/*
 * A SIGTRAP each @period_ns of the calling thread's CPU time in user mode; threads that it creates
 * inherit the event (perf_event_open(2): sigtrap, inherit_thread and remove_on_exec need Linux
 * 5.13). With @kernel also of its time in the kernel; the signal then waits until the thread leaves
 * the kernel. When not @enabled, the process that gets the descriptor enables the event. Each
 * signal carries @cookie. Returns a descriptor or -errno. Libc only.
 */
int af_cpu_event_open(uint64_t period_ns, bool kernel, bool enabled, uint64_t cookie);

/*
 * The same for the thread @tid of this process, of its user mode; threads that it creates get the
 * event only if it is @inherited.
 */
int af_cpu_event_open_of(int tid, uint64_t period_ns, bool inherited, uint64_t cookie);

/*
 * Did a thread's CPU timer, by its number from timer_create(2), expire without a tick that saw it?
 * That happens where other threads preempt it between ticks; the kernel then reports 1 ns left
 * (kernel/time/posix-cpu-timers.c). Libc only.
 */
bool af_cpu_timer_is_overdue(int timer);

#endif
