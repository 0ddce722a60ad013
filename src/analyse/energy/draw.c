/* The energy of devices and CPUs as a weight of the trees of their work and samples. */
#include <stdlib.h>

#include "analyse/energy/energy.h"
#include "analyse/energy/private.h"
#include "analyse/flame/work.h"
#include "analyse/frames/frame_locations.h"
#include "analyse/frames/frames.h"
#include "base/arena.h"

enum { DRAWN = 3 };

struct energy_draw {
	const struct energy *e;
	const struct af_world *w;
	struct af_results *out;
	struct drawn {
		uint32_t view;
		struct af_tree *tree;
		struct flame_scratch scratch;
	} drawn[DRAWN];
	uint32_t nr;
};

/*
 * The view of everything is made as the pass of flame graphs makes it. The work of a part of the
 * program is not all that ran on a device.
 */
static bool is_drawn(const struct af_results *out, uint32_t view)
{
	const uint32_t both = 1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU;
	const struct af_query *query = &out->query;
	bool alone = !out->has[AF_VIEW_CPU] || !out->has[AF_VIEW_GPU];

	if (!(query->answers & 1u << view) || !(query->weights & 1u << AF_WEIGHT_ENERGY) ||
	    query->range || query->tid || query->device)
		return false;
	return view != AF_VIEW_ALL || !alone || (query->answers & both) != both;
}

struct energy_draw *energy_draw_open(const struct energy *e, const struct af_world *w,
                                     struct af_results *out)
{
	struct energy_draw *d = af_xcalloc(1, sizeof *d);

	*d = (struct energy_draw){.e = e, .w = w, .out = out};
	for (uint32_t v = AF_VIEW_CPU; v <= AF_VIEW_ALL; v++) {
		if (!is_drawn(out, v))
			continue;
		struct drawn *to = &d->drawn[d->nr++];
		*to = (struct drawn){.view = v, .tree = &out->trees[v]};
		flame_scratch_open(&to->scratch, af_tree_has_locations(to->tree));
	}
	return d;
}

static uint32_t cpu_node(const struct energy_draw *d, struct drawn *to,
                         const struct energy_row *row)
{
	const struct af_stack_location *at = &d->e->cpu_stacks.all[row->place - 1];
	uint32_t node = flame_process(to->tree, d->w, at->process, d->out->query.group);

	if (at->tid)
		node = af_frames_thread(to->tree, d->w, node, at->process, at->tid);
	if (d->out->query.ranges)
		node = af_frames_ranges(to->tree, d->w, node, row->is.doing);
	return af_frames_place(to->tree, d->w, node, at);
}

/* @mj more of a row, or with NULL of the idle time of the device @device. */
static void draw_add(struct energy_draw *d, const struct energy_row *row, bool cpu,
                     const char *device, uint64_t mj)
{
	uint32_t own = cpu ? AF_VIEW_CPU : AF_VIEW_GPU;

	for (uint32_t i = 0; i < d->nr && mj; i++) {
		struct drawn *to = &d->drawn[i];
		uint32_t node;
		if (to->view != own && to->view != AF_VIEW_ALL)
			continue;
		if (!row) {
			node = af_frames_under(to->tree, 0, device,
			                       cpu ? AF_FRAME_MARK : AF_FRAME_GPU);
			node = af_frames_under(to->tree, node,
			                       cpu ? AF_ENERGY_CPU_IDLE : AF_ENERGY_IDLE,
			                       AF_FRAME_MARK);
		} else if (cpu) {
			node = cpu_node(d, to, row);
		} else {
			node = flame_group_node(to->tree, &to->scratch, d->w, &row->is,
			                        &d->out->query);
		}
		af_tree_add(to->tree, node, AF_WEIGHT_ENERGY, mj);
		d->out->has[own] |= 1u << AF_WEIGHT_ENERGY;
		d->out->has[AF_VIEW_ALL] |= 1u << AF_WEIGHT_ENERGY;
	}
}

/* Each takes up to where its part ends of the whole: so the parts add up, whatever is rounded. */
void energy_draw_works(struct energy_draw *d, uint32_t first, double joule, uint64_t mj)
{
	double upto_j = 0;
	uint64_t given = 0;

	for (uint32_t at = first; at && d->nr;) {
		const struct energy_row *row = &d->e->rows[at - 1];
		at = row->next;
		upto_j += row->joule;
		uint64_t upto = mj;
		if (at && joule > 0 && upto_j < joule)
			upto = (uint64_t)((double)mj * (upto_j > 0 ? upto_j / joule : 0) + 0.5);
		uint64_t part = upto > given ? upto - given : 0;
		given += part;
		draw_add(d, row, row->place != 0, NULL, part);
	}
}

void energy_draw_idle(struct energy_draw *d, const char *device, bool cpu, uint64_t mj)
{
	draw_add(d, NULL, cpu, device, mj);
}

void energy_draw_close(struct energy_draw *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		flame_scratch_close(&d->drawn[i].scratch);
	free(d);
}
