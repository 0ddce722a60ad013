/* What the formats of slices share: their tracks, and stacks as text. */
#ifndef AF_RENDER_SLICES_H
#define AF_RENDER_SLICES_H

#include <stdint.h>

#include "analyse/slices.h"
#include "base/buf.h"

struct af_tree;

/*
 * Append the frames of the stack that ends in @node, the innermost first, with @between them: at
 * most @most frames. The process at its root is none of them.
 */
void af_slices_stack_text(struct af_buf *b, const struct af_tree *stacks, uint32_t node,
                          const char *between, uint32_t most);

#endif
