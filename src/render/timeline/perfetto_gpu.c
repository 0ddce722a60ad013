#include "render/timeline/perfetto_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/protobuf.h"

enum {
	INFO_GPU = 1,
	GPU_NAME = 1,
	GPU_VENDOR = 2,

	INTERNED_CONTEXT = 23, /* graphics_contexts */
	INTERNED_SPECIFICATION = 24,
	IID = 1,
	CONTEXT_PID = 2,
	CONTEXT_API = 3,
	API_OPENCL = 3,
	API_CUDA = 4,
	API_HIP = 5,
	SPECIFICATION_NAME = 2,
	SPECIFICATION_CATEGORY = 4,
	CATEGORY_OTHER = 0,
	CATEGORY_COMPUTE = 2,

	STAGE_ID = 1,
	STAGE_DURATION = 2,
	STAGE_CONTEXT = 5,
	STAGE_SUBMISSION = 10,
	STAGE_GPU = 11,
	STAGE_QUEUE = 13,
	STAGE_STAGE = 14,
	STAGE_NAME = 20,
	STAGE_LAUNCH = 21,
	LAUNCH_GRID = 1,
	LAUNCH_GROUP = 2,
};

/* Ids of the specifications: stages by their operation, then queues. */
enum { FIRST_STAGE = 1, FIRST_QUEUE = 64 };

void perfetto_gpu_free(struct perfetto_gpu *p)
{
	af_map_free(&p->gpus);
	af_map_free(&p->queues);
	af_map_free(&p->contexts);
	free(p->names);
}

static uint64_t key_of(uint32_t process, uint32_t id)
{
	return (uint64_t)process << 32 | id;
}

/* Processes number devices each for itself: a GPU that has a UUID is one in all of them. */
bool perfetto_gpu_info(struct perfetto_gpu *p, const struct af_slices *all, struct af_buf *message)
{
	const struct af_world *w = all->world;
	struct af_map by_uuid = {0};
	uint32_t nr = 0;

	for (uint32_t i = 1; i < w->nr_devices; i++) {
		const struct af_device *d = &w->devices[i];
		uint32_t uuid = af_world_gpu(w, d->process, d->id);
		bool fresh = true;
		uint64_t *known = uuid ? af_map_at(&by_uuid, uuid, &fresh) : NULL;

		if (known && fresh)
			*known = nr;
		*af_map_at(&p->gpus, key_of(d->process, d->id), NULL) = known ? *known : nr;
		if (!fresh)
			continue;
		size_t at = af_pb_open(message, INFO_GPU);
		af_pb_utf8(message, GPU_NAME, d->name, strlen(d->name));
		af_pb_utf8(message, GPU_VENDOR, d->vendor, strlen(d->vendor));
		af_pb_close(message, at);
		nr++;
	}
	af_map_free(&by_uuid);
	return nr;
}

void perfetto_gpu_track(struct perfetto_gpu *p, const struct af_track *t)
{
	AF_GROW(p->names, t->id, p->cap_names);
	p->names[t->id] = t->name;
}

static void put_specification(uint32_t iid, const char *name, uint32_t category,
                              struct af_buf *interned)
{
	size_t at = af_pb_open(interned, INTERNED_SPECIFICATION);

	af_pb_varint(interned, IID, iid);
	af_pb_utf8(interned, SPECIFICATION_NAME, name, strlen(name));
	af_pb_varint(interned, SPECIFICATION_CATEGORY, category);
	af_pb_close(interned, at);
}

static uint32_t stage_iid(struct perfetto_gpu *p, uint32_t op, struct af_buf *interned)
{
	uint32_t known = op < AF_OP_END ? op : 0;

	if (!(p->stages & 1u << known))
		put_specification(FIRST_STAGE + known, af_op_text(op),
		                  op == AF_OP_KERNEL ? CATEGORY_COMPUTE : CATEGORY_OTHER, interned);
	p->stages |= 1u << known;
	return FIRST_STAGE + known;
}

