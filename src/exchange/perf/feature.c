/* The header's sections: build-ids, names of events, the machine, its clock. */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "exchange/perf/file.h"

enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOST = 3,
	FEATURE_RELEASE = 4,
	FEATURE_MACHINE = 6,
	FEATURE_COMMAND = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_CLOCK_DATA = 29,
	MISC_BUILD_ID_SIZE = 1 << 15, /* the 21st byte of an id says how long it is */
	BUILD_ID_FIXED = 28,          /* pid, id, its size, padding */
	UPDATE_NAME = 2,
};

static uint32_t text_name(struct perf_file *f, const uint8_t *text, size_t size)
{
	return af_strtab_id(&f->names, (const char *)text, strnlen((const char *)text, size));
}

/* A string of the header: its length with padding, and that. */
static bool cursor_text(struct perf_file *f, struct af_cursor *c, uint32_t *name)
{
	size_t len = af_cursor_uint(c, 4);
	const uint8_t *text = af_cursor_bytes(c, len);

	if (!c->bad)
		*name = text_name(f, text, len);
	return !c->bad;
}

void perf_feature_build_id(struct perf_file *f, const uint8_t *body, size_t size, uint32_t misc)
{
	if (size <= BUILD_ID_FIXED)
		return;
	struct perf_build_id b = {.len = PERF_BUILD_ID_MAX};
	memcpy(b.id, body + 4, PERF_BUILD_ID_MAX);
	if (misc & MISC_BUILD_ID_SIZE && body[4 + PERF_BUILD_ID_MAX] < PERF_BUILD_ID_MAX)
		b.len = body[4 + PERF_BUILD_ID_MAX];
	b.path = text_name(f, body + BUILD_ID_FIXED, size - BUILD_ID_FIXED);
	AF_GROW(f->build_ids, f->nr_build_ids, f->cap_build_ids);
	f->build_ids[f->nr_build_ids++] = b;
}

/* Records with their headers, one after the other. */
static void build_ids_read(struct perf_file *f, struct af_cursor c)
{
	enum { RECORD_HEADER = 8 };

	while (c.end - c.at >= RECORD_HEADER) {
		size_t size = perf_u16(c.at + 6);
		if (size < RECORD_HEADER || size > (size_t)(c.end - c.at))
			return;
		perf_feature_build_id(f, c.at + RECORD_HEADER, size - RECORD_HEADER,
		                      perf_u16(c.at + 4));
		c.at += size;
	}
}

static void command_read(struct perf_file *f, struct af_cursor c)
{
	enum { COMMAND_MAX = 512 };
	struct af_buf text = {0};
	uint64_t nr = af_cursor_uint(&c, 4);
	uint32_t name;

	for (uint32_t i = 0; i < nr && text.len < COMMAND_MAX && cursor_text(f, &c, &name); i++)
		af_buf_fmt(&text, "%s%.*s", i ? " " : "", COMMAND_MAX,
		           af_strtab_get(&f->names, name));
	if (text.len)
		f->command = af_strtab_id(&f->names, text.data, text.len);
	af_buf_free(&text);
}

/* The events again, in the order of the attrs, with their names. */
static void events_read(struct perf_file *f, struct af_cursor c)
{
	uint64_t nr = af_cursor_uint(&c, 4), attr_size = af_cursor_uint(&c, 4);
	uint32_t name;

	for (uint32_t i = 0; i < nr && af_cursor_bytes(&c, attr_size); i++) {
		uint64_t nr_ids = af_cursor_uint(&c, 4);
		if (!cursor_text(f, &c, &name) || !af_cursor_bytes(&c, nr_ids * 8))
			return;
		if (i < f->nr_attrs)
			f->attrs[i].name = name;
	}
}

static void clock_read(struct perf_file *f, struct af_cursor c)
{
	enum { CLOCK_DATA_BYTES = 24 };

	if (c.end - c.at < CLOCK_DATA_BYTES || perf_u32(c.at) != 1)
		return;
	uint64_t wall_ns = perf_u64(c.at + 8), clock_ns = perf_u64(c.at + 16);
	if (wall_ns > clock_ns)
		f->epoch_ns = wall_ns - clock_ns;
}

void perf_feature(struct perf_file *f, uint32_t number, const uint8_t *data, size_t size)
{
	struct af_cursor c = {data, data + size, false};

	switch (number) {
	case FEATURE_BUILD_ID:
		build_ids_read(f, c);
		break;
	case FEATURE_HOST:
		cursor_text(f, &c, &f->host);
		break;
	case FEATURE_RELEASE:
		cursor_text(f, &c, &f->release);
		break;
	case FEATURE_MACHINE:
		cursor_text(f, &c, &f->machine);
		break;
	case FEATURE_COMMAND:
		command_read(f, c);
		break;
	case FEATURE_EVENT_DESC:
		events_read(f, c);
		break;
	case FEATURE_CLOCK_DATA:
		clock_read(f, c);
		break;
	}
}

void perf_feature_update(struct perf_file *f, const uint8_t *body, size_t size)
{
	if (size < 17 || perf_u64(body) != UPDATE_NAME)
		return;
	const uint64_t *attr = af_map_get(&f->by_id, perf_u64(body + 8));
	if (attr)
		f->attrs[*attr - 1].name = text_name(f, body + 16, size - 16);
}
