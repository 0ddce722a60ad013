/* Answers addresses of code that run-time compilers made, by what they wrote about it. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "sym/jit/jitdump.h"
#include "sym/resolve/task_work.h"
#include "sym/sym.h"

enum {
	JIT_DUMPS = 8,             /* of one process */
	JIT_ANCESTORS = 4,         /* whose code a process may have from before a fork */
	JIT_SLACK_NS = 1000000000, /* files' times are coarser than the trace's */
	JIT_TIMES = 128,           /* of one address, in all tables */
	JIT_LATER = 1 << 20,       /* names from a time on, of one module */
	JIT_IMAGES = 16,           /* ELF files that are open from one address to the next */
};

/* ELF files of a process that are open, by their numbers. */
struct jit_images {
	struct jit_opened {
		uint32_t number;
		struct af_sym_module *module; /* NULL: it cannot be read */
	} * list;
	uint32_t nr, cap;
};

/* The known code of one process. */
struct jit_process {
	struct af_sym_task *task;
	uint32_t ordinal, pid;
	const struct af_running_process *running;
	struct af_jit_trust trust;
	struct af_jit map;
	struct af_jit_timed timed; /* as the recorder saw it */
	struct jit_images images;  /* of that */
	struct af_jitdump dumps[JIT_DUMPS];
	uint32_t nr_dumps;
};

/* A file that is not trusted is reported: somebody may have put it there. */
static void jit_refused(const struct jit_process *p, const char *path, int fd, int rc)
{
	struct stat st;

	if (rc == -EPERM && !fstat(fd, &st))
		af_sym_task_note(
		    p->task, "symbols.jit",
		    "%s is not believed: it belongs to user %u and not to the process's", path,
		    (unsigned)st.st_uid);
	else if (rc == -EFBIG)
		af_sym_task_note(p->task, "symbols.jit", "%s is not read: it is too large", path);
	else if (rc == -ENOEXEC)
		af_sym_task_note(p->task, "symbols.jit", "%s is not read: it is no jitdump", path);
}

/* The file that the process sees under that path, if we can open it; else the one that we see. */
static int jit_open_path(const struct jit_process *p, const char *path)
{
	int fd = -ENOENT;

	if (p->running && *path == '/')
		fd = af_running_open_path(&p->task->running, p->running, path);
	if (fd < 0)
		fd = af_jit_open_path(path);
	return fd;
}

static void jit_open_map(struct jit_process *p)
{
	char path[512];

	if (!p->task->where->perf_dir)
		return;
	snprintf(path, sizeof path, "%s/perf-%u.map", p->task->where->perf_dir, p->pid);
	scope_close int fd = jit_open_path(p, path);
	int rc = fd < 0 ? -ENOENT : af_jit_open(&p->map, fd, &p->trust);
	if (rc)
		jit_refused(p, path, fd, rc);
	else if (p->map.left_out)
		af_sym_task_note(p->task, "symbols.jit",
		                 "%s is too large: its first %llu bytes are left out", path,
		                 (unsigned long long)p->map.left_out);
}

static void jit_open_dump(struct jit_process *p, const char *path)
{
	scope_close int fd = p->nr_dumps < JIT_DUMPS ? jit_open_path(p, path) : -1;

	if (fd < 0)
		return;
	int rc = af_jitdump_open(&p->dumps[p->nr_dumps], fd, p->pid, &p->trust);
	if (rc) {
		jit_refused(p, path, fd, rc);
		return;
	}
	if (p->dumps[p->nr_dumps].nr_beyond)
		af_sym_task_note(p->task, "symbols.jit",
		                 "%s is too large: its last %llu records are left out", path,
		                 (unsigned long long)p->dumps[p->nr_dumps].nr_beyond);
	p->nr_dumps++;
}

