#include "analyse/flame/insn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/attribution.h"
#include "analyse/frames/frame_locations.h"
#include "analyse/frames/frames.h"
#include "analyse/world/code_names.h"
#include "base/arena.h"
#include "sym/device/stalls.h"

#define CODE_NOT_KNOWN "[code not known]"

struct flame_insn flame_insn_open(struct af_tree *t, const struct af_world *w,
                                  const struct af_results *results, bool samples)
{
	return (struct flame_insn){
	    .tree = t,
	    .world = w,
	    .results = results,
	    .depth = results->query.depth,
	    .samples = samples && results->query.weights & 1 << AF_WEIGHT_SAMPLES,
	};
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static void name_add(struct flame_insn *d, const char *text, enum af_frame kind,
                     const struct af_location *location)
{
	AF_GROW(d->names, d->nr_names, d->cap_names);
	d->names[d->nr_names++] = af_tree_name_at(d->tree, text, strlen(text), kind, location);
}

static void name_line(struct flame_insn *d, const struct af_code_frame *f, const char *function,
                      const struct af_location *at)
{
	struct af_location location = *at;
	char text[1024];

	if (f->function)
		function = f->function;
	if (!f->file)
		snprintf(text, sizeof text, "%s", function);
	else if (!f->line)
		snprintf(text, sizeof text, "%s (%s)", function, base_name(f->file));
	else
		snprintf(text, sizeof text, "%s (%s:%u)", function, base_name(f->file), f->line);
	location.function = function;
	location.file = f->file;
	location.line = f->line;
	location.what = AF_LOCATION_LINE;
	name_add(d, text, AF_FRAME_GPU, &location);
}

/* Adds the frames of lines from the outermost in, then the instruction. */
static void name_place(struct flame_insn *d, const struct af_attributed *f)
{
	const struct af_world *w = d->world;
	struct af_code_names *names = d->results->code_names;
	const struct af_device_code *code = &w->codes[f->code];
	struct af_code_frame frames[AF_CODE_FRAMES];
	struct af_location location = af_location_device(w, f->code, f->offset);
	char insn[256];

	uint32_t nr = af_code_names_frames(names, w, f->code, f->offset, frames, AF_CODE_FRAMES);
	for (uint32_t i = nr; i-- > 0;) {
		location.inlined = i + 1 < nr;
		name_line(d, &frames[i], code->shown, &location);
	}
	location.inlined = false;
	if (!nr && code->kernel != code->name)
		name_add(d, code->shown, AF_FRAME_GPU, NULL);
	if (d->depth == AF_DEPTH_LINE || (d->depth == AF_DEPTH_BEST && nr))
		return;
	const char *text = af_code_names_text(names, w, f->code, f->offset);
	if (!text && d->depth == AF_DEPTH_BEST)
		return;
	snprintf(insn, sizeof insn, "0x%04llx%s%s", (unsigned long long)f->offset, text ? " " : "",
	         text ? text : "");
	location.function = code->shown;
	location.what = AF_LOCATION_INSN;
	name_add(d, insn, AF_FRAME_GPU_INSN, &location);
}

/* Samples of addresses, which are of no process, have that where no code is known. */
static uint32_t draw_address(struct flame_insn *d, uint32_t node, const struct af_attributed *f)
{
	const struct af_launch_group *of = &d->results->attribution->launch_groups[f->launch_group];
	/* It is an instruction of the frame that stands for the code. */
	const struct af_location location = {
	    .what = AF_LOCATION_INSN, .function = CODE_NOT_KNOWN, .address = f->offset};
	char text[32];

	if (of->is.process || d->depth == AF_DEPTH_BEST || d->depth == AF_DEPTH_LINE)
		return node;
	snprintf(text, sizeof text, "0x%llx", (unsigned long long)f->offset);
	return af_tree_child(
	    d->tree, node,
	    af_tree_name_at(d->tree, text, strlen(text), AF_FRAME_GPU_INSN, &location));
}

static uint32_t draw_place(struct flame_insn *d, uint32_t node, const struct af_attributed *f)
{
	bool fresh;

	if (d->depth == AF_DEPTH_KERNEL)
		return node;
	if (!f->code)
		return draw_address(d, node, f);
	uint64_t *slot = af_keys_at(&d->by_place, AF_KEY(f->code, f->offset), &fresh);
	if (fresh) {
		uint32_t at = d->nr_names;
		AF_GROW(d->names, d->nr_names, d->cap_names);
		d->nr_names++;
		name_place(d, f);
		d->names[at] = d->nr_names - at - 1;
		*slot = at;
	}
	const uint32_t at = (uint32_t)*slot;
	for (uint32_t i = 1; i <= d->names[at]; i++)
		node = af_tree_child(d->tree, node, d->names[at + i]);
	return node;
}

static uint32_t draw_stall(struct flame_insn *d, uint32_t node, uint32_t stall)
{
	const struct af_world *w = d->world;
	char name[AF_STALL_NAME], text[AF_STALL_NAME + 2];

	if (d->depth != AF_DEPTH_STALL || !stall)
		return node;
	if (!d->stalls)
		d->stalls = af_xcalloc(w->nr_stalls, sizeof *d->stalls);
	if (!d->stalls[stall]) {
		const char *reason = af_stall_name(w->stalls[stall].name, name);
		const struct af_location location = {.what = AF_LOCATION_STALL, .function = reason};
		snprintf(text, sizeof text, "[%s]", reason);
		d->stalls[stall] =
		    af_tree_name_at(d->tree, text, strlen(text), AF_FRAME_GPU_INSN, &location);
	}
	return af_tree_child(d->tree, node, d->stalls[stall]);
}

void flame_insn_close(struct flame_insn *d)
{
	af_keys_free(&d->by_place);
	free(d->names);
	free(d->stalls);
}

/*
 * A graph that was timed as a whole has no frame of a kernel yet; neither has a kernel without
 * work, nor one of a batch with several.
 */
static uint32_t draw_kernel(const struct flame_insn *d, const struct af_launch_group *launch_group,
                            uint32_t node, const struct af_attributed *f)
{
	const struct af_world *w = d->world;

	if (launch_group->name &&
	    (!f->code || launch_group->name == w->codes[f->code].kernel ||
	     !af_world_batch_runs(w, launch_group->is.process, launch_group->is.kernel, f->code)))
		return node;
	if (!f->code)
		return af_frames_under(d->tree, node, CODE_NOT_KNOWN, AF_FRAME_MARK);
	return af_frames_under(d->tree, node, w->codes[f->code].shown, AF_FRAME_GPU);
}

static void draw_found(struct flame_insn *d, const struct af_launch_group *launch_group,
                       uint32_t node, uint64_t time_ns)
{
	const struct af_attributed *found = d->results->attribution->found + launch_group->first;
	const struct af_attributed *last = NULL; /* that was drawn */
	uint32_t place = node;
	uint64_t before = 0;

	for (uint32_t i = 0; i < launch_group->nr; i++) {
		const struct af_attributed *f = &found[i];
		if (!f->parts)
			continue;
		if (!last || f->code != last->code || f->offset != last->offset)
			place = draw_place(d, draw_kernel(d, launch_group, node, f), f);
		uint32_t leaf = draw_stall(d, place, f->stall);
		af_tree_add(d->tree, leaf, AF_WEIGHT_TIME,
		            af_attribution_share(time_ns, before, f->parts, launch_group->parts));
		if (d->samples)
			af_tree_add(d->tree, leaf, AF_WEIGHT_SAMPLES, f->samples);
		before += f->parts;
		last = f;
	}
}

/* The launch group @is, NULL when it has no samples. */
static const struct af_launch_group *insn_launch_group(const struct flame_insn *d,
                                                       const struct af_launch_group_key *is)
{
	const struct af_attribution *a = d->results->attribution;
	int64_t at = a ? af_attribution_group(a, is) : -1;

	return at >= 0 && a->launch_groups[at].parts ? &a->launch_groups[at] : NULL;
}

bool flame_insn_has(const struct flame_insn *d, const struct af_launch_group_key *is)
{
	return d->samples && insn_launch_group(d, is);
}

void flame_insn_draw(struct flame_insn *d, const struct af_launch_group_key *is, uint32_t node,
                     uint64_t time_ns)
{
	const struct af_launch_group *launch_group = insn_launch_group(d, is);

	if (launch_group)
		draw_found(d, launch_group, node, time_ns);
	else
		af_tree_add(d->tree, node, AF_WEIGHT_TIME, time_ns);
}

void flame_insn_draw_unrecorded(struct flame_insn *d, const struct af_launch_group *launch_group,
                                uint32_t node)
{
	if (!d->samples || !launch_group->parts)
		return;
	node = af_frames_under(d->tree, node, "[samples of no recorded kernel]", AF_FRAME_MARK);
	draw_found(d, launch_group, node, 0);
}
