#include "analyse/time/slices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/world/world.h"
#include "base/arena.h"

/* A slice that is held back, and which came first. */
struct rows_held {
	struct af_slice slice;
	uint64_t order;
};

struct rows_lane {
	uint32_t track;
	uint32_t depth;   /* slices that are open at last_ns */
	uint64_t last_ns; /* start of the latest slice */
	uint64_t *ends_ns;
};

struct rows_row {
	struct af_track like;
	uint32_t first;
	bool nests;
	struct rows_held *held; /* a heap: the earliest, of these the outermost, is the first */
	uint32_t nr, cap, most;
	uint64_t nr_put;
	struct rows_lane *lanes;
	uint32_t nr_lanes, cap_lanes;
};

uint32_t af_rows_track(struct af_rows *r, struct af_track *t)
{
	t->id = ++r->nr_tracks;
	if (!r->rc && r->sink->track)
		r->rc = r->sink->track(r->sink->arg, t);
	return t->id;
}

uint32_t af_rows_add(struct af_rows *r, const struct af_track *like, uint32_t first, uint32_t held,
                     bool nests)
{
	AF_GROW(r->rows, r->nr, r->cap);
	r->rows[r->nr] =
	    (struct rows_row){.like = *like, .first = first, .most = held, .nests = nests};
	return r->nr++;
}

static bool held_before(const struct rows_held *a, const struct rows_held *b)
{
	if (a->slice.start_ns != b->slice.start_ns)
		return a->slice.start_ns < b->slice.start_ns;
	if (a->slice.end_ns != b->slice.end_ns)
		return a->slice.end_ns > b->slice.end_ns;
	return a->order < b->order;
}

static void held_push(struct rows_row *row, const struct rows_held *h)
{
	AF_GROW(row->held, row->nr, row->cap);
	uint32_t i = row->nr++;
	while (i && held_before(h, &row->held[(i - 1) / 2])) {
		row->held[i] = row->held[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	row->held[i] = *h;
}

static void held_pop(struct rows_row *row)
{
	const struct rows_held *last = &row->held[--row->nr];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < row->nr) {
		if (child + 1 < row->nr && held_before(&row->held[child + 1], &row->held[child]))
			child++;
		if (!held_before(&row->held[child], last))
			break;
		row->held[i] = row->held[child];
		i = child;
	}
	row->held[i] = *last;
}

static bool lane_takes(struct rows_lane *lane, const struct af_slice *s, bool nests)
{
	if (s->start_ns < lane->last_ns)
		return false;
	while (lane->depth && lane->ends_ns[lane->depth - 1] <= s->start_ns)
		lane->depth--;
	if (!lane->depth)
		return true;
	return nests && lane->depth < AF_ROWS_DEPTH && s->end_ns <= lane->ends_ns[lane->depth - 1];
}

static struct rows_lane *lane_add(struct af_rows *r, struct rows_row *row)
{
	struct af_track t = row->like;
	uint32_t lane = row->nr_lanes;

	AF_GROW(row->lanes, row->nr_lanes, row->cap_lanes);
	row->nr_lanes++;
	t.lane += lane;
	row->lanes[lane] = (struct rows_lane){
	    .track = lane || !row->first ? af_rows_track(r, &t) : row->first,
	    .ends_ns = af_xcalloc(row->nests ? AF_ROWS_DEPTH : 1, sizeof(uint64_t)),
	};
	return &row->lanes[lane];
}

static struct rows_lane *lane_for(struct af_rows *r, struct rows_row *row, const struct af_slice *s)
{
	for (uint32_t i = 0; i < row->nr_lanes; i++)
		if (lane_takes(&row->lanes[i], s, row->nests))
			return &row->lanes[i];
	return row->nr_lanes < AF_ROWS_LANES ? lane_add(r, row) : NULL;
}

static void rows_hand_over(struct af_rows *r, struct rows_row *row)
{
	struct af_slice s = row->held[0].slice;

	held_pop(row);
	if (r->rc)
		return;
	struct rows_lane *lane = lane_for(r, row, &s);
	if (!lane) {
		r->crossing++;
		return;
	}
	lane->last_ns = s.start_ns;
	lane->ends_ns[lane->depth++] = s.end_ns;
	s.track = lane->track;
	r->nr_slices++;
	if (!r->rc && r->sink->slice)
		r->rc = r->sink->slice(r->sink->arg, &s);
}

void af_rows_put(struct af_rows *r, uint32_t row, const struct af_slice *s)
{
	struct rows_row *at = &r->rows[row];
	struct rows_held h = {.slice = *s, .order = at->nr_put++};

	if (h.slice.end_ns < h.slice.start_ns)
		h.slice.end_ns = h.slice.start_ns;
	held_push(at, &h);
	if (at->nr > at->most)
		rows_hand_over(r, at);
}

void af_rows_point(struct af_rows *r, const struct af_point *p)
{
	r->nr_points++;
	if (!r->rc && r->sink->point)
		r->rc = r->sink->point(r->sink->arg, p);
}

int af_rows_flush(struct af_rows *r)
{
	for (uint32_t i = 0; i < r->nr; i++)
		while (r->rows[i].nr)
			rows_hand_over(r, &r->rows[i]);
	return r->rc;
}

void af_rows_free(struct af_rows *r)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		for (uint32_t l = 0; l < r->rows[i].nr_lanes; l++)
			free(r->rows[i].lanes[l].ends_ns);
		free(r->rows[i].lanes);
		free(r->rows[i].held);
	}
	free(r->rows);
	*r = (struct af_rows){0};
}

