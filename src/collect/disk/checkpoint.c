#include "collect/disk/checkpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/system/fs.h"
#include "trace/read/reader.h"

/* The key of a definition: two with one key are the same one. */
enum checkpoint_key {
	CHECKPOINT_EVENT = 0, /* no definition */
	CHECKPOINT_LOST,      /* summed */
	CHECKPOINT_ONE,       /* there is one: the last */
	CHECKPOINT_ID,        /* the id in the first field; of the process */
	CHECKPOINT_STREAM_ID, /* the same, but ids that begin anew end those before */
	CHECKPOINT_HEAD,      /* the first bytes, as many as there are in heads[] */
	CHECKPOINT_NOTE,      /* the first string, and what is before it */
};

static const uint8_t keys[AF_KIND_MAX] = {
    [AF_KIND_LOST] = CHECKPOINT_LOST,
    [AF_KIND_NOTE] = CHECKPOINT_NOTE,
    [AF_KIND_CLOCK] = CHECKPOINT_HEAD,
    [AF_KIND_PROCESS] = CHECKPOINT_ONE,
    [AF_KIND_PROCESS_END] = CHECKPOINT_ID,
    [AF_KIND_THREAD] = CHECKPOINT_ONE,
    [AF_KIND_MAPPING] = CHECKPOINT_HEAD,
    [AF_KIND_STACK] = CHECKPOINT_STREAM_ID,
    [AF_KIND_PY_STACK] = CHECKPOINT_STREAM_ID,
    [AF_KIND_PY_CODE] = CHECKPOINT_ID,
    [AF_KIND_CALLPATH] = CHECKPOINT_STREAM_ID,
    [AF_KIND_DEVICE] = CHECKPOINT_ID,
    [AF_KIND_QUEUE] = CHECKPOINT_ID,
    [AF_KIND_PROGRAM] = CHECKPOINT_HEAD,
    [AF_KIND_KERNEL] = CHECKPOINT_ID,
    [AF_KIND_DESCRIPTOR] = CHECKPOINT_STREAM_ID,
    [AF_KIND_STRING] = CHECKPOINT_ID,
    [AF_KIND_SYMBOL] = CHECKPOINT_HEAD,
    [AF_KIND_FUNCTION_SOURCE] = CHECKPOINT_HEAD,
    [AF_KIND_KSTACK] = CHECKPOINT_STREAM_ID,
    [AF_KIND_PROCESS_NOTE] = CHECKPOINT_NOTE,
    [AF_KIND_COMM] = CHECKPOINT_ID,
    [AF_KIND_FUNCTION] = CHECKPOINT_ID,
    [AF_KIND_GRAPH_NODE] = CHECKPOINT_ID,
    [AF_KIND_LAUNCH_CONFIG] = CHECKPOINT_STREAM_ID,
    [AF_KIND_STALL] = CHECKPOINT_ID,
    [AF_KIND_CODE] = CHECKPOINT_ID,
    [AF_KIND_PROGRAM_CRC] = CHECKPOINT_ID,
    [AF_KIND_DEVICE_NOTE] = CHECKPOINT_NOTE,
    [AF_KIND_JIT_IMAGE] = CHECKPOINT_HEAD,
    [AF_KIND_USAGE] = CHECKPOINT_HEAD,
    [AF_KIND_UNSAMPLED] = CHECKPOINT_HEAD,
    [AF_KIND_CODE_PLACED] = CHECKPOINT_HEAD,
    [AF_KIND_COUNTER] = CHECKPOINT_ID,
    [AF_KIND_KERNEL_CODE] = CHECKPOINT_HEAD,
};

/*
 * Clock and device; start to epoch; program, device and form; process to epoch; module, function
 * and start; process, thread, and whose or cause; process and entry;
 * code, device and address; kernel and code.
 */
static const uint8_t heads[AF_KIND_MAX] = {
    [AF_KIND_CLOCK] = 8,
    [AF_KIND_MAPPING] = offsetof(struct af_ev_mapping, epoch) + 4,
    [AF_KIND_PROGRAM] = 12,
    [AF_KIND_SYMBOL] = 16,
    [AF_KIND_FUNCTION_SOURCE] = 16,
    [AF_KIND_USAGE] = 12,
    [AF_KIND_UNSAMPLED] = 12,
    [AF_KIND_JIT_IMAGE] = 12,
    [AF_KIND_CODE_PLACED] = 16,
    [AF_KIND_KERNEL_CODE] = 8,
};

