#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/inject.h"
#include "inject/sampler.h"

/*
 * The controller: a thread of ours that arms a timer on the CPU clock of every other thread. It is
 * started with the program's first thread, for a process of one thread may do what one of two may
 * not (setns, unshare), and must look the same to itself. It looks for new threads every few ms, so
 * a thread that lives shorter is not sampled; what a thread had used before it was armed goes
 * unsampled too, and is part of the unsampled CPU time that the summary shows.
 */

enum {
	TIMERS_MAX = 4096,
	LOOK_NS = 10000000,
};

struct thread_timer {
	uint32_t tid; /* 0: free */
	int timer;    /* the kernel's id */
	bool seen;
};

static struct {
	struct thread_timer timers[TIMERS_MAX];
	uint32_t nr;
	uint64_t period_ns;
	uint32_t own_tid;
	_Atomic uint32_t started; /* the controller */
} control;

/* The CPU clock of a thread, as the kernel numbers them (include/linux/posix-timers.h). */
static clockid_t thread_clock(uint32_t tid)
{
	return (clockid_t)((~tid << 3) | 6);
}

/* The raw system calls: glibc's timer_create allocates and may start a helper thread. */
static int timer_arm(uint32_t tid, int *timer)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec when = {
	    .it_interval = {.tv_sec = (time_t)(control.period_ns / 1000000000u),
	                    .tv_nsec = (long)(control.period_ns % 1000000000u)},
	};

	ev.sigev_value.sival_ptr = (void *)(uintptr_t)AF_SAMPLER_COOKIE;
	ev._sigev_un._tid = (pid_t)tid;
	when.it_value = when.it_interval;
	if (syscall(SYS_timer_create, thread_clock(tid), &ev, timer))
		return -errno;
	if (syscall(SYS_timer_settime, *timer, 0, &when, NULL)) {
		int rc = -errno;
		syscall(SYS_timer_delete, *timer);
		return rc;
	}
	return 0;
}

static void thread_seen(uint32_t tid)
{
	struct thread_timer *free_slot = NULL;

	for (uint32_t i = 0; i < control.nr; i++) {
		struct thread_timer *t = &control.timers[i];
		if (t->tid == tid) {
			t->seen = true;
			return;
		}
		if (!t->tid && !free_slot)
			free_slot = t;
	}
	if (!free_slot) {
		if (control.nr == TIMERS_MAX)
			return;
		free_slot = &control.timers[control.nr++];
	}
	if (!timer_arm(tid, &free_slot->timer)) {
		free_slot->tid = tid;
		free_slot->seen = true;
	}
}

static void forget_dead(void)
{
	for (uint32_t i = 0; i < control.nr; i++) {
		struct thread_timer *t = &control.timers[i];
		if (t->tid && !t->seen) {
			syscall(SYS_timer_delete, t->timer);
			t->tid = 0;
		}
		t->seen = false;
	}
}

static void look_at_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (tid && tid != control.own_tid)
			thread_seen(tid);
	}
	closedir(d);
	forget_dead();
}

static void *controller(void *arg)
{
	uint32_t generation = (uint32_t)(uintptr_t)arg;

	control.own_tid = (uint32_t)syscall(SYS_gettid);
	while (af_inject_session() && generation == af_inject_generation()) {
		look_at_threads();
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	for (uint32_t i = 0; i < control.nr; i++)
		if (control.timers[i].tid)
			syscall(SYS_timer_delete, control.timers[i].timer);
	return NULL;
}

static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int controller_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t attr;

	/* Every signal is the program's own: none may be delivered to the controller. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 << 10);
	int rc = -real_pthread_create(&thread, &attr, controller,
	                              (void *)(uintptr_t)af_inject_generation());
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int af_sampler_timer_start(uint64_t period_ns)
{
	/* A forked child has none of its parent's timers, and no controller. */
	memset(&control, 0, sizeof control);
	control.period_ns = period_ns;
	thread_seen((uint32_t)syscall(SYS_gettid));
	return 0;
}

/* Interposed to learn that the process has more than one thread from now on. */
__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	if (!real_pthread_create)
		real_pthread_create =
		    (__typeof__(real_pthread_create))dlsym(RTLD_NEXT, "pthread_create");
	int rc = real_pthread_create(thread, attr, start, arg);

	uint32_t expected = 0;
	if (!rc && control.period_ns && af_inject_session() &&
	    atomic_compare_exchange_strong(&control.started, &expected, 1) && controller_start())
		atomic_fetch_add(&af_inject_session()->sampler_failed, 1);
	return rc;
}
