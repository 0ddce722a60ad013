/*
 * Finds the processes and threads that carry no sampler of their own and are to be watched, through
 * /proc.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/system/proc.h"
#include "base/system/program.h"
#include "base/system/rights.h"
#include "collect/outside/private.h"
#include "collect/session/session.h"

enum {
	/* Looks are as many as cost this part of a CPU, and as the recorder comes by for. */
	POLL_PART = 64,
	/* Until then a child may register, and a thread may only be in a handler. */
	SURE_NS = 40000000,
	THREADS_AT_ONCE = 8,    /* whose masks are looked at in one look: some 20 us each */
	PROCESSES_AT_ONCE = 64, /* whose use is */
	STATUS_BYTES = 4096,
};

static bool is_client(const struct af_outside *o, uint32_t pid)
{
	const struct af_clients *d = &o->b.r->clients;

	for (uint32_t i = 0; i < d->nr; i++)
		if ((uint32_t)d->list[i].pid == pid && !d->list[i].ended)
			return true;
	return false;
}

/* Seen first now, if it is new. Valid until the next one. */
static struct outside_suspect *suspect_at(struct outside_suspect **all, uint32_t *nr, uint32_t *cap,
                                          uint32_t id, uint64_t now)
{
	for (uint32_t i = 0; i < *nr; i++)
		if ((*all)[i].id == id)
			return &(*all)[i];
	AF_GROW(*all, *nr, *cap);
	(*all)[*nr] = (struct outside_suspect){.id = id, .seen_ns = now};
	return &(*all)[(*nr)++];
}

static void suspects_sweep(struct outside_suspect *all, uint32_t *nr)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < *nr; i++)
		if (!kill((pid_t)all[i].id, 0) || errno != ESRCH)
			all[kept++] = all[i];
	*nr = kept;
}

static bool cannot_inject_into(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/exe", pid);
	scope_rights(AF_RIGHTS_PROCESS);
	enum af_preload p = af_program_preload(path);
	return p != AF_PRELOAD_WORKS && p != AF_PRELOAD_UNKNOWN;
}

/* A child of somebody recorded: it gets some time to register. */
static void child_poll(struct af_outside *o, uint32_t pid, uint64_t now)
{
	if (outside_is_known(o, pid))
		return;
	const struct outside_suspect *s =
	    suspect_at(&o->children, &o->nr_children, &o->cap_children, pid, now);
	if (now - s->seen_ns >= SURE_NS || cannot_inject_into(pid))
		outside_watch_process(o, pid);
}

/* proc(5), task/TID/children; where the kernel has no such file nobody is found. */
static void children_poll(struct af_outside *o, uint32_t pid, uint64_t now)
{
	char path[64], text[4096];

	snprintf(path, sizeof path, "task/%u/children", pid);
	if (!af_proc_read((int)pid, path, text, sizeof text))
		return;
	for (char *at = text, *end;; at = end) {
		uint32_t child = (uint32_t)strtoul(at, &end, 10);
		if (end == at)
			return;
		if (!is_client(o, child))
			child_poll(o, child, now);
	}
}

static bool status_read(uint32_t pid, uint32_t tid, char text[STATUS_BYTES])
{
	char path[64];

	snprintf(path, sizeof path, "task/%u/status", tid);
	return af_proc_read((int)pid, path, text, STATUS_BYTES) != 0;
}

static bool status_blocks(const struct af_outside *o, const char *text)
{
	int signo = o->b.r->control->cpu_mode == AF_CPU_TIMER ? SIGPROF : SIGTRAP;

	return af_status_blocks(text, signo);
}

enum outside_blocks outside_blocking(const struct af_outside *o, uint32_t pid, uint32_t tid)
{
	char text[STATUS_BYTES];

	if (!status_read(pid, tid, text))
		return OUTSIDE_BLOCKS_GONE;
	return status_blocks(o, text) ? OUTSIDE_BLOCKS : OUTSIDE_BLOCKS_NOT;
}

