/*
 * Writes a finished analysis to a file, in the format that the file's name selects.
 */
#ifndef AF_CMD_OUTPUT_PICTURE_H
#define AF_CMD_OUTPUT_PICTURE_H

#include "analyse/pass/pass.h"
#include "cmd/output/atomic_write.h"
#include "render/render.h"

struct af_err;
struct af_picture_ahead;

/*
 * Write @tree (with @label, may be NULL) or, when @tree is NULL, all views, and the facts, as
 * @format to @to. A timeline in the format comes from the trace in @dir, unless that is NULL. The
 * file is replaced only when all of it could be written.
 */
struct af_picture_request {
	const struct af_format *format;
	struct af_output to;
	const struct af_picture *picture;
	const struct af_results *results; /* may be NULL: no facts, then tree is set */
	/* NULL, or the same results, of which trees are closed when they are in the page. */
	struct af_results *spent;
	const struct af_tree *tree;
	const char *label;
	const char *dir;                /* that the results are of */
	bool png;                       /* @format is svg: convert it, see png.h */
	struct af_picture_ahead *ahead; /* reads the slices of @dir; or NULL */
};

/*
 * Write the picture to request->to; a format with slices reads the trace a second time for them,
 * unless request->ahead does.
 * The file is written as af_atomic_write() does. 0, or -errno with a message.
 */
int af_picture_write(const struct af_picture_request *request, struct af_err *err);

extern const char *const af_view_names[AF_VIEWS];

/* The number of the view with this name; AF_VIEW_ALL for a name that is none. */
int af_view_index(const char *name);

#endif
