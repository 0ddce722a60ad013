#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/job_work.h"

enum {
	JOB_THREADS = 64,
	JOB_STACK = 8 << 20,       /* the demangler takes 100 bytes for each byte of a name */
	JOB_REPORT = 1024,         /* addresses between two reports of progress */
	JOB_SLACK_NS = 1000000000, /* files' times are coarser than the trace's */
};

static uint32_t job_text(struct job_module *m, const char *text)
{
	char cut[AF_SYM_NAME_MAX];
	size_t len = text ? strlen(text) : 0;

	if (len < sizeof cut)
		return af_strtab_id(&m->strings, text ? text : "", len);
	memcpy(cut, text, sizeof cut);
	return af_strtab_id(&m->strings, cut, af_sym_cut(cut, sizeof cut, sizeof cut - 1));
}

static void job_answer(struct job_module *m, uint32_t i, const struct af_sym_answer *a)
{
	m->answers[i] = (struct job_answer){a->source, m->nr_frames, a->nr};
	for (uint32_t k = 0; k < a->nr; k++) {
		while (m->cap_frames < m->nr_frames + 3) {
			m->cap_frames = m->cap_frames ? m->cap_frames * 2 : 256;
			m->frames = af_xrealloc(m->frames, m->cap_frames * sizeof *m->frames);
		}
		m->frames[m->nr_frames++] = job_text(m, a->frames[k].function);
		m->frames[m->nr_frames++] = job_text(m, a->frames[k].file);
		m->frames[m->nr_frames++] = a->frames[k].line;
	}
}

/* Called for each address that has been looked up. */
typedef void job_tick(struct af_sym_job *job, void *arg);

static void job_run_jit(struct af_sym_job *job, struct job_module *m, job_tick *tick, void *arg)
{
	struct af_jit_trust trust = job->where->trust;
	struct af_jit map = {0};
	char path[512];
	uint32_t pid = 0;

	for (uint32_t i = 0; i < job->nr_processes; i++) {
		if (job->processes[i].ordinal != m->jit_of - 1)
			continue;
		pid = job->processes[i].pid;
		if (job->where->epoch_ns)
			trust.not_before_ns =
			    job->processes[i].start_ns + job->where->epoch_ns - JOB_SLACK_NS;
	}
	if (pid && job->where->perf_dir) {
		snprintf(path, sizeof path, "%s/perf-%u.map", job->where->perf_dir, pid);
		af_jit_open(&map, path, &trust);
	}
	for (uint32_t i = 0; i < m->nr; i++) {
		const struct af_jit_entry *e = af_jit_find(&map, m->vaddrs[i]);
		struct af_sym_answer a = {.source = m->mapped ? AF_SYMBOL_NO_SYMBOL
		                                              : AF_SYMBOL_NO_MODULE};

		if (e) {
			a.source = AF_SYMBOL_JIT;
			a.nr = 1;
			a.frames[0].function = e->name;
		}
		job_answer(m, i, &a);
		tick(job, arg);
	}
	af_jit_close(&map);
}

static void job_run_file(struct af_sym_job *job, struct job_module *m, job_tick *tick, void *arg)
{
	struct af_sym_answer a = {.source = AF_SYMBOL_BUILD_ID};
	struct af_sym_module *file = NULL;

	if (!m->replaced)
		file = af_sym_module_open(m->path, m->build_id, m->build_id_len, job->where->root);
	for (uint32_t i = 0; i < m->nr; i++) {
		if (file)
			af_sym_lookup(file, m->vaddrs[i], &a);
		job_answer(m, i, &a);
		tick(job, arg);
	}
	af_sym_module_close(file);
}

/* Take modules until none is left. */
static void job_work(struct af_sym_job *job, job_tick *tick, void *arg)
{
	uint32_t i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->nr_modules) {
		struct job_module *m = &job->modules[job->order[i]];

		if (m->nr && m->jit_of)
			job_run_jit(job, m, tick, arg);
		else if (m->nr)
			job_run_file(job, m, tick, arg);
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
	void (*progress)(void *arg, const struct af_sym_progress *p);
	void *arg;
	uint32_t countdown;
};

static void job_tell(struct af_sym_job *job, const struct job_report *r)
{
	struct af_sym_progress p = {
	    .addresses = job->nr_addresses,
	    .resolved = atomic_load(&job->resolved),
	    .modules = job->nr_modules,
	    .modules_done = atomic_load(&job->modules_done),
	};

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
	job_tell(job, r);
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
	struct job_report report = {progress, arg, JOB_REPORT};
	pthread_t threads[JOB_THREADS];
	pthread_attr_t attr;
	uint32_t nr = 0;

	job->where = places;
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
		pthread_join(threads[i], NULL);
	job_tell(job, &report);
}
