#include "collect/outside.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/handler_mask.h"
#include "base/proc.h"
#include "base/program.h"
#include "base/scope.h"
#include "collect/bpf_private.h"
#include "collect/outside_events.h"
#include "collect/outside_names.h"
#include "collect/outside_once.h"
#include "collect/session.h"

enum {
	/* Looks are as many as cost this part of a CPU, and as the recorder comes by for. */
	LOOK_PART = 64,
	SURE_NS =
	    40000000, /* until then a child may say hello, a thread may only be in a handler */
	THREADS_AT_ONCE = 8,    /* whose masks are looked at in one look: some 20 us each */
	WATCHED_MAX = 256,      /* each takes a descriptor for each CPU */
	PROCESSES_AT_ONCE = 64, /* whose use is looked at in one look */
};

/* A thread that events of ours are on. */
struct watched {
	uint32_t pid, tid;
	bool whole; /* with all that it makes; else a single thread of one that samples itself */
	uint32_t watch;
	int *fds;
};

/* A process that is sampled from outside as a whole, and what it had used when last looked at. */
struct outsider {
	uint32_t pid;
	bool seen;
	struct af_used own, children; /* of those that it waited for */
	uint64_t max_rss_bytes;
};

/* A child that has not said hello yet, or a thread that blocked the signal when last looked at. */
struct suspect {
	uint32_t id;
	bool told; /* that it is not sampled */
	uint64_t seen_ns;
};

struct af_outside {
	struct af_bpf b; /* its images, mappings, streams and unwinder; it has no programs */
	struct af_bpf_options options;
	struct af_perf_rings rings;
	struct af_outside_names names;
	struct af_outside_once once;
	bool refused; /* the kernel grants no such events */
	struct watched *watched;
	uint32_t nr_watched, cap_watched;
	struct outsider *outsiders;
	uint32_t nr_outsiders, cap_outsiders, next_outsider;
	struct suspect *children, *threads;
	uint32_t nr_children, cap_children, nr_threads, cap_threads;
	uint32_t next_guest; /* whose threads are looked at next */
	uint64_t look_at_ns; /* not before */
	/* Samples of one read, which come ring by ring. */
	struct taken {
		struct af_bpf_stacks *stacks;
		uint64_t event;
	} * samples;
	uint32_t nr_samples, cap_samples;
};

struct af_outside *af_outside_open(struct af_recording *r)
{
	struct af_outside *o = af_xcalloc(1, sizeof *o);

	o->b.r = r;
	o->b.options = &o->options;
	o->b.period_ns = r->control->sample_period_ns;
	o->b.sideband.names = true;
	return o;
}

/* Is @pid watched as a whole? */
static bool is_watched(const struct af_outside *o, uint32_t pid)
{
	for (uint32_t i = 0; i < o->nr_watched; i++)
		if (o->watched[i].pid == pid && o->watched[i].whole)
			return true;
	return false;
}

static bool is_watched_alone(const struct af_outside *o, uint32_t pid, uint32_t tid)
{
	for (uint32_t i = 0; i < o->nr_watched; i++) {
		const struct watched *w = &o->watched[i];
		if (w->pid == pid && w->tid == tid && !w->whole)
			return true;
	}
	return false;
}

/* Is @pid descended from one that is watched, as far as its events have told? */
static bool is_known(const struct af_outside *o, uint32_t pid)
{
	return af_map_get(&o->b.by_pid, pid) != NULL;
}

/* What the user is told once: the summary says the rest. */
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

static bool watch(struct af_outside *o, uint32_t pid, uint32_t tid, bool whole)
{
	int *fds;

	if (o->nr_watched >= WATCHED_MAX || !rings_ready(o))
		return false;
	if (af_outside_events_open(&o->rings, tid, o->b.period_ns, whole, &fds))
		return false; /* another user's, or gone */
	AF_GROW(o->watched, o->nr_watched, o->cap_watched);
	struct watched *w = &o->watched[o->nr_watched++];
	*w = (struct watched){.pid = pid, .tid = tid, .whole = whole, .fds = fds};
	w->watch = af_outside_once_open(&o->once);
	for (uint32_t i = 0; i < o->rings.nr; i++)
		af_outside_once_event(&o->once, w->watch, af_outside_event_id(fds[i]));
	bpf_image_need(&o->b, pid, af_now_ns())->in_scope = true;
	return true;
}

