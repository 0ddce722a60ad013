#include "prof/events.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/clock.h"
#include "base/system/proc.h"
#include "inject/core/translator.h"
#include "trace/write/cpu_event.h"

/* Rounds in which threads that were made meanwhile are found; the last ones inherit their event. */
enum { ROUNDS_MOST = 16, POLLS_BLOCKED = 10 };

/*
 * Before Linux 5.18 a tick ends a thread that blocks the signal, debuggers stop at each, and
 * valgrind dies of the first.
 */
void prof_events_choose(struct prof_events *e)
{
	bool possible =
	    af_linux_is_at_least(5, 18) && !af_proc_is_traced(0) && !af_translator_runs_us();
	int fd =
	    possible ? af_cpu_event_open_of(0, 1000000000, false, AF_PROBE_COOKIE) : -EOPNOTSUPP;

	e->timers = fd < 0;
	if (fd >= 0)
		close(fd);
}

int prof_events_signal(const struct prof_events *e)
{
	return e->timers ? SIGPROF : SIGTRAP;
}

/* Does the thread block the signal? Then there is nothing to be had of it. */
static bool is_blocked(int tid, int signo)
{
	char name[64], status[4096];

	snprintf(name, sizeof name, "task/%d/status", tid);
	status[0] = 0;
	if (af_proc_read(0, name, status, sizeof status - 1) == 0)
		return false;
	status[sizeof status - 1] = 0;
	return af_status_blocks(status, signo);
}

static int timer_make(const struct prof_events *e, int tid)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec when = {
	    .it_interval = {.tv_sec = (time_t)(e->period_ns / 1000000000u),
	                    .tv_nsec = (long)(e->period_ns % 1000000000u)},
	};
	int timer;

	when.it_value = when.it_interval;
	ev.sigev_value.sival_ptr = (void *)(uintptr_t)AF_SAMPLER_COOKIE;
	ev._sigev_un._tid = tid;
	if (syscall(SYS_timer_create, af_clock_of_thread((uint32_t)tid, AF_CLOCK_SCHED), &ev,
	            &timer))
		return -errno;
	if (syscall(SYS_timer_settime, timer, 0, &when, NULL)) {
		int rc = -errno;
		syscall(SYS_timer_delete, timer);
		return rc;
	}
	return timer;
}

static void event_drop(const struct prof_events *e, struct prof_event *event)
{
	if (event->fd < 0)
		return;
	if (e->timers) {
		syscall(SYS_timer_delete, event->fd);
	} else {
		/* A child of fork() may have a copy of the descriptor. */
		ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
		close(event->fd);
	}
	event->fd = -1;
}

static int event_make(const struct prof_events *e, int tid, uint32_t nr)
{
	uint64_t data = (uint64_t)e->start << 48 | (uint64_t)(uint16_t)nr << 32 | AF_SAMPLER_COOKIE;

	if (e->timers)
		return timer_make(e, tid);
	return af_cpu_event_open_of(tid, e->period_ns, !e->only, data);
}

static struct prof_event *event_find(struct prof_events *e, int tid)
{
	for (uint32_t i = 0; i < e->nr; i++)
		if (e->list[i].tid == tid)
			return &e->list[i];
	return NULL;
}

/* Sample the thread of @event, unless it blocks the signal now. 0 or -errno. */
static int event_try(struct prof_events *e, struct prof_event *event)
{
	event->blocked = is_blocked(event->tid, prof_events_signal(e));
	int rc = event->blocked ? 0 : event_make(e, event->tid, (uint32_t)(event - e->list));

	if (!event->blocked && rc >= 0) {
		event->fd = rc;
		e->nr_sampled++;
	}
	event->gone = rc == -ESRCH;
	return rc < 0 && !event->gone ? rc : 0;
}

static int event_add(struct prof_events *e, int tid)
{
	AF_GROW(e->list, e->nr, e->cap);
	e->list[e->nr++] = (struct prof_event){.tid = tid, .fd = -1, .seen = e->round};
	return event_try(e, &e->list[e->nr - 1]);
}

