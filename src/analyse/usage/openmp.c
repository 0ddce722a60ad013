/*
 * OpenMP on the host. Parallel regions by their places in the program: how long threads waited at
 * implicit barriers in them, of the time that the threads were in them. Waits for target tasks.
 */
#include <stdio.h>
#include <string.h>

#include "analyse/usage/private.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "trace/layout.h"
#include "trace/read/reader.h"

uint32_t usage_region_find(struct usage *u, uint32_t process, uint64_t place)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&u->by_region, AF_KEY(process, place), &fresh);

	if (fresh) {
		AF_GROW(u->regions, u->nr_regions, u->cap_regions);
		u->regions[u->nr_regions] =
		    (struct usage_region){.process = process, .place = place};
		*slot = u->nr_regions++;
	}
	return (uint32_t)*slot;
}

/* A worker's call ends when the runtime needs the thread again: only that before counts. */
static uint64_t inside_ns(const struct usage_call *c)
{
	struct af_api_head head;

	memcpy(&head, c->ev->payload, sizeof head);
	uint64_t from_ns = c->ev->time_ns - af_u48_value(head.duration_ns);
	uint64_t until_ns = from_ns + usage_value(c->ev, c->f->inside);
	if (from_ns < c->is->start_ns)
		from_ns = c->is->start_ns;
	if (until_ns > c->is->end_ns)
		until_ns = c->is->end_ns;
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

static void call_region(const struct usage_call *c)
{
	uint64_t place = usage_value(c->ev, c->f->region);

	if (!place)
		return;
	uint32_t region =
	    usage_region_find(c->u, usage_process_of(c->u, c->thread)->ordinal, place);
	if (c->f->role == USAGE_REGION) {
		c->u->regions[region].path = c->is->path;
		return;
	}
	struct usage_sum *s = usage_sum_of(
	    c->u,
	    &(struct usage_sum){.kind = AF_USAGE_IMBALANCE, .thread = c->thread, .peer = region});
	if (c->f->role == USAGE_BARRIER) {
		s->calls += !c->is->out_of_range;
		s->time_ns += inside_ns(c);
	} else {
		s->lasted_ns += inside_ns(c);
	}
}

/* A target region with nowait is a task, of which the driver's calls are other threads'. */
static void call_task(const struct usage_call *c)
{
	enum { TASK_TARGET = 8 }; /* ompt_task_flag_t */

	c->u->threads[c->thread].tasks += usage_value(c->ev, c->f->flags) & TASK_TARGET ? 1 : 0;
}

static void call_task_wait(const struct usage_call *c)
{
	struct usage *u = c->u;
	struct usage_thread *t = &u->threads[c->thread];
	struct usage_wait wait = {.thread = c->thread,
	                          .function = c->is->function,
	                          .path = c->is->path,
	                          .ns = c->ns,
	                          .works = t->tasks,
	                          .has_works = t->has_waited_tasks,
	                          .of_tasks = true};

	t->tasks = 0;
	t->has_waited_tasks = true;
	if (c->is->out_of_range)
		return;
	if (wait.has_works && wait.works)
		usage_wait_add(u, &wait);
	if (wait.has_works)
		return;
	AF_GROW(u->waits, u->nr_waits, u->cap_waits);
	u->waits[u->nr_waits++] = wait;
}

void usage_openmp_call(const struct usage_call *c)
{
	if (c->f->role == USAGE_TASK_NEW)
		call_task(c);
	else if (c->f->role == USAGE_TASK_WAIT)
		call_task_wait(c);
	else
		call_region(c);
}

/* Stacks have return addresses less one. */
static const struct af_symbol *region_symbol(const struct usage *u, const struct af_world *w,
                                             uint32_t region)
{
	const struct usage_region *r = &u->regions[region];
	const struct af_path *path = r->path ? &w->paths[r->path] : NULL;
	const struct af_stack *stack = path && path->stack ? &w->stacks[path->stack] : NULL;

	return stack ? af_world_stack_symbol(w, stack, r->place - 1) : NULL;
}

/* LLVM's runtime keeps the threads that run tasks of targets in a region of its own. */
bool usage_region_is_runtimes(const struct usage *u, const struct af_world *w, uint32_t region)
{
	const struct af_symbol *s = region_symbol(u, w, region);
	const char *module = s ? af_strtab_get(&w->strings, s->module) : "";

	return strstr(module, "/libomp") || strstr(module, "/libiomp5.so");
}

const char *usage_region_name(const struct usage *u, const struct af_world *w, uint32_t region,
                              char *text, size_t size)
{
	const struct af_symbol *s = region_symbol(u, w, region);
	const char *function = s && s->nr_frames ? af_strtab_get(&w->strings, s->frames[0]) : "";

	if (!*function)
		snprintf(text, size, "parallel region");
	else if (s->frames[2])
		snprintf(text, size, "%s:%u parallel region", function, s->frames[2]);
	else
		snprintf(text, size, "%s parallel region", function);
	return text;
}
