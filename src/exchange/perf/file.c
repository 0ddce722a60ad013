/* The container: bytes to records, through compression, and which parts come where. */
#include "exchange/perf/file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "exchange/source/source.h"

enum {
	HEADER_BYTES = 104, /* of a file; a pipe's are the first 16 */
	PIPE_HEADER_BYTES = 16,
	RECORD_HEADER = 8,
	RECORD_MAX = 64 << 10, /* its size has 16 bits */
	BUFFER_BYTES = 1 << 20,
	SECTION_MAX = 64 << 20, /* of attrs or a feature */
	NR_FEATURES = 64,       /* that this reader looks at, of 256 that there may be */
};

static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP";

struct perf_section {
	uint64_t at, size;
};

bool perf_file_is(const void *data, size_t len)
{
	return len >= 8 && (!memcmp(data, magic, 8) || !memcmp(data, magic_swapped, 8));
}

static bool __attribute__((format(printf, 2, 3), cold))
file_fail(struct perf_file *f, const char *fmt, ...)
{
	va_list ap;

	f->over = true;
	va_start(ap, fmt);
	if (!*f->complaint)
		vsnprintf(f->complaint, sizeof f->complaint, fmt, ap);
	va_end(ap);
	return false;
}

/* Have @size bytes (at most the buffer's) at buffer + at. */
static bool file_need(struct perf_file *f, size_t size)
{
	if (f->end - f->at >= size)
		return true;
	if (BUFFER_BYTES - f->at < size) {
		memmove(f->buffer, f->buffer + f->at, f->end - f->at);
		f->end -= f->at;
		f->at = 0;
	}
	while (f->end - f->at < size) {
		ssize_t n = f->in->read(f->in->arg, f->buffer + f->end, BUFFER_BYTES - f->end);
		if (n <= 0)
			return false;
		f->end += (size_t)n;
	}
	return true;
}

static void file_take(struct perf_file *f, size_t size)
{
	f->at += size;
	f->position += size;
}

static bool file_skip(struct perf_file *f, uint64_t size)
{
	while (size) {
		size_t there = f->end - f->at;
		if (!there && !file_need(f, 1))
			return false;
		there = f->end - f->at;
		there = there < size ? there : (size_t)size;
		file_take(f, there);
		size -= there;
	}
	return true;
}

static bool file_go(struct perf_file *f, uint64_t to)
{
	if (to >= f->position)
		return file_skip(f, to - f->position);
	if (f->position - to <= f->at) { /* of a pipe, the beginning is in the buffer still */
		f->at -= (size_t)(f->position - to);
		f->position = to;
		return true;
	}
	if (!f->in->seek || !f->in->seek(f->in->arg, to))
		return false;
	f->at = f->end = 0;
	f->position = to;
	return true;
}

/* Have the bytes of a section in @b, which is emptied before; false: they are not all there. */
static bool section_read(struct perf_file *f, struct perf_section s, struct af_buf *b)
{
	b->len = 0;
	if (!s.size || s.size > SECTION_MAX || !file_go(f, s.at))
		return false;
	while (b->len < s.size) {
		if (f->end == f->at && !file_need(f, 1))
			return false;
		size_t n = f->end - f->at;
		n = n < s.size - b->len ? n : (size_t)s.size - b->len;
		af_buf_add(b, f->buffer + f->at, n);
		file_take(f, n);
	}
	return true;
}

/* Entries of @entry bytes: an attr, and the section of its ids behind it. */
static bool attrs_read(struct perf_file *f, struct perf_section s, uint64_t entry)
{
	struct af_buf attrs = {0}, ids = {0};
	bool there = entry > 16 && entry <= RECORD_MAX && section_read(f, s, &attrs);
	const uint8_t *data = (const uint8_t *)attrs.data;
	uint64_t nr = there ? s.size / entry : 0;

	for (uint64_t i = 0; i < nr; i++)
		if (perf_attr_add(f, data + i * entry, (size_t)entry - 16) != (int)i)
			nr = i;
	for (uint64_t i = 0; i < nr; i++) {
		const uint8_t *where = data + (i + 1) * entry - 16;
		struct perf_section at = {perf_u64(where), perf_u64(where + 8)};
		if (section_read(f, at, &ids))
			perf_attr_ids(f, (uint32_t)i, (const uint8_t *)ids.data, ids.len);
	}
	af_buf_free(&attrs);
	af_buf_free(&ids);
	return nr || file_fail(f, "the description of its events cannot be read");
}