/* Try those again that blocked the signal. True: some still do. */
static bool blocked_try(struct prof_events *e)
{
	bool some = false;

	for (uint32_t i = 0; i < e->nr; i++) {
		if (e->list[i].blocked)
			event_try(e, &e->list[i]);
		some |= e->list[i].blocked;
	}
	return some;
}

/* One look at the threads of the process: how many were new, or -errno where all have failed. */
static int round_make(struct prof_events *e)
{
	DIR *d = opendir("/proc/self/task");
	uint32_t nr_new = 0;
	int rc = 0;

	if (!d)
		return -errno;
	e->round++;
	for (struct dirent *entry; (entry = readdir(d));) {
		int tid = atoi(entry->d_name);
		if (tid <= 0 || tid == e->own || (e->only && tid != e->only))
			continue;
		struct prof_event *known = event_find(e, tid);
		if (known) {
			known->seen = e->round;
			continue;
		}
		int one = event_add(e, tid);
		rc = one ? one : rc;
		nr_new++;
	}
	closedir(d);
	return rc && !e->nr_sampled ? rc : (int)nr_new;
}

/* Is the thread of @event there and not sampled? */
static bool is_missed(const struct prof_event *event)
{
	return event->fd < 0 && !event->gone;
}

static uint64_t missed(const struct prof_events *e)
{
	uint64_t nr = e->nr_missed;

	for (uint32_t i = 0; i < e->nr; i++)
		nr += is_missed(&e->list[i]);
	return nr;
}

static void stop(struct prof_events *e)
{
	e->nr_missed = missed(e);
	for (uint32_t i = 0; i < e->nr; i++)
		event_drop(e, &e->list[i]);
	e->nr = 0;
	e->on = false;
}

static int start(struct prof_events *e)
{
	static uint16_t starts; /* of all profiles of this process, one of which is open */
	int rc = 1;

	e->start = ++starts ? starts : ++starts;
	e->nr = e->nr_sampled = 0;
	e->on = true;
	for (int i = 0; i < ROUNDS_MOST && rc > 0; i++)
		rc = round_make(e);
	/* Threads block all signals for a moment while they are made, make others or end. */
	for (int i = 0; i < ROUNDS_MOST && rc >= 0 && blocked_try(e); i++)
		usleep(1000);
	if (rc >= 0 && e->only && !e->nr)
		rc = -ESRCH;
	if (rc < 0)
		stop(e);
	return rc < 0 ? rc : 0;
}

static void poll(struct prof_events *e)
{
	uint32_t kept = 0;

	if (!e->on)
		return;
	if (++e->nr_polls % POLLS_BLOCKED == 0)
		blocked_try(e);
	if (!e->timers || e->only || round_make(e) < 0)
		return;
	/* A thread that has ended leaves its timer behind. */
	for (uint32_t i = 0; i < e->nr; i++)
		if (e->list[i].seen == e->round)
			e->list[kept++] = e->list[i];
		else
			event_drop(e, &e->list[i]);
	e->nr = kept;
}

int prof_events_start(struct prof_events *e)
{
	pthread_mutex_lock(&e->lock);
	int rc = start(e);
	pthread_mutex_unlock(&e->lock);
	return rc;
}

void prof_events_poll(struct prof_events *e)
{
	pthread_mutex_lock(&e->lock);
	poll(e);
	pthread_mutex_unlock(&e->lock);
}

uint64_t prof_events_missed(struct prof_events *e)
{
	pthread_mutex_lock(&e->lock);
	uint64_t nr = missed(e);
	pthread_mutex_unlock(&e->lock);
	return nr;
}

void prof_events_stop(struct prof_events *e)
{
	pthread_mutex_lock(&e->lock);
	stop(e);
	pthread_mutex_unlock(&e->lock);
}

void prof_events_forked(struct prof_events *e)
{
	for (uint32_t i = 0; !e->timers && i < e->nr; i++)
		if (e->list[i].fd >= 0)
			close(e->list[i].fd);
	e->nr = 0;
}

void prof_events_close(struct prof_events *e)
{
	prof_events_stop(e);
	free(e->list);
	e->list = NULL;
	e->cap = 0;
}
