/*
 * The syntax of frames and counts in folded text, for its readers: a frame is the same in a picture
 * of the text and in a trace that was imported from it.
 */
#ifndef AF_ANALYSE_TREE_FOLDED_TEXT_H
#define AF_ANALYSE_TREE_FOLDED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/tree/tree.h"

/*
 * The kind of a frame by its syntax; *@len loses the suffix. `[GPU_Kernel]name` and
 * `[GPU0_Kernel]name` of gpuperf's merged text are device frames and keep all their characters.
 */
enum af_frame af_frame_by_looks(const char *text, size_t *len);

struct af_folded_frame {
	const char *text;
	size_t len;  /* with the suffix of its kind */
	size_t bare; /* without */
	size_t size; /* with the `;` behind it */
	enum af_frame kind;
};

/*
 * The first frame of the stack from @p to @end, which is not empty. A `-` at the end of a frame
 * closes the CPU's part, and is a frame of its own, if the next frame ends in `_[G]`: iaprof writes
 * `submit-;kernel_[G]` and `submit;-;kernel_[G]`. Elsewhere it is part of a name.
 */
struct af_folded_frame af_folded_frame(const char *p, const char *end);

/*
 * iaprof's documentation has `;count` for ` count`: the start of the digits at the end of a line
 * whose last frame is a device's; NULL when there are none.
 */
const char *af_folded_slip(const char *line, const char *end);

/*
 * It also has all stalls of an instruction in one line, `…;mad(8) active=1234,send=567`: the start
 * of the list, after a blank; NULL when there is none.
 */
const char *af_folded_stalls(const char *line, const char *end);

struct af_folded_stall {
	const char *name;
	size_t len;
	uint64_t count; /* UINT64_MAX for larger counts */
};

/* The stall at *@p, which is advanced; false at the end of the list. */
bool af_folded_stall_next(const char **p, const char *end, struct af_folded_stall *s);

#endif
