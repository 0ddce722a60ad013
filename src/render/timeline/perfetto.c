/*
 * Perfetto's own format: a perfetto.protos.Trace of TrackEvents, written by the field numbers of
 * its published .proto files (perfetto.dev/docs/reference/trace-packet-proto), which never change.
 * Everything is one packet sequence; names, categories and stacks are interned in it. Times are of
 * CLOCK_MONOTONIC, and snapshots of the clocks tell what that is in the others.
 *
 * A slice is a BEGIN and an END right behind one another: a reader sorts by time and keeps the
 * order of equals, so that with the order that slices.h promises they nest as they should. Where
 * slices add up to trees there are samples of stacks too.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/protobuf.h"
#include "render/profiles/out.h"
#include "render/render.h"
#include "render/timeline/perfetto_gpu.h"
#include "render/timeline/perfetto_names.h"
#include "render/timeline/perfetto_samples.h"
#include "render/timeline/slices.h"

enum { TRACE_PACKET = 1 };

enum { PART_BITS = 40, PERFETTO_END = 32, PERFETTO_EVENT = 64 /* bytes without arguments */ };

enum {
	PACKET_CHROME_EVENTS = 5,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10, /* trusted_packet_sequence_id */
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,

	FLAG_CLEARED = 1, /* SEQ_INCREMENTAL_STATE_CLEARED */
	FLAG_NEEDS = 2,   /* SEQ_NEEDS_INCREMENTAL_STATE */

	DEFAULTS_CLOCK = 58, /* timestamp_clock_id */

	SNAPSHOT_CLOCK = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_IS_REALTIME = 1,
	CLOCK_IS_MONOTONIC = 3,
	CLOCK_IS_BOOTTIME = 6,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILDREN = 11, /* child_ordering */
	TRACK_RANK = 12,     /* sibling_order_rank */
	CHILDREN_BY_RANK = 3,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	COUNTER_UNIT_NAME = 6,
	UNIT_COUNT = 2,
	UNIT_BYTES = 3,

	EVENT_CATEGORY = 3, /* category_iids */
	EVENT_TYPE = 9,
	EVENT_NAME = 10, /* name_iid */
	EVENT_TRACK = 11,
	EVENT_COUNTER = 30, /* counter_value */
	EVENT_DOUBLE = 44,  /* double_counter_value */
	EVENT_FLOW = 47,
	EVENT_STACK = 56, /* callstack_iid */
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	BUNDLE_METADATA = 2, /* of ChromeEventBundle */
	METADATA_NAME = 1,
	METADATA_TEXT = 2,
	METADATA_INT = 4,
};

struct perfetto {
	uint32_t sequence; /* each part of a file has one of its own */
	uint64_t ids;      /* the high bits of its tracks and arrows */
	struct af_out out;
	uint8_t end[PERFETTO_END]; /* of each packet of an event: its sequence and its flags */
	size_t nr_end;
	struct af_buf interned, event;
	struct perfetto_names names;
	struct perfetto_samples samples;
	struct perfetto_gpu gpu;
	uint64_t *pers; /* of counters, by track: how much of a value is one of its unit; else 0 */
	uint32_t cap_pers;
};

static void clock_put(struct af_buf *b, uint32_t clock, uint64_t ns)
{
	size_t at = af_pb_open(b, SNAPSHOT_CLOCK);

	af_pb_varint(b, CLOCK_ID, clock);
	af_pb_varint(b, CLOCK_TIMESTAMP, ns);
	af_pb_close(b, at);
}

/* Two clocks at one moment; @foreign_ns 0: the trace's alone. */
static void perfetto_clocks(struct perfetto *p, uint64_t mono_ns, uint32_t clock,
                            uint64_t foreign_ns)
{
	struct af_buf *b = &p->out.text;
	size_t packet = af_pb_open(b, TRACE_PACKET), at = af_pb_open(b, PACKET_CLOCK_SNAPSHOT);

	clock_put(b, CLOCK_IS_MONOTONIC, mono_ns);
	if (foreign_ns)
		clock_put(b, clock, foreign_ns);
	af_pb_varint(b, SNAPSHOT_PRIMARY, CLOCK_IS_MONOTONIC);
	af_pb_close(b, at);
	af_pb_varint(b, PACKET_SEQUENCE, p->sequence);
	af_pb_close(b, packet);
}

