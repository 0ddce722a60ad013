/* Answers the addresses of one module, by what kind of module it is. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/module/module.h"
#include "sym/resolve/kernel.h"
#include "sym/resolve/task_work.h"

enum { JOB_SEARCHED = 4 }; /* processes whose copy of a file is looked for */

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

void af_sym_job_answered(struct job_module *m, uint32_t i, const struct af_sym_answer *a)
{
	m->answers[i] = (struct job_answer){a->source, m->nr_frames, a->nr, 0};
	for (uint32_t k = 0; k < a->nr; k++) {
		AF_ROOM(m->frames, m->nr_frames + 3, m->cap_frames);
		m->frames[m->nr_frames++] = job_text(m, a->frames[k].function);
		m->frames[m->nr_frames++] = job_text(m, a->frames[k].file);
		m->frames[m->nr_frames++] = a->frames[k].line;
	}
}

const struct job_process *af_sym_job_find(const struct af_sym_job *job, uint32_t ordinal)
{
	for (uint32_t i = 0; i < job->nr_processes; i++)
		if (job->processes[i].ordinal == ordinal)
			return &job->processes[i];
	return NULL;
}

const struct af_live_process *af_sym_job_live(struct af_sym_job *job, uint32_t ordinal)
{
	const struct job_process *p = af_sym_job_find(job, ordinal);

	if (!p || !job->where->proc)
		return NULL;
	pthread_mutex_lock(&job->lock);
	if (!job->live_open)
		af_live_open(&job->live, job->where->proc);
	job->live_open = true;
	pthread_mutex_unlock(&job->lock);
	return af_live_find(&job->live, (pid_t)p->pid, p->start_ns + job->where->boottime_ns,
	                    p->exe);
}

/*
 * Where else a file may be than at its path: with the processes that have it, while they live; or
 * the trace has it.
 */
struct job_search {
	struct af_sym_job *job;
	const struct job_module *module;
	uint32_t mapping, way, nr; /* the next to try; processes that live so far */
	uint32_t object;
};

static int job_try(const struct job_search *s, const struct af_live_process *p)
{
	const struct af_live *live = &s->job->live;
	const struct job_mapping *mapping = &s->job->mappings[s->mapping];
	/* A build-id says more than a name. */
	const char *path = s->module->build_id_len ? NULL : s->module->path;

	switch (s->way) {
	case 0:
		return af_live_open_mapped(live, p, mapping->start, path);
	case 1:
		return mapping->main ? af_live_open_exe(live, p, path) : -ENOENT;
	default:
		return s->module->replaced ? -ENOENT : af_live_open_path(live, p, s->module->path);
	}
}

/* Only a build-id tells what an object is a copy of. */
static int job_try_object(struct job_search *s)
{
	const struct af_sym_job *job = s->job;

	if (!s->module->build_id_len || !job->where->open || s->object == job->nr_objects)
		return AF_FINDER_END;
	int fd = job->where->open(job->where->objects,
	                          af_strtab_get(&job->keys, job->objects[s->object++]));
	return fd < 0 ? AF_FINDER_NOTHING : fd;
}

static int job_further(void *arg, uint32_t nth)
{
	enum { WAYS = 3 };
	struct job_search *s = arg;
	const struct job_module *modules = s->job->modules;

	(void)nth;
	for (; s->mapping < s->job->nr_mappings && s->nr < JOB_SEARCHED; s->mapping++) {
		const struct job_mapping *mapping = &s->job->mappings[s->mapping];
		if (&modules[mapping->module] != s->module)
			continue;
		const struct af_live_process *p = af_sym_job_live(s->job, mapping->process);
		if (p && s->way < WAYS) {
			int fd = job_try(s, p);
			s->way++;
			return fd < 0 ? AF_FINDER_NOTHING : fd;
		}
		s->nr += p != NULL;
		s->way = 0;
	}
	return job_try_object(s);
}

static struct af_sym_module *job_open_file(struct af_sym_job *job, const struct job_module *m)
{
	struct job_search search = {.job = job, .module = m};
	const struct af_live_process *live = NULL;
	struct af_finder finder = {.root = job->where->root,
	                           .kept = job->where->kept,
	                           .fetch = job->fetch,
	                           .further = job_further,
	                           .arg = &search};

