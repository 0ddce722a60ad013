/* Answers the addresses of one module, by what kind of module it is. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/job_work.h"
#include "sym/kernel.h"

enum { JOB_SLACK_NS = 1000000000 }; /* files' times are coarser than the trace's */

void af_sym_job_note(struct af_sym_job *job, const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&job->lock);
	uint32_t k = af_strtab_id_z(&job->note_texts, key);
	uint32_t t = af_strtab_id_z(&job->note_texts, text), i = 0;
	while (i < job->nr_notes && (job->notes[i].key != k || job->notes[i].text != t))
		i++;
	if (i == job->nr_notes && i < JOB_NOTES)
		job->notes[job->nr_notes++] = (struct job_note){k, t};
	pthread_mutex_unlock(&job->lock);
}

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
	m->answers[i] = (struct job_answer){a->source, m->nr_frames, a->nr, 0};
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

static void job_run_jit(struct af_sym_job *job, struct job_module *m, af_sym_job_tick *tick,
                        void *arg)
{
	struct af_jit_trust trust = job->where->trust;
	struct af_jit map = {0};
	char path[512];
	uint32_t pid = 0;

	for (uint32_t i = 0; i < job->nr_processes; i++) {
		if (job->processes[i].ordinal != m->process)
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

static void job_run_file(struct af_sym_job *job, struct job_module *m, af_sym_job_tick *tick,
                         void *arg)
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

static void job_answer_kernel(struct job_module *m, uint32_t i, const struct af_kernel_symbol *s)
{
	struct af_sym_answer a = {.source = AF_SYMBOL_NO_SYMBOL};
	char *name = s ? af_function_name(s->name) : NULL;

	if (name) {
		a.source = AF_SYMBOL_SYMTAB;
		a.nr = 1;
		a.frames[0].function = name;
	}
	job_answer(m, i, &a);
	if (s)
		m->answers[i].module = job_text(m, s->module);
	free(name);
}

/* Why there are no names for the kernel, to a user who wants them. */
static void job_note_kernel(struct af_sym_job *job, const char *path, int rc)
{
	if (!path)
		af_sym_job_note(job, "symbols.kernel",
		                "kernel addresses have no names: this is not the boot that was "
		                "recorded");
	else if (rc == -EPERM)
		af_sym_job_note(job, "symbols.kernel",
		                "kernel addresses have no names: %s shows none to this user "
		                "(run record as root, or: sysctl kernel.kptr_restrict=0)",
		                path);
	else
		af_sym_job_note(job, "symbols.kernel", "kernel addresses have no names: %s: %s",
		                path, strerror(-rc));
}

static void job_run_kernel(struct af_sym_job *job, struct job_module *m, af_sym_job_tick *tick,
                           void *arg)
{
	struct af_sym_answer none = {.source = AF_SYMBOL_NO_FILE};
	const char *path = job->where->kallsyms;
	struct af_kernel kernel = {0};
	int rc = path ? af_kernel_open(&kernel, path) : -ENOENT;

	if (rc)
		job_note_kernel(job, path, rc);
	for (uint32_t i = 0; i < m->nr; i++) {
		if (rc)
			job_answer(m, i, &none);
		else
			job_answer_kernel(m, i, af_kernel_find(&kernel, m->vaddrs[i]));
		tick(job, arg);
	}
	af_kernel_close(&kernel);
}

void af_sym_job_answer(struct af_sym_job *job, struct job_module *m, af_sym_job_tick *tick,
                       void *arg)
{
	if (!m->nr)
		return;
	switch (m->kind) {
	case JOB_FILE:
		job_run_file(job, m, tick, arg);
		break;
	case JOB_JIT:
		job_run_jit(job, m, tick, arg);
		break;
	case JOB_KERNEL:
		job_run_kernel(job, m, tick, arg);
		break;
	}
}