struct definition {
	const uint8_t *at;
	uint16_t size;
	uint16_t kind;
	uint32_t series; /* how often ids of its kind had begun anew */
	bool replaced;
	bool needed; /* although ids have begun anew */
};

struct carrying {
	struct af_checkpoint *c;
	struct definition *found;
	uint32_t nr, cap;
	struct af_keys last; /* what is defined → index in @found, plus one */
	struct af_buf key;
	uint32_t last_id[AF_KIND_MAX], series[AF_KIND_MAX];
};

/* Index in w->found, plus one, of the last definition of what @payload defines. */
static uint64_t *definition_last(struct carrying *w, uint16_t kind, const uint8_t *payload,
                                 size_t size)
{
	uint32_t id = 0;
	size_t before;

	if (size >= 4)
		memcpy(&id, payload, 4);
	w->key.len = 0;
	af_buf_add(&w->key, &kind, sizeof kind);
	switch (keys[kind]) {
	case CHECKPOINT_STREAM_ID:
		if (id < w->last_id[kind])
			w->series[kind]++;
		w->last_id[kind] = id;
		af_buf_add(&w->key, &w->series[kind], sizeof w->series[kind]);
		af_buf_add(&w->key, &id, sizeof id);
		break;
	case CHECKPOINT_ID:
		af_buf_add(&w->key, &id, sizeof id);
		break;
	case CHECKPOINT_HEAD:
		af_buf_add(&w->key, payload, size < heads[kind] ? size : heads[kind]);
		break;
	case CHECKPOINT_NOTE:
		before = kind == AF_KIND_PROCESS_NOTE || kind == AF_KIND_DEVICE_NOTE ? 4 : 0;
		if (size > before)
			af_buf_add(&w->key, payload,
			           before + strnlen((const char *)payload + before, size - before));
		break;
	}
	return af_keys_at(&w->last, w->key.data, w->key.len, NULL);
}

static void checkpoint_event(struct carrying *w, const uint8_t *at)
{
	struct af_event_header h;

	memcpy(&h, at, sizeof h);
	const uint8_t *payload = at + sizeof h;
	size_t size = h.size - sizeof h;
	enum checkpoint_key how = h.kind < AF_KIND_MAX ? keys[h.kind] : CHECKPOINT_EVENT;

	if (how == CHECKPOINT_EVENT) {
		w->c->events++;
	} else if (how == CHECKPOINT_LOST) {
		struct af_ev_lost lost;
		if (size != sizeof lost)
			return;
		memcpy(&lost, payload, sizeof lost);
		if (lost.reason < AF_LOST_END)
			w->c->lost[lost.reason] += lost.count;
	} else {
		AF_GROW(w->found, w->nr, w->cap);
		uint64_t *last = definition_last(w, h.kind, payload, size);
		if (*last)
			w->found[*last - 1].replaced = true;
		w->found[w->nr] = (struct definition){
		    .at = at, .size = h.size, .kind = h.kind, .series = w->series[h.kind]};
		*last = ++w->nr;
	}
}

/* Calls @each for the whole events of a packet's content. */
static void each_event(const uint8_t *content, size_t size, void *arg,
                       void (*each)(void *arg, const uint8_t *at))
{
	struct af_event_header h;

	for (size_t at = 0; size - at >= sizeof h; at += h.size) {
		memcpy(&h, content + at, sizeof h);
		if (h.size < sizeof h || h.size > size - at)
			return;
		each(arg, content + at);
	}
}

static void checkpoint_each(void *arg, const uint8_t *at)
{
	checkpoint_event(arg, at);
}

static void checkpoint_packets(struct carrying *w, const uint8_t *data, size_t size)
{
	struct af_packet p;
	uint64_t first_discarded = 0;

	for (size_t at = 0; size - at >= sizeof p; at += p.packet_bits / 8) {
		memcpy(&p, data + at, sizeof p);
		uint64_t packet = p.packet_bits / 8, content = p.content_bits / 8;
		if (p.magic != AF_PACKET_MAGIC || packet > size - at || content > packet ||
		    content < sizeof p)
			break;
		if (!at && p.seq)
			first_discarded = p.discarded;
		each_event(data + at + sizeof p, content - sizeof p, w, checkpoint_each);
		w->c->last = p;
		w->c->bytes = at + packet;
		w->c->discarded = p.discarded - first_discarded;
	}
}

