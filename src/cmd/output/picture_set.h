/* The timeline of a set in a page: that of its ranks, on one clock. */
#ifndef AF_CMD_OUTPUT_PICTURE_SET_H
#define AF_CMD_OUTPUT_PICTURE_SET_H

#include "cmd/output/picture.h"

struct af_slices;

enum { AF_PICTURE_RANKS = 64 }; /* ranks that have a timeline, at most */

/*
 * Hand the slices of the ranks of request->dir to the format in @r. Of more than AF_PICTURE_RANKS
 * only some have a timeline: those that are odd or typical first. A rank that cannot be read has
 * none. *@all gets the sums over all of them, and becomes r->slices, so it has to live until the
 * format's end.
 */
int af_set_picture(struct af_render *r, const struct af_picture_request *request,
                   struct af_slices *all, struct af_err *err);

#endif
