/*
 * Stacks in a Perfetto trace: those of its events, and stack samples (StackSample, which
 * trace_processor reads from v58 on). Texts, mappings, frames and stacks are interned; the fields
 * are those of the published profile_common.proto and stack_sample.proto.
 */
#ifndef AF_RENDER_TIMELINE_PERFETTO_SAMPLES_H
#define AF_RENDER_TIMELINE_PERFETTO_SAMPLES_H

#include <stdint.h>

#include "analyse/time/slices.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/strtab.h"

/* Fields of TracePacket. */
enum { PERFETTO_STACK_SAMPLE = 135 };

struct perfetto_samples {
	struct af_strtab functions, files, mappings; /* ids are those of the trace */
	uint32_t *frames, *callstacks;               /* iids by name and by node, 0: none yet */
	uint32_t cap_frames, cap_callstacks, nr_frames, nr_callstacks;
	struct af_map tracks; /* → pid and tid */
	uint32_t *path;
	uint32_t cap_path;
};

/* A zeroed struct is empty. */
void perfetto_samples_free(struct perfetto_samples *p);

/* Write to TracePacketDefaults the part common to all samples: their source, and their unit, ns. */
void perfetto_samples_defaults(struct af_buf *defaults);

/* Call it for every track, before the slices on it. */
void perfetto_samples_track(struct perfetto_samples *p, const struct af_track *t);

/*
 * The iid of the stack that ends in a node of @t; new entries that it needs are written to
 * @interned. 0 for a stack without frames: the process at its root does not count, because the
 * track names it.
 */
uint32_t perfetto_callstack(struct perfetto_samples *p, const struct af_tree *t, uint32_t node,
                            struct af_buf *interned);

/* Write to @message the StackSample of a RUN with a stack, and to @interned the new entries. */
void perfetto_stack_sample(struct perfetto_samples *p, const struct af_slices *all,
                           const struct af_slice *s, struct af_buf *interned,
                           struct af_buf *message);

#endif
