/* Answers the addresses of one module, by what kind of module it is. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "sym/module/module.h"
#include "sym/resolve/kernel.h"
#include "sym/resolve/shared.h"
#include "sym/resolve/task_work.h"

enum { TASK_SEARCHED = 4 }; /* processes whose copy of a file is looked for */

void af_sym_task_note(struct af_sym_task *task, const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&task->lock);
	uint32_t k = af_strtab_id_z(&task->note_texts, key);
	uint32_t t = af_strtab_id_z(&task->note_texts, text), i = 0;
	while (i < task->nr_notes && (task->notes[i].key != k || task->notes[i].text != t))
		i++;
	if (i == task->nr_notes && i < TASK_NOTES)
		task->notes[task->nr_notes++] = (struct task_note){k, t};
	pthread_mutex_unlock(&task->lock);
}

static uint32_t task_text(struct task_module *m, const char *text)
{
	char cut[AF_SYM_NAME_MAX];
	size_t len = text ? strlen(text) : 0;

	if (len < sizeof cut)
		return af_strtab_id(&m->strings, text ? text : "", len);
	memcpy(cut, text, sizeof cut);
	return af_strtab_id(&m->strings, cut, af_sym_cut(cut, sizeof cut, sizeof cut - 1));
}

static struct task_answer task_keep(struct task_module *m, const struct af_sym_answer *a)
{
	const struct task_answer kept = {.source = a->source,
	                                 .first = m->nr_frames,
	                                 .nr = a->nr,
	                                 .symbol_known = a->symbol_known,
	                                 .symbol_offset = a->symbol_offset};

	for (uint32_t k = 0; k < a->nr; k++) {
		AF_ROOM(m->frames, m->nr_frames + TASK_FRAME, m->cap_frames);
		m->frames[m->nr_frames++] = task_text(m, a->frames[k].function);
		m->frames[m->nr_frames++] = task_text(m, a->frames[k].file);
		m->frames[m->nr_frames++] = a->frames[k].line;
		m->frames[m->nr_frames++] = task_text(m, a->frames[k].source);
		m->frames[m->nr_frames++] = a->frames[k].source_line;
	}
	return kept;
}

void af_sym_task_answered(struct task_module *m, uint32_t i, const struct af_sym_answer *a)
{
	m->answers[i] = task_keep(m, a);
}

void af_sym_task_later(struct task_module *m, uint32_t i, uint64_t from_ns,
                       const struct af_sym_answer *a)
{
	AF_GROW(m->later, m->nr_later, m->cap_later);
	m->later[m->nr_later++] = (struct task_later){i, from_ns, task_keep(m, a)};
}

const struct task_process *af_sym_task_find(const struct af_sym_task *task, uint32_t ordinal)
{
	for (uint32_t i = 0; i < task->nr_processes; i++)
		if (task->processes[i].ordinal == ordinal)
			return &task->processes[i];
	return NULL;
}

const struct af_running_process *af_sym_task_running(struct af_sym_task *task, uint32_t ordinal)
{
	const struct task_process *p = af_sym_task_find(task, ordinal);

	if (!p || !task->where->proc)
		return NULL;
	pthread_mutex_lock(&task->lock);
	if (!task->running_open)
		af_running_open(&task->running, task->where->proc);
	task->running_open = true;
	pthread_mutex_unlock(&task->lock);
	return af_running_find(&task->running, (pid_t)p->pid,
	                       p->start_ns + task->where->boottime_ns, p->exe);
}

/* Other places where a file may be: with a running process that has mapped it, or in the trace. */
struct task_search {
	struct af_sym_task *task;
	const struct task_module *module;
	uint32_t mapping, way, nr; /* the next to try; processes that live so far */
	uint32_t object;
};

static int task_try(const struct task_search *s, const struct af_running_process *p)
{
	const struct af_running *running = &s->task->running;
	const struct task_mapping *mapping = &s->task->mappings[s->mapping];
	/* A build-id says more than a name. */
	const char *path = s->module->build_id_len ? NULL : s->module->path;

	switch (s->way) {
	case 0:
		return af_running_open_mapped(running, p, mapping->start, path);
	case 1:
		return mapping->main ? af_running_open_exe(running, p, path) : -ENOENT;
	default:
		return s->module->replaced ? -ENOENT
		                           : af_running_open_path(running, p, s->module->path);
	}
}

