/*
 * Unwind tables (LSB, "Exception Frames"): the objects' tables are one behind the other; this adds
 * the stubs' own entry, an end, and .eh_frame_hdr, by which unwinders search.
 */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"
#include "unwind/cfi.h"

enum {
	FRAMES_HEAD = 8, /* length and the CIE's place */
	FRAMES_CIE = FRAMES_HEAD + 4,
	FRAMES_FDE = 24,
	FRAMES_END = 4,
};

struct frames_row {
	int32_t start, fde;
};

struct frames_entry {
	uint64_t at, len; /* the bytes behind its length */
	uint32_t id;      /* 0: a CIE */
};

/* The entry at *@at, which is moved behind it; zeroes are skipped. False at the end. */
static bool frames_next(const uint8_t *bytes, uint64_t size, uint64_t *at, struct frames_entry *e)
{
	uint32_t len = 0;

	while (!len && link_inside(*at, FRAMES_HEAD, size)) {
		memcpy(&len, bytes + *at, 4);
		*at += 4;
	}
	if (len < 4 || len >= 0xfffffff0 || !link_inside(*at, len, size))
		return false;
	e->at = *at;
	e->len = len;
	memcpy(&e->id, bytes + *at, 4);
	*at += len;
	return true;
}

uint32_t link_frames_count(const uint8_t *bytes, uint64_t size)
{
	struct frames_entry e;
	uint64_t at = 0;
	uint32_t nr = 0;

	while (frames_next(bytes, size, &at, &e))
		nr += e.id != 0;
	return nr;
}

static uint64_t frames_cie_size(const struct af_link *l)
{
	return link_align(FRAMES_CIE + l->machine->cie_size, 8);
}

uint64_t link_frames_extra(const struct af_link *l)
{
	return (l->stubs.nr ? frames_cie_size(l) + FRAMES_FDE : 0) + FRAMES_END;
}

static void put_u32(uint8_t *at, uint64_t v)
{
	uint32_t word = (uint32_t)v;

	memcpy(at, &word, 4);
}

/* A CIE and an FDE for all stubs: they change no register but a scratch one. */
static void frames_of_stubs(const struct af_link *l, uint8_t *frames)
{
	uint64_t cie_size = frames_cie_size(l), at = l->frames_end + cie_size;
	const struct link_out *stubs = &l->outs[l->out_stubs], *o = &l->outs[l->out_frames];
	uint8_t *cie = frames + l->frames_end, *fde = frames + at;

	if (!l->stubs.nr)
		return;
	put_u32(cie, cie_size - 4);
	memcpy(cie + FRAMES_HEAD, "\x01zR", 4);
	memcpy(cie + FRAMES_CIE, l->machine->cie, l->machine->cie_size);
	put_u32(fde, FRAMES_FDE - 4);
	put_u32(fde + 4, cie_size + 4);
	put_u32(fde + 8, stubs->address - (o->address + at + 8));
	put_u32(fde + 12, stubs->size);
}

static int frames_order(const void *a, const void *b)
{
	const struct frames_row *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void link_frames_write(struct af_link *l, uint8_t *out)
{
	const struct link_out *o = &l->outs[l->out_frames], *header = &l->outs[l->out_header];
	uint8_t *frames = out + o->offset, *to = out + header->offset;
	const struct af_cfi c = {.image = {frames, o->size, l->base + o->address}};
	struct frames_row *rows = af_xcalloc(l->nr_fdes + 1, sizeof *rows);
	struct frames_entry e;
	uint64_t at = 0, start;
	uint32_t nr = 0;

	frames_of_stubs(l, frames);
	while (nr < l->nr_fdes && frames_next(frames, o->size, &at, &e)) {
		if (!e.id || !af_cfi_start(&c, e.at - 4, &start) ||
		    start - l->base < l->place_start[LINK_TEXT] ||
		    start - l->base >= l->place_end[LINK_TEXT])
			continue;
		rows[nr].start = (int32_t)(start - l->base - header->address);
		rows[nr++].fde = (int32_t)(o->address + e.at - 4 - header->address);
	}
	AF_SORT(rows, nr, frames_order);
	static const uint8_t version_and_encodings[] = {0x01, 0x1b, 0x03, 0x3b};
	memcpy(to, version_and_encodings, sizeof version_and_encodings);
	put_u32(to + 4, o->address - (header->address + 4));
	put_u32(to + 8, nr);
	memcpy(to + 12, rows, nr * sizeof *rows);
	free(rows);
}

uint64_t af_link_frames(const struct af_link *l)
{
	return l->has_written ? l->base + l->outs[l->out_frames].address : 0;
}