static void outsider_add(struct af_outside *o, uint32_t pid)
{
	for (uint32_t i = 0; i < o->nr_outsiders; i++)
		if (o->outsiders[i].pid == pid)
			return;
	AF_GROW(o->outsiders, o->nr_outsiders, o->cap_outsiders);
	o->outsiders[o->nr_outsiders++] = (struct outsider){.pid = pid};
}

/* All threads that @pid has, and those that they will make. */
static bool watch_process(struct af_outside *o, uint32_t pid)
{
	char path[64];
	bool any = false;

	snprintf(path, sizeof path, "/proc/%u/task", pid);
	DIR *tasks = opendir(path);
	const struct dirent *e;
	while (tasks && (e = readdir(tasks)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			any |= watch(o, pid, (uint32_t)strtoul(e->d_name, NULL, 10), true);
	if (tasks)
		closedir(tasks);
	if (any)
		outsider_add(o, pid);
	return any;
}

bool af_outside_wanted(const struct af_outside *o, const char *program)
{
	char path[PATH_MAX];

	if (!o || !af_program_find(program, path))
		return false;
	enum af_preload p = af_program_preload(path);
	return p != AF_PRELOAD_WORKS && p != AF_PRELOAD_UNKNOWN;
}

void af_outside_run(struct af_outside *o, int pid)
{
	if (o)
		watch_process(o, (uint32_t)pid);
}

void af_outside_admit(struct af_outside *o, const struct af_guest *g, int sampler_error)
{
	uint32_t pid = (uint32_t)g->pid;

	if (!o || (!sampler_error && !is_known(o, pid)))
		return;
	if (sampler_error && !is_watched(o, pid) && !watch_process(o, pid))
		return;
	struct bpf_image *i = bpf_image_need(&o->b, pid, g->hello_ns);
	if (i->process)
		bpf_out_close(&o->b, i);
	i->process = g->process;
	i->ns_pid = g->ns_pid;
	i->hello = i->in_scope = true;
	i->written = false;
	i->sampled_here = sampler_error != 0;
	/* It had counted itself as one that is not sampled. */
	if (sampler_error)
		o->b.r->control->sampler_failed--;
}

/* Of itself alone libaflame tells, of the program who waits for it. */
static void usage_write(struct af_outside *o, const struct outsider *p)
{
	struct bpf_image *i = p->seen ? bpf_image_at(&o->b, p->pid, UINT64_MAX) : NULL;

	if (!i || i->hello || (int)p->pid == o->b.r->child)
		return;
	bpf_image_introduce(&o->b, i);
	af_stream_put(&o->b.r->stream, process_end, af_now_ns(), .process = i->process,
	              .status = -1, .user_ns = p->own.user_ns, .kernel_ns = p->own.kernel_ns,
	              .max_rss_bytes = p->max_rss_bytes, .source = AF_USAGE_LAST_SEEN);
	if (p->children.user_ns + p->children.kernel_ns)
		af_usage_write(o->b.r, i->process, 0, AF_USAGE_CHILDREN, AF_USAGE_LAST_SEEN,
		               p->children);
}

static void watched_leave(struct af_outside *o, struct watched *w)
{
	for (uint32_t i = 0; i < o->rings.nr; i++)
		close(w->fds[i]);
	free(w->fds);
	af_outside_once_close(&o->once, w->watch);
	*w = o->watched[--o->nr_watched];
}

/* ---- whom to watch ---- */

static bool is_guest(const struct af_outside *o, uint32_t pid)
{
	const struct af_door *d = &o->b.r->door;

	for (uint32_t i = 0; i < d->nr; i++)
		if ((uint32_t)d->guests[i].pid == pid && !d->guests[i].ended)
			return true;
	return false;
}

/* Seen first now, if it is new. Valid until the next one. */
static struct suspect *suspect_at(struct suspect **all, uint32_t *nr, uint32_t *cap, uint32_t id,
                                  uint64_t now)
{
	for (uint32_t i = 0; i < *nr; i++)
		if ((*all)[i].id == id)
			return &(*all)[i];
	AF_GROW(*all, *nr, *cap);
	(*all)[*nr] = (struct suspect){.id = id, .seen_ns = now};
	return &(*all)[(*nr)++];
}

static void suspects_sweep(struct suspect *all, uint32_t *nr)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < *nr; i++)
		if (!kill((pid_t)all[i].id, 0) || errno != ESRCH)
			all[kept++] = all[i];
	*nr = kept;
}

