/*
 * Names in a Perfetto trace: those of slices, their categories and their arguments. All are
 * interned; the fields are those of the published interned_data.proto and debug_annotation.proto.
 */
#ifndef AF_RENDER_TIMELINE_PERFETTO_NAMES_H
#define AF_RENDER_TIMELINE_PERFETTO_NAMES_H

#include <stdint.h>

#include "analyse/time/slices.h"
#include "base/buf.h"
#include "render/timeline/slices.h"

struct perfetto_names {
	uint32_t *names; /* iids, by id; 0: none yet */
	uint32_t cap_names, nr_names;
	uint32_t categories;       /* bits of those that are defined */
	uint32_t args[AF_ARG_END]; /* iids; 0: none yet */
	uint32_t nr_args;
	struct af_slices_works works;
};

/* A zeroed struct is empty. */
void perfetto_names_free(struct perfetto_names *p);

/* The iids of a category and of a name of @all; new entries are written to @interned. */
uint32_t perfetto_category(struct perfetto_names *p, enum af_slice_kind kind,
                           struct af_buf *interned);
uint32_t perfetto_name(struct perfetto_names *p, const struct af_slices *all, uint32_t name,
                       struct af_buf *interned);

/* Append to the TrackEvent @event the arguments of a slice, and their new names to @interned. */
void perfetto_args(struct perfetto_names *p, const struct af_slices *all, const struct af_slice *s,
                   struct af_buf *interned, struct af_buf *event);

#endif
