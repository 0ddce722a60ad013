/*
 * Stacks in a Perfetto trace: of its events, and samples of them (StackSample, which
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

/* Of TracePacket. */
enum { PERFETTO_STACK_SAMPLE = 135 };

struct perfetto_samples {
	struct af_strtab functions, files, mappings; /* ids are those of the trace */
	struct af_map frames, callstacks;            /* → iid */
	struct af_map tracks;                        /* → pid and tid */
	uint32_t *path;
	uint32_t cap_path;
};

/* A zeroed struct is empty. */
void perfetto_samples_free(struct perfetto_samples *p);

/* Write to TracePacketDefaults what all samples have: who took them, and that they weigh ns. */
void perfetto_samples_defaults(struct af_buf *defaults);

/* Every track is told, before what lies on it. */
void perfetto_samples_track(struct perfetto_samples *p, const struct af_track *t);

/*
 * The iid of the stack that ends in a node of @t, and to @interned what it needs that was not yet
 * there. 0 of one without frames: the process at its root is none, as the track says it.
 */
uint32_t perfetto_callstack(struct perfetto_samples *p, const struct af_tree *t, uint32_t node,
                            struct af_buf *interned);

/* Write to @message the StackSample of a RUN with a stack, to @interned what it needs. */
void perfetto_stack_sample(struct perfetto_samples *p, const struct af_slices *all,
                           const struct af_slice *s, struct af_buf *interned,
                           struct af_buf *message);

#endif
