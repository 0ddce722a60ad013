/* Processes, their threads, and the notes about them and the run. */
#include <stdio.h>
#include <string.h>

#include "analyse/world/private.h"

enum { IMAGES = 64 }; /* of a process, of which the last one's rank is all the others' */

/* Ordinals are dense, but a damaged trace may name any. */
static struct af_process *process_at(struct af_world *w, uint32_t ordinal)
{
	if (ordinal > 1u << 20)
		return NULL;
	AF_GROW(w->processes, ordinal, w->cap_processes);
	for (; w->nr_processes <= ordinal; w->nr_processes++)
		w->processes[w->nr_processes] = (struct af_process){
		    .ordinal = w->nr_processes,
		    .exe = "",
		    .cmdline = "",
		    .comm = "",
		    .name = "",
		    .rank = "",
		    .status = -1,
		};
	return &w->processes[ordinal];
}

static const char *last_part(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	return slash ? slash + 1 : path;
}

/*
 * A process goes by the file it runs; but by what it was called, where one file is many programs
 * (busybox, redis-check-rdb) or runs a script: the comm that one of its first two words bears out.
 * A comm that it gave itself (@renamed: prctl, setproctitle) needs no other witness.
 */
static void process_name(struct af_world *w, struct af_process *p, bool renamed)
{
	/* A thread of the kernel has no file: its name is its own, ksoftirqd/1. */
	const char *name = *p->exe == '/' ? last_part(p->exe, strlen(p->exe)) : p->exe;
	const char *word = p->cmdline;
	size_t comm_len = strlen(p->comm);

	p->name = *name ? name : p->comm;
	if (!comm_len || !*name || !strncmp(name, p->comm, comm_len))
		return;
	for (int i = 0; i < 2 && *word; i++) {
		size_t len = strcspn(word, " ");
		const char *part = last_part(word, len);
		size_t part_len = len - (size_t)(part - word);
		if (part_len >= comm_len && !strncmp(part, p->comm, comm_len)) {
			p->name = af_arena_strdup(&w->arena, part, part_len);
			return;
		}
		word += len;
		word += strspn(word, " ");
	}
	if (renamed)
		p->name = p->comm;
}

void world_learn_process(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_process fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	struct af_process *p = process_at(w, ev->process);
	if (!p)
		return;
	uint64_t *newest = af_map_at(&w->by_pid, fixed.pid, NULL);
	if (*newest != p->ordinal)
		p->before = (uint32_t)*newest;
	*newest = p->ordinal;
	p->pid = fixed.pid;
	p->ppid = fixed.ppid;
	p->parent = fixed.parent;
	p->exe = world_text(w, &tails[0]);
	p->cmdline = world_text(w, &tails[1]);
	process_name(w, p, false);
	p->start_ns = ev->time_ns;
}

/*
 * Sources of a process's CPU time, best first: whoever looked when it was over; the process itself;
 * wait4, which in older traces includes children; /proc.
 */
static uint32_t usage_rank(uint32_t source)
{
	return source == AF_USAGE_ENDED ? 0 : source;
}

/*
 * The process itself knows the peak of its memory. Each of the others knows it up to when it
 * looked, and wait4's may be that of the program that started it.
 */
static void peak_learn(struct af_process *p, bool own, uint64_t bytes)
{
	bool better = own && bytes && !p->has_own_peak;

	if (better || (own == p->has_own_peak && bytes > p->max_rss_bytes))
		p->max_rss_bytes = bytes;
	p->has_own_peak |= better;
}

void world_learn_process_end(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_process_end fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	struct af_process *p = process_at(w, fixed.process);
	if (!p)
		return;
	p->end_ns = ev->time_ns;
	/* A program that sleeps until its end has no event of its own there. */
	if (w->first_ns && ev->time_ns > w->last_ns)
		w->last_ns = ev->time_ns;
	if (fixed.status != -1)
		p->status = fixed.status;
	peak_learn(p, fixed.source == AF_USAGE_SELF, fixed.max_rss_bytes);
	if (p->has_usage && usage_rank(p->usage_source) <= usage_rank(fixed.source))
		return;
	p->has_usage = true;
	p->usage_source = fixed.source;
	p->user_ns = fixed.user_ns;
	p->kernel_ns = fixed.kernel_ns;
}

