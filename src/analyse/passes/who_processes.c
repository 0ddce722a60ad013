/* The processes as a family, with what each used. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/passes/who.h"
#include "analyse/table/table.h"
#include "analyse/world/family.h"
#include "analyse/world/world.h"

/* The CPU time of all processes of one member of the family. */
struct member_sum {
	struct who_use use;
	uint64_t user_ns, kernel_ns, max_rss_bytes;
	uint32_t failed, ended, measured, shared_out;
};

static struct member_sum *members_sum(const struct who *who, const struct af_world *w,
                                      const struct af_family *family, const struct af_coverage *c)
{
	struct member_sum *sums = af_xcalloc(family->nr, sizeof *sums);

	for (uint32_t p = 1; p < w->nr_processes; p++) {
		const struct af_process *process = &w->processes[p];
		if (family->member_of[p] == UINT32_MAX)
			continue;
		struct member_sum *s = &sums[family->member_of[p]];
		if (process->max_rss_bytes > s->max_rss_bytes)
			s->max_rss_bytes = process->max_rss_bytes;
		s->ended += process->status != -1;
		s->failed += process->status > 0;
	}
	for (uint32_t i = 0; i < c->nr_processes; i++) {
		const struct af_coverage_row *r = &c->processes[i];
		if (!r->process || !r->known || family->member_of[r->process] == UINT32_MAX)
			continue;
		struct member_sum *s = &sums[family->member_of[r->process]];
		s->user_ns += r->cpu.used_user;
		s->kernel_ns += r->cpu.used_kernel;
		s->measured++;
		s->shared_out += r->shared_out;
	}
	for (uint32_t i = 0; i < who->nr; i++) {
		uint32_t p = who->threads[i].process;
		if (p < w->nr_processes && family->member_of[p] != UINT32_MAX)
			who_use_add(&sums[family->member_of[p]].use, &who->threads[i].use);
	}
	return sums;
}

static const char *status_text(struct af_tables *f, const struct af_family_member *m,
                               const struct member_sum *s, int status)
{
	if (!s->ended)
		return "";
	if (m->count > 1 && s->failed)
		return af_tables_text(f, "%u failed", s->failed);
	if (m->count > 1)
		return "exit 0";
	if (WIFSIGNALED(status))
		return af_tables_text(f, "signal %d (%s)", WTERMSIG(status),
		                      strsignal(WTERMSIG(status)));
	return af_tables_text(f, "exit %d", WEXITSTATUS(status));
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

static const char *measured_text(const struct af_process *p, const struct member_sum *s)
{
	static const char *const sources[] = {"not known",
	                                      "by the process as it ended",
	                                      "by wait4: with its children",
	                                      "up to a second before it ended",
	                                      "while it was watched",
	                                      "when it had ended"};

	if (s->shared_out)
		return "as a part of what its parent's children used";
	return sources[p->has_usage && p->usage_source < 6 ? p->usage_source : 0];
}

static void process_row(struct af_tables *f, struct af_table *t, const struct af_world *w,
                        const struct af_family *family, const struct member_sum *s, uint32_t member)
{
	const struct af_family_member *m = &family->members[member];
	const struct af_process *p = &w->processes[m->process];
	const char *name = *p->name ? p->name : "[unknown process]";
	int indent = (int)(m->depth < 20 ? 2 * m->depth : 40);
	struct af_process_row *c = af_table_row(f, t);

	c->process.text = m->count > 1 ? af_tables_text(f, "%*s%s × %u", indent, "", name, m->count)
	                               : af_tables_text(f, "%*s%s [%u]", indent, "", name, p->pid);
	c->rank.text = af_tables_text(f, "%s", note_or_nothing(p, "rank"));
	c->user_ns.value = s->user_ns;
	c->kernel_ns.value = s->kernel_ns;
	c->sampled_ns.value = s->use.sampled_ns;
	c->sampled_kernel_ns.value = s->use.kernel_ns;
	c->blocked_ns.value = s->use.blocked_ns;
	c->runnable_ns.value = s->use.queued_ns;
	c->peak_bytes.value = s->max_rss_bytes;
	c->sampled_ns.unknown = s->use.untimed && !s->use.sampled_ns;
	c->user_ns.unknown = c->kernel_ns.unknown = !s->measured;
	c->peak_bytes.unknown = !s->max_rss_bytes;
	c->status.text = status_text(f, m, s, p->status);
	c->group.text = af_tables_text(f, "%s", process_group(p));
	c->measured.text = measured_text(p, s);
	c->name.text = af_tables_text(f, "%s", name);
	c->pid.value = p->pid;
	c->ordinal.value = m->process;
	c->parent.value = m->parent == member ? 0 : family->members[m->parent].process;
	c->count.value = m->count;
	c->command.text = af_tables_text(f, "%s", p->cmdline);
	c->container.text = af_tables_text(f, "%s", note_or_nothing(p, "container"));
	c->cgroup.text = af_tables_text(f, "%s", note_or_nothing(p, "cgroup"));
}

static const char *kernel_note(const struct who *who, const struct af_world *w, struct af_tables *f,
                               const struct af_coverage *c)
{
	uint64_t seen = 0, all = c->total.cpu.used_kernel;

	for (uint32_t i = 0; i < who->nr; i++)
		seen += who->threads[i].use.kernel_ns;
	/* Kernel time that the processes used and no sample was of. */
	uint64_t unseen = af_covered_missing(all, seen);

	const char *sampler = af_world_note(w, "collector.cpu");
	bool can_see = w->nr_kstacks > 1 || (sampler && !strncmp(sampler, "bpf", 3));
	if (!seen && !can_see && !all)
		return "samples see user mode only: kernel time is not in the flame graph";
	if (!seen && !can_see)
		return af_tables_text(f,
		                      "samples see user mode only: %s of kernel time is not in the "
		                      "flame graph (record --sample bpf has it, as root)",
		                      af_tables_ns(f, all));
	if (seen && !who->stacks_ns)
		return af_tables_text(f,
		                      "%s of the sampled time was in system calls: it is under "
		                      "[kernel] frames",
		                      af_tables_ns(f, seen));
	/* A process that ran before the recording had used CPU time by then. */
	const char *cmd = af_world_note(w, "cmd");
	if (!seen)
		return unseen && cmd && *cmd
		           ? af_tables_text(f, "no sample hit the kernel, where %s were spent",
		                            af_tables_ns(f, unseen))
		           : "no sample hit the kernel";
	const char *rest = unseen && cmd && *cmd ? af_tables_text(f, "; no sample saw another %s",
	                                                          af_tables_ns(f, unseen))
	                                         : "";
	return af_tables_text(f,
	                      "%s of kernel time was sampled, and is under the kernel's frames%s",
	                      af_tables_ns(f, seen), rest);
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

void who_processes(const struct who *who, const struct af_world *w, const bool *there,
                   const struct af_family *family, struct af_results *out)
{
	struct af_tables *f = &out->tables;
	struct af_column columns[] = {AF_PROCESS_COLUMNS(
	    AF_ROW_COLUMN, groups_differ(w, there) ? AF_SHOW_USED : AF_SHOW_NEVER)};
	struct af_table *t = AF_TABLE(f, "processes", "Processes", columns);
	struct member_sum *sums = members_sum(who, w, family, &out->coverage);

	for (uint32_t m = 0; m < family->nr; m++)
		process_row(f, t, w, family, &sums[m], m);
	t->note = kernel_note(who, w, f, &out->coverage);
	free(sums);
}
