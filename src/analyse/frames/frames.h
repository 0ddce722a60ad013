/*
 * The frames of a stack location, root first, as they appear in a tree: the process, a mark that
 * tells why the user part is not whole, native functions with the functions inlined into them,
 * Python functions in place of the interpreter's own frames, and above them the kernel's frames.
 *
 * Marks: [truncated: …] where the walk had to end, or in the middle where frames were left out.
 * [frame pointers only] where the walk followed only frame pointers and did not reach the start of
 * a process or a thread: then nothing tells whether callers are missing (where it did reach the
 * start, the stack counts as complete). [stack not recorded] and, below frames of the kernel whose
 * user part never came, [user stack not recorded].
 */
#ifndef AF_ANALYSE_FRAMES_FRAMES_H
#define AF_ANALYSE_FRAMES_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "analyse/world/stack_locations.h"
#include "analyse/world/world.h"

/* Is the imported stack of @at a device's, by its innermost frame? */
bool af_frames_on_device(const struct af_world *w, const struct af_stack_location *at);

/* The node of @at in @t, its frames made as needed. */
uint32_t af_frames_node(struct af_tree *t, const struct af_world *w,
                        const struct af_stack_location *at);

/* The same without its process, below @node. */
uint32_t af_frames_place(struct af_tree *t, const struct af_world *w, uint32_t node,
                         const struct af_stack_location *at);

/* Add below @node the names of the ranges that enclose @doing, of w->annotations. */
uint32_t af_frames_ranges(struct af_tree *t, const struct af_world *w, uint32_t node,
                          uint32_t doing);

/* The frame of the process with this ordinal: the first of all its stacks. */
uint32_t af_frames_process(struct af_tree *t, const struct af_world *w, uint32_t process);

/*
 * Add below @node the frames of @path, an index of the world (0: not in the trace), up to the call
 * of a device's API. The frames between the call and our interposer are left out: the driver,
 * CUPTI, and the inner functions of the CUDA runtime; the runtime's own function stays.
 */
uint32_t af_frames_call(struct af_tree *t, const struct af_world *w, uint32_t node, uint32_t path);

/*
 * Add below @node the frames of @path up to an operation of PyTorch, without PyTorch's frames that
 * report to profilers.
 */
uint32_t af_frames_operation(struct af_tree *t, const struct af_world *w, uint32_t node,
                             uint32_t path);

/* The child of @parent with the NUL-terminated @text as its name. */
uint32_t af_frames_under(struct af_tree *t, uint32_t parent, const char *text, enum af_frame kind);

/*
 * Did the walk of @stack reach the start of its process or thread? For stacks by frame pointers it
 * is known only when the world has all names.
 */
bool af_frames_whole(const struct af_world *w, const struct af_stack *stack);

#endif
