/* The threads, with what samples and waits say of them. */
#include <stdlib.h>

#include "analyse/passes/rows.h"
#include "analyse/passes/who.h"
#include "analyse/table/table.h"
#include "analyse/world/family.h"
#include "analyse/world/world.h"
#include "base/arena.h"

enum { WHO_THREADS = 1000 };

static const struct af_family_member *member_of(const struct af_world *w,
                                                const struct af_family *family, uint32_t process)
{
	bool known = process < w->nr_processes && family->member_of[process] != UINT32_MAX;

	return known ? &family->members[family->member_of[process]] : NULL;
}

/*
 * A thread that went on in another image of its process is one thread, by that image's name; those
 * of processes that the family merged are one row (thread 0).
 */
static void threads_join(struct who *who, const struct af_world *w, const struct af_family *family)
{
	struct who whole = {.stacks_ns = who->stacks_ns, .wakers = who->wakers};

	for (uint32_t i = 0; i < who->nr; i++) {
		const struct who_thread *t = &who->threads[i];
		uint32_t process = t->process, tid = t->tid;
		const struct af_family_member *m = member_of(w, family, process);
		if (m && m->count > 1) {
			process = m->process;
			tid = 0;
		} else if (m) {
			process = family->image_of[process];
		}
		who_use_add(who_use(&whole, process, tid), &t->use);
	}
	af_map_free(&who->by_thread);
	free(who->threads);
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

static void thread_row(struct af_tables *f, struct af_table *t, const struct af_world *w,
                       const struct af_family *family, const struct who_thread *th)
{
	const struct af_family_member *m = member_of(w, family, th->process);
	const struct af_thread *thread = af_world_thread(w, th->process, th->tid);
	const struct af_process *p = af_world_process(w, th->process);
	const char *name = thread && *thread->name ? thread->name : p ? p->name : "";
	struct af_thread_row *c = af_table_row(f, t);

	c->thread.text = th->tid ? af_tables_text(f, "%s [%u]", name, th->tid)
	                         : af_tables_text(f, "all of %s", name);
	c->process.text = m && m->count > 1
	                      ? af_tables_text(f, "%s × %u", p ? p->name : "", m->count)
	                      : af_tables_text(f, "%s [%u]%s", p ? p->name : "", p ? p->pid : 0,
	                                       p ? p->rank : "");
	c->sampled_ns.value = th->use.sampled_ns;
	c->sampled_ns.unknown = th->use.untimed && !th->use.sampled_ns;
	c->sampled_kernel_ns.value = th->use.kernel_ns;
	c->blocked_ns.value = th->use.blocked_ns;
	c->runnable_ns.value = th->use.queued_ns;
	c->waits.value = th->use.waits;
	c->name.text = af_tables_text(f, "%s", name);
	c->tid.value = th->tid;
	c->ordinal.value = th->process;
}

void who_threads(struct who *who, const struct af_world *w, const struct af_family *family,
                 struct af_tables *f)
{
	static const struct af_column columns[] = {AF_THREAD_COLUMNS(AF_ROW_COLUMN)};

	if (!who->nr)
		return;
	threads_join(who, w, family);
	struct af_table *t = AF_TABLE(f, "threads", "Threads", columns);
	AF_SORT(who->threads, who->nr, thread_order);
	for (uint32_t i = 0; i < who->nr && i < WHO_THREADS; i++)
		thread_row(f, t, w, family, &who->threads[i]);
	if (who->nr > WHO_THREADS)
		t->note = af_tables_text(f, "of %u threads", who->nr);
}
