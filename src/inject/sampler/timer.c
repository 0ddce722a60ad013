/*
 * The sampler by POSIX timers: one timer a thread, on the thread's own CPU clock, or on the wall
 * clock (AF_SESSION_WALL).
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "inject/core/inject.h"
#include "inject/sampler/sampler.h"
#include "inject/sampler/starts.h"
#include "trace/write/cpu_event.h"

/*
 * Every thread arms a timer on its own CPU clock before it runs what it was made for (starts.c),
 * and deletes it when it ends. (A thread of ours that watched /proc/self/task would see no thread
 * in its first milliseconds, and would hold the lowest free descriptor at moments when the program
 * counts on it.) Threads made by a bare clone(), or by libc for itself, are not sampled: the
 * summary shows them as CPU time without samples.
 */

static struct {
	uint64_t period_ns; /* 0: not sampling by timers */
	bool wall;
	pthread_key_t key; /* the thread's timer, plus one; its destructor deletes it */
	bool has_key;
} control;

/*
 * The tick at which a timer runs out is one that the kernel counts for the thread, as user or as
 * kernel time, and the thread's clocks of these say which. The program counter does not: a tick
 * that had to wait while the kernel let no interrupt in hits user mode right behind `syscall`, and
 * a page fault leaves the program counter anywhere.
 */
struct ticks {
	uint64_t user_ns, all_ns;
};

static __thread struct {
	int timer_and_one; /* 0: it has none */
	struct ticks last;
	/* Kernel time that ticks reported and samples did not; below 0: the reverse. */
	int64_t owed_ns;
} self;

/* How many samples the program counter is believed against the sum of the ticks. */
enum { OWED_SAMPLES = 4 };

static struct ticks ticks_read(void)
{
	return (struct ticks){af_clock_ns(af_clock_of_thread(0, AF_CLOCK_VIRT)),
	                      af_clock_ns(af_clock_of_thread(0, AF_CLOCK_PROF))};
}

bool af_sampler_timer_was_in_kernel(uint64_t weight_ns, bool after_syscall)
{
	if (control.wall)
		return false;
	struct ticks now = ticks_read(), before = self.last;
	uint64_t user_ns = now.user_ns - before.user_ns, all_ns = now.all_ns - before.all_ns;

	self.last = now;
	if (!all_ns || user_ns > all_ns)
		return after_syscall;
	if (!user_ns || user_ns == all_ns)
		return !user_ns;
	/*
	 * Ticks of both kinds, where a period is longer than a tick: which came last is not known.
	 */
	double weight = (double)weight_ns;
	self.owed_ns += (int64_t)(weight * (double)(all_ns - user_ns) / (double)all_ns);
	if ((double)self.owed_ns < weight * (after_syscall ? -OWED_SAMPLES : OWED_SAMPLES))
		return false;
	self.owed_ns -= (int64_t)weight_ns;
	return true;
}

/* The raw system calls: glibc's timer_create allocates and may start a helper thread. */
static int timer_arm(int *timer)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec when = {
	    .it_interval = {.tv_sec = (time_t)(control.period_ns / 1000000000u),
	                    .tv_nsec = (long)(control.period_ns % 1000000000u)},
	};

	if (!control.wall)
		self.last = ticks_read();
	self.owed_ns = 0;
	when.it_value = when.it_interval;
	ev.sigev_value.sival_ptr = (void *)(uintptr_t)AF_SAMPLER_COOKIE;
	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	clockid_t clock = control.wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	if (syscall(SYS_timer_create, clock, &ev, timer))
		return -errno;
	if (syscall(SYS_timer_settime, *timer, 0, &when, NULL)) {
		int rc = -errno;
		syscall(SYS_timer_delete, *timer);
		return rc;
	}
	return 0;
}

void af_sampler_timer_stop(void)
{
	int timer_and_one = self.timer_and_one;

	self.timer_and_one = 0;
	if (timer_and_one)
		syscall(SYS_timer_delete, timer_and_one - 1);
}

static void thread_ends(void *timer_and_one)
{
	(void)timer_and_one;
	if (af_inject_may_call())
		af_sampler_timer_stop();
}

/* Sample the calling thread. */
static int thread_arm(void)
{
	int timer = 0, rc = timer_arm(&timer);

	self.timer_and_one = rc ? 0 : timer + 1;
	if (!rc && control.has_key)
		pthread_setspecific(control.key, (void *)((intptr_t)timer + 1));
	return rc;
}

int af_sampler_timer_start(uint64_t period_ns, bool wall)
{
	/* A forked child has none of its parent's timers, and none of the threads it was making. */
	if (control.period_ns)
		af_starts_after_fork();
	if (!control.has_key)
		control.has_key = !pthread_key_create(&control.key, thread_ends);
	control.period_ns = period_ns;
	control.wall = wall;
	if (control.has_key)
		pthread_setspecific(control.key, NULL);
	int rc = thread_arm();
	if (rc)
		control.period_ns = 0;
	return rc;
}

bool af_sampler_timer_is_on(void)
{
	return control.period_ns != 0;
}

bool af_sampler_timer_is_overdue(void)
{
	return self.timer_and_one && af_cpu_timer_is_overdue(self.timer_and_one - 1);
}

void af_sampler_timer_thread_begins(void)
{
	if (control.period_ns && af_inject_may_call() && thread_arm())
		af_sampler_count_failed();
}
