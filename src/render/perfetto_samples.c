#include "render/perfetto_samples.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree.h"
#include "analyse/world.h"
#include "base/arena.h"
#include "render/profile.h"
#include "render/protobuf.h"

enum {
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_BUILD_ID = 16,
	INTERNED_MAPPING_PATH = 17,
	INTERNED_SOURCE_PATH = 18,
	INTERNED_MAPPING = 19,
	INTERNED_CONTEXT = 23, /* graphics_contexts */
	INTERNED_SPECIFICATION = 24,
	IID = 1,
	IS = 2,

	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_PC = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	FRAME_KIND = 7,
	FRAME_KIND_TEXT = 8,
	KIND_NATIVE = 1,
	KIND_KERNEL = 2,
	KIND_INTERPRETED = 3,
	KIND_JIT = 4,
	MAPPING_BUILD_ID = 2,
	MAPPING_PATH = 7,

	SAMPLE_TASK = 1,
	SAMPLE_STACK = 5,
	SAMPLE_COUNTER = 9,
	SAMPLE_WEIGHT = 11,
	TASK_PID = 2,
	TASK_TID = 3,
	STACK_FRAME = 2,
	COUNTER_NAME = 2,
	COUNTER_UNIT = 3,
	UNIT_NANOSECONDS = 1,

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
	CONTEXT_PID = 2,
	CONTEXT_API = 3,
	API_OPENCL = 3,
	API_CUDA = 4,
	SPECIFICATION_CATEGORY = 4,
	CATEGORY_COMPUTE = 2,
};

/* Of the specifications: stages by their operation, then queues. */
enum { FIRST_STAGE = 1, FIRST_QUEUE = 64 };

void perfetto_samples_free(struct perfetto_samples *p)
{
	af_strtab_free(&p->functions);
	af_strtab_free(&p->files);
	af_strtab_free(&p->mappings);
	af_map_free(&p->frames);
	af_map_free(&p->queues);
	af_map_free(&p->tracks);
	af_buf_free(&p->text);
	free(p->path);
}

void perfetto_samples_track(struct perfetto_samples *p, const struct af_track *t)
{
	*af_map_at(&p->tracks, t->id, NULL) = (uint64_t)t->pid << 32 | t->tid;
}

static void put_text(struct perfetto_samples *p, struct af_buf *b, uint32_t field, const char *text,
                     size_t len)
{
	p->text.len = 0;
	af_buf_utf8(&p->text, text, len);
	pb_bytes(b, field, p->text.data, p->text.len);
}

/* The iid of a text, which is interned as @field where it is new. */
static uint32_t text_iid(struct perfetto_samples *p, struct af_strtab *texts, uint32_t field,
                         const char *text, size_t len, struct af_buf *interned)
{
	uint32_t before = texts->nr, iid = af_strtab_id(texts, text, len);

	if (iid < before || !iid)
		return iid;
	size_t at = pb_open(interned, field);
	pb_varint(interned, IID, iid);
	put_text(p, interned, IS, text, len);
	pb_close(interned, at);
	return iid;
}

