/*
 * Device work in a Perfetto trace as its GPU render stages: viewers show it by GPU and queue, with
 * grid and group. The fields are those of the published gpu_render_stage_event.proto and
 * gpu_info.proto.
 */
#ifndef AF_RENDER_TIMELINE_PERFETTO_GPU_H
#define AF_RENDER_TIMELINE_PERFETTO_GPU_H

#include <stdint.h>

#include "analyse/time/slices.h"
#include "base/buf.h"
#include "base/map.h"

/* Fields of TracePacket. */
enum { PERFETTO_GPU_STAGE = 53, PERFETTO_GPU_INFO = 128 };

struct perfetto_gpu {
	struct af_map gpus;             /* device → its place in the GpuInfo */
	struct af_map queues, contexts; /* → iid */
	uint32_t stages;                /* bits of the operations that are defined */
	const char **names;             /* of tracks, by id */
	uint32_t cap_names;
	uint64_t nr_works;
};

/* A zeroed struct is empty. */
void perfetto_gpu_free(struct perfetto_gpu *p);

/* Write to @message the GpuInfo; false when there are no devices. */
bool perfetto_gpu_info(struct perfetto_gpu *p, const struct af_slices *all, struct af_buf *message);

/* Call it for every track, before the slices on it. */
void perfetto_gpu_track(struct perfetto_gpu *p, const struct af_track *t);

/*
 * Write to @message the GpuRenderStageEvent of a WORK with a descriptor, and to @interned the
 * entries that it needs and that are new; @name is the iid of its name as an event.
 */
void perfetto_gpu_stage(struct perfetto_gpu *p, const struct af_slices *all,
                        const struct af_slice *s, uint32_t name, struct af_buf *interned,
                        struct af_buf *message);

#endif