/* Only a build-id shows which file an object is a copy of. */
static int task_try_object(struct task_search *s)
{
	const struct af_sym_task *task = s->task;

	if (!s->module->build_id_len || !task->where->open || s->object == task->nr_objects)
		return AF_FINDER_END;
	int fd = task->where->open(task->where->objects,
	                           af_strtab_get(&task->keys, task->objects[s->object++]));
	return fd < 0 ? AF_FINDER_NOTHING : fd;
}

static int task_further(void *arg, uint32_t nth)
{
	enum { WAYS = 3 };
	struct task_search *s = arg;
	const struct task_module *modules = s->task->modules;

	(void)nth;
	for (; s->mapping < s->task->nr_mappings && s->nr < TASK_SEARCHED; s->mapping++) {
		const struct task_mapping *mapping = &s->task->mappings[s->mapping];
		if (&modules[mapping->module] != s->module)
			continue;
		const struct af_running_process *p = af_sym_task_running(s->task, mapping->process);
		if (p && s->way < WAYS) {
			int fd = task_try(s, p);
			s->way++;
			return fd < 0 ? AF_FINDER_NOTHING : fd;
		}
		s->nr += p != NULL;
		s->way = 0;
	}
	return task_try_object(s);
}

/* Open the file of @m, or take the open one of an earlier trace. */
static struct af_sym_module *task_take_file(struct af_sym_task *task, const struct task_module *m,
                                            struct af_shared_file *is)
{
	struct task_search search = {.task = task, .module = m};
	const struct af_running_process *process = NULL;
	struct af_finder finder = {.root = task->where->root,
	                           .kept = task->where->kept,
	                           .fetch = task->fetch,
	                           .further = task_further,
	                           .arg = &search};

	/* Without a build-id, the same path elsewhere counts as the same file. */
	if (!m->build_id_len)
		process = af_sym_task_running(task, m->process);
	finder.further_first = process && process->elsewhere;
	struct af_sym_module *open =
	    finder.further_first ? NULL : af_shared_take(task->where->shared, is);
	if (open)
		return open;
	return af_sym_module_find(m->path, !m->replaced, m->build_id, m->build_id_len, &finder);
}

/* The answers of a module one by one, for the cache. */
struct task_reported {
	const struct task_module *module;
	uint32_t at;
};

static bool task_tell_next(void *arg, uint64_t *vaddr, struct af_sym_answer *answer)
{
	struct task_reported *reported = arg;
	const struct task_module *m = reported->module;

	if (reported->at == m->nr)
		return false;
	const struct task_answer *a = &m->answers[reported->at];
	*vaddr = m->wanted[reported->at++].vaddr;
	*answer = (struct af_sym_answer){.source = a->source,
	                                 .nr = a->nr,
	                                 .symbol_known = a->symbol_known,
	                                 .symbol_offset = a->symbol_offset};
	for (uint32_t i = 0; i < a->nr; i++) {
		const uint32_t *frame = &m->frames[a->first + i * TASK_FRAME];

		answer->frames[i].function = af_strtab_get(&m->strings, frame[0]);
		answer->frames[i].file = af_strtab_get(&m->strings, frame[1]);
		answer->frames[i].line = frame[2];
		answer->frames[i].source = af_strtab_get(&m->strings, frame[TASK_FRAME_SOURCE]);
		answer->frames[i].source_line = frame[TASK_FRAME_SOURCE_LINE];
	}
	return true;
}

static void task_run_file(struct af_sym_task *task, struct task_module *m, af_sym_task_tick *tick,
                          void *arg)
{
	struct af_shared_file is = {m->path, !m->replaced, m->build_id_len, m->build_id, {0}};
	struct af_sym_module *file = task_take_file(task, m, &is);
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	struct af_cache_names known = {0};
	struct af_sym_answer a;
	uint32_t len, fresh = 0;
	uint64_t key = af_sym_module_key(file, id, &len);

	if (key)
		af_cache_load(&task->cache, &known, id, len, key);
	for (uint32_t i = 0; i < m->nr; i++) {
		if (!af_cache_find(&known, m->wanted[i].vaddr, &a)) {
			af_sym_lookup(file, m->wanted[i].vaddr, &a);
			fresh++;
		}
		af_sym_task_answered(m, i, &a);
		tick(task, arg);
	}
	if (fresh)
		af_cache_save(&task->cache, &known, task_tell_next, &(struct task_reported){m, 0});
	af_cache_unload(&known);
	af_sym_task_code(task, m, file);
	/* Lookups may unpack the bytes in place, and the trace keeps those of device code. */
	if (m->code || !task->where->shared)
		af_sym_module_close(file);
	else
		af_shared_give(task->where->shared, &is, file);
}

