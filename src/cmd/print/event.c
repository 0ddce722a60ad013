#include "cmd/print/event.h"

#include <assert.h>
#include <string.h>

#include "analyse/world/work.h"

/* Where the four stamps are among the fields of work and work_long. */
enum { STAMPS_AT = 2, STAMPS = 4 };

void af_event_printer_init(struct af_event_printer *p, bool json, uint64_t start_ns)
{
	*p = (struct af_event_printer){.json = json, .start_ns = start_ns};
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info(kind);
		if (!info)
			continue;
		assert(info->nr_fields <= AF_PRINT_FIELDS);
		for (uint32_t i = 0; i < info->nr_fields; i++)
			p->enums[kind][i] = af_field_enum(&info->fields[i]);
	}
}

static void put_bytes(struct af_buf *b, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		char two[2] = {"0123456789abcdef"[p[i] >> 4], "0123456789abcdef"[p[i] & 15]};
		af_buf_add(b, two, 2);
	}
}

static void put_signed(struct af_buf *b, int64_t v)
{
	if (v < 0)
		af_buf_char(b, '-');
	af_buf_u64(b, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static uint64_t load(const uint8_t *at, enum af_field_type type)
{
	uint64_t v = 0;

	memcpy(&v, at, af_field_size(type));
	return v;
}

/* JSON numbers are exact in every reader up to 2^53: addresses and handles go as strings. */
static void put_value(struct af_buf *b, bool json, enum af_field_type type, const uint8_t *at)
{
	uint64_t v = load(at, type);

	switch (type) {
	case AF_TYPE_x64:
		if (json)
			af_buf_char(b, '"');
		af_buf_hex(b, v);
		if (json)
			af_buf_char(b, '"');
		break;
	case AF_TYPE_i32:
		put_signed(b, (int32_t)v);
		break;
	case AF_TYPE_i64:
		put_signed(b, (int64_t)v);
		break;
	default:
		af_buf_u64(b, v);
	}
}

/* Names of the flags that are set, joined by '|'; what has no name as a number. */
static void put_flags(struct af_buf *b, const struct af_enum_info *e, uint32_t v)
{
	bool first = true;

	for (uint32_t i = 0; i < e->nr_values; i++) {
		if (!(v & e->values[i].value))
			continue;
		if (!first)
			af_buf_char(b, '|');
		first = false;
		af_buf_str(b, e->values[i].name);
		v &= ~e->values[i].value;
	}
	if (!first && !v)
		return;
	if (!first)
		af_buf_char(b, '|');
	af_buf_u64(b, v);
}

static void put_enum(struct af_buf *b, bool json, const struct af_enum_info *e, uint32_t v)
{
	const char *name = e->flags ? NULL : af_enum_name(e, v);

	if (json)
		af_buf_char(b, '"');
	if (e->flags)
		put_flags(b, e, v);
	else if (name)
		af_buf_str(b, name);
	else
		af_buf_u64(b, v);
	if (json)
		af_buf_char(b, '"');
}

static void put_string(struct af_buf *b, bool json, const struct af_tail_view *tail)
{
	if (json) {
		af_buf_json(b, (const char *)tail->data, tail->len);
		return;
	}
	af_buf_char(b, '"');
	af_buf_terminal(b, (const char *)tail->data, tail->len, "\"\\");
	af_buf_char(b, '"');
}

static void put_sequence(struct af_buf *b, bool json, enum af_field_type type,
                         const struct af_tail_view *tail)
{
	if (type == AF_TYPE_u8) {
		if (json)
			af_buf_char(b, '"');
		put_bytes(b, tail->data, tail->len);
		if (json)
			af_buf_char(b, '"');
		return;
	}
	af_buf_char(b, '[');
	for (uint32_t i = 0; i < tail->len; i++) {
		if (i)
			af_buf_char(b, ',');
		put_value(b, json, type, tail->data + (size_t)i * af_field_size(type));
	}
	af_buf_char(b, ']');
}

static void put_name(struct af_buf *b, bool json, const char *name, bool first)
{
	if (json) {
		af_buf_str(b, first ? "\"" : ",\"");
		af_buf_str(b, name);
		af_buf_str(b, "\":");
	} else {
		af_buf_char(b, ' ');
		af_buf_str(b, name);
		af_buf_char(b, '=');
	}
}

/* A time of the trace, 0 when it is not known; work may have been queued before the trace began. */
static void put_stamp(const struct af_event_printer *p, uint64_t ns, struct af_buf *b)
{
	if (!ns) {
		af_buf_str(b, p->json ? "null" : "?");
	} else if (p->json) {
		af_buf_u64(b, ns);
	} else {
		if (ns < p->start_ns)
			af_buf_char(b, '-');
		af_buf_seconds(b, ns < p->start_ns ? p->start_ns - ns : ns - p->start_ns, 0);
	}
}

static void put_stamps(const struct af_event_printer *p, const struct af_work *work,
                       struct af_buf *b)
{
	static const char *const names[2][STAMPS] = {
	    {"queued", "submit", "start", "end"}, {"queued_ns", "submit_ns", "start_ns", "end_ns"}};
	static const struct af_work unknown;

	if (!work)
		work = &unknown;
	const uint64_t ns[STAMPS] = {work->queued_ns, work->submit_ns, work->start_ns,
	                             work->end_ns};
	for (int i = 0; i < STAMPS; i++) {
		put_name(b, p->json, names[p->json][i], false);
		put_stamp(p, ns[i], b);
	}
}

static bool has_stamps(const struct af_kind_info *info)
{
	return info->kind == AF_KIND_WORK || info->kind == AF_KIND_WORK_LONG;
}

static void put_fields(const struct af_event_printer *p, const struct af_kind_info *info,
                       const struct af_event *ev, const struct af_work *work, struct af_buf *b)
{
	bool place = has_stamps(info) && !p->raw;
	struct af_tail_view tails[AF_TAILS_MAX];
	const struct af_tail_view *tail = tails;
	const uint8_t *at = ev->payload;

	if (!af_payload_split(info, at, ev->payload_size, NULL, tails))
		return;
	for (uint32_t i = 0; i < info->nr_fields; i++) {
		const struct af_field_info *f = &info->fields[i];
		const struct af_enum_info *e = p->enums[info->kind][i];

		if (place && i >= STAMPS_AT && i < STAMPS_AT + STAMPS) {
			if (i == STAMPS_AT)
				put_stamps(p, work, b);
			at += af_field_size(f->type);
			continue;
		}
		put_name(b, p->json, f->name, i == 0);
		if (f->class == AF_FIELD_STR) {
			put_string(b, p->json, tail++);
		} else if (f->class == AF_FIELD_SEQ) {
			put_sequence(b, p->json, f->type, tail++);
		} else {
			if (e)
				put_enum(b, p->json, e, (uint32_t)load(at, f->type));
			else
				put_value(b, p->json, f->type, at);
			at += af_field_size(f->type);
		}
	}
}

/* @s, then blanks up to @width. */
static void put_padded(struct af_buf *b, size_t from, size_t width)
{
	static const char blanks[] = "                        ";
	size_t used = b->len - from;

	if (used < width)
		af_buf_add(b, blanks, width - used);
}

/* @before and @value, then blanks up to @width. */
static void put_column(struct af_buf *b, const char *before, uint64_t value, size_t width)
{
	size_t from = b->len;

	af_buf_str(b, before);
	af_buf_u64(b, value);
	put_padded(b, from, width);
}

void af_event_head(const struct af_event_printer *p, const struct af_event *ev, struct af_buf *b)
{
	uint64_t ns = ev->time_ns > p->start_ns ? ev->time_ns - p->start_ns : 0;

	af_buf_seconds(b, ns, 14);

	size_t from = b->len;
	if (p->of) {
		af_buf_char(b, ' ');
		af_buf_str(b, p->of);
		put_padded(b, from, 6);
	}
	put_column(b, " s", ev->stream, 5);
	put_column(b, " p", ev->process, 4);
	from = b->len;
	af_buf_char(b, ' ');
	af_buf_u64(b, ev->pid);
	af_buf_char(b, '/');
	af_buf_u64(b, ev->tid);
	put_padded(b, from, 14);
	af_buf_char(b, ' ');
}

static void json_head(const struct af_event_printer *p, const struct af_event *ev, struct af_buf *b)
{
	af_buf_char(b, '{');
	if (p->of)
		af_buf_str(b, p->of);
	af_buf_str(b, "\"time_ns\":");
	af_buf_u64(b, ev->time_ns);
	af_buf_str(b, ",\"stream\":");
	af_buf_u64(b, ev->stream);
	af_buf_str(b, ",\"process\":");
	af_buf_u64(b, ev->process);
	af_buf_str(b, ",\"pid\":");
	af_buf_u64(b, ev->pid);
	af_buf_str(b, ",\"tid\":");
	af_buf_u64(b, ev->tid);
	af_buf_str(b, ",\"kind\":\"");
}

void af_event_print(const struct af_event_printer *p, const struct af_event *ev,
                    const struct af_work *work, struct af_buf *b)
{
	const struct af_kind_info *info = af_kind_info(ev->kind);

	if (p->json)
		json_head(p, ev, b);
	else
		af_event_head(p, ev, b);

	size_t from = b->len;
	if (info) {
		af_buf_str(b, info->name);
	} else {
		af_buf_str(b, "kind_");
		af_buf_u64(b, ev->kind);
	}
	if (p->json)
		af_buf_str(b, "\",\"fields\":{");
	else
		put_padded(b, from, 12);

	if (info) {
		put_fields(p, info, ev, work, b);
	} else {
		put_name(b, p->json, "payload", true);
		put_sequence(b, p->json, AF_TYPE_u8,
		             &(struct af_tail_view){ev->payload, ev->payload_size});
	}
	af_buf_str(b, p->json ? "}}\n" : "\n");
}
