/* An annotated kernel (analyse/annotate/annotate.h) as text for a terminal. */
#ifndef AF_RENDER_TEXT_ANNOTATE_H
#define AF_RENDER_TEXT_ANNOTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct af_table;

struct af_annotate_look {
	bool by_insn; /* instructions in their order; else source lines, with theirs beside them */
	uint32_t limit; /* lines or instructions of most samples, 0: all */
	uint32_t width; /* columns */
	bool colour;
};

enum { AF_ANNOTATE_BESIDE = 150 }; /* columns from which on instructions stand beside the source */

/* The tables from @first, named "kernel", to the next of that name. */
void af_annotate_text(struct af_buf *b, const struct af_table *first,
                      const struct af_annotate_look *look);

/* The meaning of the stall reasons in @reasons, and advice against the heaviest. */
void af_annotate_legend(struct af_buf *b, const struct af_table *reasons,
                        const struct af_annotate_look *look);

#endif
