/*
 * Stack locations of threads: a call path in user mode and the kernel's stack above it, both
 * indexes of the world. Equal locations have one dense number, so that weights can be added up
 * before anything has a name.
 */
#ifndef AF_ANALYSE_WORLD_STACK_LOCATIONS_H
#define AF_ANALYSE_WORLD_STACK_LOCATIONS_H

#include <stdint.h>

#include "base/map.h"

struct af_event;
struct af_world;

/* Besides an index, 0 is a path that the trace does not have. */
#define AF_PATH_NONE UINT32_MAX         /* there is none: a kernel thread */
#define AF_PATH_MISSED (UINT32_MAX - 1) /* there was one, but it never came */

#define AF_KSTACK_MISSED UINT32_MAX /* in the kernel, without its stack; 0: not in the kernel */

struct af_stack_location {
	uint32_t process; /* ordinal */
	uint32_t path;    /* index of the world or AF_PATH_… */
	uint32_t kstack;  /* index of the world, 0, or AF_KSTACK_MISSED */
	uint32_t tid;     /* its thread, if w->threads_apart; else 0 */
};

struct af_stack_locations {
	struct af_stack_location *all; /* by number, from 0 */
	uint32_t nr, cap;
	struct af_map by_place, by_thread; /* private */
	uint32_t
	    *of_path; /* private: number plus 1 of the path alone, if no thread is told apart */
	uint32_t cap_paths;
};

/* A zeroed struct is empty. */
void af_stack_locations_free(struct af_stack_locations *p);
uint32_t af_stack_locations_number(struct af_stack_locations *p,
                                   const struct af_stack_location *at);

/* The stack location of a kernel event, from ids of its stream; 0 for a missing part. */
struct af_stack_location af_place_of(const struct af_world *w, const struct af_event *ev,
                                     uint32_t callpath, uint32_t kstack);

#endif
