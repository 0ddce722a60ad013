/*
 * The frames of a place, root first, as they appear in a tree: process, a mark that says why the
 * user part is not whole, native functions with what was inlined into them, Python functions in
 * place of the interpreter's own frames, and above them what the kernel did for it all.
 *
 * Marks: [truncated: …] where the walk had to end, or in the middle where frames were left out;
 * [frame pointers only] where it followed those alone and did not get to where a process or a
 * thread starts (then nothing tells whether callers are missing; where it did, the stack goes for
 * complete); [stack not recorded] and, below frames of the kernel whose user part never came, [user
 * stack not recorded].
 */
#ifndef AF_ANALYSE_FRAMES_FRAMES_H
#define AF_ANALYSE_FRAMES_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "analyse/world/places.h"
#include "analyse/world/world.h"

/* Whether what was imported for @at is of a device: its innermost frame looks so. */
bool af_frames_on_device(const struct af_world *w, const struct af_place *at);

/* The node of @at in @t, its frames made as needed. */
uint32_t af_frames_node(struct af_tree *t, const struct af_world *w, const struct af_place *at);

/* The same without its process, below @node. */
uint32_t af_frames_place(struct af_tree *t, const struct af_world *w, uint32_t node,
                         const struct af_place *at);

/* Below @node the names of the ranges that @doing, of w->doings, is inside of. */
uint32_t af_frames_ranges(struct af_tree *t, const struct af_world *w, uint32_t node,
                          uint32_t doing);

/* The frame of the process with this ordinal: the first of all its stacks. */
uint32_t af_frames_process(struct af_tree *t, const struct af_world *w, uint32_t process);

/*
 * Below @node the frames of @path, an index of the world, 0 for a path that the trace does not
 * have, up to the call of a device's API: what lies between it and us is left out, the driver and
 * CUPTI, and what the CUDA runtime calls within itself; its own function stays.
 */
uint32_t af_frames_call(struct af_tree *t, const struct af_world *w, uint32_t node, uint32_t path);

/*
 * Below @node the frames of @path up to an operation of PyTorch: without what it does to tell
 * profilers of itself.
 */
uint32_t af_frames_operation(struct af_tree *t, const struct af_world *w, uint32_t node,
                             uint32_t path);

/* The child of @parent with the NUL-terminated @text as its name. */
uint32_t af_frames_under(struct af_tree *t, uint32_t parent, const char *text, enum af_frame kind);

/*
 * Did the walk of @stack get to where its process or thread starts? Of stacks by frame pointers
 * only known when the world has all names.
 */
bool af_frames_whole(const struct af_world *w, const struct af_stack *stack);

#endif