static bool header_read(struct perf_file *f)
{
	const uint8_t *h = f->buffer;
	struct perf_section attrs = {perf_u64(h + 24), perf_u64(h + 32)};
	struct perf_section data = {perf_u64(h + 40), perf_u64(h + 48)};
	uint64_t entry = perf_u64(h + 16);

	f->features = perf_u64(h + 72);
	if (!attrs_read(f, attrs, entry))
		return false;
	if (f->nr_attrs > 1 && !f->by_id.nr)
		return file_fail(f,
		                 "could not read the ids that say which event a sample belongs to");
	if (!file_go(f, data.at))
		return file_fail(
		    f, "the file ends before its data, or cannot be read out of order (a pipe)");
	f->unfinished = !data.size;
	f->data_end =
	    data.size && data.at + data.size >= data.at ? data.at + data.size : UINT64_MAX;
	return true;
}

bool perf_file_open(struct perf_file *f, const struct af_import_source *in)
{
	*f = (struct perf_file){.in = in, .buffer = af_xrealloc(NULL, BUFFER_BYTES)};
	if (!file_need(f, PIPE_HEADER_BYTES) || !perf_file_is(f->buffer, 8))
		return file_fail(f, "no perf.data");
	if (!memcmp(f->buffer, magic_swapped, 8))
		return file_fail(f, "recorded on a machine of the other byte order: convert it "
		                    "there, with perf script");
	uint64_t size = perf_u64(f->buffer + 8);
	f->data_end = UINT64_MAX;
	if (size == PIPE_HEADER_BYTES) {
		f->pipe = true;
		file_take(f, PIPE_HEADER_BYTES);
		return true;
	}
	if (size < HEADER_BYTES || !file_need(f, HEADER_BYTES))
		return file_fail(f, "a perf.data of another kind (header of %" PRIu64 " bytes)",
		                 size);
	return header_read(f);
}

void perf_file_close(struct perf_file *f)
{
	free(f->buffer);
	free(f->plain);
	free(f->attrs);
	free(f->build_ids);
	af_map_free(&f->by_id);
	af_strtab_free(&f->names);
	ZSTD_freeDCtx(f->zstd);
	*f = (struct perf_file){0};
}

/*
 * One stream of compressed data runs through all compressed records, and records may begin anywhere
 * in it.
 */
static bool plain_add(struct perf_file *f, const uint8_t *data, size_t size)
{
	ZSTD_inBuffer from = {data, size, 0};

	f->compressed = true;
	if (!f->zstd)
		f->zstd = ZSTD_createDCtx();
	if (!f->zstd)
		return file_fail(f, "no memory to decompress it");
	if (f->plain_at)
		memmove(f->plain, f->plain + f->plain_at, f->plain_end - f->plain_at);
	f->plain_end -= f->plain_at;
	f->plain_at = 0;
	for (;;) {
		if (f->plain_cap - f->plain_end < BUFFER_BYTES / 2)
			f->plain = af_xrealloc(f->plain, f->plain_cap += BUFFER_BYTES);
		ZSTD_outBuffer to = {f->plain, f->plain_cap, f->plain_end};
		size_t rc = ZSTD_decompressStream(f->zstd, &to, &from);
		if (ZSTD_isError(rc))
			return file_fail(f, "damaged compressed data at byte %" PRIu64,
			                 f->position);
		bool full = to.pos == to.size;
		f->plain_end = to.pos;
		if (from.pos == from.size && !full)
			return true;
	}
}

/* Bytes that belong to a record but are not counted in its size. */
static uint64_t record_behind(const struct perf_record *r)
{
	if (r->type == PERF_TRACING_DATA && r->size >= 4)
		return (perf_u32(r->body) + UINT64_C(7)) & ~UINT64_C(7);
	if (r->type == PERF_AUXTRACE && r->size >= 8)
		return perf_u64(r->body);
	return 0;
}

