#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "inject/inject.h"
#include "inject/masks.h"
#include "inject/rest.h"
#include "inject/sampler.h"
#include "inject/signals.h"
#include "inject/thread.h"
#include "trace/cpu_event.h"
#include "trace/stream.h"

/*
 * Every thread arms a timer on its own CPU clock before it runs what it was made for, and deletes
 * it when it ends. (A thread of ours that watched /proc/self/task would see no thread in its first
 * milliseconds, and would hold the lowest free descriptor at moments when the program counts on
 * it.) Threads made by a bare clone(), or by libc for itself, are not sampled: the summary shows
 * them as CPU time without samples.
 */

/* What a new thread was made for, from its maker's call until it runs. */
struct start {
	_Atomic uint32_t taken;
	struct af_mask_wish wish;
	void *(*run)(void *); /* one of the two */
	int (*run_c11)(void *);
	void *arg;
};

enum {
	STARTS_MAX = 1024,
	/* With less there may be no room for a signal frame (up to 11 KiB) and a walk. */
	STACK_LEAST = 32 << 10,
};

static struct {
	uint64_t period_ns; /* 0: not sampling by timers */
	pthread_key_t key;  /* the thread's timer, plus one; its destructor deletes it */
	bool has_key;
	struct start starts[STARTS_MAX];
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

static void count_failed(void)
{
	struct af_session *session = af_inject_session();

	if (session)
		atomic_fetch_add(&session->sampler_failed, 1);
}

/* The new thread's side: takes @slot's contents and frees it. */
static struct start start_begin(void *slot)
{
	struct start *s = slot;
	struct start mine = {.wish = s->wish, .run = s->run, .run_c11 = s->run_c11, .arg = s->arg};

	atomic_store_explicit(&s->taken, 0, memory_order_release);
	af_masks_begin_thread(mine.wish);
	if (control.period_ns && thread_arm())
		count_failed();
	af_rest_thread_begins(mine.run ? (void (*)(void))mine.run : (void (*)(void))mine.run_c11);
	af_thread_begins();
	return mine;
}

/* Both end in a jump, so that no frame of ours is left beneath the thread's. */
static void *start_thread(void *slot)
{
	struct start s = start_begin(slot);

	return s.run(s.arg);
}

static int start_thread_c11(void *slot)
{
	struct start s = start_begin(slot);

	return s.run_c11(s.arg);
}

/* The mask that @attr gives to threads; false: they inherit their maker's. Since glibc 2.32. */
static bool attr_mask(const pthread_attr_t *attr, sigset_t *mask)
{
	static int (*get)(const pthread_attr_t *, sigset_t *);
	static bool looked;

	if (!looked) {
		get = (__typeof__(get))dlsym(RTLD_DEFAULT, "pthread_attr_getsigmask_np");
		looked = true;
	}
	return attr && get && !get(attr, mask);
}

/*
 * What the new thread begins with. One with a small stack may block signals because it has no room
 * for them.
 */
static struct af_mask_wish wish_for(const pthread_attr_t *attr)
{
	struct af_mask_wish wish = af_masks_wish();
	int signo = af_signals_sampling();
	sigset_t mask;
	size_t size;

	if (signo && attr_mask(attr, &mask))
		wish = (struct af_mask_wish){.blocks = sigismember(&mask, signo)};
	if (wish.blocks && attr && !pthread_attr_getstacksize(attr, &size) && size < STACK_LEAST)
		wish.given_in = true;
	return wish;
}

/* A place for what a thread is to run; NULL when it begins as the kernel has it. */
static struct start *start_take(const pthread_attr_t *attr, void *arg)
{
	const struct af_session *session = af_inject_session();
	struct af_mask_wish wish = wish_for(attr);

	if (!session || (!control.period_ns && !wish.blocks && !af_rest_is_wanted()))
		return NULL;
	for (uint32_t i = 0; i < STARTS_MAX; i++) {
		struct start *s = &control.starts[i];
		uint32_t expected = 0;
		if (atomic_load_explicit(&s->taken, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&s->taken, &expected, 1))
			continue;
		s->wish = wish;
		s->run = NULL;
		s->run_c11 = NULL;
		s->arg = arg;
		return s;
	}
	if (control.period_ns || wish.blocks)
		count_failed();
	return NULL;
}

int af_sampler_timer_start(uint64_t period_ns)
{
	/* A forked child has none of its parent's timers, and none of the threads it was making. */
	if (control.period_ns)
		memset(control.starts, 0, sizeof control.starts);
	if (!control.has_key)
		control.has_key = !pthread_key_create(&control.key, thread_ends);
	control.period_ns = period_ns;
	if (control.has_key)
		pthread_setspecific(control.key, NULL);
	return thread_arm();
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static __typeof__(&pthread_create) real;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
	af_sampler_await();
	struct start *s = start_take(attr, arg);
	if (!s)
		return real(thread, attr, run, arg);
	s->run = run;
	int rc = real(thread, attr, start_thread, s);
	if (rc)
		atomic_store(&s->taken, 0);
	return rc;
}

__attribute__((visibility("default"))) int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
	static __typeof__(&thrd_create) real;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "thrd_create");
	af_sampler_await();
	struct start *s = start_take(NULL, arg);
	if (!s)
		return real(thread, run, arg);
	s->run_c11 = run;
	int rc = real(thread, start_thread_c11, s);
	if (rc != thrd_success)
		atomic_store(&s->taken, 0);
	return rc;
}