const char *af_slice_category(enum af_slice_kind kind)
{
#define AF_S(NAME, text) [AF_SLICE_##NAME] = text,
	static const char *const categories[] = {AF_SLICES(AF_S)};
#undef AF_S
	return kind < AF_SLICE_END ? categories[kind] : "";
}

/* Where the arguments of one slice are put. */
struct arg_list {
	struct af_slice_arg *args;
	int nr;
};

static void arg_number(struct arg_list *l, const char *name, uint64_t number)
{
	struct af_slice_arg *a = &l->args[l->nr++];

	a->name = name;
	a->is_text = false;
	a->number = number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static void arg_used(struct arg_list *l, const char *name, uint64_t number)
{
	if (number)
		arg_number(l, name, number);
}

static void arg_size(struct arg_list *l, const char *name, uint64_t x, uint64_t y, uint64_t z)
{
	struct af_slice_arg *a = &l->args[l->nr++];

	a->name = name;
	a->is_text = true;
	snprintf(a->text, sizeof a->text, "%" PRIu64 " x %" PRIu64 " x %" PRIu64, x, y, z);
}

static void arg_config(struct arg_list *l, const struct af_ev_launch_config *c)
{
	arg_number(l, "registers per thread", c->registers);
	arg_used(l, "static shared bytes", c->static_shared);
	arg_used(l, "dynamic shared bytes", c->dynamic_shared);
	arg_used(l, "local bytes per thread", c->local);
	if (c->cluster_x)
		arg_size(l, "cluster", c->cluster_x, c->cluster_y, c->cluster_z);
}

/* OpenCL counts the work items of a launch, CUDA the blocks: the trace has work items. */
static void args_work(struct arg_list *l, const struct af_world *w, const struct af_slice *s)
{
	const struct af_work_descriptor *descriptor =
	    s->descriptor ? &w->descriptors[s->descriptor] : NULL;

	if (descriptor && descriptor->is.op == AF_OP_KERNEL) {
		arg_size(l, "work items", descriptor->is.global_x, descriptor->is.global_y,
		         descriptor->is.global_z);
		if (descriptor->is.local_x)
			arg_size(l, "group", descriptor->is.local_x, descriptor->is.local_y,
			         descriptor->is.local_z);
	} else if (descriptor) {
		arg_number(l, "bytes", descriptor->is.bytes);
	}
	if (descriptor && descriptor->config)
		arg_config(l, descriptor->config);
	arg_used(l, "queued ns", s->queued_ns);
	arg_used(l, "graph", s->graph);
}

int af_slice_args(const struct af_slices *all, const struct af_slice *s,
                  struct af_slice_arg args[AF_SLICE_ARGS])
{
	struct arg_list l = {.args = args};

	arg_used(&l, "correlation", s->correlation);
	if (s->kind == AF_SLICE_WORK)
		args_work(&l, all->world, s);
	else if (s->kind == AF_SLICE_RUN)
		arg_number(&l, "samples", s->value);
	else if (s->kind == AF_SLICE_LOST)
		arg_number(&l, "lost", s->value);
	if (s->status) {
		arg_number(&l, "error", 0);
		args[l.nr - 1].number = s->status;
	}
	if (s->open)
		arg_number(&l, "unfinished", 1);
	return l.nr;
}

int af_slices_tables(const struct af_slices *all, struct af_slices_pair tables[AF_SLICES_TABLES])
{
	const struct af_slices_pair sums[] = {
	    {"slices", all->nr_slices, false},
	    {"points", all->nr_points, false},
	    {"tracks", all->nr_tracks, false},
	    {"left out: not in the times or too short, as asked", all->outside, false},
	    {"left out: after --limit", all->beyond, true},
	    {"left out: crossing too many others", all->crossing, true},
	    {"left out: device work without times", all->unstamped, true},
	    {"left out: times of a clock that the trace does not have", all->unplaced, true},
	    {"left out: device work of unknown kind", all->unknown, true},
	    {"left out: device work that failed", all->failed, false},
	    {"device work without its call", all->unlaunched, true},
	};
	int nr = 0;

	for (unsigned i = 0; i < sizeof sums / sizeof *sums; i++)
		if (i < 3 || sums[i].number)
			tables[nr++] = sums[i];
	for (uint32_t reason = 0; reason < AF_LOST_END && nr < AF_SLICES_TABLES; reason++)
		if (all->world->lost[reason])
			tables[nr++] = (struct af_slices_pair){af_lost_text(reason),
			                                       all->world->lost[reason], true};
	return nr;
}

struct tracks {
	const char *first;
	size_t stride;
};

static const struct af_track *track_of(const struct tracks *t, uint32_t id)
{
	return (const struct af_track *)(const void *)(t->first + (id - 1) * t->stride);
}

static uint32_t track_depth(const struct tracks *t, uint32_t id)
{
	uint32_t depth = 0;

	for (; id; id = track_of(t, id)->parent)
		depth++;
	return depth;
}

static int compare_tracks(const void *a, const void *b, void *arg)
{
	const struct tracks *t = arg;
	uint32_t x = *(const uint32_t *)a + 1, y = *(const uint32_t *)b + 1;
	uint32_t deep_x = track_depth(t, x), deep_y = track_depth(t, y);
	int above = deep_x < deep_y ? -1 : deep_x > deep_y;

	for (; deep_x > deep_y; deep_x--)
		x = track_of(t, x)->parent;
	for (; deep_y > deep_x; deep_y--)
		y = track_of(t, y)->parent;
	if (x == y)
		return above;
	while (track_of(t, x)->parent != track_of(t, y)->parent) {
		x = track_of(t, x)->parent;
		y = track_of(t, y)->parent;
	}
	const struct af_track *one = track_of(t, x), *other = track_of(t, y);
	if (one->rank != other->rank)
		return one->rank < other->rank ? -1 : 1;
	if (one->lane != other->lane)
		return one->lane < other->lane ? -1 : 1;
	return x < y ? -1 : 1;
}

void af_tracks_order(const void *tracks, size_t stride, uint32_t nr, uint32_t *order)
{
	struct tracks t = {tracks, stride};

	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof *order, compare_tracks, &t);
}