/* It has the name of the track that the work lies on. */
static uint32_t queue_iid(struct perfetto_gpu *p, uint64_t key, uint32_t track,
                          struct af_buf *interned)
{
	bool fresh;
	uint64_t *iid = af_map_at(&p->queues, key, &fresh);

	if (fresh) {
		*iid = FIRST_QUEUE + p->queues.nr;
		put_specification((uint32_t)*iid, p->names[track], CATEGORY_OTHER, interned);
	}
	return (uint32_t)*iid;
}

/* A context a process and API: it says which the work is of. */
static uint32_t context_iid(struct perfetto_gpu *p, const struct af_slices *all, uint32_t process,
                            uint32_t api, struct af_buf *interned)
{
	static const uint8_t apis[] = {
	    [AF_API_OPENCL] = API_OPENCL, [AF_API_CUDA] = API_CUDA, [AF_API_HIP] = API_HIP};
	const struct af_process *is = af_world_process(all->world, process);
	bool fresh;
	uint64_t *iid = af_map_at(&p->contexts, key_of(process, api), &fresh);

	if (!fresh)
		return (uint32_t)*iid;
	*iid = p->contexts.nr;
	size_t at = af_pb_open(interned, INTERNED_CONTEXT);
	af_pb_varint(interned, IID, *iid);
	af_pb_varint(interned, CONTEXT_PID, is ? is->pid : 0);
	af_pb_varint(interned, CONTEXT_API, api < sizeof apis ? apis[api] : 0);
	af_pb_close(interned, at);
	return (uint32_t)*iid;
}

static void put_size(struct af_buf *b, uint32_t field, uint64_t x, uint64_t y, uint64_t z)
{
	const uint64_t sizes[] = {x, y, z};
	size_t at = af_pb_open(b, field);

	for (uint32_t i = 0; i < 3; i++)
		af_pb_varint(b, i + 1, (uint32_t)sizes[i]);
	af_pb_close(b, at);
}

static void put_launch(struct af_buf *b, const struct af_ev_descriptor *is)
{
	if (is->op != AF_OP_KERNEL || !is->local_x || !is->local_y || !is->local_z)
		return;
	size_t at = af_pb_open(b, STAGE_LAUNCH);
	put_size(b, LAUNCH_GRID, is->global_x / is->local_x, is->global_y / is->local_y,
	         is->global_z / is->local_z);
	put_size(b, LAUNCH_GROUP, is->local_x, is->local_y, is->local_z);
	af_pb_close(b, at);
}

void perfetto_gpu_stage(struct perfetto_gpu *p, const struct af_slices *all,
                        const struct af_slice *s, uint32_t name, struct af_buf *interned,
                        struct af_buf *message)
{
	const struct af_work_descriptor *descriptor = &all->world->descriptors[s->descriptor];
	uint32_t process = descriptor->process;
	const struct af_queue *queue = af_world_queue(all->world, process, descriptor->is.queue);
	const struct af_device *d =
	    queue ? af_world_device(all->world, process, queue->device) : NULL;
	const uint64_t *gpu = d ? af_map_get(&p->gpus, key_of(process, d->id)) : NULL;

	af_pb_varint(message, STAGE_ID, ++p->nr_works);
	af_pb_varint(message, STAGE_DURATION, s->end_ns - s->start_ns);
	af_pb_varint(message, STAGE_CONTEXT,
	             context_iid(p, all, process, d ? d->api : 0, interned));
	af_pb_varint(message, STAGE_SUBMISSION, (uint32_t)s->correlation);
	if (gpu)
		af_pb_varint(message, STAGE_GPU, *gpu);
	af_pb_varint(message, STAGE_QUEUE,
	             queue_iid(p, key_of(process, descriptor->is.queue), s->track, interned));
	af_pb_varint(message, STAGE_STAGE, stage_iid(p, descriptor->is.op, interned));
	af_pb_varint(message, STAGE_NAME, name);
	put_launch(message, &descriptor->is);
}