static bool cannot_carry(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/exe", pid);
	enum af_preload p = af_program_preload(path);
	return p != AF_PRELOAD_WORKS && p != AF_PRELOAD_UNKNOWN;
}

/* A child of somebody recorded: it is given some time to say hello. */
static void child_look(struct af_outside *o, uint32_t pid, uint64_t now)
{
	if (is_known(o, pid))
		return;
	const struct suspect *s =
	    suspect_at(&o->children, &o->nr_children, &o->cap_children, pid, now);
	if (now - s->seen_ns >= SURE_NS || cannot_carry(pid))
		watch_process(o, pid);
}

/* proc(5), task/TID/children; where the kernel has no such file nobody is found. */
static void children_look(struct af_outside *o, uint32_t pid, uint64_t now)
{
	char path[64], text[4096];

	snprintf(path, sizeof path, "task/%u/children", pid);
	if (!af_proc_read((int)pid, path, text, sizeof text))
		return;
	for (char *at = text, *end;; at = end) {
		uint32_t child = (uint32_t)strtoul(at, &end, 10);
		if (end == at)
			return;
		if (!is_guest(o, child))
			child_look(o, child, now);
	}
}

static bool blocks_samples(const struct af_outside *o, const char *status)
{
	const char *line = strstr(status, "\nSigBlk:");
	int signo = o->b.r->control->cpu_mode == AF_CPU_TIMER ? SIGPROF : SIGTRAP;

	return line && af_blocks_samples(strtoull(line + strlen("\nSigBlk:"), NULL, 16), signo);
}

/* It stays unsampled, and that is why. */
static void blocked_tell(struct af_outside *o, const struct af_guest *g, struct suspect *s)
{
	if (!s->told)
		af_stream_put(&o->b.r->stream, unsampled, af_now_ns(), .process = g->process,
		              .tid = s->id, .cause = AF_UNSAMPLED_SIGNALS_BLOCKED, .count = 1);
	s->told = true;
}

/* Time and again, as a handler of the program's may block it for a moment. */
static void thread_look(struct af_outside *o, const struct af_guest *g, uint32_t tid, uint64_t now)
{
	char path[64], text[4096];

	if (is_watched(o, (uint32_t)g->pid) || is_watched_alone(o, (uint32_t)g->pid, tid))
		return;
	snprintf(path, sizeof path, "task/%u/status", tid);
	if (!af_proc_read(g->pid, path, text, sizeof text) || !blocks_samples(o, text)) {
		for (uint32_t i = 0; i < o->nr_threads; i++)
			if (o->threads[i].id == tid)
				o->threads[i] = o->threads[--o->nr_threads];
		return;
	}
	struct suspect *s = suspect_at(&o->threads, &o->nr_threads, &o->cap_threads, tid, now);
	if (now - s->seen_ns < SURE_NS)
		return;
	if (!watch(o, (uint32_t)g->pid, tid, false)) {
		blocked_tell(o, g, s);
		return;
	}
	struct bpf_image *i = bpf_image_need(&o->b, (uint32_t)g->pid, now);
	if (!i->process) {
		i->process = g->process;
		i->ns_pid = g->ns_pid;
		i->hello = true;
	}
}

/* Does @g's pid run another program than the one that said hello? proc(5), auxv. */
static bool has_executed(const struct af_guest *g)
{
	uint64_t auxv[128];
	size_t size = af_proc_read(g->pid, "auxv", (char *)auxv, sizeof auxv);

	for (size_t i = 0; i + 1 < size / sizeof *auxv; i += 2)
		if (auxv[i] == AT_RANDOM)
			return auxv[i + 1] != g->random_at;
	return false;
}

/* Returns how many threads it has. */
static uint32_t threads_look(struct af_outside *o, struct af_guest *g, uint64_t now)
{
	char path[64];
	uint32_t nr = 0;

	if (!is_known(o, (uint32_t)g->pid) && has_executed(g)) {
		child_look(o, (uint32_t)g->pid, now);
		g->replaced = is_known(o, (uint32_t)g->pid);
		return 1;
	}
	snprintf(path, sizeof path, "/proc/%d/task", g->pid);
	DIR *tasks = opendir(path);
	const struct dirent *e;
	while (tasks && nr < THREADS_AT_ONCE && (e = readdir(tasks)))
		if (*e->d_name >= '1' && *e->d_name <= '9') {
			thread_look(o, g, (uint32_t)strtoul(e->d_name, NULL, 10), now);
			nr++;
		}
	if (tasks)
		closedir(tasks);
	return nr;
}

