#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/sampler.h"
#include "inject/starts.h"
#include "trace/cpu_event.h"

/*
 * Every thread arms a timer on its own CPU clock before it runs what it was made for (starts.c),
 * and deletes it when it ends. (A thread of ours that watched /proc/self/task would see no thread
 * in its first milliseconds, and would hold the lowest free descriptor at moments when the program
 * counts on it.) Threads made by a bare clone(), or by libc for itself, are not sampled: the
 * summary shows them as CPU time without samples.
 */

static struct {
	uint64_t period_ns; /* 0: not sampling by timers */
	pthread_key_t key;  /* the thread's timer, plus one; its destructor deletes it */
	bool has_key;
} control;

/* The raw system calls: glibc's timer_create allocates and may start a helper thread. */
static int timer_arm(int *timer)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec when = {
	    .it_interval = {.tv_sec = (time_t)(control.period_ns / 1000000000u),
	                    .tv_nsec = (long)(control.period_ns % 1000000000u)},
	};

	when.it_value = when.it_interval;
	ev.sigev_value.sival_ptr = (void *)(uintptr_t)AF_SAMPLER_COOKIE;
	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &ev, timer))
		return -errno;
	if (syscall(SYS_timer_settime, *timer, 0, &when, NULL)) {
		int rc = -errno;
		syscall(SYS_timer_delete, *timer);
		return rc;
	}
	return 0;
}

static void thread_ends(void *timer_and_one)
{
	syscall(SYS_timer_delete, (int)((intptr_t)timer_and_one - 1));
}

/* Sample the calling thread. */
static int thread_arm(void)
{
	int timer = 0, rc = timer_arm(&timer);

	if (!rc && control.has_key)
		pthread_setspecific(control.key, (void *)((intptr_t)timer + 1));
	return rc;
}

int af_sampler_timer_start(uint64_t period_ns)
{
	/* A forked child has none of its parent's timers, and none of the threads it was making. */
	if (control.period_ns)
		af_starts_after_fork();
	if (!control.has_key)
		control.has_key = !pthread_key_create(&control.key, thread_ends);
	control.period_ns = period_ns;
	if (control.has_key)
		pthread_setspecific(control.key, NULL);
	return thread_arm();
}

bool af_sampler_timer_is_on(void)
{
	return control.period_ns != 0;
}

void af_sampler_timer_thread_begins(void)
{
	if (control.period_ns && thread_arm())
		af_sampler_count_failed();
}
