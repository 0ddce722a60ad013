/*
 * The frames of a call path, root first, as they appear in a tree: process, [truncated: …],
 * native functions with what was inlined into them, Python functions in place of the
 * interpreter's own frames.
 */
#ifndef AF_ANALYSE_FRAMES_H
#define AF_ANALYSE_FRAMES_H

#include <stdint.h>

#include "analyse/tree.h"
#include "analyse/world.h"

/* The node of @path (world index, 0: not known) in @t, its frames made as needed. */
uint32_t af_frames_node(struct af_tree *t, const struct af_world *w, uint32_t path,
                        uint32_t process);

#endif
