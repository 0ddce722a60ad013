/* Resolves the modules of a symbolization job in parallel threads, and reports the progress. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/system/clock.h"
#include "sym/resolve/task_work.h"

enum {
	TASK_THREADS = 64,
	TASK_STACK = 8 << 20, /* the demangler takes 100 bytes for each byte of a name */
	TASK_WAIT_NS = 200000000,
	TASK_REPORT = 1024, /* addresses between two reports of progress */
};

/* Take modules until none is left. */
static void task_work(struct af_sym_task *task, af_sym_task_tick *tick, void *arg)
{
	uint32_t i;

	while ((i = atomic_fetch_add(&task->next, 1)) < task->nr_modules) {
		af_sym_task_answer(task, &task->modules[task->order[i]], tick, arg);
		atomic_fetch_add(&task->modules_done, 1);
	}
}

static void task_tick_quiet(struct af_sym_task *task, void *arg)
{
	atomic_fetch_add_explicit(&task->resolved, 1, memory_order_relaxed);
}

static void *task_thread(void *task)
{
	task_work(task, task_tick_quiet, NULL);
	return NULL;
}

struct task_report {
	struct af_sym_task *task;
	void (*progress)(void *arg, const struct af_sym_progress *p);
	void *arg;
	uint32_t countdown;
};

static void task_tell(const struct task_report *r)
{
	struct af_sym_task *task = r->task;
	struct af_sym_progress p = {
	    .addresses = task->nr_to_resolve,
	    .resolved = atomic_load(&task->resolved),
	    .modules = task->nr_modules,
	    .modules_done = atomic_load(&task->modules_done),
	};

	if (task->fetch) {
		p.fetching = atomic_load(&af_fetch_state(task->fetch)->under_way);
		p.fetched_bytes = atomic_load(&af_fetch_state(task->fetch)->bytes);
	}

	if (r->progress)
		r->progress(r->arg, &p);
}

static void task_tick_report(struct af_sym_task *task, void *arg)
{
	struct task_report *r = arg;

	task_tick_quiet(task, NULL);
	if (--r->countdown)
		return;
	r->countdown = TASK_REPORT;
	task_tell(r);
}

/* Called while this thread waits for a server. */
static void task_tick_fetch(void *arg)
{
	task_tell(arg);
}

/* Wait for @thread, and keep reporting the progress. */
static void task_join(pthread_t thread, const struct task_report *r)
{
	struct timespec until;

	do {
		until = af_clock_after(CLOCK_REALTIME, TASK_WAIT_NS);
		task_tell(r);
	} while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
}

/* Report the result of the queries to servers, if the user enabled them. */
static void task_note_fetch(struct af_sym_task *task)
{
	const struct af_fetch_state *s = task->fetch ? af_fetch_state(task->fetch) : NULL;
	int rc = s ? atomic_load(&s->failed) : 0;
	uint32_t refused = s ? atomic_load(&s->refused) : 0;

	if (refused)
		af_sym_task_note(
		    task, "symbols.debuginfod",
		    "%u file%s that a server sent %s not used: the build-id is another", refused,
		    refused == 1 ? "" : "s", refused == 1 ? "was" : "were");
	if (rc == -ENOSYS)
		af_sym_task_note(task, "symbols.debuginfod",
		                 "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed");
	else if (rc == -ETIMEDOUT)
		af_sym_task_note(
		    task, "symbols.debuginfod",
		    "no server was asked any more after less than %d KB came from one in "
		    "%d s",
		    AF_FETCH_LEAST_KB, AF_FETCH_STILL_S);
	else if (rc)
		af_sym_task_note(task, "symbols.debuginfod",
		                 "no server was asked any more after one failed: %s",
		                 strerror(-rc));
}

static int task_by_size(const void *a, const void *b, void *modules)
{
	const struct task_module *x = (struct task_module *)modules + *(const uint32_t *)a;
	const struct task_module *y = (struct task_module *)modules + *(const uint32_t *)b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

static uint32_t task_nr_threads(const struct af_sym_task *task)
{
	cpu_set_t set;
	uint32_t nr = sched_getaffinity(0, sizeof set, &set) ? 1 : (uint32_t)CPU_COUNT(&set);

	nr = nr < TASK_THREADS ? nr : TASK_THREADS;
	return nr < task->nr_modules ? nr : task->nr_modules;
}

void af_sym_task_run(struct af_sym_task *task, const struct af_search_paths *search_paths,
                     void (*progress)(void *arg, const struct af_sym_progress *p), void *arg)
{
	struct task_report report = {task, progress, arg, TASK_REPORT};
	pthread_t threads[TASK_THREADS];
	pthread_attr_t attr;
	uint32_t nr = 0;

	task->where = search_paths;
	task->cache.dirfd = -1;
	if (search_paths->cache)
		af_cache_open(&task->cache, NULL);
	if (search_paths->debuginfod)
		task->fetch = af_fetch_open(task_tick_fetch, &report);
	af_sym_task_place(task);
	task->order = af_xcalloc(task->nr_modules, sizeof *task->order);
	for (uint32_t i = 0; i < task->nr_modules; i++)
		task->order[i] = i;
	if (task->nr_modules)
		qsort_r(task->order, task->nr_modules, sizeof *task->order, task_by_size,
		        task->modules);

	/* This thread is one of the workers; if no other can be started, it works alone. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, TASK_STACK);
	for (uint32_t want = task_nr_threads(task); nr + 1 < want; nr++)
		if (pthread_create(&threads[nr], &attr, task_thread, task))
			break;
	pthread_attr_destroy(&attr);
	task_work(task, task_tick_report, &report);
	for (uint32_t i = 0; i < nr; i++)
		task_join(threads[i], &report);
	af_cache_close(&task->cache);
	task_note_fetch(task);
	af_fetch_close(task->fetch);
	task->fetch = NULL;
	task_tell(&report);
}