static struct af_note *note_of(struct af_world *w, const struct af_tail_view *tails)
{
	struct af_note *n = af_arena_alloc(&w->arena, sizeof *n);

	n->key = world_text(w, &tails[0]);
	n->value = world_text(w, &tails[1]);
	return n;
}

/* The process image that @p's exec replaced; NULL: @p was forked, or nothing is known. */
static struct af_process *image_before(struct af_world *w, const struct af_process *p)
{
	struct af_process *was = p->before ? &w->processes[p->before] : NULL;

	return was && af_process_goes_on(was, p) ? was : NULL;
}

/*
 * Launchers fork, and what they exec has the rank; a script's is not that of what it execs. To who
 * looks at processes all images are one, which goes by what it ran last.
 */
static void rank_learn(struct af_world *w, struct af_process *p, const struct af_note *rank)
{
	char text[64];

	snprintf(text, sizeof text, " rank %.40s", rank->value);
	p->rank = af_arena_strdup(&w->arena, text, strlen(text));
	for (int i = 0; i < IMAGES; i++) {
		struct af_process *was = image_before(w, p);
		if (!was)
			return;
		struct af_note *n = af_arena_alloc(&w->arena, sizeof *n);
		*n = (struct af_note){rank->key, rank->value, was->notes};
		was->notes = n;
		was->rank = p->rank;
		p = was;
	}
}

void world_learn_process_note(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_process_note fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	struct af_process *p = process_at(w, fixed.process);
	if (!p)
		return;
	struct af_note *n = note_of(w, tails);
	n->next = p->notes;
	p->notes = n;
	if (!strcmp(n->key, "rank") && *n->value)
		rank_learn(w, p, n);
}

void world_learn_note(struct af_world *w, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, NULL, 0, tails))
		return;
	if (!w->notes_end)
		w->notes_end = &w->notes;
	struct af_note *n = *w->notes_end = note_of(w, tails);
	w->notes_end = &n->next;
	if (!strcmp(n->key, "end_ns"))
		w->closed_ns = ev->time_ns;
}

static void thread_named(struct af_world *w, const struct af_event *ev, uint32_t tid,
                         const struct af_tail_view *name)
{
	bool fresh;
	uint64_t *slot = af_map_at(&w->by_thread, world_key(ev->process, tid), &fresh);

	if (fresh) {
		uint32_t i = WORLD_ADD(w, threads);
		w->threads[i] = (struct af_thread){.process = ev->process, .tid = tid, .name = ""};
		*slot = i;
	}
	if (!name->len)
		return;
	struct af_thread *t = &w->threads[*slot];
	if (strcmp(t->name, (const char *)name->data))
		t->name = world_text(w, name);
	struct af_process *p = process_at(w, ev->process);
	if (p && tid == ev->pid && strcmp(p->comm, t->name)) {
		bool renamed = *p->comm;
		p->comm = t->name;
		process_name(w, p, renamed);
	}
}

void world_learn_thread(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_thread fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails) && ev->process)
		thread_named(w, ev, fixed.tid, &tails[0]);
}

void world_learn_comm(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_comm fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails) && ev->process)
		thread_named(w, ev, fixed.tid, &tails[0]);
}

const struct af_process *af_world_process(const struct af_world *w, uint32_t ordinal)
{
	return ordinal < w->nr_processes ? &w->processes[ordinal] : NULL;
}

const struct af_thread *af_world_thread(const struct af_world *w, uint32_t process, uint32_t tid)
{
	uint32_t i = world_find(&w->by_thread, process, tid);
	return i ? &w->threads[i] : NULL;
}

static const char *note_value(const struct af_note *n, const char *key)
{
	for (; n; n = n->next)
		if (!strcmp(n->key, key))
			return n->value;
	return NULL;
}

const char *af_world_note(const struct af_world *w, const char *key)
{
	return note_value(w->notes, key);
}

bool af_world_samples_waits(const struct af_world *w)
{
	const char *clock = af_world_note(w, "sample.clock");

	return clock && !strcmp(clock, "wall");
}

const char *af_process_note(const struct af_process *p, const char *key)
{
	return note_value(p->notes, key);
}