/* The devices of works that the file also has as render stages. */
static void perfetto_gpus(struct perfetto *p, const struct af_slices *all)
{
	struct af_buf *b = &p->out.text;

	if (all->adds_up && perfetto_gpu_info(&p->gpu, all, &p->event)) {
		size_t packet = af_pb_open(b, TRACE_PACKET);
		af_pb_varint(b, PACKET_TIMESTAMP, all->start_ns);
		af_pb_varint(b, PACKET_SEQUENCE, p->sequence);
		af_pb_bytes(b, PERFETTO_GPU_INFO, p->event.data, p->event.len);
		af_pb_close(b, packet);
	}
	p->event.len = 0;
}

static int perfetto_begin(struct af_render *r, struct af_err *err)
{
	struct perfetto *p = af_xcalloc(1, sizeof *p);
	struct af_buf *b = &p->out.text;
	const struct af_slices *all = r->slices;

	(void)err;
	r->state = p;
	af_out_open(&p->out, r->fd, r->gzip);
	p->sequence = r->part ? r->part : 1;
	p->ids = r->part > 1 ? (uint64_t)(r->part - 1) << PART_BITS : 0;
	uint8_t *end = af_pb_put_varint(p->end, PACKET_SEQUENCE, p->sequence);
	p->nr_end = (size_t)(af_pb_put_varint(end, PACKET_FLAGS, FLAG_NEEDS) - p->end);
	/* Times of further parts are on the clock of the first. */
	if (r->part <= 1)
		perfetto_clocks(p, all->start_ns, 0, 0);
	if (r->part <= 1 && all->realtime.foreign_ns)
		perfetto_clocks(p, all->realtime.mono_ns, CLOCK_IS_REALTIME,
		                all->realtime.foreign_ns);
	if (r->part <= 1 && all->boottime.foreign_ns)
		perfetto_clocks(p, all->boottime.mono_ns, CLOCK_IS_BOOTTIME,
		                all->boottime.foreign_ns);

	size_t packet = af_pb_open(b, TRACE_PACKET);
	af_pb_varint(b, PACKET_SEQUENCE, p->sequence);
	af_pb_varint(b, PACKET_FLAGS, FLAG_CLEARED);
	size_t at = af_pb_open(b, PACKET_DEFAULTS);
	af_pb_varint(b, DEFAULTS_CLOCK, CLOCK_IS_MONOTONIC);
	if (all->adds_up)
		perfetto_samples_defaults(b);
	af_pb_close(b, at);
	af_pb_close(b, packet);
	perfetto_gpus(p, all);
	return 0;
}

static void track_kind(struct perfetto *p, struct af_buf *b, const struct af_track *t)
{
	size_t at;

	if (t->kind == AF_TRACK_PROCESS) {
		at = af_pb_open(b, TRACK_PROCESS);
		af_pb_varint(b, PROCESS_PID, t->pid);
		af_pb_utf8(b, PROCESS_NAME, t->name, strlen(t->name));
		af_pb_close(b, at);
	} else if (t->kind == AF_TRACK_THREAD) {
		at = af_pb_open(b, TRACK_THREAD);
		af_pb_varint(b, THREAD_PID, t->pid);
		af_pb_varint(b, THREAD_TID, t->tid);
		af_pb_utf8(b, THREAD_NAME, t->name, strlen(t->name));
		af_pb_close(b, at);
	} else if (t->kind == AF_TRACK_COUNTER) {
		at = af_pb_open(b, TRACK_COUNTER);
		if (t->counted && *t->counted)
			af_pb_utf8(b, COUNTER_UNIT_NAME, t->counted, strlen(t->counted));
		else
			af_pb_varint(b, COUNTER_UNIT,
			             t->unit == AF_CELL_BYTES ? UNIT_BYTES : UNIT_COUNT);
		af_pb_close(b, at);
	}
}

static int perfetto_track(struct af_render *r, const struct af_track *t)
{
	struct perfetto *p = r->state;
	struct af_buf *b = &p->out.text;
	size_t packet = af_pb_open(b, TRACE_PACKET), at = af_pb_open(b, PACKET_TRACK);

	perfetto_samples_track(&p->samples, t);
	perfetto_gpu_track(&p->gpu, t);
	AF_REACH(p->pers, t->id, p->cap_pers);
	p->pers[t->id] = t->counted ? t->per : 0;
	af_pb_varint(b, TRACK_UUID, p->ids | t->id);
	if (t->parent)
		af_pb_varint(b, TRACK_PARENT, p->ids | t->parent);
	if (t->kind != AF_TRACK_PROCESS && t->kind != AF_TRACK_THREAD)
		af_pb_utf8(b, TRACK_NAME, t->name, strlen(t->name));
	track_kind(p, b, t);
	af_pb_varint(b, TRACK_CHILDREN, CHILDREN_BY_RANK);
	af_pb_varint(b, TRACK_RANK, (uint64_t)t->rank << 6 | (t->lane < 63 ? t->lane : 63));
	af_pb_close(b, at);
	af_pb_varint(b, PACKET_SEQUENCE, p->sequence);
	af_pb_close(b, packet);
	return af_out_spill(&p->out);
}

