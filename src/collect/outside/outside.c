#include "collect/outside/private.h"

#include <dirent.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/program.h"
#include "collect/session/session.h"

enum { WATCHED_MAX = 256 }; /* each takes a descriptor for each CPU */

/* Nothing is opened before somebody is to be watched. */
static int watcher_open(void **self, struct af_recording *r, struct af_err *err)
{
	struct af_outside *o = *self = af_xcalloc(1, sizeof *o);

	(void)err;
	o->b.r = r;
	o->b.options = &o->options;
	o->b.period_ns = r->control->sample_period_ns;
	o->b.sideband.names = true;
	return 0;
}

bool outside_is_watched(const struct af_outside *o, uint32_t pid)
{
	for (uint32_t i = 0; i < o->nr_watched; i++)
		if (o->watched[i].pid == pid && o->watched[i].whole)
			return true;
	return false;
}

struct outside_watched *outside_watched_alone(const struct af_outside *o, uint32_t pid,
                                              uint32_t tid)
{
	for (uint32_t i = 0; i < o->nr_watched; i++) {
		struct outside_watched *w = &o->watched[i];
		if (w->pid == pid && w->tid == tid && !w->whole)
			return w;
	}
	return NULL;
}

bool outside_is_known(const struct af_outside *o, uint32_t pid)
{
	return af_map_get(&o->b.by_pid, pid) != NULL;
}

/* The message to the user, once: the summary has the rest. */
static void refuse(struct af_outside *o, int rc)
{
	if (!o->refused)
		af_session_note(o->b.r, "outside",
		                "processes that cannot be sampled from within cannot be from "
		                "outside either: %s",
		                strerror(-rc));
	o->refused = true;
}

static bool rings_ready(struct af_outside *o)
{
	if (o->refused)
		return false;
	if (o->rings.nr)
		return true;
	int rc = af_outside_rings_open(&o->rings);
	if (rc)
		refuse(o, rc);
	else
		o->b.own_cgroup = bpf_image_need(&o->b, (uint32_t)getpid(), af_now_ns())->cgroup;
	return !rc;
}

bool outside_watch(struct af_outside *o, uint32_t pid, uint32_t tid, bool whole)
{
	int *fds;

	if (o->nr_watched >= WATCHED_MAX || !rings_ready(o))
		return false;
	if (af_outside_events_open(&o->rings, tid, o->b.period_ns, whole, &fds))
		return false; /* another user's, or gone */
	AF_GROW(o->watched, o->nr_watched, o->cap_watched);
	struct outside_watched *w = &o->watched[o->nr_watched++];
	*w = (struct outside_watched){.pid = pid, .tid = tid, .whole = whole, .fds = fds};
	w->watch = af_outside_once_open(&o->once);
	for (uint32_t i = 0; i < o->rings.nr; i++)
		af_outside_once_event(&o->once, w->watch, af_outside_event_id(fds[i]));
	bpf_image_need(&o->b, pid, af_now_ns())->in_scope = true;
	return true;
}

void outside_follow(struct af_outside *o, uint32_t pid)
{
	for (uint32_t i = 0; i < o->nr_processes; i++)
		if (o->processes[i].pid == pid)
			return;
	AF_GROW(o->processes, o->nr_processes, o->cap_processes);
	o->processes[o->nr_processes++] = (struct outside_process){.pid = pid};
}

