/*
 * Who was there? The processes as a family with what each used, and the threads with what samples
 * and waits say of them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyse/family.h"
#include "analyse/pass.h"
#include "analyse/waits.h"

enum { WHO_THREADS = 1000 };

struct who_use {
	uint64_t sampled_ns, kernel_ns; /* on a CPU; of that in the kernel */
	uint64_t blocked_ns, queued_ns, waits;
};

struct who_thread {
	uint32_t process, tid;
	struct who_use use;
};

struct who {
	struct af_map by_thread;
	struct who_thread *threads;
	uint32_t nr, cap;
	uint64_t stacks_ns; /* in the kernel, with its stack */
};

static struct who_use *who_use(struct who *who, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&who->by_thread, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(who->threads, who->nr, who->cap);
		who->threads[who->nr] = (struct who_thread){.process = process, .tid = tid};
		*slot = who->nr++;
	}
	return &who->threads[*slot].use;
}

static void who_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	struct who *who = self;
	struct who_use *use = who_use(who, s->at.process, s->tid);

	use->sampled_ns += s->weight_ns;
	if (!s->in_kernel)
		return;
	use->kernel_ns += s->weight_ns;
	if (s->at.kstack != AF_KSTACK_MISSED)
		who->stacks_ns += s->weight_ns;
}

static void who_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_wait wait;

	if (!af_wait_read(w, ev, &wait))
		return;
	struct who_use *use = who_use(self, wait.at.process, wait.tid);
	use->blocked_ns += wait.blocked_ns;
	use->queued_ns += wait.queued_ns;
	use->waits++;
}

static void use_add(struct who_use *to, const struct who_use *u)
{
	to->sampled_ns += u->sampled_ns;
	to->kernel_ns += u->kernel_ns;
	to->blocked_ns += u->blocked_ns;
	to->queued_ns += u->queued_ns;
	to->waits += u->waits;
}

/* processes */

/* What the processes of one member of the family used, together. */
struct member_sum {
	struct who_use use;
	uint64_t user_ns, kernel_ns, max_rss_bytes;
	uint32_t failed, ended;
};

static struct member_sum *members_sum(const struct who *who, const struct af_world *w,
                                      const struct af_family *family)
{
	struct member_sum *sums = af_xcalloc(family->nr, sizeof *sums);

	for (uint32_t p = 1; p < w->nr_processes; p++) {
		const struct af_process *process = &w->processes[p];
		if (family->member_of[p] == UINT32_MAX)
			continue;
		struct member_sum *s = &sums[family->member_of[p]];
		s->user_ns += process->user_ns;
		s->kernel_ns += process->kernel_ns;
		if (process->max_rss_bytes > s->max_rss_bytes)
			s->max_rss_bytes = process->max_rss_bytes;
		s->ended += process->status != -1;
		s->failed += process->status > 0;
	}
	for (uint32_t i = 0; i < who->nr; i++) {
		uint32_t p = who->threads[i].process;
		if (p < w->nr_processes && family->member_of[p] != UINT32_MAX)
			use_add(&sums[family->member_of[p]].use, &who->threads[i].use);
	}
	return sums;
}

static const char *status_text(struct af_facts *f, const struct af_family_member *m,
                               const struct member_sum *s, int status)
{
	if (!s->ended)
		return "";
	if (m->count > 1 && s->failed)
		return af_facts_text(f, "%u failed", s->failed);
	if (m->count > 1)
		return "exit 0";
	if (WIFSIGNALED(status))
		return af_facts_text(f, "signal %d (%s)", WTERMSIG(status),
		                     strsignal(WTERMSIG(status)));
	return af_facts_text(f, "exit %d", WEXITSTATUS(status));
}

static const char *note_or_nothing(const struct af_process *p, const char *key)
{
	const char *value = af_process_note(p, key);

	return value ? value : "";
}

/* Where a process runs, for people: its container, or else the last part of its control group. */
static const char *process_group(const struct af_process *p)
{
	const char *container = note_or_nothing(p, "container"),
		   *cgroup = note_or_nothing(p, "cgroup"), *slash = strrchr(cgroup, '/');

	return *container ? container : slash && slash[1] ? slash + 1 : cgroup;
}

static const char *measured_text(const struct af_process *p)
{
	static const char *const sources[] = {"not known", "by the process as it ended",
	                                      "by wait4: with its children",
	                                      "up to a second before it ended"};

	return sources[p->has_usage && p->usage_source < 4 ? p->usage_source : 0];
}