/* Its time on a CPU; 0: not known. */
static uint64_t thread_ran_ns(uint32_t pid, uint32_t tid)
{
	char path[64], text[128];

	snprintf(path, sizeof path, "task/%u/schedstat", tid);
	return af_proc_read((int)pid, path, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

/* It stays unsampled, and that is why. */
static void blocked_tell(struct af_outside *o, const struct af_client *g, struct outside_suspect *s)
{
	if (!s->reported)
		af_stream_put(&o->b.r->stream, unsampled, af_now_ns(), .process = g->process,
		              .tid = s->id, .cause = AF_UNSAMPLED_SIGNALS_BLOCKED, .count = 1);
	s->reported = true;
}

static void suspect_forget(struct af_outside *o, uint32_t tid)
{
	for (uint32_t i = 0; i < o->nr_threads; i++)
		if (o->threads[i].id == tid)
			o->threads[i--] = o->threads[--o->nr_threads];
}

/*
 * A handler of the program's may block it for a moment, and so does libc where a thread begins: who
 * blocks it for long, and works.
 */
static void thread_poll(struct af_outside *o, const struct af_client *g, uint32_t tid, uint64_t now)
{
	uint32_t pid = (uint32_t)g->pid;

	if (outside_is_watched(o, pid) || outside_watched_alone(o, pid, tid))
		return;
	char status[STATUS_BYTES];
	bool lives = status_read(pid, tid, status);
	if (lives)
		af_filtered_saw(o->b.r, g, status);
	if (!lives || !status_blocks(o, status)) {
		suspect_forget(o, tid);
		return;
	}
	struct outside_suspect *s =
	    suspect_at(&o->threads, &o->nr_threads, &o->cap_threads, tid, now);
	uint64_t ran_ns = thread_ran_ns(pid, tid);
	if (s->seen_ns == now)
		s->ran_ns = ran_ns;
	if (now - s->seen_ns < SURE_NS || ran_ns - s->ran_ns < o->b.period_ns)
		return;
	if (!outside_watch(o, pid, tid, false)) {
		blocked_tell(o, g, s);
		return;
	}
	struct bpf_image *i = bpf_image_need(&o->b, pid, now);
	if (!i->process) {
		i->process = g->process;
		i->ns_pid = g->ns_pid;
		i->registration = true;
	}
}

/* Does @g's pid run another program than the one that registered? proc(5), auxv. */
static bool has_executed(const struct af_client *g)
{
	uint64_t auxv[128];
	size_t size = af_proc_read(g->pid, "auxv", (char *)auxv, sizeof auxv);

	for (size_t i = 0; i + 1 < size / sizeof *auxv; i += 2)
		if (auxv[i] == AT_RANDOM)
			return auxv[i + 1] != g->random_at;
	return false;
}

/* Returns how many threads it has. */
static uint32_t threads_poll(struct af_outside *o, struct af_client *g, uint64_t now)
{
	char path[64];
	uint32_t nr = 0;

	if (!outside_is_known(o, (uint32_t)g->pid) && has_executed(g)) {
		child_poll(o, (uint32_t)g->pid, now);
		g->replaced = outside_is_known(o, (uint32_t)g->pid);
		return 1;
	}
	snprintf(path, sizeof path, "/proc/%d/task", g->pid);
	DIR *tasks = opendir(path);
	const struct dirent *e;
	while (tasks && nr < THREADS_AT_ONCE && (e = readdir(tasks)))
		if (*e->d_name >= '1' && *e->d_name <= '9') {
			thread_poll(o, g, (uint32_t)strtoul(e->d_name, NULL, 10), now);
			nr++;
		}
	if (tasks)
		closedir(tasks);
	return nr;
}

/* Takes a look at one, which may be its last. False: it is gone. */
static bool process_poll(struct af_outside *o, struct outside_process *p, uint64_t now)
{
	struct af_client g = {.pid = (int)p->pid, .max_rss_bytes = p->max_rss_bytes};

	if (!af_client_poll(&g))
		return !kill((pid_t)p->pid, 0) || errno != ESRCH;
	*p = (struct outside_process){
	    p->pid, true, {g.user_ns, g.kernel_ns}, g.children, g.max_rss_bytes};
	children_poll(o, p->pid, now);
	return true;
}

static void processes_poll(struct af_outside *o, uint64_t now)
{
	uint32_t nr = o->nr_processes < PROCESSES_AT_ONCE ? o->nr_processes : PROCESSES_AT_ONCE;

	while (nr--) {
		uint32_t at = o->next_process++ % o->nr_processes;
		struct outside_process p = o->processes[at];
		bool lives = process_poll(o, &p, now); /* may add some */
		o->processes[at] = p;
		if (lives)
			continue;
		outside_write_usage(o, &p);
		o->processes[at] = o->processes[--o->nr_processes];
	}
	/* Threads made by a thread inherit its events, which go on when the thread is over. */
	for (uint32_t i = o->nr_watched; i--;)
		if (af_outside_events_over(o->watched[i].fds, o->rings.nr))
			outside_leave(o, &o->watched[i]);
}

void outside_poll(struct af_outside *o, uint64_t now)
{
	const uint64_t began_ns = now;
	const struct af_clients *d = &o->b.r->clients;
	uint32_t seen = 0;

	if (now < o->poll_ns)
		return;
	if (o->b.r->child > 0 && !is_client(o, (uint32_t)o->b.r->child))
		child_poll(o, (uint32_t)o->b.r->child, now);
	for (uint32_t i = 0; i < d->nr; i++)
		if (!d->list[i].ended)
			children_poll(o, (uint32_t)d->list[i].pid, now);
	for (uint32_t i = 0; i < d->nr && seen < THREADS_AT_ONCE; i++) {
		struct af_client *g = &d->list[o->next_client++ % d->nr];
		if (!g->ended)
			seen += threads_poll(o, g, now);
	}
	processes_poll(o, now);
	suspects_sweep(o->children, &o->nr_children);
	suspects_sweep(o->threads, &o->nr_threads);
	now = af_now_ns();
	o->poll_ns = now + POLL_PART * (now - began_ns);
}
