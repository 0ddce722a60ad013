/*
 * What a Perfetto trace has besides tracks: samples of stacks (StackSample, which trace_processor
 * reads from v58 on) and works of devices as GPU render stages. Texts, mappings and frames are
 * interned; the fields are those of the published profile_common.proto, stack_sample.proto and
 * gpu_render_stage_event.proto.
 */
#ifndef AF_RENDER_PERFETTO_SAMPLES_H
#define AF_RENDER_PERFETTO_SAMPLES_H

#include <stdint.h>

#include "analyse/slices.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/strtab.h"

/* Of TracePacket. */
enum { PERFETTO_GPU_STAGE = 53, PERFETTO_STACK_SAMPLE = 135 };

struct perfetto_samples {
	struct af_strtab functions, files, mappings; /* ids are those of the trace */
	struct af_map frames, queues;                /* what is defined already */
	struct af_map tracks;                        /* → pid and tid */
	struct af_buf text;
	uint32_t *path;
	uint32_t cap_path;
	uint64_t nr_stages;
};

/* A zeroed struct is empty. */
void perfetto_samples_free(struct perfetto_samples *p);

/* Every track is told, before what lies on it. */
void perfetto_samples_track(struct perfetto_samples *p, const struct af_track *t);

/*
 * Write to @message the StackSample of a RUN with a stack, and to @interned what it needs that was
 * not yet there.
 */
void perfetto_stack_sample(struct perfetto_samples *p, const struct af_slices *all,
                           const struct af_slice *s, struct af_buf *interned,
                           struct af_buf *message);

/* The same of a WORK as a GpuRenderStageEvent; @name is the iid of its name as an event. */
void perfetto_gpu_stage(struct perfetto_samples *p, const struct af_slices *all,
                        const struct af_slice *s, uint32_t name, struct af_buf *interned,
                        struct af_buf *message);

#endif
