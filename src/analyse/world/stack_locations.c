#include "analyse/world/stack_locations.h"

#include <stdlib.h>

#include "analyse/world/world.h"
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