static void process_row(struct af_facts *f, struct af_table *t, const struct af_world *w,
                        const struct af_family *family, const struct member_sum *s, uint32_t member)
{
	const struct af_family_member *m = &family->members[member];
	const struct af_process *p = &w->processes[m->process];
	const char *name = *p->name ? p->name : "[unknown process]";
	int indent = (int)(m->depth < 20 ? 2 * m->depth : 40);
	struct af_cell *c = af_table_row(f, t);

	c[0].text = m->count > 1 ? af_facts_text(f, "%*s%s × %u", indent, "", name, m->count)
	                         : af_facts_text(f, "%*s%s [%u]", indent, "", name, p->pid);
	c[1].value = s->user_ns;
	c[2].value = s->kernel_ns;
	c[3].value = s->use.sampled_ns;
	c[4].value = s->use.kernel_ns;
	c[5].value = s->use.blocked_ns;
	c[6].value = s->use.queued_ns;
	c[7].value = s->max_rss_bytes;
	c[8].text = status_text(f, m, s, p->status);
	c[9].text = af_facts_text(f, "%s", process_group(p));
	c[10].text = measured_text(p);
	c[11].text = af_facts_text(f, "%s", name);
	c[12].value = p->pid;
	c[13].value = m->process;
	c[14].value = m->parent == member ? 0 : family->members[m->parent].process;
	c[15].value = m->count;
	c[16].text = af_facts_text(f, "%s", p->cmdline);
	c[17].text = af_facts_text(f, "%s", note_or_nothing(p, "container"));
	c[18].text = af_facts_text(f, "%s", note_or_nothing(p, "cgroup"));
}

/* Kernel time that the processes used and no sample was of: what wait4 says is of all of them. */
static uint64_t unseen_ns(const struct af_world *w, uint64_t seen_ns, uint64_t *all_ns)
{
	uint64_t told = 0, waited = 0;

	for (uint32_t p = 1; p < w->nr_processes; p++) {
		const struct af_process *process = &w->processes[p];
		if (process->has_usage && process->usage_source == AF_USAGE_WAIT)
			waited += process->kernel_ns;
		else
			told += process->kernel_ns;
	}
	*all_ns = waited > told ? waited : told;
	return *all_ns > seen_ns ? *all_ns - seen_ns : 0;
}

static const char *kernel_note(const struct who *who, const struct af_world *w, struct af_facts *f)
{
	uint64_t seen = 0, all;

	for (uint32_t i = 0; i < who->nr; i++)
		seen += who->threads[i].use.kernel_ns;
	uint64_t unseen = unseen_ns(w, seen, &all);

	if (!seen && w->nr_kstacks <= 1 && !all)
		return "samples see user mode only: kernel time is not in the flame graph";
	if (!seen && w->nr_kstacks <= 1)
		return af_facts_text(f,
		                     "samples see user mode only: %s of kernel time is not in the "
		                     "flame graph (record --sample bpf has it, as root)",
		                     af_facts_ns(f, all));
	if (seen && !who->stacks_ns)
		return af_facts_text(f,
		                     "%s of the sampled time was in system calls: it is under "
		                     "[kernel] frames",
		                     af_facts_ns(f, seen));
	/* What was running before brings along what it had used by then. */
	const char *cmd = af_world_note(w, "cmd");
	const char *rest = unseen && cmd && *cmd ? af_facts_text(f, "; no sample saw another %s",
	                                                         af_facts_ns(f, unseen))
	                                         : "";
	return af_facts_text(f, "%s of kernel time was sampled, and is under the kernel's frames%s",
	                     af_facts_ns(f, seen), rest);
}

/* A column that says the same of everybody says nothing. */
static bool groups_differ(const struct af_world *w, const bool *there)
{
	const char *first = NULL;

	for (uint32_t p = 1; p < w->nr_processes; p++) {
		if (!there[p])
			continue;
		const char *group = process_group(&w->processes[p]);
		if (first && strcmp(first, group))
			return true;
		first = group;
	}
	return false;
}

/* CPU time by ordinal, whoever knows more of it; wait4 counts that of children too. */
static uint64_t *processes_busy(const struct who *who, const struct af_world *w)
{
	uint64_t *busy = af_xcalloc((size_t)w->nr_processes + 1, sizeof *busy);

	for (uint32_t i = 0; i < who->nr; i++)
		if (who->threads[i].process < w->nr_processes)
			busy[who->threads[i].process] += who->threads[i].use.sampled_ns;
	for (uint32_t p = 1; p < w->nr_processes; p++) {
		const struct af_process *process = &w->processes[p];
		uint64_t used = process->user_ns + process->kernel_ns;
		if (process->usage_source != AF_USAGE_WAIT && used > busy[p])
			busy[p] = used;
	}
	return busy;
}

static void table_processes(const struct who *who, const struct af_world *w, const bool *there,
                            const struct af_family *family, struct af_facts *f)
{
	struct af_column columns[] = {
	    {"Process", AF_CELL_TEXT, AF_SHOW_ALWAYS},
	    {"User", AF_CELL_NS, AF_SHOW_ALWAYS},
	    {"Kernel", AF_CELL_NS, AF_SHOW_ALWAYS},
	    {"Sampled", AF_CELL_NS, AF_SHOW_ALWAYS},
	    {"In the kernel", AF_CELL_NS, AF_SHOW_USED},
	    {"Blocked", AF_CELL_NS, AF_SHOW_USED},
	    {"Waiting for CPU", AF_CELL_NS, AF_SHOW_USED},
	    {"Peak memory", AF_CELL_BYTES, AF_SHOW_ALWAYS},
	    {"Status", AF_CELL_TEXT, AF_SHOW_USED},
	    {"Group", AF_CELL_TEXT, groups_differ(w, there) ? AF_SHOW_USED : AF_SHOW_NEVER},
	    {"Measured", AF_CELL_TEXT, AF_SHOW_ALWAYS},
	    {"Name", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Pid", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Parent", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Count", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Command", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Container", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Control group", AF_CELL_TEXT, AF_SHOW_NEVER},
	};
	struct af_table *t =
	    af_facts_table(f, "processes", "Processes", columns, sizeof columns / sizeof *columns);
	struct member_sum *sums = members_sum(who, w, family);

	for (uint32_t m = 0; m < family->nr; m++)
		process_row(f, t, w, family, &sums[m], m);
	t->note = kernel_note(who, w, f);
	free(sums);
}

