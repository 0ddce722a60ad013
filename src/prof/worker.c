#include "prof/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "inject/arch/arch.h"
#include "inject/core/interpose.h"
#include "inject/core/thread.h"

enum { PROF_POLL_MS = 20 };

/* One wait of the worker, with w->lock. */
static void worker_wait(struct prof_worker *w)
{
	if (!w->polls) {
		pthread_cond_wait(&w->wakes, &w->lock);
		return;
	}
	struct timespec until = af_clock_after(CLOCK_MONOTONIC, PROF_POLL_MS * 1000000ull);
	if (pthread_cond_timedwait(&w->wakes, &w->lock, &until) && !w->call && !w->ends)
		w->poll(w->poll_arg);
}

static void *worker_main(void *arg)
{
	struct prof_worker *w = arg;

	/* From now on hooks find the thread inside of one: it gets no context. */
	af_thread_now.inside = 1;
	prctl(PR_SET_NAME, "aflame-prof");
	pthread_mutex_lock(&w->lock);
	w->tid = (int)syscall(SYS_gettid);
	pthread_cond_broadcast(&w->done);
	while (!w->ends) {
		if (!w->call) {
			worker_wait(w);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		w->call(w->arg);
		pthread_mutex_lock(&w->lock);
		w->call = NULL;
		w->is_made = true;
		pthread_cond_broadcast(&w->done);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/*
 * Our own functions are passed by: to them the thread would be one of the program's. The kernel's
 * sigset is a word. Faults get through, as a mapped file may be truncated.
 */
static int thread_make(struct prof_worker *w)
{
	uint64_t mask = ~(1ull << (SIGBUS - 1) | 1ull << (SIGSEGV - 1)), before = 0;

	af_arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof mask);
	int rc = REAL(pthread_create)(&w->thread, NULL, worker_main, w);
	af_arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
	return rc;
}

int prof_worker_open(struct prof_worker *w, void (*poll)(void *arg), void *arg)
{
	pthread_condattr_t attr;

	*w = (struct prof_worker){.poll = poll, .poll_arg = arg};
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wakes, &attr);
	pthread_cond_init(&w->done, &attr);
	pthread_condattr_destroy(&attr);
	int rc = thread_make(w);
	if (rc)
		return -rc;
	w->runs = true;
	pthread_mutex_lock(&w->lock);
	while (!w->tid)
		pthread_cond_wait(&w->done, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

void prof_worker_run(struct prof_worker *w, void (*call)(void *arg), void *arg)
{
	if (pthread_equal(pthread_self(), w->thread)) { /* a callback ends the program */
		call(arg);
		return;
	}
	pthread_mutex_lock(&w->lock);
	while (w->call || w->is_made)
		pthread_cond_wait(&w->done, &w->lock);
	w->call = call;
	w->arg = arg;
	pthread_cond_signal(&w->wakes);
	while (!w->is_made)
		pthread_cond_wait(&w->done, &w->lock);
	w->is_made = false;
	pthread_cond_broadcast(&w->done);
	pthread_mutex_unlock(&w->lock);
}

void prof_worker_close(struct prof_worker *w)
{
	if (!w->runs)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_signal(&w->wakes);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wakes);
	pthread_cond_destroy(&w->done);
	w->runs = false;
}
