/* Parts of a trace behind one another. Ranges of memory are of each part alone. */
#include <stdlib.h>
#include <string.h>

#include "analyse/usage/private.h"
#include "base/arena.h"

/* The waits that depend on what came before the part: on how things stand in @u. */
static void waits_merge(struct usage *u, const struct usage *from, const uint32_t *threads)
{
	for (uint32_t i = 0; i < from->nr_waits; i++) {
		struct usage_wait wait = from->waits[i];
		const struct usage_thread *t = &u->threads[threads[wait.thread]];
		wait.thread = threads[wait.thread];
		wait.works += wait.has_works ? 0 : wait.of_tasks ? t->tasks : t->works;
		if (!wait.of_tasks)
			usage_queues_decide(u, &u->processes[t->process], &wait);
		if (!wait.of_tasks || wait.works)
			usage_wait_add(u, &wait);
	}
}

static void sum_merge(struct usage *u, const struct usage_sum *s, uint32_t thread,
                      const uint32_t *regions)
{
	uint32_t peer = s->kind == AF_USAGE_IMBALANCE ? regions[s->peer] : s->peer;
	struct usage_sum *to = usage_sum_of(u, &(struct usage_sum){.kind = s->kind,
	                                                           .thread = thread,
	                                                           .function = s->function,
	                                                           .path = s->path,
	                                                           .peer = peer});

	to->calls += s->calls;
	to->of_calls += s->of_calls;
	to->time_ns += s->time_ns;
	to->bytes += s->bytes;
	to->loops += s->loops;
	to->lasted_ns += s->lasted_ns;
	for (uint32_t i = 0; i < s->moments.nr; i++)
		usage_moments_add(&to->moments, s->moments.all[i].start_ns,
		                  s->moments.all[i].time_ns, false);
}

/* The first loops go on with those of the part before. */
static void thread_merge(struct usage *u, uint32_t thread, const struct usage_thread *from)
{
	struct usage_thread *t = &u->threads[thread];

	for (uint32_t i = 0; i < from->nr_first_loops; i++)
		usage_loop_add(u, t, &from->first_loops[i]);
	if (from->has_called)
		usage_loops_end(u, thread);
	for (uint32_t i = 0; i < from->nr_loops; i++)
		usage_loop_add(u, t, &from->loops[i]);
	t->works = from->works + (from->has_waited ? 0 : t->works);
	t->tasks = from->tasks + (from->has_waited_tasks ? 0 : t->tasks);
	t->messages += from->messages;
}

/* The indexes of the part's regions in @u; malloc'd. */
static uint32_t *regions_merge(struct usage *u, const struct usage *from)
{
	uint32_t *regions = af_xcalloc((size_t)from->nr_regions + 1, sizeof *regions);

	for (uint32_t i = 0; i < from->nr_regions; i++) {
		const struct usage_region *r = &from->regions[i];
		regions[i] = usage_region_find(u, r->process, r->place);
		if (r->path)
			u->regions[regions[i]].path = r->path;
	}
	return regions;
}

static void functions_merge(struct usage *u, const struct usage *from)
{
	for (uint32_t i = 0; i < from->cap_functions; i++) {
		if (!from->functions[i].is_known)
			continue;
		AF_REACH(u->functions, i, u->cap_functions);
		u->functions[i] = from->functions[i];
	}
}

bool usage_merge(void *self, const struct af_world *w, const void *other)
{
	const struct usage *from = other;
	struct usage *u = self;
	uint32_t *threads = af_xcalloc((size_t)from->nr_threads + 1, sizeof *threads);

	(void)w;
	functions_merge(u, from);
	for (uint32_t i = 0; i < from->nr_threads; i++)
		threads[i] = usage_thread_find(u, from->threads[i].ordinal, from->threads[i].tid);
	waits_merge(u, from, threads);
	uint32_t *regions = regions_merge(u, from);
	for (uint32_t i = 0; i < from->nr_sums; i++)
		sum_merge(u, &from->sums[i], threads[from->sums[i].thread], regions);
	free(regions);
	for (uint32_t i = 0; i < from->nr_threads; i++)
		thread_merge(u, threads[i], &from->threads[i]);
	for (uint32_t i = 0; i < from->nr_processes; i++) {
		const struct usage_process *p = &from->processes[i];
		uint32_t to = usage_process_find(u, p->ordinal);
		usage_queues_merge(u, &u->processes[to], from, p);
	}
	free(threads);
	return true;
}
