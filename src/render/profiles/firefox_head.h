/*
 * The part before the threads in Firefox's processed profile.
 */
#ifndef AF_RENDER_PROFILES_FIREFOX_HEAD_H
#define AF_RENDER_PROFILES_FIREFOX_HEAD_H

#include "analyse/time/slices.h"
#include "base/buf.h"
#include "base/strtab.h"

/*
 * Begin the profile: its versions and start, a category for each layer (by enum af_frame), a schema
 * for each kind of slice, and the files of machine code, which are "path\tbuild-id" in @libs from 1
 * on. @all may be NULL: there are no times.
 */
void firefox_head(struct af_buf *b, const struct af_slices *all, const struct af_strtab *libs);

#endif
