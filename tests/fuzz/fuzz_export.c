/*
 * Exports of trees and slices with hostile names, places and weights: all formats of
 * aflame export that render/ has. Checked: none fails, none writes nothing, and pprof's file is a
 * whole gzip stream.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "analyse/time/slices.h"
#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/err.h"
#include "render/render.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct af_tree_weight columns[] = {
    {"time", "ns"},        {"samples", "samples", 1000000},
    {"count", "launches"}, {"bytes", "bytes"},
    {"off-cpu", "ns"},     {"alloc", "bytes"},
    {"live", "bytes"},     {"allocs", "allocations"},
    {"energy", "mJ"}};
_Static_assert(sizeof columns / sizeof *columns == AF_TREE_WEIGHTS, "a tree may have them all");

/* A short text without NUL, or NULL. */
static const char *take_text(struct input *in, char text[8])
{
	uint32_t len = take_byte(in) % 9;

	if (len == 8)
		return NULL;
	for (uint32_t i = 0; i < len; i++)
		text[i] = (char)(1 + take_byte(in) % 255);
	text[len] = 0;
	return text;
}

static uint32_t take_name(struct input *in, struct af_tree *t)
{
	char name[8], function[8], file[8], module[8], build_id[8];
	const char *text = take_text(in, name);
	struct af_location location = {
	    .function = take_text(in, function),
	    .file = take_text(in, file),
	    .module = take_text(in, module),
	    .build_id = take_text(in, build_id),
	    .address = (uint64_t)take_byte(in) << (take_byte(in) % 57),
	    .line = take_byte(in),
	    .first_line = take_byte(in) % 2,
	    .what = take_byte(in) % (AF_LOCATION_STALL + 1),
	    .inlined = take_byte(in) % 2,
	};

	/* As flame_insn.c has them: a place in device code has its function. */
	if ((location.what == AF_LOCATION_LINE || location.what == AF_LOCATION_INSN) &&
	    !location.function)
		location.function = "";
	return af_tree_name_at(t, text ? text : "", text ? strlen(text) : 0,
	                       take_byte(in) % AF_FRAME_END, &location);
}

static void tree_make(struct input *in, struct af_tree *t)
{
	uint32_t names[16], nr_names = 1 + take_byte(in) % 16;

	af_tree_open(t, columns, 1 + take_byte(in) % AF_TREE_WEIGHTS);
	if (take_byte(in) % 4)
		af_tree_keep_locations(t);
	for (uint32_t i = 0; i < nr_names; i++)
		names[i] = take_name(in, t);
	for (uint32_t stacks = take_byte(in) % 32; stacks; stacks--) {
		uint32_t node = 0;
		for (uint32_t depth = 1 + take_byte(in) % 12; depth; depth--)
			node = af_tree_child(t, node, names[take_byte(in) % nr_names]);
		af_tree_add(t, node, take_byte(in) % t->nr_weights,
		            (uint64_t)take_byte(in) << (take_byte(in) % 64));
	}
	af_tree_finish(t);
}

static int memory(void)
{
	return memfd_create("fuzz", MFD_CLOEXEC);
}

static void check_gzip(int fd)
{
	static uint8_t text[1 << 16], more[1 << 16];
	off_t size = lseek(fd, 0, SEEK_END);
	z_stream z = {0};

	if (size > (off_t)sizeof text)
		return;
	if (pread(fd, text, (size_t)size, 0) != size || inflateInit2(&z, MAX_WBITS + 16) != Z_OK)
		abort();
	z.next_in = text;
	z.avail_in = (unsigned)size;
	int rc;
	do {
		z.next_out = more;
		z.avail_out = sizeof more;
	} while ((rc = inflate(&z, Z_NO_FLUSH)) == Z_OK);
	if (rc != Z_STREAM_END || z.avail_in)
		abort();
	inflateEnd(&z);
}

static void trees_write(const struct af_format *f, const struct af_tree trees[2])
{
	static const char *const labels[] = {"cpu", "gpu"};
	const struct af_picture picture = {0};
	struct af_err err = {0};
	struct af_render r = {.fd = memory(), .picture = &picture};

	if (f->begin && f->begin(&r, &err))
		abort();
	for (int i = 0; i < 2; i++) {
		r.label = labels[i];
		if (f->tree(&r, &trees[i], &err))
			abort();
	}
	if (f->end && (f->end(&r, &err) || !lseek(r.fd, 0, SEEK_END)))
		abort();
	if (!strcmp(f->name, "pprof"))
		check_gzip(r.fd);
	close(r.fd);
}

static void put_slice(struct input *in, const struct af_format *f, struct af_render *r,
                      uint32_t nr_tracks)
{
	uint64_t start_ns = (uint64_t)take_byte(in) << (take_byte(in) % 57);
	const struct af_slice s = {
	    .track = 1 + take_byte(in) % nr_tracks,
	    .kind = take_byte(in) % AF_SLICE_END,
	    .start_ns = start_ns,
	    .end_ns = start_ns + take_byte(in),
	    .name = take_byte(in) % r->slices->names->nr,
	    .stack = take_byte(in) % r->slices->stacks->nr,
	    .weight_ns = (uint64_t)take_byte(in) << (take_byte(in) % 57),
	    .correlation = take_byte(in),
	    .way = take_byte(in) % 4,
	};

	if (f->slice(r, &s))
		abort();
}

static void slices_write(struct input in, const struct af_format *f, const struct af_tree *stacks)
{
	struct af_strtab names = {0};
	struct af_world world = {0};
	struct af_slices all = {.names = &names,
	                        .stacks = stacks,
	                        .world = &world,
	                        .start_ns = take_byte(&in),
	                        .adds_up = true,
	                        .damage = ""};
	struct af_render r = {.fd = memory(), .slices = &all};
	struct af_err err = {0};
	uint32_t nr_tracks = 1 + take_byte(&in) % 6;
	char text[6][8];

	for (int i = 0; i < 6; i++)
		if (take_text(&in, text[i]))
			af_strtab_id_z(&names, text[i]);
		else
			text[i][0] = 0;
	af_strtab_id_z(&names, "");
	if (f->begin(&r, &err))
		abort();
	for (uint32_t id = 1; id <= nr_tracks; id++) {
		const struct af_track t = {
		    .id = id,
		    .parent = id > 1 ? 1 + take_byte(&in) % (id - 1) : 0,
		    .kind = id > 1 ? 1 + take_byte(&in) % AF_TRACK_COUNTER : AF_TRACK_PROCESS,
		    .pid = take_byte(&in),
		    .tid = take_byte(&in) % 3,
		    .name = text[id - 1],
		};
		if (f->track(&r, &t))
			abort();
		const struct af_point p = {.track = id, .value = take_byte(&in)};
		if (t.kind == AF_TRACK_COUNTER && f->point(&r, &p))
			abort();
	}
	for (uint32_t nr = take_byte(&in) % 32; nr; nr--)
		put_slice(&in, f, &r, nr_tracks);
	if (f->end(&r, &err) || !lseek(r.fd, 0, SEEK_END))
		abort();
	close(r.fd);
	af_strtab_free(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct af_tree trees[2] = {0};

	tree_make(&in, &trees[0]);
	tree_make(&in, &trees[1]);
	for (const struct af_format *const *f = af_profile_formats; *f; f++) {
		trees_write(*f, trees);
		if ((*f)->slice)
			slices_write(in, *f, &trees[0]);
	}
	for (const struct af_format *const *f = af_slices_formats; *f; f++)
		slices_write(in, *f, &trees[0]);
	af_tree_close(&trees[0]);
	af_tree_close(&trees[1]);
	return 0;
}