/* The begin of each packet of an event; there is room for all of p->end. */
static inline uint8_t *perfetto_moment(const struct perfetto *p, uint8_t *to, uint64_t time_ns)
{
	to = af_pb_put_varint(to, PACKET_TIMESTAMP, time_ns);
	memcpy(to, p->end, sizeof p->end);
	return to + p->nr_end;
}

/* A packet of p->event, which is its @field, after what it refers to for the first time. */
static inline int perfetto_packet(struct perfetto *p, uint64_t time_ns, uint32_t field)
{
	const struct af_buf *in = &p->interned;
	size_t size = af_pb_size_varint(PACKET_TIMESTAMP, time_ns) + p->nr_end +
	              (in->len ? af_pb_size_bytes(PACKET_INTERNED, in->len) : 0) +
	              af_pb_size_bytes(field, p->event.len);
	uint8_t *to = (uint8_t *)af_buf_room(&p->out.text, AF_PB_MOST + size + PERFETTO_END);

	to = af_pb_put_head(to, TRACE_PACKET, size);
	to = perfetto_moment(p, to, time_ns);
	if (in->len)
		to = af_pb_put_bytes(to, PACKET_INTERNED, in->data, in->len);
	to = af_pb_put_bytes(to, field, p->event.data, p->event.len);
	af_buf_took(&p->out.text, (char *)to);
	p->interned.len = p->event.len = 0;
	return af_out_spill(&p->out);
}

static int perfetto_event(struct perfetto *p, uint64_t time_ns)
{
	return perfetto_packet(p, time_ns, PACKET_TRACK_EVENT);
}

/* The end of the slice that is open on a track. */
static int perfetto_slice_end(struct perfetto *p, uint32_t track, uint64_t time_ns)
{
	const uint64_t uuid = p->ids | track;
	size_t event =
	    af_pb_size_varint(EVENT_TYPE, TYPE_END) + af_pb_size_varint(EVENT_TRACK, uuid);
	size_t size = af_pb_size_varint(PACKET_TIMESTAMP, time_ns) + p->nr_end +
	              af_pb_size_bytes(PACKET_TRACK_EVENT, event);
	uint8_t *to = (uint8_t *)af_buf_room(&p->out.text, AF_PB_MOST + size + PERFETTO_END);

	to = af_pb_put_head(to, TRACE_PACKET, size);
	to = perfetto_moment(p, to, time_ns);
	to = af_pb_put_head(to, PACKET_TRACK_EVENT, event);
	to = af_pb_put_varint(to, EVENT_TYPE, TYPE_END);
	af_buf_took(&p->out.text, (char *)af_pb_put_varint(to, EVENT_TRACK, uuid));
	return af_out_spill(&p->out);
}

/* Again what is a slice already, for the parts of viewers that show samples and GPUs. */
static int perfetto_again(struct perfetto *p, const struct af_slices *all, const struct af_slice *s)
{
	if (s->kind == AF_SLICE_RUN && s->stack && s->weight_ns) {
		perfetto_stack_sample(&p->samples, all, s, &p->interned, &p->event);
		return perfetto_packet(p, s->end_ns, PERFETTO_STACK_SAMPLE);
	}
	if (s->kind == AF_SLICE_WORK && s->descriptor) {
		perfetto_gpu_stage(&p->gpu, all, s,
		                   perfetto_name(&p->names, all, s->name, &p->interned),
		                   &p->interned, &p->event);
		return perfetto_packet(p, s->start_ns, PERFETTO_GPU_STAGE);
	}
	return 0;
}