/* Takes a look at one, which may be its last. False: it is gone. */
static bool outsider_look(struct af_outside *o, struct outsider *p, uint64_t now)
{
	struct af_guest g = {.pid = (int)p->pid, .max_rss_bytes = p->max_rss_bytes};

	if (!af_guest_look(&g))
		return !kill((pid_t)p->pid, 0) || errno != ESRCH;
	*p = (struct outsider){p->pid, true, {g.user_ns, g.kernel_ns}, g.children, g.max_rss_bytes};
	children_look(o, p->pid, now);
	return true;
}

static void outsiders_look(struct af_outside *o, uint64_t now)
{
	uint32_t nr = o->nr_outsiders < PROCESSES_AT_ONCE ? o->nr_outsiders : PROCESSES_AT_ONCE;

	while (nr--) {
		uint32_t at = o->next_outsider++ % o->nr_outsiders;
		struct outsider p = o->outsiders[at];
		bool lives = outsider_look(o, &p, now); /* may add some */
		o->outsiders[at] = p;
		if (lives)
			continue;
		usage_write(o, &p);
		o->outsiders[at] = o->outsiders[--o->nr_outsiders];
	}
	/* What a thread has made inherits its events, and goes on when the thread is over. */
	for (uint32_t i = o->nr_watched; i--;)
		if (af_outside_events_over(o->watched[i].fds, o->rings.nr))
			watched_leave(o, &o->watched[i]);
}

static void look(struct af_outside *o, uint64_t now)
{
	const uint64_t began_ns = now;
	const struct af_door *d = &o->b.r->door;
	uint32_t seen = 0;

	if (o->b.r->child > 0 && !is_guest(o, (uint32_t)o->b.r->child))
		child_look(o, (uint32_t)o->b.r->child, now);
	for (uint32_t i = 0; i < d->nr; i++)
		if (!d->guests[i].ended)
			children_look(o, (uint32_t)d->guests[i].pid, now);
	for (uint32_t i = 0; i < d->nr && seen < THREADS_AT_ONCE; i++) {
		struct af_guest *g = &d->guests[o->next_guest++ % d->nr];
		if (!g->ended)
			seen += threads_look(o, g, now);
	}
	outsiders_look(o, now);
	suspects_sweep(o->children, &o->nr_children);
	suspects_sweep(o->threads, &o->nr_threads);
	now = af_now_ns();
	o->look_at_ns = now + LOOK_PART * (now - began_ns);
}

/* ---- what they do ---- */

static bool is_wanted(const struct af_outside *o, const struct bpf_image *i, uint32_t tid)
{
	if (!i || !i->in_scope)
		return false;
	if (!i->hello || i->sampled_here)
		return true;
	return is_watched_alone(o, i->pid, tid);
}

static void sample_take(void *arg, const struct af_outside_sample *s)
{
	struct af_outside *o = arg;
	uint64_t nr = s->nr_chain < AF_BPF_USER_MAX ? s->nr_chain : AF_BPF_USER_MAX;
	uint64_t stack_bytes = nr ? s->stack_bytes & ~7ull : 0;
	size_t size = offsetof(struct af_bpf_stacks, pcs) + nr * 8 + stack_bytes;
	struct af_bpf_stacks *r = af_xcalloc(1, size > sizeof *r ? size : sizeof *r);

	r->head = (struct af_bpf_head){
	    .time_ns = s->time_ns,
	    .kind = AF_BPF_SAMPLE,
	    .cpu = s->cpu,
	    .pid = s->pid,
	    .tid = s->tid,
	    .ns_pid = s->pid,
	    .ns_tid = s->tid,
	};
	r->user_bytes = (uint32_t)(nr * 8);
	r->stack_bytes = (uint32_t)stack_bytes;
	r->wake = 1; /* period */
	r->sp = s->sp;
	r->fp = s->fp;
	memcpy(r->pcs, s->chain, nr * 8);
	memcpy((char *)r->pcs + nr * 8, s->stack, stack_bytes);
	AF_GROW(o->samples, o->nr_samples, o->cap_samples);
	o->samples[o->nr_samples++] = (struct taken){r, s->event};
}

static int sample_order(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;
	uint64_t x_ns = x->stacks->head.time_ns, y_ns = y->stacks->head.time_ns;

	return x_ns < y_ns ? -1 : x_ns > y_ns;
}

