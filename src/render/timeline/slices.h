/*
 * Shared by the formats of slices: handing over, texts of works, and stacks as text.
 */
#ifndef AF_RENDER_TIMELINE_SLICES_H
#define AF_RENDER_TIMELINE_SLICES_H

#include <stdbool.h>
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
 * The texts that a format writes for the latest descriptors, so that it makes each once for many
 * works. A zeroed struct is empty.
 */
struct af_slices_works {
	struct af_slices_work {
		uint32_t descriptor;
		const void *config; /* that it had */
		struct af_buf text;
	} * latest;
};
void af_slices_works_free(struct af_slices_works *works);

/* The text of a descriptor of @all, not 0. *@fresh: it is empty, and the caller fills it. */
struct af_buf *af_slices_work_text(struct af_slices_works *works, const struct af_slices *all,
                                   uint32_t descriptor, bool *fresh);

/*
 * Append the frames of the stack that ends in @node, the innermost first, with @between them: at
 * most @most frames. The process at its root is left out.
 */
void af_slices_stack_text(struct af_buf *b, const struct af_tree *stacks, uint32_t node,
                          const char *between, uint32_t most);

#endif
