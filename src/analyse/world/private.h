/*
 * Shared by the files of the world: its tables, and copying out of events.
 */
#ifndef AF_ANALYSE_WORLD_PRIVATE_H
#define AF_ANALYSE_WORLD_PRIVATE_H

#include <stdlib.h>
#include <string.h>

#include "analyse/world/world.h"

/* Make room for one more in an array that starts at index 1; returns its index. */
#define WORLD_ADD(w, array)                                                                        \
	({                                                                                         \
		(w)->nr_##array += !(w)->nr_##array;                                               \
		AF_GROW((w)->array, (w)->nr_##array, (w)->cap_##array);                            \
		if ((w)->nr_##array == 1)                                                          \
			memset((w)->array, 0, sizeof *(w)->array);                                 \
		(w)->nr_##array++;                                                                 \
	})

static inline uint64_t world_key(uint32_t scope, uint32_t id)
{
	/*
	 * The analyzer takes what annotations.c moved within an array for memory that nobody wrote.
	 */
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	return (uint64_t)scope << 32 | id;
}

static inline uint32_t world_find(const struct af_map *m, uint32_t scope, uint32_t id)
{
	const uint64_t *v = af_map_get(m, world_key(scope, id));
	return v ? (uint32_t)*v : 0;
}

/* @key means @index from now on; most keys get one meaning for good. */
static inline void world_set(struct af_world *w, struct af_map *map, uint64_t key, uint32_t index)
{
	bool fresh;
	uint64_t *slot = af_map_at(map, key, &fresh);

	w->redefined |= !fresh;
	*slot = index;
}

/* An id is small when it is not far beyond the number of those that its stream defined. */
static inline void world_small_set(struct af_small_ids *ids, uint32_t stream, uint32_t id,
                                   uint32_t index)
{
	AF_REACH(ids->streams, stream, ids->cap);
	struct af_small_ids_stream *s = &ids->streams[stream];
	s->nr++;
	if (id >= s->cap && id >= 64 + 4 * (uint64_t)s->nr)
		return;
	AF_REACH(s->of, id, s->cap);
	s->of[id] = index;
}

static inline void world_small_free(struct af_small_ids *ids)
{
	for (uint32_t i = 0; i < ids->cap; i++)
		free(ids->streams[i].of);
	free(ids->streams);
}

static inline const char *world_text(struct af_world *w, const struct af_tail_view *v)
{
	return af_arena_strdup(&w->arena, (const char *)v->data, v->len);
}

static inline const uint64_t *world_u64s(struct af_world *w, const struct af_tail_view *v)
{
	uint64_t *copy = af_arena_alloc(&w->arena, (size_t)v->len * 8);
	memcpy(copy, v->data, (size_t)v->len * 8);
	return copy;
}

/* Events of processes and threads; each function learns from the kind in its name. */
void world_learn_process(struct af_world *w, const struct af_event *ev);
void world_learn_process_end(struct af_world *w, const struct af_event *ev);
void world_learn_process_note(struct af_world *w, const struct af_event *ev);
void world_learn_thread(struct af_world *w, const struct af_event *ev);
void world_learn_comm(struct af_world *w, const struct af_event *ev);
void world_learn_note(struct af_world *w, const struct af_event *ev);

/* The path @i, just learned, gets others for the times at which its addresses have other names. */
void world_path_later(struct af_world *w, uint32_t i);
/* SYMBOL_LATER */
void world_learn_later(struct af_world *w, const struct af_event *ev);
/* Copies the frames of a symbol; their strings become those of the world. */
const uint32_t *world_frames(struct af_world *w, const struct af_event *ev,
                             const struct af_tail_view *v);

/* Events of devices and their work; each function learns from the kind in its name. */
void world_learn_device(struct af_world *w, const struct af_event *ev);
void world_learn_device_note(struct af_world *w, const struct af_event *ev);
void world_learn_queue(struct af_world *w, const struct af_event *ev);
void world_learn_kernel(struct af_world *w, const struct af_event *ev);
void world_learn_descriptor(struct af_world *w, const struct af_event *ev);
void world_learn_config(struct af_world *w, const struct af_event *ev); /* LAUNCH_CONFIG */
void world_learn_function(struct af_world *w, const struct af_event *ev);
void world_learn_api(struct af_world *w, const struct af_event *ev);
/* Is the function of the call @ev, of a traced API, new? */
bool world_learns_api(const struct af_world *w, const struct af_event *ev);
void world_learn_call_sum(struct af_world *w, const struct af_event *ev);
void world_learn_node(struct af_world *w, const struct af_event *ev); /* GRAPH_NODE */

/*
 * @name demangled, for an OpenMP region "scale:17 target region", or unchanged; a string that lives
 * as long as the world.
 */
const char *world_shown(struct af_world *w, const char *name);

/* Learns the build-id of a mapped file. */
void world_learn_mapping(struct af_world *w, const struct af_event *ev);

/* Events of device code. */
void world_learn_program(struct af_world *w, const struct af_event *ev);
void world_learn_crc(struct af_world *w, const struct af_event *ev); /* PROGRAM_CRC */
void world_learn_code(struct af_world *w, const struct af_event *ev);
void world_learn_kernel_code(struct af_world *w, const struct af_event *ev);
void world_learn_stall(struct af_world *w, const struct af_event *ev);
void world_learn_counter(struct af_world *w, const struct af_event *ev);

#endif