static size_t sample_size(const struct af_bpf_stacks *r)
{
	return offsetof(struct af_bpf_stacks, pcs) + r->user_bytes + r->stack_bytes;
}

/* Into the queue, in order of time over all CPUs. */
static void samples_queue(struct af_outside *o)
{
	if (o->nr_samples)
		qsort(o->samples, o->nr_samples, sizeof *o->samples, sample_order);
	for (uint32_t i = 0; i < o->nr_samples; i++) {
		struct af_bpf_stacks *r = o->samples[i].stacks;
		const struct af_bpf_head *h = &r->head;
		const struct bpf_image *image = bpf_image_at(&o->b, h->pid, h->time_ns);
		if (af_outside_once_speaks(&o->once, h->tid, o->samples[i].event, h->time_ns) &&
		    is_wanted(o, image, h->tid)) {
			snprintf(r->head.comm, sizeof r->head.comm, "%s",
			         af_outside_name(&o->names, h->pid, h->tid));
			bpf_queue_add(&o->b, r, sample_size(r));
		}
		free(r);
	}
	o->nr_samples = 0;
}

/* A process that samples itself has single threads that are watched: these leave nothing to others.
 */
static bool inherits(struct af_outside *o, const struct af_sideband_event *e)
{
	const struct bpf_image *i = bpf_image_at(&o->b, e->parent, e->time_ns);

	return i && i->in_scope && (!i->hello || i->sampled_here);
}

static void read_all(struct af_outside *o, uint64_t until_ns)
{
	const struct af_sideband_event *e;
	struct af_sideband *s = &o->b.sideband;

	af_sideband_begin(s);
	af_outside_rings_read(&o->rings, until_ns, s, sample_take, o);
	af_sideband_sort(s);
	while ((e = af_sideband_next(s, until_ns))) {
		bpf_image_sideband(&o->b, e);
		af_outside_names_take(&o->names, s, e);
		if (e->kind == AF_SIDEBAND_THREAD)
			af_outside_once_begin(&o->once, e->tid, e->time_ns);
		if (e->kind == AF_SIDEBAND_FORK && inherits(o, e))
			outsider_add(o, e->pid);
	}
	samples_queue(o);
}

static void lost_write(struct af_outside *o)
{
	struct af_bpf *b = &o->b;

	if (b->sideband.lost > b->lost_sideband)
		af_stream_put(&b->r->stream, lost, af_now_ns(), .reason = AF_LOST_KERNEL_RING,
		              .count = b->sideband.lost - b->lost_sideband);
	b->lost_sideband = b->sideband.lost;
}

void af_outside_pump(struct af_outside *o)
{
	uint64_t now = af_now_ns();

	if (!o || o->b.stopped)
		return;
	if (now >= o->look_at_ns)
		look(o, now);
	if (!o->rings.nr)
		return;
	read_all(o, now);
	bpf_queue_write(&o->b, now - HOLD_NS);
	lost_write(o);
}

bool af_outside_is_busy(const struct af_outside *o)
{
	return o && o->nr_watched;
}

uint32_t af_outside_process_of(struct af_outside *o, int pid)
{
	struct bpf_image *i = o ? bpf_image_at(&o->b, (uint32_t)pid, UINT64_MAX) : NULL;

	if (!i)
		return 0;
	bpf_image_introduce(&o->b, i);
	return i->process;
}

void af_outside_stop(struct af_outside *o)
{
	struct af_bpf *b = &o->b;

	if (!o || b->stopped)
		return;
	if (o->rings.nr) {
		read_all(o, UINT64_MAX);
		bpf_queue_write(b, UINT64_MAX);
		lost_write(o);
	}
	b->stopped = true;
	for (uint32_t k = 0; k < o->nr_outsiders; k++)
		usage_write(o, &o->outsiders[k]);
	for (uint32_t k = 0; k < b->nr_images; k++)
		bpf_out_close(b, b->images[k]);
}

void af_outside_close(struct af_outside *o)
{
	if (!o)
		return;
	while (o->nr_watched)
		watched_leave(o, &o->watched[0]);
	af_perf_rings_close(&o->rings);
	af_outside_names_free(&o->names);
	af_outside_once_free(&o->once);
	af_sideband_close(&o->b.sideband);
	bpf_images_free(&o->b);
	bpf_unwind_close(&o->b);
	af_strtab_free(&o->b.strings);
	free(o->b.queue.data);
	free(o->watched);
	free(o->outsiders);
	free(o->children);
	free(o->threads);
	free(o->samples);
	free(o);
}
