/*
 * Clocks in nanoseconds, and the clocks of other processes' CPU time (clock_gettime(2);
 * include/linux/posix-timers.h has the numbers). Libc only.
 */
#ifndef AF_BASE_SYSTEM_CLOCK_H
#define AF_BASE_SYSTEM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static inline uint64_t af_timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static inline uint64_t af_timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

/* False, and *@ns is as it was, where there is no such clock. */
static inline bool af_clock_read(clockid_t clock, uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return false;
	*ns = af_timespec_ns(&t);
	return true;
}

/* The clock's time, 0 when there is no such clock. */
static inline uint64_t af_clock_ns(clockid_t clock)
{
	uint64_t ns = 0;

	af_clock_read(clock, &ns);
	return ns;
}

/* The clock's time in @ns from now: the end of a wait. */
static inline struct timespec af_clock_after(clockid_t clock, uint64_t ns)
{
	uint64_t end_ns = af_clock_ns(clock) + ns;

	return (struct timespec){(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
}

/*
 * The processor's time stamp counter, 0 where there is none. Not ordered with the instructions
 * around it: a few ns off, and cheap.
 */
static inline uint64_t af_clock_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* Clocks of CPU time: PROF has both modes and VIRT user mode, by ticks; SCHED is exact. */
enum af_cpu_clock { AF_CLOCK_PROF = 0, AF_CLOCK_VIRT = 1, AF_CLOCK_SCHED = 2 };

static inline clockid_t af_clock_of_process(uint32_t pid, enum af_cpu_clock which)
{
	return (clockid_t)(~pid << 3 | which);
}

static inline clockid_t af_clock_of_thread(uint32_t tid, enum af_cpu_clock which)
{
	return (clockid_t)(~tid << 3 | 4 | which);
}

#endif