/* Dumps that the process has or had mapped; else the dumps in the usual folders. */
static void jit_open_dumps(struct jit_process *p)
{
	const struct af_sym_task *task = p->task;
	char *mapped;

	for (uint32_t nth = 0;
	     p->running && (mapped = af_running_jitdump(&task->running, p->running, nth)); nth++) {
		jit_open_dump(p, mapped);
		free(mapped);
	}
	for (uint32_t i = 0; !p->nr_dumps && i < task->nr_dumps; i++)
		if (task->dumps[i].process == p->ordinal)
			jit_open_dump(p, task->dumps[i].path);
	for (size_t i = 0; !p->nr_dumps && i < sizeof task->where->dump_dirs / sizeof(char *);
	     i++) {
		char pattern[512];
		glob_t found;

		if (!task->where->dump_dirs[i])
			continue;
		snprintf(pattern, sizeof pattern, "%s/jit-%u.dump", task->where->dump_dirs[i],
		         p->pid);
		if (glob(pattern, GLOB_NOSORT, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			jit_open_dump(p, found.gl_pathv[k]);
		globfree(&found);
	}
}

static void jit_open(struct jit_process *p, struct af_sym_task *task, uint32_t ordinal)
{
	const struct task_process *known = af_sym_task_find(task, ordinal);

	*p = (struct jit_process){.task = task, .ordinal = ordinal, .trust = task->where->trust};
	if (!known || !known->pid)
		return;
	p->pid = known->pid;
	p->running = af_sym_task_running(task, ordinal);
	p->trust.growing = p->running != NULL;
	if (task->where->epoch_ns)
		p->trust.not_before_ns = known->start_ns + task->where->epoch_ns - JIT_SLACK_NS;
	/*
	 * Files of root are trusted for every process, files of a user for that user's processes.
	 */
	if (p->running || known->user_known) {
		p->trust.owners[0] = 0;
		p->trust.owners[1] = p->running ? p->running->uid : known->user;
		p->trust.nr_owners = 2;
	}
	af_sym_task_timed(task, ordinal, &p->timed);
	jit_open_map(p);
	jit_open_dumps(p);
}

static void jit_images_close(struct jit_images *images)
{
	while (images->nr)
		af_sym_module_close(images->list[--images->nr].module);
}

static void jit_close(struct jit_process *p)
{
	jit_images_close(&p->images);
	free(p->images.list);
	while (p->nr_dumps) {
		struct af_jitdump *d = &p->dumps[--p->nr_dumps];
		if (d->nr_given_up)
			af_sym_task_note(p->task, "symbols.jit",
			                 "%llu addresses of process %u have no name: too many "
			                 "pieces of JIT code overlap there",
			                 (unsigned long long)d->nr_given_up, p->pid);
		af_jitdump_close(d);
	}
	af_jit_timed_close(&p->timed);
	af_jit_close(&p->map);
}

static struct af_sym_module *jit_image(struct jit_process *p, uint32_t number)
{
	struct jit_images *images = &p->images;

	for (uint32_t i = 0; i < images->nr; i++)
		if (images->list[i].number == number)
			return images->list[i].module;
	AF_GROW(images->list, images->nr, images->cap);
	images->list[images->nr++] =
	    (struct jit_opened){number, af_sym_task_image(p->task, number)};
	return images->list[images->nr - 1].module;
}

/* Lines and inlined calls of the code's ELF file; or its name, if no dump has more. */
static bool jit_find_lines(struct jit_process *p, const struct af_jitdump_answer *a,
                           uint64_t address, struct af_sym_answer *answer)
{
	struct af_sym_module *m = a->image ? jit_image(p, a->image) : NULL;

	if (!m)
		return false;
	af_sym_lookup(m, address, answer);
	return answer->nr && answer->symbol_known && answer->frames[0].function &&
	       (answer->frames[0].line || !a->file);
}

/* The recorder may have learned of code a little after it ran: when code came there next. */
static uint64_t jit_soon(const struct jit_process *p, uint64_t address, uint64_t time_ns)
{
	uint64_t times[JIT_TIMES], first = UINT64_MAX;
	uint32_t nr = af_jitdump_times(&p->timed.table, address, time_ns, times, JIT_TIMES);

	for (uint32_t i = 0; i < nr; i++)
		first = times[i] < first ? times[i] : first;
	return first;
}

/* The code as the recorder saw it, at a time or, with @soon, the next one. */
static bool jit_find_timed(struct jit_process *p, uint64_t address, uint64_t time_ns, bool soon,
                           struct af_jitdump_answer *a)
{
	uint64_t first;

	if (af_jitdump_find(&p->timed.table, address, time_ns, a))
		return true;
	first = soon ? jit_soon(p, address, time_ns) : UINT64_MAX;
	return first != UINT64_MAX && af_jitdump_find(&p->timed.table, address, first, a);
}

/*
 * The code at a time. A dump has exact times, and lines; an ELF file of the same function has more:
 * inlined calls.
 */
static bool jit_find_at(struct jit_process *p, uint64_t address, uint64_t time_ns,
                        struct af_sym_answer *answer)
{
	struct af_jitdump_answer a, timed;
	bool found = false;

	for (uint32_t i = 0; !found && i < p->nr_dumps; i++)
		found = af_jitdump_find(&p->dumps[i], address, time_ns, &a);
	if (jit_find_timed(p, address, time_ns, found, &timed)) {
		if (!found)
			a = timed;
		else if (a.start == timed.start && !strcmp(a.name, timed.name))
			a.image = timed.image;
		found = true;
	}
	if (!found)
		return false;
	bool has_lines = jit_find_lines(p, &a, address, answer);
	answer->source = AF_SYMBOL_JIT;
	if (has_lines)
		return true;
	answer->nr = 1;
	answer->frames[0] =
	    (struct af_sym_frame){.function = a.name, .file = a.file, .line = a.line};
	answer->symbol_known = true;
	answer->symbol_offset = address - a.start;
	return true;
}

/* The first code there after a time. */
static bool jit_find_soon(struct jit_process *p, uint64_t address, uint64_t time_ns,
                          struct af_sym_answer *answer)
{
	uint64_t first = jit_soon(p, address, time_ns);

	return first != UINT64_MAX && jit_find_at(p, address, first, answer);
}

/* At last the map as it is now: what it has may have come after the recorder saw it. */
static bool jit_find(struct jit_process *p, const struct task_wanted *w,
                     struct af_sym_answer *answer)
{
	if (jit_find_at(p, w->vaddr, w->time_ns, answer) ||
	    jit_find_soon(p, w->vaddr, w->time_ns, answer))
		return true;
	const struct af_jit_entry *e = af_jit_find(&p->map, w->vaddr);
	if (!e)
		return false;
	answer->source = AF_SYMBOL_JIT;
	answer->nr = 1;
	answer->frames[0] = (struct af_sym_frame){.function = e->name};
	answer->symbol_known = true;
	answer->symbol_offset = w->vaddr - e->start;
	return true;
}

static int jit_time_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool jit_is_same(const struct af_sym_frame *a, const struct af_sym_frame *b)
{
	if (strcmp(a->function, b->function) != 0 || a->line != b->line || !a->file != !b->file)
		return false;
	return !a->file || !strcmp(a->file, b->file);
}

/* The names that the @i-th address of @m gets after the one that it has in @frame. */
static void jit_answer_later(struct jit_process *line, uint32_t nr, struct task_module *m,
                             uint32_t i, const struct af_sym_frame *frame)
{
	const struct task_wanted *w = &m->wanted[i];
	struct af_sym_frame before = *frame;
	uint64_t times[JIT_TIMES];
	uint32_t nr_times = 0;

	for (uint32_t k = 0; k < nr; k++) {
		const struct af_jitdump *tables = line[k].dumps;

		for (uint32_t d = 0; d <= line[k].nr_dumps; d++)
			nr_times += af_jitdump_times(
			    d < line[k].nr_dumps ? &tables[d] : &line[k].timed.table, w->vaddr,
			    w->time_ns, times + nr_times, JIT_TIMES - nr_times);
	}
	AF_SORT(times, nr_times, jit_time_order);
	for (uint32_t t = 0; t < nr_times && m->nr_later < JIT_LATER; t++) {
		struct af_sym_answer a = {0};
		bool found = false;

		for (uint32_t k = 0; !found && k < nr; k++)
			found = jit_find_at(&line[k], w->vaddr, times[t], &a);
		if (!found || jit_is_same(&a.frames[0], &before))
			continue;
		af_sym_task_later(m, i, times[t], &a);
		before = a.frames[0];
	}
}

/* The process and its ancestors by fork: their number. */
static uint32_t jit_open_line(struct jit_process line[JIT_ANCESTORS], struct af_sym_task *task,
                              uint32_t ordinal)
{
	uint32_t nr = 0;

	do {
		const struct task_process *known = af_sym_task_find(task, ordinal);

		jit_open(&line[nr++], task, ordinal);
		ordinal = known ? known->parent : 0;
	} while (ordinal && nr < JIT_ANCESTORS);
	return nr;
}

/* True if a JIT compiler left any file about its code. */
static bool jit_has_names(const struct jit_process *line, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (line[i].nr_dumps || line[i].map.nr || line[i].timed.table.nr)
			return true;
	return false;
}

void af_sym_task_answer_jit(struct af_sym_task *task, struct task_module *m, af_sym_task_tick *tick,
                            void *arg)
{
	struct jit_process line[JIT_ANCESTORS];
	uint32_t nr = jit_open_line(line, task, m->process);

	enum af_symbol_source nameless = !m->mapped                ? AF_SYMBOL_NO_MODULE
	                                 : jit_has_names(line, nr) ? AF_SYMBOL_NO_SYMBOL
	                                                           : AF_SYMBOL_NO_MAP;

	for (uint32_t i = 0; i < m->nr; i++) {
		struct af_sym_answer a = {0};
		bool found = false;

		/* Answers of the address before are kept elsewhere. */
		for (uint32_t k = 0; k < nr; k++)
			if (line[k].images.nr > JIT_IMAGES)
				jit_images_close(&line[k].images);
		for (uint32_t k = 0; k < nr && !found; k++)
			found = jit_find(&line[k], &m->wanted[i], &a);
		if (!found)
			a = (struct af_sym_answer){.source = nameless};
		af_sym_task_answered(m, i, &a);
		if (a.nr)
			jit_answer_later(line, nr, m, i, &a.frames[0]);
		tick(task, arg);
	}
	while (nr)
		jit_close(&line[--nr]);
}
