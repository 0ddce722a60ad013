/* The energy of devices as a weight of the trees of their work. */
#include <stdlib.h>

#include "analyse/energy/energy.h"
#include "analyse/energy/private.h"
#include "analyse/flame/work.h"
#include "analyse/frames/frames.h"
#include "base/arena.h"

enum { DRAWN = 2 };

struct energy_draw {
	const struct energy *e;
	const struct af_world *w;
	struct af_results *out;
	struct af_tree *trees[DRAWN];
	struct flame_scratch scratch[DRAWN];
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
	return view == AF_VIEW_GPU || !alone || (query->answers & both) != both;
}

struct energy_draw *energy_draw_open(const struct energy *e, const struct af_world *w,
                                     struct af_results *out)
{
	struct energy_draw *d = af_xcalloc(1, sizeof *d);

	*d = (struct energy_draw){.e = e, .w = w, .out = out};
	for (uint32_t v = AF_VIEW_GPU; v <= AF_VIEW_ALL; v++) {
		if (!is_drawn(out, v))
			continue;
		d->trees[d->nr] = &out->trees[v];
		flame_scratch_open(&d->scratch[d->nr], af_tree_has_locations(&out->trees[v]));
		d->nr++;
	}
	return d;
}

/* All that is drawn is of a device, and so of both views. */
static void draw_add(struct energy_draw *d, uint32_t tree, uint32_t node, uint64_t mj)
{
	af_tree_add(d->trees[tree], node, AF_WEIGHT_ENERGY, mj);
	d->out->has[AF_VIEW_GPU] |= 1u << AF_WEIGHT_ENERGY;
	d->out->has[AF_VIEW_ALL] |= 1u << AF_WEIGHT_ENERGY;
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
		for (uint32_t i = 0; i < d->nr && part; i++)
			draw_add(d, i,
			         flame_group_node(d->trees[i], &d->scratch[i], d->w, &row->is,
			                          &d->out->query),
			         part);
	}
}

void energy_draw_idle(struct energy_draw *d, const char *device, uint64_t mj)
{
	for (uint32_t i = 0; i < d->nr && mj; i++) {
		uint32_t node = af_frames_under(d->trees[i], 0, device, AF_FRAME_GPU);
		draw_add(d, i, af_frames_under(d->trees[i], node, AF_ENERGY_IDLE, AF_FRAME_MARK),
		         mj);
	}
}

void energy_draw_close(struct energy_draw *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		flame_scratch_close(&d->scratch[i]);
	free(d);
}
