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
	JOB_THREADS = 64,
	JOB_STACK = 8 << 20, /* the demangler takes 100 bytes for each byte of a name */
	JOB_WAIT_NS = 200000000,
	JOB_REPORT = 1024, /* addresses between two reports of progress */
};

/* Take modules until none is left. */
static void job_work(struct af_sym_job *job, af_sym_job_tick *tick, void *arg)
{
	uint32_t i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->nr_modules) {
		af_sym_job_answer(job, &job->modules[job->order[i]], tick, arg);
		atomic_fetch_add(&job->modules_done, 1);
	}
}

static void job_tick_quiet(struct af_sym_job *job, void *arg)
{
	atomic_fetch_add_explicit(&job->resolved, 1, memory_order_relaxed);
}

static void *job_thread(void *job)
{
	job_work(job, job_tick_quiet, NULL);
	return NULL;
}

struct job_report {
	struct af_sym_job *job;
	void (*progress)(void *arg, const struct af_sym_progress *p);
	void *arg;
	uint32_t countdown;
};

static void job_tell(const struct job_report *r)
{
	struct af_sym_job *job = r->job;
	struct af_sym_progress p = {
	    .addresses = job->nr_addresses,
	    .resolved = atomic_load(&job->resolved),
	    .modules = job->nr_modules,
	    .modules_done = atomic_load(&job->modules_done),
	};

	if (job->fetch) {
		p.fetching = atomic_load(&af_fetch_state(job->fetch)->under_way);
		p.fetched_bytes = atomic_load(&af_fetch_state(job->fetch)->bytes);
	}

	if (r->progress)
		r->progress(r->arg, &p);
}

static void job_tick_report(struct af_sym_job *job, void *arg)
{
	struct job_report *r = arg;

	job_tick_quiet(job, NULL);
	if (--r->countdown)
		return;
	r->countdown = JOB_REPORT;
	job_tell(r);
}

/* While this thread waits for a server. */
static void job_tick_fetch(void *arg)
{
	job_tell(arg);
}

/* Wait for @thread, and go on telling how far it is. */
static void job_join(pthread_t thread, const struct job_report *r)
{
	struct timespec until;

	do {
		until = af_clock_after(CLOCK_REALTIME, JOB_WAIT_NS);
		job_tell(r);
	} while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
}

/* What came of asking servers, to a user who asked for it. */
static void job_note_fetch(struct af_sym_job *job)
{
	const struct af_fetch_state *s = job->fetch ? af_fetch_state(job->fetch) : NULL;
	int rc = s ? atomic_load(&s->failed) : 0;
	uint32_t refused = s ? atomic_load(&s->refused) : 0;

	if (refused)
		af_sym_job_note(job, "symbols.debuginfod",
		                "%u file%s that a server sent %s not used: the build-id is another",
		                refused, refused == 1 ? "" : "s", refused == 1 ? "was" : "were");
	if (rc == -ENOSYS)
		af_sym_job_note(job, "symbols.debuginfod",
		                "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed");
	else if (rc == -ETIMEDOUT)
		af_sym_job_note(
		    job, "symbols.debuginfod",
		    "no server was asked any more after less than %d KB came from one in "
		    "%d s",
		    AF_FETCH_LEAST_KB, AF_FETCH_STILL_S);
	else if (rc)
		af_sym_job_note(job, "symbols.debuginfod",
		                "no server was asked any more after one failed: %s", strerror(-rc));
}

static int job_by_size(const void *a, const void *b, void *modules)
{
	const struct job_module *x = (struct job_module *)modules + *(const uint32_t *)a;
	const struct job_module *y = (struct job_module *)modules + *(const uint32_t *)b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

static uint32_t job_nr_threads(const struct af_sym_job *job)
{
	cpu_set_t set;
	uint32_t nr = sched_getaffinity(0, sizeof set, &set) ? 1 : (uint32_t)CPU_COUNT(&set);

	nr = nr < JOB_THREADS ? nr : JOB_THREADS;
	return nr < job->nr_modules ? nr : job->nr_modules;
}

void af_sym_job_run(struct af_sym_job *job, const struct af_sym_places *places,
                    void (*progress)(void *arg, const struct af_sym_progress *p), void *arg)
{
	struct job_report report = {job, progress, arg, JOB_REPORT};
	pthread_t threads[JOB_THREADS];
	pthread_attr_t attr;
	uint32_t nr = 0;

	job->where = places;
	job->cache.dirfd = -1;
	if (places->cache)
		af_cache_open(&job->cache, NULL);
	if (places->debuginfod)
		job->fetch = af_fetch_open(job_tick_fetch, &report);
	af_sym_job_place(job);
	job->order = af_xcalloc(job->nr_modules, sizeof *job->order);
	for (uint32_t i = 0; i < job->nr_modules; i++)
		job->order[i] = i;
	if (job->nr_modules)
		qsort_r(job->order, job->nr_modules, sizeof *job->order, job_by_size, job->modules);

	/* This thread is one of them; with no more to be had it does it alone. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, JOB_STACK);
	for (uint32_t want = job_nr_threads(job); nr + 1 < want; nr++)
		if (pthread_create(&threads[nr], &attr, job_thread, job))
			break;
	pthread_attr_destroy(&attr);
	job_work(job, job_tick_report, &report);
	for (uint32_t i = 0; i < nr; i++)
		job_join(threads[i], &report);
	af_cache_close(&job->cache);
	job_note_fetch(job);
	af_fetch_close(job->fetch);
	job->fetch = NULL;
	job_tell(&report);
}
