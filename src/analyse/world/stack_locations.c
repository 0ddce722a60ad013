#include "analyse/world/stack_locations.h"

#include <stdlib.h>

#include "analyse/world/private.h"
#include "base/arena.h"

void af_stack_locations_free(struct af_stack_locations *p)
{
	af_map_free(&p->by_place);
	af_map_free(&p->by_thread);
	free(p->all);
	free(p->of_path);
	*p = (struct af_stack_locations){0};
}

/*
 * The user part in 32 bits: a path of the world is of one process; where there is none, the process
 * tells places apart, and the world knows less than 2^21 of those.
 */
static uint64_t user_of(const struct af_stack_location *at)
{
	uint32_t process = at->process < 1u << 21 ? at->process : 1u << 21;

	if (at->path && at->path < AF_PATH_MISSED)
		return at->path;
	return 1u << 31 | process << 2 | (at->path & 3);
}

static uint32_t location_number(struct af_stack_locations *p, const struct af_stack_location *at)
{
	uint64_t key = user_of(at) << 32 | at->kstack;
	struct af_map *map = &p->by_place;
	bool fresh;

	if (at->tid) { /* Numbers of places, with threads or without, are less than 2^32. */
		struct af_stack_location of_any = *at;
		of_any.tid = 0;
		key = (uint64_t)af_stack_locations_number(p, &of_any) << 32 | at->tid;
		map = &p->by_thread;
	}
	uint64_t *number = af_map_at(map, key, &fresh);
	if (fresh) {
		AF_GROW(p->all, p->nr, p->cap);
		p->all[p->nr] = *at;
		*number = p->nr++;
	}
	return (uint32_t)*number;
}

/* Most locations are a path of the world, whose indexes are dense. */
uint32_t af_stack_locations_number(struct af_stack_locations *p, const struct af_stack_location *at)
{
	if (at->tid || at->kstack || !at->path || at->path >= AF_PATH_MISSED)
		return location_number(p, at);
	AF_REACH(p->of_path, at->path, p->cap_paths);
	uint32_t *number = &p->of_path[at->path];
	if (!*number)
		*number = location_number(p, at) + 1;
	return *number - 1;
}

struct af_stack_location af_place_of(const struct af_world *w, const struct af_event *ev,
                                     uint32_t callpath, uint32_t kstack)
{
	uint32_t known = kstack ? af_world_kstack(w, ev, kstack) : 0;

	return (struct af_stack_location){
	    .process = ev->process,
	    .path = callpath ? af_world_path(w, ev, callpath) : AF_PATH_NONE,
	    .kstack = kstack && !known ? AF_KSTACK_MISSED : known,
	    .tid = w->threads_apart ? ev->tid : 0,
	};
}

/*
 * Addresses of code made at run time have one name after another. Samples name a path as they come,
 * and names come last; so the times of change are read before all else, and a path whose addresses
 * change gets one more path for each time, which differs in names alone.
 */
enum {
	LATER_TIMES = 256,     /* of one path */
	LATER_PATHS = 1 << 22, /* that are made because of them */
};

static void later_take(void *arg, const struct af_event *ev)
{
	struct af_ev_symbol_later fixed;
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_world *w = arg;

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, later);
	uint64_t *slot = af_keys_at(&w->by_later, AF_KEY(fixed.process, fixed.address), NULL);
	w->later[i] = (struct af_later){fixed.from_ns, (uint32_t)*slot};
	*slot = i;
}

void af_world_read_later(struct af_world *w, const struct af_trace *t)
{
	w->regions.trace = t;
	af_trace_each_event(t, "symbols", 1ull << AF_KIND_SYMBOL_LATER, later_take, w);
}

static int later_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The times at which an address of @stack gets another name, in order, each once. */
static uint32_t later_times(const struct af_world *w, const struct af_stack *stack,
                            uint64_t times[LATER_TIMES])
{
	uint32_t nr = 0, unique = 0;

	for (uint32_t i = 0; i < stack->nr; i++) {
		const uint64_t *slot =
		    af_keys_get(&w->by_later, AF_KEY(stack->process, stack->pcs[i]));

		for (uint32_t l = slot ? (uint32_t)*slot : 0; l && nr < LATER_TIMES;
		     l = w->later[l].before)
			times[nr++] = w->later[l].from_ns;
	}
	AF_SORT(times, nr, later_order);
	for (uint32_t i = 0; i < nr; i++)
		if (!unique || times[unique - 1] != times[i])
			times[unique++] = times[i];
	return unique;
}

void world_path_later(struct af_world *w, uint32_t i)
{
	const uint32_t of = w->paths[i].stack;
	uint64_t times[LATER_TIMES];

	if (!w->nr_later || !of)
		return;
	uint32_t nr = later_times(w, &w->stacks[of], times);
	if (nr > LATER_PATHS - w->nr_later_paths)
		return;
	w->nr_later_paths += nr;
	for (uint32_t k = 0; k < nr; k++) {
		uint32_t stack = WORLD_ADD(w, stacks), path = WORLD_ADD(w, paths);

		w->stacks[stack] = w->stacks[of];
		w->stacks[stack].at_ns = times[k];
		w->paths[path] = (struct af_path){.stack = stack,
		                                  .py_stack = w->paths[i].py_stack,
		                                  .process = w->paths[i].process};
		w->paths[i].later = k ? w->paths[i].later : path;
	}
	w->paths[i].nr_later = nr;
}

uint32_t af_world_later_path(const struct af_world *w, uint32_t path, uint64_t time_ns)
{
	const struct af_path *p = &w->paths[path];

	for (uint32_t k = p->nr_later; k--;)
		if (w->stacks[w->paths[p->later + k].stack].at_ns <= time_ns)
			return p->later + k;
	return path;
}

void world_learn_later(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_symbol_later fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails) || !fixed.from_ns)
		return;
	uint64_t *slot = af_keys_at(&w->by_symbol, AF_KEY(fixed.process, fixed.address), NULL);
	struct af_symbol *first = (struct af_symbol *)(uintptr_t)*slot;
	struct af_symbol *s = af_arena_alloc(&w->arena, sizeof *s);
	*s = (struct af_symbol){
	    .module = first ? first->module : 0,
	    .offset = first ? first->offset : fixed.address,
	    .source = fixed.source,
	    .nr_frames = tails[0].len / 3,
	    .frames = world_frames(w, ev, &tails[0]),
	    .from_ns = fixed.from_ns,
	    .next = first,
	};
	*slot = (uintptr_t)s;
}

const struct af_symbol *af_world_stack_symbol(const struct af_world *w,
                                              const struct af_stack *stack, uint64_t address)
{
	const uint64_t *slot =
	    stack->at_ns ? af_keys_get(&w->by_symbol, AF_KEY(stack->process, address)) : NULL;
	const struct af_symbol *plain = af_world_symbol(w, stack->process, address, stack->epoch);
	const struct af_symbol *best = NULL;

	for (const struct af_symbol *s = slot ? (void *)(uintptr_t)*slot : NULL; s; s = s->next)
		if (s->from_ns && s->from_ns <= stack->at_ns &&
		    (!best || s->from_ns > best->from_ns))
			best = s;
	/* Another epoch may have a file there. */
	return best && (!plain || plain->module == best->module) ? best : plain;
}
