/*
 * Shared by the formats of slices: their tracks, and stacks as text.
 */
#ifndef AF_RENDER_TIMELINE_SLICES_H
#define AF_RENDER_TIMELINE_SLICES_H

#include <stdint.h>

#include "analyse/time/slices.h"
#include "base/buf.h"

struct af_format;
struct af_render;
struct af_tree;

/* Hands slices to a format that has begun; the caller owns what @to points at. */
struct af_slices_to {
	const struct af_format *format;
	struct af_render *render;
};
struct af_slices_sink af_slices_sink(struct af_slices_to *to);

/*
 * Append the frames of the stack that ends in @node, the innermost first, with @between them: at
 * most @most frames. The process at its root is left out.
 */
void af_slices_stack_text(struct af_buf *b, const struct af_tree *stacks, uint32_t node,
                          const char *between, uint32_t most);

#endif