/* An arrow's id is any number that no other has: those of parts are far from one another. */
static uint64_t flow_of_part(const struct perfetto *p)
{
	return (p->sequence - 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static int perfetto_track_event(struct af_render *r, const struct af_slice *s)
{
	struct perfetto *p = r->state;
	bool instant = s->start_ns == s->end_ns;
	uint32_t category = perfetto_category(&p->names, s->kind, &p->interned);
	uint32_t name = perfetto_name(&p->names, r->slices, s->name, &p->interned);
	uint8_t *to = (uint8_t *)af_buf_room(&p->event, PERFETTO_EVENT);

	to = af_pb_put_varint(to, EVENT_TYPE, instant ? TYPE_INSTANT : TYPE_BEGIN);
	to = af_pb_put_varint(to, EVENT_TRACK, p->ids | s->track);
	to = af_pb_put_varint(to, EVENT_CATEGORY, category);
	to = af_pb_put_varint(to, EVENT_NAME, name);
	/* None is marked as the last: of two works of one call the second would have no arrow. */
	if (s->way != AF_FLOW_NONE)
		to = af_pb_put_fixed64(to, EVENT_FLOW, s->flow + flow_of_part(p));
	af_buf_took(&p->event, (char *)to);
	perfetto_args(&p->names, r->slices, s, &p->interned, &p->event);
	uint32_t stack =
	    s->stack ? perfetto_callstack(&p->samples, r->slices->stacks, s->stack, &p->interned)
		     : 0;
	if (stack)
		af_pb_varint(&p->event, EVENT_STACK, stack);
	int rc = perfetto_event(p, s->start_ns);
	return rc || instant ? rc : perfetto_slice_end(p, s->track, s->end_ns);
}

static int perfetto_slice(struct af_render *r, const struct af_slice *s)
{
	int rc = perfetto_track_event(r, s);

	return rc || !r->slices->adds_up ? rc : perfetto_again(r->state, r->slices, s);
}

static void perfetto_double(struct af_buf *b, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	af_pb_fixed64(b, EVENT_DOUBLE, bits);
}

static int perfetto_point(struct af_render *r, const struct af_point *point)
{
	struct perfetto *p = r->state;

	af_pb_varint(&p->event, EVENT_TYPE, TYPE_COUNTER);
	af_pb_varint(&p->event, EVENT_TRACK, p->ids | point->track);
	if (p->pers[point->track] > 1)
		perfetto_double(&p->event, (double)point->value / (double)p->pers[point->track]);
	else
		af_pb_varint(&p->event, EVENT_COUNTER,
		             point->value < INT64_MAX ? point->value : INT64_MAX);
	return perfetto_event(p, point->time_ns);
}

/* One of the facts that the viewer's page about the trace lists; @text or a number. */
static void perfetto_metadata(const struct af_render *r, const char *name, const char *text,
                              uint64_t number)
{
	struct perfetto *p = r->state;
	struct af_buf *b = &p->out.text;
	size_t packet = af_pb_open(b, TRACE_PACKET), bundle = af_pb_open(b, PACKET_CHROME_EVENTS);
	size_t at = af_pb_open(b, BUNDLE_METADATA);

	if (r->part) {
		af_buf_fmt(&p->event, "%s: %s", r->label ? r->label : "", name);
		af_pb_utf8(b, METADATA_NAME, p->event.data, p->event.len);
		p->event.len = 0;
	} else {
		af_pb_utf8(b, METADATA_NAME, name, strlen(name));
	}
	if (text)
		af_pb_utf8(b, METADATA_TEXT, text, strlen(text));
	else
		af_pb_varint(b, METADATA_INT, number);
	af_pb_close(b, at);
	af_pb_close(b, bundle);
	af_pb_varint(b, PACKET_SEQUENCE, p->sequence);
	af_pb_close(b, packet);
}

static int perfetto_end(struct af_render *r, struct af_err *err)
{
	struct perfetto *p = r->state;
	struct af_slices_pair tables[AF_SLICES_TABLES];
	int nr = af_slices_tables(r->slices, tables);

	perfetto_metadata(r, "aflame", AFLAME_VERSION, 0);
	for (int i = 0; i < nr; i++)
		perfetto_metadata(r, tables[i].name, NULL, tables[i].number);
	if (*r->slices->damage)
		perfetto_metadata(r, "damage", r->slices->damage, 0);
	for (const struct af_note *n = r->slices->world->notes; n; n = n->next)
		perfetto_metadata(r, n->key, n->value, 0);
	int rc = af_out_close(&p->out);
	perfetto_samples_free(&p->samples);
	perfetto_gpu_free(&p->gpu);
	perfetto_names_free(&p->names);
	af_buf_free(&p->interned);
	af_buf_free(&p->event);
	free(p->pers);
	free(p);
	r->state = NULL;
	return rc ? af_fail(err, rc, "cannot write the timeline") : 0;
}

const struct af_format af_format_perfetto = {
    .name = "perfetto",
    .extension = ".perfetto-trace|.pftrace|.pb",
    .summary = "Perfetto's own format",
    .can_join = true,
    .begin = perfetto_begin,
    .track = perfetto_track,
    .slice = perfetto_slice,
    .point = perfetto_point,
    .end = perfetto_end,
};
