#include "inject/core/descriptors.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/map.h"
#include "trace/write/stream.h"

enum { SHAPE_CONTENT = offsetof(struct af_ev_shape, op) };

static bool shape_same(const struct af_ev_shape *a, const struct af_ev_shape *b)
{
	return !memcmp((const char *)a + SHAPE_CONTENT, (const char *)b + SHAPE_CONTENT,
	               sizeof *a - SHAPE_CONTENT);
}

static unsigned shape_set(const struct af_ev_shape *s)
{
	uint64_t h = af_mix((uint64_t)s->kernel << 32 | s->queue);

	h = af_mix(h ^ s->bytes ^ (uint64_t)s->op << 56);
	h = af_mix(h ^ s->global_x ^ s->global_y << 21 ^ s->global_z << 42 ^
	           (uint64_t)s->local_x << 7 ^ (uint64_t)s->local_y << 28 ^
	           (uint64_t)s->local_z << 49);
	return h % AF_SHAPE_SETS;
}

uint32_t af_shape_id(struct af_shape_memo *m, struct af_stream *s, uint64_t now,
                     const struct af_ev_shape *shape)
{
	unsigned set = shape_set(shape);
	struct af_ev_shape *entries = m->entries[set];

	for (unsigned way = 0; way < AF_SHAPE_WAYS; way++) {
		if (entries[way].shape && shape_same(&entries[way], shape))
			return entries[way].shape;
	}

	void *at = af_stream_begin(s, AF_KIND_SHAPE, now, sizeof *shape);
	if (!at)
		return 0;
	struct af_ev_shape *entry = &entries[m->victim[set]++ % AF_SHAPE_WAYS];
	*entry = *shape;
	entry->shape = ++m->nr_ids;
	memcpy(at, entry, sizeof *entry);
	af_stream_end(s);
	return entry->shape;
}
