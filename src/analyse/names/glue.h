/*
 * Glue: frames of interpreters and of call plumbing, which stand between the functions that people
 * wrote. viewer/transforms.js has the same rules for pages; both are held to tests/unit/glue.txt.
 */
#ifndef AF_ANALYSE_NAMES_GLUE_H
#define AF_ANALYSE_NAMES_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/tree/tree.h"

/* Is a frame of this text and kind glue? @module: its file of machine code, or NULL. */
bool af_glue_is(const char *text, size_t len, enum af_frame frame, const char *module);

/*
 * Open @dst, finished, as @src without glue: a hidden frame's own weight is its caller's. @src must
 * outlive it and is not ordered. Returns how many frames are hidden; with 0 there is no @dst.
 */
uint32_t af_glue_hide(struct af_tree *dst, const struct af_tree *src);

#endif