/* Records that perf wrote about itself. False: the record is for the caller. */
static bool record_own(struct perf_file *f, const struct perf_record *r)
{
	size_t attr = r->size;
	int i;

	switch (r->type) {
	case PERF_HEADER_ATTR:
		attr = perf_attr_size(r->body, r->size);
		i = perf_attr_add(f, r->body, attr);
		if (i >= 0)
			perf_attr_ids(f, (uint32_t)i, r->body + attr, r->size - attr);
		return true;
	case PERF_HEADER_FEATURE:
		if (r->size >= 8)
			perf_feature(f, perf_u32(r->body), r->body + 8, r->size - 8);
		return true;
	case PERF_EVENT_UPDATE:
		perf_feature_update(f, r->body, r->size);
		return true;
	case PERF_BUILD_ID:
		perf_feature_build_id(f, r->body, r->size, r->misc);
		return true;
	case PERF_COMPRESSED:
		plain_add(f, r->body, r->size);
		return true;
	case PERF_COMPRESSED2:
		if (r->size >= 8 && perf_u64(r->body) <= r->size - 8)
			plain_add(f, r->body + 8, (size_t)perf_u64(r->body));
		return true;
	}
	return false;
}

static size_t record_see(struct perf_record *r, const uint8_t *at)
{
	size_t size = perf_u16(at + 6);

	*r = (struct perf_record){perf_u32(at), perf_u16(at + 4), at + RECORD_HEADER,
	                          size - RECORD_HEADER};
	return size;
}

/* The next decompressed record. False: it is not complete yet. */
static bool plain_next(struct perf_file *f, struct perf_record *r)
{
	size_t there = f->plain_end - f->plain_at;

	if (there < RECORD_HEADER)
		return false;
	size_t size = record_see(r, f->plain + f->plain_at);
	if (size < RECORD_HEADER)
		return file_fail(f, "damaged record in compressed data before byte %" PRIu64,
		                 f->position);
	if (there < size)
		return false;
	f->plain_at += size;
	return true;
}

/* Behind the data lies one section for each bit. */
static bool features_read(struct perf_file *f)
{
	struct perf_section s[NR_FEATURES];
	struct af_buf data = {0};
	bool whole = true;
	uint32_t nr = 0;

	for (int i = 0; i < NR_FEATURES; i++)
		nr += f->features >> i & 1;
	if (!file_go(f, f->data_end) || !file_need(f, nr * sizeof *s))
		return false;
	memcpy(s, f->buffer + f->at, nr * sizeof *s);
	nr = 0;
	for (uint32_t i = 0; i < NR_FEATURES && whole; i++) {
		if (!(f->features >> i & 1) || !s[nr++].size)
			continue;
		whole = section_read(f, s[nr - 1], &data);
		if (whole)
			perf_feature(f, i, (const uint8_t *)data.data, data.len);
	}
	af_buf_free(&data);
	return whole;
}

static bool file_end(struct perf_file *f)
{
	if (!f->over && !f->pipe && f->data_end != UINT64_MAX && !features_read(f))
		file_fail(f, "the file ends before a section that its header lists");
	f->over = true;
	return false;
}

/* A record of the file itself. */
static bool outer_next(struct perf_file *f, struct perf_record *r)
{
	if (f->position >= f->data_end)
		return file_end(f);
	if (!file_need(f, RECORD_HEADER)) {
		if (f->end != f->at || (f->data_end != UINT64_MAX && !f->pipe))
			return file_fail(f, "the file ends in the middle");
		return file_end(f);
	}
	size_t size = perf_u16(f->buffer + f->at + 6);
	if (size < RECORD_HEADER)
		return file_fail(f, "damaged record at byte %" PRIu64, f->position);
	if (!file_need(f, size))
		return file_fail(f, "the file ends in the middle of a record");
	record_see(r, f->buffer + f->at);
	file_take(f, size);
	uint64_t behind = record_behind(r);
	if (behind && !file_skip(f, behind))
		return file_fail(f, "the file ends in the middle of a record");
	return true;
}

bool perf_file_next(struct perf_file *f, struct perf_record *r)
{
	while (!f->over) {
		bool inner = plain_next(f, r);
		if (!inner && (f->over || !outer_next(f, r)))
			return false;
		/* perf never writes compressed records inside compressed ones. */
		bool nested = inner && (r->type == PERF_COMPRESSED || r->type == PERF_COMPRESSED2);
		if (!nested && !record_own(f, r))
			return true;
	}
	return false;
}

bool perf_file_more(struct perf_file *f)
{
	if (!f->in->next || !f->in->next(f->in->arg))
		return false;
	/* Each file has its own compressed stream, if it is compressed. */
	ZSTD_freeDCtx(f->zstd);
	f->zstd = NULL;
	f->at = f->end = f->plain_at = f->plain_end = 0;
	f->position = 0;
	f->data_end = UINT64_MAX;
	f->over = false;
	return true;
}