struct task_kernel {
	const struct af_kernel *table;
	struct af_kernel own, reported;
	int rc; /* why there is no table */
};

/* The symbol that @address lies in, *@offset from its start; or NULL. */
static const struct af_kernel_symbol *task_find_kernel(const struct af_sym_task *task,
                                                       const struct task_kernel *k,
                                                       uint64_t address, uint64_t *offset)
{
	uint64_t shift = task->where->kernel_shift;
	const struct af_kernel_symbol *s = af_kernel_find(&k->reported, address);

	if (s) {
		*offset = address - s->start;
		return s;
	}
	s = af_kernel_find(k->table, address - shift);
	*offset = s ? address - shift - s->start : 0;
	return s && shift && strcmp(s->module, "[kernel]") ? NULL : s;
}

static void task_answer_kernel(const struct af_sym_task *task, struct task_module *m, uint32_t i,
                               const struct task_kernel *k)
{
	struct af_sym_answer a = {.source = k->rc ? AF_SYMBOL_NO_FILE : AF_SYMBOL_NO_SYMBOL};
	uint64_t offset;
	const struct af_kernel_symbol *s = task_find_kernel(task, k, m->wanted[i].vaddr, &offset);

	char *name = s ? af_function_name(s->name) : NULL;

	if (name) {
		a.source = AF_SYMBOL_SYMTAB;
		a.nr = 1;
		a.frames[0].function = name;
		a.symbol_known = true;
		a.symbol_offset = offset;
	}
	af_sym_task_answered(m, i, &a);
	if (s)
		m->answers[i].module = task_text(m, s->module);
	free(name);
}

/* Notes why the kernel's functions have no names, for a user who requested them. */
static void task_note_kernel(struct af_sym_task *task, const char *path, int rc)
{
	if (!path)
		af_sym_task_note(task, "symbols.kernel",
		                 "kernel addresses have no names: this is not the boot that was "
		                 "recorded");
	else if (rc == -EPERM)
		af_sym_task_note(task, "symbols.kernel",
		                 "kernel addresses have no names: %s shows none to this user "
		                 "(run record as root, or: sysctl kernel.kptr_restrict=0)",
		                 path);
	else
		af_sym_task_note(task, "symbols.kernel", "kernel addresses have no names: %s: %s",
		                 path, strerror(-rc));
}

static void task_run_kernel(struct af_sym_task *task, struct task_module *m, af_sym_task_tick *tick,
                            void *arg)
{
	const char *path = task->where->kallsyms, *reported = task->where->kernel_reported;
	struct task_kernel k = {.table = &k.own, .rc = -ENOENT};

	if (path && task->where->shared)
		k.table = af_shared_kernel(task->where->shared, path, &k.rc);
	else if (path)
		k.rc = af_kernel_open(&k.own, path);
	if (k.rc)
		task_note_kernel(task, path, k.rc);
	if (reported)
		af_kernel_parse(&k.reported, af_xstrdup(reported));
	for (uint32_t i = 0; i < m->nr; i++) {
		task_answer_kernel(task, m, i, &k);
		tick(task, arg);
	}
	af_kernel_close(&k.own);
	af_kernel_close(&k.reported);
}

void af_sym_task_answer(struct af_sym_task *task, struct task_module *m, af_sym_task_tick *tick,
                        void *arg)
{
	if (!m->nr)
		return;
	switch (m->kind) {
	case TASK_FILE:
		task_run_file(task, m, tick, arg);
		break;
	case TASK_JIT:
		af_sym_task_answer_jit(task, m, tick, arg);
		break;
	case TASK_KERNEL:
		task_run_kernel(task, m, tick, arg);
		break;
	}
}
