/*
 * The source locations of frames, by the world's knowledge, for trees that keep locations. Texts
 * belong to the world, or to the data of the caller.
 */
#ifndef AF_ANALYSE_FRAMES_FRAME_LOCATIONS_H
#define AF_ANALYSE_FRAMES_FRAME_LOCATIONS_H

#include "analyse/tree/tree.h"
#include "analyse/world/world.h"

/*
 * The location of the address that @s describes, in @process (0: the kernel). It names the module
 * and the address, and no function.
 */
struct af_location af_location_address(const struct af_world *w, uint32_t process,
                                       const struct af_symbol *s);

/* The location of function @i of those inlined at the address of @s; 0 is the innermost. */
struct af_location af_location_function(const struct af_world *w, uint32_t process,
                                        const struct af_symbol *s, uint32_t i);

/* The location of the byte at @offset of @code, an index of w->codes. */
struct af_location af_location_device(const struct af_world *w, uint32_t code, uint64_t offset);

/* The location of a process, by its ordinal. */
struct af_location af_location_process(const struct af_world *w, uint32_t process);

/* The child of @parent with this NUL-terminated text and location. */
uint32_t af_frames_at(struct af_tree *t, uint32_t parent, const char *text, enum af_frame kind,
                      const struct af_location *location);

/* The child of @node for the thread @tid of @process: "[thread NAME 1234]". */
uint32_t af_frames_thread(struct af_tree *t, const struct af_world *w, uint32_t node,
                          uint32_t process, uint32_t tid);

#endif
