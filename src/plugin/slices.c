/* Slices of a plug-in for formats: a heading for each group, rows below it, lanes in these. */
#include <stdlib.h>
#include <string.h>

#include "analyse/time/slices.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/map.h"
#include "plugin/results.h"

/* Details of slices are in there: of these there are none. */
static const struct af_world no_world;

enum {
	FIRST_PID = 1 << 22, /* no process of Linux has it */
	GROUPS = 1 << 16     /* pids for those of one plug-in */
};

struct handing {
	struct af_plugin_results *r;
	uint32_t first_pid;
	struct af_rows rows;
	struct af_map by_group; /* name → track */
	uint32_t *rows_of;      /* by track: its row, or its counter's track */
};

static int slice_order(const void *a, const void *b)
{
	const struct af_plugin_slice *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static struct af_track group_of(struct handing *h, uint32_t group)
{
	const char *name = af_strtab_get(&h->r->names, group);
	bool fresh;
	uint64_t *slot = af_map_at(&h->by_group, group, &fresh);
	struct af_track t = {.kind = AF_TRACK_PROCESS,
	                     .pid = h->first_pid + (uint32_t)h->by_group.nr,
	                     .rank = (uint32_t)h->by_group.nr,
	                     .name = *name ? name : h->r->name};

	if (fresh)
		*slot = (uint64_t)t.pid << 32 | af_rows_track(&h->rows, &t);
	t.id = (uint32_t)*slot;
	t.pid = (uint32_t)(*slot >> 32);
	return t;
}

static void track_hand(struct handing *h, uint32_t i)
{
	const struct af_plugin_track *is = &h->r->tracks[i];
	const char *unit = af_strtab_get(&h->r->names, is->unit);
	struct af_track group = group_of(h, is->group);
	struct af_track t = {.parent = group.id,
	                     .pid = group.pid,
	                     .rank = i + 1,
	                     .kind = is->counter ? AF_TRACK_COUNTER : AF_TRACK_ROW,
	                     .name = af_strtab_get(&h->r->names, is->name),
	                     .unit = AF_CELL_COUNT};

	if (is->counter && strcmp(unit, "bytes") != 0) {
		t.counted = unit;
		t.per = 1;
	} else if (is->counter) {
		t.unit = AF_CELL_BYTES;
	}
	h->rows_of[i] =
	    is->counter ? af_rows_track(&h->rows, &t) : af_rows_add(&h->rows, &t, 0, 1, true);
}

int af_plugin_slices(struct af_plugin_results *r, uint32_t number, struct af_slices *all,
                     const struct af_slices_sink *sink)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	struct handing h = {.r = r, .first_pid = FIRST_PID + number * GROUPS, .rows.sink = sink};

	if (!r->stacks.nr)
		af_tree_open(&r->stacks, none, 1);
	all->names = &r->names;
	all->stacks = &r->stacks;
	all->world = &no_world;
	all->start_ns = r->start_ns;
	all->damage = r->damage ? r->damage : "";
	h.rows_of = af_xcalloc(r->nr_tracks + 1ull, sizeof *h.rows_of);
	AF_SORT(r->slices, r->nr_slices, slice_order);
	for (uint32_t i = 0; i < r->nr_tracks; i++)
		track_hand(&h, i);
	for (uint64_t i = 0; i < r->nr_slices; i++) {
		const struct af_plugin_slice *is = &r->slices[i];
		const struct af_slice s = {.start_ns = is->start_ns,
		                           .end_ns = is->end_ns,
		                           .name = is->name,
		                           .kind = AF_SLICE_RANGE};
		af_rows_put(&h.rows, h.rows_of[is->track - 1], &s);
	}
	for (uint64_t i = 0; i < r->nr_points; i++) {
		const struct af_plugin_point *is = &r->points[i];
		const struct af_point p = {
		    .track = h.rows_of[is->track - 1], .time_ns = is->time_ns, .value = is->value};
		af_rows_point(&h.rows, &p);
	}
	int rc = af_rows_flush(&h.rows);
	all->nr_slices = h.rows.nr_slices;
	all->nr_points = h.rows.nr_points;
	all->nr_tracks = h.rows.nr_tracks;
	all->crossing = h.rows.crossing;
	af_rows_free(&h.rows);
	af_map_free(&h.by_group);
	free(h.rows_of);
	return rc;
}
