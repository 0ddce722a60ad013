/* The timeline of a set in a page: that of its ranks, on one clock. */
#ifndef AF_CMD_OUTPUT_PICTURE_SET_H
#define AF_CMD_OUTPUT_PICTURE_SET_H

#include "cmd/output/picture.h"

struct af_slices;

/* Ranks that have a timeline, at most, and the size of their traces, but for the first one. */
enum { AF_PICTURE_RANKS = 64 };
#define AF_PICTURE_BYTES (UINT64_C(96) << 20)

/*
 * Hand the slices of the ranks of request->dir to the format in @r. Where there are more ranks, or
 * bytes, than the above, only some have a timeline: those that are odd or typical first. A rank
 * that cannot be read has none. *@all gets the sums over all of them, and becomes r->slices, so it
 * has to live until the format's end.
 */
int af_set_picture(struct af_render *r, const struct af_picture_request *request,
                   struct af_slices *all, struct af_err *err);

#endif