/* threads */

/* A thread that went on in another image of its process is one thread, and by that image's name. */
static void threads_join(struct who *who, const struct af_family *family, uint32_t nr_processes)
{
	struct who whole = {0};

	for (uint32_t i = 0; i < who->nr; i++) {
		const struct who_thread *t = &who->threads[i];
		uint32_t p = t->process < nr_processes ? family->image_of[t->process] : 0;
		use_add(who_use(&whole, p ? p : t->process, t->tid), &t->use);
	}
	af_map_free(&who->by_thread);
	free(who->threads);
	whole.stacks_ns = who->stacks_ns;
	*who = whole;
}

static int thread_order(const void *a, const void *b)
{
	const struct who_thread *x = a, *y = b;

	if (x->use.sampled_ns != y->use.sampled_ns)
		return x->use.sampled_ns < y->use.sampled_ns ? 1 : -1;
	if (x->use.blocked_ns != y->use.blocked_ns)
		return x->use.blocked_ns < y->use.blocked_ns ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void table_threads(struct who *who, const struct af_world *w, struct af_facts *f)
{
	static const struct af_column columns[] = {
	    {"Thread", AF_CELL_TEXT, AF_SHOW_ALWAYS}, {"Process", AF_CELL_TEXT, AF_SHOW_ALWAYS},
	    {"Sampled", AF_CELL_NS, AF_SHOW_ALWAYS},  {"In the kernel", AF_CELL_NS, AF_SHOW_USED},
	    {"Blocked", AF_CELL_NS, AF_SHOW_USED},    {"Waiting for CPU", AF_CELL_NS, AF_SHOW_USED},
	    {"Waits", AF_CELL_COUNT, AF_SHOW_USED},   {"Name", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Tid", AF_CELL_COUNT, AF_SHOW_NEVER},    {"Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER},
	};

	if (!who->nr)
		return;
	struct af_table *t =
	    af_facts_table(f, "threads", "Threads", columns, sizeof columns / sizeof *columns);
	qsort(who->threads, who->nr, sizeof *who->threads, thread_order);
	for (uint32_t i = 0; i < who->nr && i < WHO_THREADS; i++) {
		const struct who_thread *th = &who->threads[i];
		const struct af_thread *thread = af_world_thread(w, th->process, th->tid);
		const struct af_process *p = af_world_process(w, th->process);
		const char *name = thread && *thread->name ? thread->name : p ? p->name : "";
		struct af_cell *c = af_table_row(f, t);
		c[0].text = af_facts_text(f, "%s [%u]", name, th->tid);
		c[1].text = af_facts_text(f, "%s [%u]", p ? p->name : "", p ? p->pid : 0);
		c[2].value = th->use.sampled_ns;
		c[3].value = th->use.kernel_ns;
		c[4].value = th->use.blocked_ns;
		c[5].value = th->use.queued_ns;
		c[6].value = th->use.waits;
		c[7].text = af_facts_text(f, "%s", name);
		c[8].value = th->tid;
		c[9].value = th->process;
	}
	if (who->nr > WHO_THREADS)
		t->note = af_facts_text(f, "of %u threads", who->nr);
}

static void who_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct who *who = self;
	bool *there = af_xcalloc((size_t)w->nr_processes + 1, sizeof *there);

	for (uint32_t p = 1; p < w->nr_processes; p++)
		there[p] = w->processes[p].start_ns || w->processes[p].has_usage;
	for (uint32_t i = 0; i < who->nr; i++)
		if (who->threads[i].process < w->nr_processes)
			there[who->threads[i].process] = true;
	there[0] = false;
	uint64_t *busy = processes_busy(who, w);
	struct af_family family;
	af_family_make(&family, w, there, busy);
	table_processes(who, w, there, &family, &out->facts);
	threads_join(who, &family, w->nr_processes);
	table_threads(who, w, &out->facts);
	af_family_free(&family);
	free(busy);
	free(there);
}

static void who_close(void *self)
{
	struct who *who = self;

	af_map_free(&who->by_thread);
	free(who->threads);
}

const struct af_pass_ops af_pass_who = {
    .name = "who",
    .question = "who was there?",
    .wants = 1ull << AF_KIND_OFFCPU,
    .state_size = sizeof(struct who),
    .event = who_event,
    .sample = who_sample,
    .finish = who_finish,
    .close = who_close,
};