/* Index in w->found, plus one, of what defines @id at this place of the pass. */
static uint64_t *checkpoint_defines(struct af_map *now, uint16_t kind, uint32_t id)
{
	return af_map_at(now, (uint64_t)kind << 32 | id, NULL);
}

static void checkpoint_need(struct carrying *w, struct af_map *now, uint16_t kind, uint32_t id)
{
	uint64_t found = id ? *checkpoint_defines(now, kind, id) : 0;
	struct af_ev_callpath path;

	if (!found || w->found[found - 1].needed)
		return;
	struct definition *d = &w->found[found - 1];
	d->needed = true;
	if (kind != AF_KIND_CALLPATH || d->size < sizeof(struct af_event_header) + sizeof path)
		return;
	memcpy(&path, d->at + sizeof(struct af_event_header), sizeof path);
	checkpoint_need(w, now, AF_KIND_STACK, path.stack);
	checkpoint_need(w, now, AF_KIND_PY_STACK, path.py_stack);
}

/*
 * A node of a graph lives longer than the ids it was defined with: the call path of its capture
 * comes along, as it was there, and holds until the ids that began anew take its place.
 */
static void checkpoint_captures(struct carrying *w)
{
	struct af_map now = {0};
	struct af_ev_graph_node node;

	for (uint32_t i = 0; i < w->nr; i++) {
		const struct definition *d = &w->found[i];
		const uint8_t *payload = d->at + sizeof(struct af_event_header);
		size_t size = d->size - sizeof(struct af_event_header);
		uint32_t id = 0;
		if (keys[d->kind] == CHECKPOINT_STREAM_ID && size >= sizeof id) {
			memcpy(&id, payload, sizeof id);
			*checkpoint_defines(&now, d->kind, id) = i + 1;
		} else if (d->kind == AF_KIND_GRAPH_NODE && !d->replaced && size >= sizeof node) {
			memcpy(&node, payload, sizeof node);
			checkpoint_need(w, &now, AF_KIND_CALLPATH, node.callpath);
		}
	}
	af_map_free(&now);
}

/* Copy what still holds, before the file is unmapped. */
static void checkpoint_keep(struct carrying *w)
{
	struct af_checkpoint *c = w->c;
	size_t len = 0;

	for (uint32_t i = 0; i < w->nr; i++) {
		struct definition *d = &w->found[i];
		if (keys[d->kind] == CHECKPOINT_STREAM_ID && d->series != w->series[d->kind])
			d->replaced = true;
		d->replaced &= !d->needed;
		len += d->replaced ? 0 : d->size;
	}
	c->data = af_xrealloc(NULL, len + 1);
	for (uint32_t i = 0; i < w->nr; i++) {
		const struct definition *d = &w->found[i];
		if (d->replaced)
			continue;
		if (!c->len)
			memcpy(&c->first_ns, d->at + offsetof(struct af_event_header, time_ns), 8);
		memcpy(c->data + c->len, d->at, d->size);
		c->len += d->size;
	}
}

int af_checkpoint_read(struct af_checkpoint *c, int dir_fd, const char *name)
{
	struct carrying w = {.c = c};
	struct af_file f;

	*c = (struct af_checkpoint){0};
	int rc = af_file_map_at(&f, dir_fd, name);
	if (rc)
		return rc;
	checkpoint_packets(&w, f.data, f.size);
	checkpoint_captures(&w);
	checkpoint_keep(&w);
	free(w.found);
	af_keys_free(&w.last);
	af_buf_free(&w.key);
	af_file_unmap(&f);
	return 0;
}

void af_checkpoint_free(struct af_checkpoint *c)
{
	free(c->data);
	*c = (struct af_checkpoint){0};
}

static void count_event(void *arg, const uint8_t *at)
{
	uint64_t *events = arg;
	uint16_t kind;

	memcpy(&kind, at, sizeof kind);
	*events += kind >= AF_KIND_MAX || keys[kind] == CHECKPOINT_EVENT;
}

uint64_t af_checkpoint_events(const void *content, size_t size)
{
	uint64_t events = 0;

	each_event(content, size, &events, count_event);
	return events;
}
