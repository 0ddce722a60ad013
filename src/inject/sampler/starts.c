#include "inject/sampler/starts.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <threads.h>

#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/core/thread.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/rest.h"
#include "inject/sampler/sampler.h"
#include "inject/sampler/signals.h"

/* The start function of a new thread, from the call that creates it until it runs. */
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

static struct start all[STARTS_MAX];

/* The new thread's side: takes @slot's contents and frees it. */
static struct start start_begin(void *slot)
{
	struct start *s = slot;
	struct start mine = {.wish = s->wish, .run = s->run, .run_c11 = s->run_c11, .arg = s->arg};

	atomic_store_explicit(&s->taken, 0, memory_order_release);
	af_masks_begin_thread(mine.wish);
	af_sampler_timer_thread_begins();
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
	typedef int (*getter)(const pthread_attr_t *, sigset_t *);
	getter get = attr ? REAL_OF(getter, pthread_attr_getsigmask_np) : NULL;

	return get && !get(attr, mask);
}

/*
 * The start routine of a new thread. A thread with a small stack may block signals because it has
 * no room for them.
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

	if (!session || (!af_sampler_timer_is_on() && !wish.blocks && !af_rest_is_wanted()))
		return NULL;
	for (uint32_t i = 0; i < STARTS_MAX; i++) {
		struct start *s = &all[i];
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
	if (af_sampler_timer_is_on() || wish.blocks)
		af_sampler_count_failed();
	return NULL;
}

/* A forked child may make a thread before our own handler of forks has run, as TSan's does. */
static void make_begins(void)
{
	if (af_inject_session())
		af_inject_check_fork();
	af_sampler_await();
}

void af_starts_after_fork(void)
{
	memset(all, 0, sizeof all);
}

INTERPOSE int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                             void *arg)
{
	__typeof__(&pthread_create) real = REAL(pthread_create);

	make_begins();
	struct start *s = start_take(attr, arg);
	if (!s)
		return real(thread, attr, run, arg);
	s->run = run;
	int rc = real(thread, attr, start_thread, s);
	if (rc)
		atomic_store(&s->taken, 0);
	return rc;
}

INTERPOSE int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
	__typeof__(&thrd_create) real = REAL(thrd_create);

	make_begins();
	struct start *s = start_take(NULL, arg);
	if (!s)
		return real(thread, run, arg);
	s->run_c11 = run;
	int rc = real(thread, start_thread_c11, s);
	if (rc != thrd_success)
		atomic_store(&s->taken, 0);
	return rc;
}

bool af_starts_own(void *(*run)(void *arg))
{
	pthread_t thread;
	sigset_t block, old;

	sigfillset(&block);
	sigdelset(&block, SIGTRAP);
	sigdelset(&block, SIGPROF);
	sigdelset(&block, SIGSEGV);
	sigdelset(&block, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &block, &old);
	bool runs = !pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (runs)
		pthread_detach(thread);
	return runs;
}
