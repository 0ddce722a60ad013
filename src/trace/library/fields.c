/* Public access to the fields of an event (aflame/trace.h), from the event table. */
#include "aflame/trace.h"

#include "trace/kinds.h"
#include "trace/layout.h"

uint32_t af_trace_library_version(void)
{
	return AF_TRACE_LIBRARY_MAJOR << 16 | AF_TRACE_LIBRARY_MINOR;
}

const char *af_kind_name(uint16_t kind)
{
	const struct af_kind_info *info = af_kind_info(kind);

	return info ? info->name : NULL;
}

uint16_t af_kind_find(const char *name)
{
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info((uint16_t)kind);
		if (info && !strcmp(info->name, name))
			return info->kind;
	}
	return 0;
}

/* One function for each kind copies the fields from the disk's layout to the public struct. */
#define WIDE_u8(v) (v)
#define WIDE_u16(v) (v)
#define WIDE_u24(v) af_u24_value(v)
#define WIDE_u32(v) (v)
#define WIDE_u48(v) af_u48_value(v)
#define WIDE_u64(v) (v)
#define WIDE_x64(v) (v)
#define WIDE_i32(v) (v)
#define WIDE_i64(v) (v)
#define PUT_FIX(type, name) e->name = WIDE_##type(fixed->name);
#define PUT_STR(type, name) e->name = (const char *)tails++->data;
#define PUT_SEQ(type, name)                                                                        \
	e->name = (struct af_seq){tails->data, tails->len, sizeof(af_##type)}, tails++;
#define PUT(class, type, name, meaning) PUT_##class(type, name)
#define AF_K(number, NAME, name, meaning)                                                          \
	static void put_##name(const void *payload, const struct af_tail_view *tails, void *to)    \
	{                                                                                          \
		const struct af_ev_##name *fixed = payload;                                        \
		struct af_event_##name *e = to;                                                    \
		AF_##NAME##_FIELDS(PUT)(void) fixed;                                               \
		(void)tails;                                                                       \
	}
AF_KINDS(AF_K)
#undef AF_K

static const struct {
	void (*put)(const void *payload, const struct af_tail_view *tails, void *to);
	size_t size;
} public_kinds[] = {
#define AF_K(number, NAME, name, meaning) [number] = {put_##name, sizeof(struct af_event_##name)},
    AF_KINDS(AF_K)
#undef AF_K
};

bool af_event_as(const struct af_event *ev, uint16_t kind, void *to, size_t size)
{
	const struct af_kind_info *info = af_kind_info(ev->kind);
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!info || ev->kind != kind || public_kinds[kind].size != size ||
	    !af_payload_split(info, ev->payload, ev->payload_size, NULL, tails))
		return false;
	public_kinds[kind].put(ev->payload, tails, to);
	return true;
}

static uint64_t fixed_value(enum af_field_type type, const uint8_t *p)
{
	uint64_t v = 0;

	memcpy(&v, p, af_field_size(type));
	return type == AF_TYPE_i32 ? (uint64_t)(int64_t)(int32_t)v : v;
}

static enum af_value_type value_type(const struct af_field_info *info)
{
	if (info->class != AF_FIELD_FIX)
		return info->class == AF_FIELD_STR ? AF_VALUE_TEXT : AF_VALUE_SEQ;
	if (info->type == AF_TYPE_i32 || info->type == AF_TYPE_i64)
		return AF_VALUE_SIGNED;
	return info->type == AF_TYPE_x64 ? AF_VALUE_HEX : AF_VALUE_NUMBER;
}

bool af_event_field_at(const struct af_event *ev, uint32_t i, struct af_field *field)
{
	const struct af_kind_info *kind = af_kind_info(ev->kind);
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!kind || i >= kind->nr_fields ||
	    !af_payload_split(kind, ev->payload, ev->payload_size, NULL, tails))
		return false;

	const struct af_field_info *info = &kind->fields[i];
	uint32_t nr_fixed = kind->nr_fields - kind->nr_tails, offset = 0;
	*field = (struct af_field){
	    .name = info->name, .meaning = info->meaning, .type = value_type(info)};
	if (i < nr_fixed) {
		for (uint32_t k = 0; k < i; k++)
			offset += af_field_size(kind->fields[k].type);
		field->number = fixed_value(info->type, ev->payload + offset);
	} else if (info->class == AF_FIELD_STR) {
		field->text = (const char *)tails[i - nr_fixed].data;
	} else {
		const struct af_tail_view *tail = &tails[i - nr_fixed];
		field->seq = (struct af_seq){tail->data, tail->len, af_field_size(info->type)};
	}
	return true;
}

bool af_event_field(const struct af_event *ev, const char *name, struct af_field *field)
{
	const struct af_kind_info *kind = af_kind_info(ev->kind);

	for (uint32_t i = 0; kind && i < kind->nr_fields; i++)
		if (!strcmp(kind->fields[i].name, name))
			return af_event_field_at(ev, i, field);
	return false;
}

uint64_t af_event_number(const struct af_event *ev, const char *name)
{
	struct af_field field;

	return af_event_field(ev, name, &field) ? field.number : 0;
}

const char *af_event_text(const struct af_event *ev, const char *name)
{
	struct af_field field;

	return af_event_field(ev, name, &field) ? field.text : NULL;
}

const char *af_field_value_name(const struct af_field *field)
{
	const struct af_enum_info *e =
	    af_field_enum(&(struct af_field_info){.name = field->name, .meaning = field->meaning});

	return e ? af_enum_name(e, (uint32_t)field->number) : NULL;
}
