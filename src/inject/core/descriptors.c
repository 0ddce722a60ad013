#include "inject/core/descriptors.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/map.h"
#include "trace/write/stream.h"

enum { DESCRIPTOR_CONTENT = offsetof(struct af_ev_descriptor, op) };

static bool descriptor_same(const struct af_ev_descriptor *a, const struct af_ev_descriptor *b)
{
	return !memcmp((const char *)a + DESCRIPTOR_CONTENT, (const char *)b + DESCRIPTOR_CONTENT,
	               sizeof *a - DESCRIPTOR_CONTENT);
}

static unsigned descriptor_set(const struct af_ev_descriptor *s)
{
	uint64_t h = af_mix((uint64_t)s->kernel << 32 | s->queue);

	h = af_mix(h ^ s->bytes ^ (uint64_t)s->op << 56);
	h = af_mix(h ^ s->global_x ^ s->global_y << 21 ^ s->global_z << 42 ^
	           (uint64_t)s->local_x << 7 ^ (uint64_t)s->local_y << 28 ^
	           (uint64_t)s->local_z << 49);
	return h % AF_DESCRIPTOR_SETS;
}

uint32_t af_work_descriptor_id(struct af_work_descriptor_memo *m, struct af_stream *s, uint64_t now,
                               const struct af_ev_descriptor *descriptor)
{
	unsigned set = descriptor_set(descriptor);
	struct af_ev_descriptor *entries = m->entries[set];

	for (unsigned way = 0; way < AF_DESCRIPTOR_WAYS; way++) {
		if (entries[way].descriptor && descriptor_same(&entries[way], descriptor))
			return entries[way].descriptor;
	}

	void *at = af_stream_begin(s, AF_KIND_DESCRIPTOR, now, sizeof *descriptor);
	if (!at)
		return 0;
	struct af_ev_descriptor *entry = &entries[m->victim[set]++ % AF_DESCRIPTOR_WAYS];
	*entry = *descriptor;
	entry->descriptor = ++m->nr_ids;
	memcpy(at, entry, sizeof *entry);
	af_stream_end(s);
	return entry->descriptor;
}
