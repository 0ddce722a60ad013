/* For each thread, one row: the function in which it waited longest. */
#include <stdlib.h>
#include <string.h>

#include "analyse/functions/blocked.h"
#include "analyse/functions/blocked_private.h"
#include "analyse/table/table.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "sym/elf/bounds_name.h"

enum { THREADS_MOST = 1000 };

/* Waits of one thread that are called the same; of the best one, all of the thread's. */
struct thread_wait {
	uint32_t process, tid, node;
	uint64_t ns, count, longest_ns, all_ns;
};

/* Not what had a CPU coming: only what it slept or waited for. */
static uint32_t waits_gather(const struct blocked *b, const struct blocked_rows *r,
                             struct thread_wait *all)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < b->nr; i++) {
		const struct blocked_sum *s = &b->sums[i];
		if (s->state == AF_STATE_RUNNABLE)
			continue;
		all[nr++] = (struct thread_wait){
		    .process = b->stack_locations.all[s->place].process,
		    .tid = s->tid,
		    .node = r->nodes[i],
		    .ns = s->ns,
		    .count = s->count,
		    .longest_ns = s->longest_ns,
		};
	}
	return nr;
}

static int by_thread(const struct thread_wait *x, const struct thread_wait *y)
{
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_node(const void *a, const void *b)
{
	const struct thread_wait *x = a, *y = b;
	int thread = by_thread(x, y);

	return thread ? thread : x->node < y->node ? -1 : x->node > y->node;
}

static int by_time(const void *a, const void *b)
{
	const struct thread_wait *x = a, *y = b;

	if (x->all_ns != y->all_ns)
		return x->all_ns > y->all_ns ? -1 : 1;
	return by_thread(x, y);
}

/* Equal places as one, then of each thread the one of most time. Returns how many threads. */
static uint32_t waits_group(struct thread_wait *all, uint32_t nr)
{
	uint32_t stack_locations = 0, threads = 0;

	AF_SORT(all, nr, by_node);
	for (uint32_t i = 0; i < nr; i++) {
		if (!stack_locations || by_node(&all[stack_locations - 1], &all[i])) {
			all[stack_locations++] = all[i];
			continue;
		}
		struct thread_wait *to = &all[stack_locations - 1];
		to->ns += all[i].ns;
		to->count += all[i].count;
		if (all[i].longest_ns > to->longest_ns)
			to->longest_ns = all[i].longest_ns;
	}
	for (uint32_t i = 0; i < stack_locations; i++) {
		struct thread_wait *to = threads ? &all[threads - 1] : NULL;
		if (!to || by_thread(to, &all[i])) {
			all[threads] = all[i];
			all[threads++].all_ns = all[i].ns;
			continue;
		}
		uint64_t sum = to->all_ns + all[i].ns;
		if (all[i].ns > to->ns)
			*to = all[i];
		to->all_ns = sum;
	}
	AF_SORT(all, threads, by_time);
	return threads;
}

static const char *name_of(struct af_tables *f, const struct af_tree *t, uint32_t node)
{
	size_t len = 0;
	const char *text = node ? af_tree_text(t, t->nodes[node].name, &len) : "";

	return af_arena_strdup(&f->arena, text, len);
}

static bool has_name(const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);

	return !af_bounds_name_module(text, len);
}

/* The Python function that waited, if one did; else the native one, rather one with a name. */
static uint32_t node_user(const struct af_tree *t, uint32_t node)
{
	uint32_t python = node, first = af_blocked_user(t, node), named = first;

	while (python && af_tree_frame(t, t->nodes[python].name) != AF_FRAME_PYTHON)
		python = t->nodes[python].parent;
	while (!python && named && !has_name(t, named))
		named = af_blocked_user(t, t->nodes[named].parent);
	return python ? python : named ? named : first;
}

static void thread_row(struct af_tables *f, struct af_table *table, const struct af_tree *t,
                       const struct af_world *w, const struct thread_wait *x)
{
	const struct af_thread *thread = af_world_thread(w, x->process, x->tid);
	const struct af_process *p = af_world_process(w, x->process);
	uint32_t user = node_user(t, x->node), kernel = af_blocked_kernel(t, x->node);
	struct af_thread_wait_row *c = af_table_row(f, table);

	c->thread.text = af_tables_text(f, "%s [%u]",
	                                thread && *thread->name ? thread->name
	                                : p                     ? p->name
	                                                        : "",
	                                x->tid);
	c->blocked_ns.value = x->all_ns;
	c->waited_in.text = name_of(f, t, user);
	c->kernel.text = name_of(f, t, kernel);
	c->time_ns.value = x->ns;
	c->waits.value = x->count;
	c->longest_ns.value = x->longest_ns;
	c->kind.text = user ? af_frame_name(af_tree_frame(t, t->nodes[user].name)) : "";
	c->tid.value = x->tid;
	c->ordinal.value = x->process;
}

void blocked_threads(const struct blocked *b, const struct blocked_rows *r,
                     const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_THREAD_WAIT_COLUMNS(AF_ROW_COLUMN)};
	struct thread_wait *all = af_xcalloc(b->nr + 1ull, sizeof *all);
	uint32_t nr = waits_group(all, waits_gather(b, r, all));

	if (nr) {
		struct af_table *t =
		    AF_TABLE(f, "thread_waits", "What each thread waited for longest", columns);
		for (uint32_t i = 0; i < nr && i < THREADS_MOST; i++)
			thread_row(f, t, &r->tree, w, &all[i]);
		if (nr > THREADS_MOST)
			t->note = af_tables_text(f, "of %u threads", nr);
	}
	free(all);
}