	/* Without a build-id the same path elsewhere would do as well. */
	if (!m->build_id_len)
		live = af_sym_job_live(job, m->process);
	finder.further_first = live && live->elsewhere;
	return af_sym_module_find(m->path, !m->replaced, m->build_id, m->build_id_len, &finder);
}

/* The answers of a module one by one, for the cache. */
struct job_told {
	const struct job_module *module;
	uint32_t at;
};

static bool job_tell_next(void *arg, uint64_t *vaddr, struct af_sym_answer *answer)
{
	struct job_told *told = arg;
	const struct job_module *m = told->module;

	if (told->at == m->nr)
		return false;
	const struct job_answer *a = &m->answers[told->at];
	*vaddr = m->wanted[told->at++].vaddr;
	*answer = (struct af_sym_answer){.source = a->source, .nr = a->nr};
	for (uint32_t i = 0; i < a->nr; i++) {
		const uint32_t *frame = &m->frames[a->first + i * 3];

		answer->frames[i].function = af_strtab_get(&m->strings, frame[0]);
		answer->frames[i].file = af_strtab_get(&m->strings, frame[1]);
		answer->frames[i].line = frame[2];
	}
	return true;
}

static void job_run_file(struct af_sym_job *job, struct job_module *m, af_sym_job_tick *tick,
                         void *arg)
{
	struct af_sym_module *file = job_open_file(job, m);
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	struct af_cache_names known = {0};
	struct af_sym_answer a;
	uint32_t len, fresh = 0;
	uint64_t key = af_sym_module_key(file, id, &len);

	if (key)
		af_cache_load(&job->cache, &known, id, len, key);
	for (uint32_t i = 0; i < m->nr; i++) {
		if (!af_cache_find(&known, m->wanted[i].vaddr, &a)) {
			af_sym_lookup(file, m->wanted[i].vaddr, &a);
			fresh++;
		}
		af_sym_job_answered(m, i, &a);
		tick(job, arg);
	}
	if (fresh)
		af_cache_save(&job->cache, &known, job_tell_next, &(struct job_told){m, 0});
	af_cache_unload(&known);
	af_sym_job_code(job, m, file);
	af_sym_module_close(file);
}

struct job_kernel {
	struct af_kernel table, told;
	int rc; /* why there is no table */
};

static const struct af_kernel_symbol *job_find_kernel(const struct af_sym_job *job,
                                                      const struct job_kernel *k, uint64_t address)
{
	uint64_t shift = job->where->kernel_shift;
	const struct af_kernel_symbol *s = af_kernel_find(&k->told, address);

	if (s)
		return s;
	s = af_kernel_find(&k->table, address - shift);
	return s && shift && strcmp(s->module, "[kernel]") ? NULL : s;
}

static void job_answer_kernel(const struct af_sym_job *job, struct job_module *m, uint32_t i,
                              const struct job_kernel *k)
{
	const struct af_kernel_symbol *s = job_find_kernel(job, k, m->wanted[i].vaddr);
	struct af_sym_answer a = {.source = k->rc ? AF_SYMBOL_NO_FILE : AF_SYMBOL_NO_SYMBOL};

	char *name = s ? af_function_name(s->name) : NULL;

	if (name) {
		a.source = AF_SYMBOL_SYMTAB;
		a.nr = 1;
		a.frames[0].function = name;
	}
	af_sym_job_answered(m, i, &a);
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
	const char *path = job->where->kallsyms, *told = job->where->kernel_told;
	struct job_kernel k = {0};

	k.rc = path ? af_kernel_open(&k.table, path) : -ENOENT;
	if (k.rc)
		job_note_kernel(job, path, k.rc);
	if (told)
		af_kernel_parse(&k.told, strdup(told));
	for (uint32_t i = 0; i < m->nr; i++) {
		job_answer_kernel(job, m, i, &k);
		tick(job, arg);
	}
	af_kernel_close(&k.table);
	af_kernel_close(&k.told);
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
		af_sym_job_answer_jit(job, m, tick, arg);
		break;
	case JOB_KERNEL:
		job_run_kernel(job, m, tick, arg);
		break;
	}
}