bool outside_watch_process(struct af_outside *o, uint32_t pid)
{
	char path[64];
	bool any = false;

	snprintf(path, sizeof path, "/proc/%u/task", pid);
	DIR *tasks = opendir(path);
	const struct dirent *e;
	while (tasks && (e = readdir(tasks)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			any |= outside_watch(o, pid, (uint32_t)strtoul(e->d_name, NULL, 10), true);
	if (tasks)
		closedir(tasks);
	if (any)
		outside_follow(o, pid);
	return any;
}

/* Can libaflame not be loaded into it? */
static bool watcher_wanted(void *self, const char *program)
{
	char path[PATH_MAX];

	(void)self;
	if (!af_program_find(program, path))
		return false;
	enum af_preload p = af_program_preload(path);
	return p != AF_PRELOAD_WORKS && p != AF_PRELOAD_UNKNOWN;
}

static void watcher_run(void *self, int pid)
{
	outside_watch_process(self, (uint32_t)pid);
}

static void client_adopt(struct af_outside *o, const struct af_client *g, bool sampled_here)
{
	struct bpf_image *i = bpf_image_need(&o->b, (uint32_t)g->pid, g->registered_ns);

	if (i->process)
		bpf_out_close(&o->b, i);
	i->process = g->process;
	i->ns_pid = g->ns_pid;
	i->registration = i->in_scope = true;
	i->written = false;
	i->sampled_here = sampled_here;
}

static void watcher_admit(void *self, const struct af_client *g)
{
	struct af_outside *o = self;
	uint32_t pid = (uint32_t)g->pid;
	bool sampled_here = g->sampler_error != 0;

	/* It may have executed a program that registers, after the last read. */
	if (o->rings.nr && !o->b.stopped)
		outside_read(o, af_now_ns());
	if (!sampled_here && !outside_is_known(o, pid))
		return;
	if (sampled_here && !outside_is_watched(o, pid) && !outside_watch_process(o, pid))
		return;
	client_adopt(o, g, sampled_here);
	/* It had counted itself as one that is not sampled. */
	if (sampled_here)
		o->b.r->control->sampler_failed--;
}

static bool watcher_take(void *self, struct af_client *g)
{
	struct af_outside *o = self;
	uint32_t pid = (uint32_t)g->pid;

	if (g->fd >= 0)
		ioctl(g->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (o->refused || (!outside_is_watched(o, pid) && !outside_watch_process(o, pid)))
		return false;
	client_adopt(o, g, true);
	return true;
}

/* libaflame reports its own process alone; the program's waiting parent reports the program. */
void outside_write_usage(struct af_outside *o, const struct outside_process *p)
{
	struct bpf_image *i = p->seen ? bpf_image_at(&o->b, p->pid, UINT64_MAX) : NULL;

	if (!i || i->registration || (int)p->pid == o->b.r->child)
		return;
	bpf_image_introduce(&o->b, i);
	af_stream_put(&o->b.r->stream, process_end, af_now_ns(), .process = i->process,
	              .status = -1, .user_ns = p->own.user_ns, .kernel_ns = p->own.kernel_ns,
	              .max_rss_bytes = p->max_rss_bytes, .source = AF_USAGE_LAST_SEEN);
	if (p->children.user_ns + p->children.kernel_ns)
		af_usage_write(o->b.r, i->process, 0, AF_USAGE_CHILDREN, AF_USAGE_LAST_SEEN,
		               p->children);
}

void outside_leave(struct af_outside *o, struct outside_watched *w)
{
	for (uint32_t i = 0; i < o->rings.nr; i++)
		close(w->fds[i]);
	free(w->fds);
	af_outside_once_close(&o->once, w->watch);
	*w = o->watched[--o->nr_watched];
}

static void lost_write(struct af_outside *o)
{
	struct af_bpf *b = &o->b;

	if (b->sideband.lost > b->lost_sideband)
		af_stream_put(&b->r->stream, lost, af_now_ns(), .reason = AF_LOST_KERNEL_RING,
		              .count = b->sideband.lost - b->lost_sideband);
	b->lost_sideband = b->sideband.lost;
	bpf_mappings_lost(b);
}

static void watcher_pump(void *self)
{
	struct af_outside *o = self;
	uint64_t now = af_now_ns();

	if (o->b.stopped)
		return;
	/* Before the look, which leaves those that are over. */
	if (o->rings.nr)
		outside_read(o, now);
	outside_poll(o, now);
	if (!o->rings.nr)
		return;
	bpf_queue_write(&o->b, now - HOLD_NS);
	lost_write(o);
}

static bool watcher_is_busy(void *self)
{
	const struct af_outside *o = self;

	return o->nr_watched;
}

static uint32_t watcher_process_of(void *self, int pid)
{
	struct af_outside *o = self;
	struct bpf_image *i = bpf_image_at(&o->b, (uint32_t)pid, UINT64_MAX);

	if (!i)
		return 0;
	bpf_image_introduce(&o->b, i);
	return i->process;
}

static void watcher_stop(void *self)
{
	struct af_outside *o = self;
	struct af_bpf *b = &o->b;

	if (b->stopped)
		return;
	if (o->rings.nr) {
		outside_read(o, UINT64_MAX);
		bpf_queue_write(b, UINT64_MAX);
		lost_write(o);
	}
	b->stopped = true;
	for (uint32_t k = 0; k < o->nr_processes; k++)
		outside_write_usage(o, &o->processes[k]);
	for (uint32_t k = 0; k < b->nr_images; k++)
		bpf_out_close(b, b->images[k]);
}

static void watcher_close(void *self)
{
	struct af_outside *o = self;

	while (o->nr_watched)
		outside_leave(o, &o->watched[0]);
	af_perf_rings_close(&o->rings);
	af_outside_names_free(&o->names);
	af_outside_once_free(&o->once);
	af_sideband_close(&o->b.sideband);
	bpf_images_free(&o->b);
	bpf_unwind_close(&o->b);
	af_strtab_free(&o->b.strings);
	free(o->b.queue.data);
	free(o->watched);
	free(o->processes);
	free(o->children);
	free(o->threads);
	free(o->samples);
	free(o);
}

const struct af_watcher_ops af_outside_watcher = {
    .open = watcher_open,
    .wanted = watcher_wanted,
    .run = watcher_run,
    .admit = watcher_admit,
    .take = watcher_take,
    .pump = watcher_pump,
    .is_busy = watcher_is_busy,
    .process_of = watcher_process_of,
    .stop = watcher_stop,
    .close = watcher_close,
};
