#include "render/timeline/perfetto_samples.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/protobuf.h"
#include "render/profiles/profile.h"

enum {
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_MAPPING_PATH = 17,
	INTERNED_SOURCE_PATH = 18,
	INTERNED_MAPPING = 19,
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
	SAMPLE_STACK = 6, /* callstack_iid */
	SAMPLE_WEIGHT = 11,
	TASK_PID = 2,
	TASK_TID = 3,
	STACK_FRAME = 2,
	DEFAULT_STACK_SAMPLE = 100, /* of TracePacketDefaults */
	DEFAULT_SOURCE = 1,
	DEFAULT_COUNTER = 2,
	COUNTER_NAME = 2,
	COUNTER_UNIT = 3,
	UNIT_NANOSECONDS = 1,
};

void perfetto_samples_free(struct perfetto_samples *p)
{
	af_strtab_free(&p->functions);
	af_strtab_free(&p->files);
	af_strtab_free(&p->mappings);
	free(p->frames);
	free(p->callstacks);
	af_map_free(&p->tracks);
	free(p->path);
}

void perfetto_samples_track(struct perfetto_samples *p, const struct af_track *t)
{
	*af_map_at(&p->tracks, t->id, NULL) = (uint64_t)t->pid << 32 | t->tid;
}

void perfetto_samples_defaults(struct af_buf *defaults)
{
	size_t at = af_pb_open(defaults, DEFAULT_STACK_SAMPLE);

	af_pb_text(defaults, DEFAULT_SOURCE, "aflame");
	size_t counter = af_pb_open(defaults, DEFAULT_COUNTER);
	af_pb_text(defaults, COUNTER_NAME, "cpu-time");
	af_pb_varint(defaults, COUNTER_UNIT, UNIT_NANOSECONDS);
	af_pb_close(defaults, counter);
	af_pb_close(defaults, at);
}

/* The iid of a text, which is interned as @field where it is new. */
static uint32_t text_iid(struct perfetto_samples *p, struct af_strtab *texts, uint32_t field,
                         const char *text, size_t len, struct af_buf *interned)
{
	uint32_t before = texts->nr, iid = af_strtab_id(texts, text, len);

	if (iid < before || !iid)
		return iid;
	size_t at = af_pb_open(interned, field);
	af_pb_varint(interned, IID, iid);
	af_pb_utf8(interned, IS, text, len);
	af_pb_close(interned, at);
	return iid;
}

/* Two digits a byte, as build-ids are in a location. */
static void put_hex(struct af_buf *b, uint32_t field, const char *hex)
{
	uint8_t bytes[64];
	size_t nr = 0;

	for (; hex[0] && hex[1] && nr < sizeof bytes; hex += 2) {
		const char digits[3] = {hex[0], hex[1], 0};
		bytes[nr++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	af_pb_bytes(b, field, bytes, nr);
}

/* Path, build-id and mapping have one iid. */
static uint32_t mapping_iid(struct perfetto_samples *p, const struct af_location *location,
                            struct af_buf *interned)
{
	struct af_buf key = {0};
	uint32_t before = p->mappings.nr;

	if (!location->module)
		return 0;
	af_buf_str(&key, location->module);
	af_buf_char(&key, '\t');
	af_buf_str(&key, location->build_id ? location->build_id : "");
	uint32_t iid = af_strtab_id(&p->mappings, key.data, key.len);
	af_buf_free(&key);
	if (iid < before)
		return iid;
	size_t at = af_pb_open(interned, INTERNED_MAPPING_PATH);
	af_pb_varint(interned, IID, iid);
	af_pb_utf8(interned, IS, location->module, strlen(location->module));
	af_pb_close(interned, at);
	if (location->build_id) {
		at = af_pb_open(interned, INTERNED_BUILD_ID);
		af_pb_varint(interned, IID, iid);
		put_hex(interned, IS, location->build_id);
		af_pb_close(interned, at);
	}
	at = af_pb_open(interned, INTERNED_MAPPING);
	af_pb_varint(interned, IID, iid);
	if (location->build_id)
		af_pb_varint(interned, MAPPING_BUILD_ID, iid);
	af_pb_varint(interned, MAPPING_PATH, iid);
	af_pb_close(interned, at);
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
		af_pb_varint(b, FRAME_KIND, kinds[frame]);
	else
		af_pb_text(b, FRAME_KIND_TEXT, af_frame_name(frame));
}

static uint32_t frame_iid(struct perfetto_samples *p, const struct af_tree *t, uint32_t name,
                          struct af_buf *interned)
{
	const struct af_location *location = af_tree_location(t, name);
	size_t len;

	AF_REACH(p->frames, name, p->cap_frames);
	if (p->frames[name])
		return p->frames[name];
	uint32_t iid = p->frames[name] = ++p->nr_frames;
	const char *text = af_profile_function(t, name, &len);
	uint32_t function = text_iid(p, &p->functions, INTERNED_FUNCTION, text, len, interned);
	uint32_t source = location->file
	                      ? text_iid(p, &p->files, INTERNED_SOURCE_PATH, location->file,
	                                 strlen(location->file), interned)
	                      : 0;
	uint32_t mapping = mapping_iid(p, location, interned);
	size_t at = af_pb_open(interned, INTERNED_FRAME);
	af_pb_varint(interned, IID, iid);
	af_pb_varint(interned, FRAME_FUNCTION, function);
	if (mapping) {
		af_pb_varint(interned, FRAME_MAPPING, mapping);
		af_pb_varint(interned, FRAME_PC, location->address);
	}
	if (source)
		af_pb_varint(interned, FRAME_SOURCE, source);
	if (location->line)
		af_pb_varint(interned, FRAME_LINE, location->line);
	put_kind(interned, af_tree_frame(t, name));
	af_pb_close(interned, at);
	return iid;
}

uint32_t perfetto_callstack(struct perfetto_samples *p, const struct af_tree *t, uint32_t node,
                            struct af_buf *interned)
{
	uint32_t nr = 0;

	AF_REACH(p->callstacks, node, p->cap_callstacks);
	if (p->callstacks[node] || !t->nodes[node].parent)
		return p->callstacks[node];
	uint32_t iid = p->callstacks[node] = ++p->nr_callstacks;
	for (; t->nodes[node].parent; node = t->nodes[node].parent) {
		AF_GROW(p->path, nr, p->cap_path);
		p->path[nr++] = frame_iid(p, t, t->nodes[node].name, interned);
	}
	size_t at = af_pb_open(interned, INTERNED_CALLSTACK);
	af_pb_varint(interned, IID, iid);
	while (nr-- > 0)
		af_pb_varint(interned, STACK_FRAME, p->path[nr]);
	af_pb_close(interned, at);
	return iid;
}

void perfetto_stack_sample(struct perfetto_samples *p, const struct af_slices *all,
                           const struct af_slice *s, struct af_buf *interned,
                           struct af_buf *message)
{
	const uint64_t *task = af_map_get(&p->tracks, s->track);
	uint32_t stack = perfetto_callstack(p, all->stacks, s->stack, interned);
	size_t at = af_pb_open(message, SAMPLE_TASK);

	af_pb_varint(message, TASK_PID, task ? *task >> 32 : 0);
	af_pb_varint(message, TASK_TID, task ? (uint32_t)*task : 0);
	af_pb_close(message, at);
	if (stack)
		af_pb_varint(message, SAMPLE_STACK, stack);
	af_pb_varint(message, SAMPLE_WEIGHT, s->weight_ns);
}