/* Two digits a byte, as build-ids are in a spot. */
static void put_hex(struct af_buf *b, uint32_t field, const char *hex)
{
	uint8_t bytes[64];
	size_t nr = 0;

	for (; hex[0] && hex[1] && nr < sizeof bytes; hex += 2) {
		const char digits[3] = {hex[0], hex[1], 0};
		bytes[nr++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	pb_bytes(b, field, bytes, nr);
}

/* Path, build-id and mapping have one iid. */
static uint32_t mapping_iid(struct perfetto_samples *p, const struct af_spot *spot,
                            struct af_buf *interned)
{
	struct af_buf key = {0};
	uint32_t before = p->mappings.nr;

	if (!spot->module)
		return 0;
	af_buf_str(&key, spot->module);
	af_buf_char(&key, '\t');
	af_buf_str(&key, spot->build_id ? spot->build_id : "");
	uint32_t iid = af_strtab_id(&p->mappings, key.data, key.len);
	af_buf_free(&key);
	if (iid < before)
		return iid;
	size_t at = pb_open(interned, INTERNED_MAPPING_PATH);
	pb_varint(interned, IID, iid);
	put_text(p, interned, IS, spot->module, strlen(spot->module));
	pb_close(interned, at);
	if (spot->build_id) {
		at = pb_open(interned, INTERNED_BUILD_ID);
		pb_varint(interned, IID, iid);
		put_hex(interned, IS, spot->build_id);
		pb_close(interned, at);
	}
	at = pb_open(interned, INTERNED_MAPPING);
	pb_varint(interned, IID, iid);
	if (spot->build_id)
		pb_varint(interned, MAPPING_BUILD_ID, iid);
	pb_varint(interned, MAPPING_PATH, iid);
	pb_close(interned, at);
	return iid;
}

static void put_kind(struct af_buf *b, enum af_frame frame)
{
	static const uint8_t kinds[AF_FRAME_END] = {
	    [AF_FRAME_NATIVE] = KIND_NATIVE, [AF_FRAME_PYTHON] = KIND_INTERPRETED,
	    [AF_FRAME_KERNEL] = KIND_KERNEL, [AF_FRAME_INLINED] = KIND_NATIVE,
	    [AF_FRAME_JIT] = KIND_JIT,
	};

	if (kinds[frame])
		pb_varint(b, FRAME_KIND, kinds[frame]);
	else
		pb_text(b, FRAME_KIND_TEXT, af_frame_name(frame));
}

static uint32_t frame_iid(struct perfetto_samples *p, const struct af_tree *t, uint32_t name,
                          struct af_buf *interned)
{
	const struct af_spot *spot = af_tree_spot(t, name);
	uint32_t iid = name + 1;
	size_t len;
	bool fresh;

	af_map_at(&p->frames, name, &fresh);
	if (!fresh)
		return iid;
	const char *text = af_profile_function(t, name, &len);
	uint32_t function = text_iid(p, &p->functions, INTERNED_FUNCTION, text, len, interned);
	uint32_t source = spot->file ? text_iid(p, &p->files, INTERNED_SOURCE_PATH, spot->file,
	                                        strlen(spot->file), interned)
	                             : 0;
	uint32_t mapping = mapping_iid(p, spot, interned);
	size_t at = pb_open(interned, INTERNED_FRAME);
	pb_varint(interned, IID, iid);
	pb_varint(interned, FRAME_FUNCTION, function);
	if (mapping) {
		pb_varint(interned, FRAME_MAPPING, mapping);
		pb_varint(interned, FRAME_PC, spot->address);
	}
	if (source)
		pb_varint(interned, FRAME_SOURCE, source);
	if (spot->line)
		pb_varint(interned, FRAME_LINE, spot->line);
	put_kind(interned, af_tree_frame(t, name));
	pb_close(interned, at);
	return iid;
}

/* The process at a stack's root is none of its frames: the task says it. */
static void put_stack(struct perfetto_samples *p, const struct af_tree *t, uint32_t node,
                      struct af_buf *interned, struct af_buf *message)
{
	uint32_t nr = 0;

	for (; node && t->nodes[node].parent; node = t->nodes[node].parent) {
		AF_GROW(p->path, nr, p->cap_path);
		p->path[nr++] = t->nodes[node].name;
	}
	size_t at = pb_open(message, SAMPLE_STACK);
	while (nr-- > 0)
		pb_varint(message, STACK_FRAME, frame_iid(p, t, p->path[nr], interned));
	pb_close(message, at);
}

void perfetto_stack_sample(struct perfetto_samples *p, const struct af_slices *all,
                           const struct af_slice *s, struct af_buf *interned,
                           struct af_buf *message)
{
	const uint64_t *task = af_map_get(&p->tracks, s->track);
	size_t at = pb_open(message, SAMPLE_TASK);

	pb_varint(message, TASK_PID, task ? *task >> 32 : 0);
	pb_varint(message, TASK_TID, task ? (uint32_t)*task : 0);
	pb_close(message, at);
	put_stack(p, all->stacks, s->stack, interned, message);
	at = pb_open(message, SAMPLE_COUNTER);
	pb_text(message, COUNTER_NAME, "cpu-time");
	pb_varint(message, COUNTER_UNIT, UNIT_NANOSECONDS);
	pb_close(message, at);
	pb_varint(message, SAMPLE_WEIGHT, s->weight_ns);
}

static void put_specification(struct perfetto_samples *p, uint32_t iid, const char *name,
                              struct af_buf *interned)
{
	bool fresh;

	af_map_at(&p->queues, iid, &fresh);
	if (!fresh)
		return;
	size_t at = pb_open(interned, INTERNED_SPECIFICATION);
	pb_varint(interned, IID, iid);
	put_text(p, interned, IS, name, strlen(name));
	pb_varint(interned, SPECIFICATION_CATEGORY, CATEGORY_COMPUTE);
	pb_close(interned, at);
}

/* A context a process: it says which the work is of. */
static void put_context(struct perfetto_samples *p, const struct af_slices *all, uint32_t process,
                        uint32_t api, struct af_buf *interned)
{
	const struct af_process *is = af_world_process(all->world, process);
	bool fresh;

	af_map_at(&p->queues, 1ull << 32 | process, &fresh);
	if (!fresh)
		return;
	size_t at = pb_open(interned, INTERNED_CONTEXT);
	pb_varint(interned, IID, process);
	pb_varint(interned, CONTEXT_PID, is ? is->pid : 0);
	pb_varint(interned, CONTEXT_API, api == AF_API_CUDA ? API_CUDA : API_OPENCL);
	pb_close(interned, at);
}

static uint32_t queue_iid(struct perfetto_samples *p, const struct af_queue *queue,
                          struct af_buf *interned)
{
	uint32_t iid = FIRST_QUEUE + (queue ? queue->id : 0);
	struct af_buf name = {0};

	af_buf_fmt(&name, queue ? "queue %u" : "queue", queue ? queue->id : 0);
	put_specification(p, iid, name.data, interned);
	af_buf_free(&name);
	return iid;
}

static void put_size(struct af_buf *b, uint32_t field, uint64_t x, uint64_t y, uint64_t z)
{
	const uint64_t sizes[] = {x, y, z};
	size_t at = pb_open(b, field);

	for (uint32_t i = 0; i < 3; i++)
		pb_varint(b, i + 1, (uint32_t)sizes[i]);
	pb_close(b, at);
}

static void put_launch(struct af_buf *b, const struct af_ev_shape *is)
{
	if (is->op != AF_OP_KERNEL || !is->local_x || !is->local_y || !is->local_z)
		return;
	size_t at = pb_open(b, STAGE_LAUNCH);
	put_size(b, LAUNCH_GRID, is->global_x / is->local_x, is->global_y / is->local_y,
	         is->global_z / is->local_z);
	put_size(b, LAUNCH_GROUP, is->local_x, is->local_y, is->local_z);
	pb_close(b, at);
}

void perfetto_gpu_stage(struct perfetto_samples *p, const struct af_slices *all,
                        const struct af_slice *s, uint32_t name, struct af_buf *interned,
                        struct af_buf *message)
{
	const struct af_shape *shape = &all->world->shapes[s->shape];
	const struct af_queue *queue = af_world_queue(all->world, shape->process, shape->is.queue);
	const struct af_device *device =
	    queue ? af_world_device(all->world, shape->process, queue->device) : NULL;
	uint32_t stage = FIRST_STAGE + (shape->is.op < FIRST_QUEUE ? shape->is.op : 0);

	put_specification(p, stage, af_op_text(shape->is.op), interned);
	put_context(p, all, shape->process, device ? device->api : 0, interned);
	pb_varint(message, STAGE_ID, ++p->nr_stages);
	pb_varint(message, STAGE_DURATION, s->end_ns - s->start_ns);
	pb_varint(message, STAGE_CONTEXT, shape->process);
	pb_varint(message, STAGE_SUBMISSION, (uint32_t)s->correlation);
	pb_varint(message, STAGE_GPU, queue ? queue->device : 0);
	pb_varint(message, STAGE_QUEUE, queue_iid(p, queue, interned));
	pb_varint(message, STAGE_STAGE, stage);
	pb_varint(message, STAGE_NAME, name);
	put_launch(message, &shape->is);
}
