#include "analyse/time/slices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/world/world.h"
#include "base/arena.h"

enum { ROWS_NEAR = 8 }; /* places that are tried one by one, from the last on */

/* A slice that is held back. */
struct rows_held {
	uint64_t start_ns, end_ns;
	uint32_t place; /* of row->slices */
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
	/*
	 * In order, from held[begin] on: most slices come behind all others. A window that slides,
	 * and begins anew where there is no more room behind it.
	 */
	struct rows_held *held;
	uint32_t begin, nr, cap_held, most;
	struct af_slice *slices;
	uint32_t cap, spare; /* spare: the place that is free when all others are taken */
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
	r->rows[r->nr] = (struct rows_row){
	    .like = *like, .first = first, .most = held, .spare = held, .nests = nests};
	return r->nr++;
}

static bool held_before(const struct rows_held *a, const struct rows_held *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->end_ns > b->end_ns;
}

/* Where @h belongs among those held back, behind its equals: their number before it. */
static uint32_t held_rank(const struct rows_held *held, uint32_t nr, const struct rows_held *h)
{
	uint32_t low = 0, high = nr;

	for (; high && nr - high < ROWS_NEAR; high--)
		if (!held_before(h, &held[high - 1]))
			return high;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (held_before(h, &held[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void held_push(struct rows_row *row, const struct af_slice *s)
{
	struct rows_held h = {s->start_ns, s->end_ns, row->nr < row->most ? row->nr : row->spare};
	uint32_t end = row->begin + row->nr;

	if (h.end_ns < h.start_ns)
		h.end_ns = h.start_ns;
	AF_ROOM(row->slices, h.place + 1, row->cap);
	row->slices[h.place] = *s;
	row->slices[h.place].end_ns = h.end_ns;
	if (row->begin && end == row->cap_held && row->begin >= row->nr) {
		memcpy(row->held, row->held + row->begin, row->nr * sizeof h);
		row->begin = 0;
		end = row->nr;
	}
	AF_GROW(row->held, end, row->cap_held);
	struct rows_held *first = row->held + row->begin;
	uint32_t rank = held_rank(first, row->nr, &h);
	if (rank < row->nr)
		memmove(first + rank + 1, first + rank, (row->nr - rank) * sizeof h);
	first[rank] = h;
	row->nr++;
}

/* The first of those held back; its place is free until the next one is pushed. */
static struct af_slice *held_pop(struct rows_row *row)
{
	row->spare = row->held[row->begin++].place;
	row->nr--;
	if (row->nr) { /* The next one was put here long ago: it is no longer in the cache. */
		const char *next = (const char *)&row->slices[row->held[row->begin].place];
		__builtin_prefetch(next);
		__builtin_prefetch(next + sizeof(struct af_slice) - 1);
	}
	return &row->slices[row->spare];
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
	struct af_slice *s = held_pop(row);

	if (r->rc)
		return;
	struct rows_lane *lane = lane_for(r, row, s);
	if (!lane) {
		r->crossing++;
		return;
	}
	lane->last_ns = s->start_ns;
	lane->ends_ns[lane->depth++] = s->end_ns;
	s->track = lane->track;
	r->nr_slices++;
	if (!r->rc && r->sink->slice)
		r->rc = r->sink->slice(r->sink->arg, s);
}

void af_rows_put(struct af_rows *r, uint32_t row, const struct af_slice *s)
{
	struct rows_row *at = &r->rows[row];

	held_push(at, s);
	if (at->nr > at->most)
		rows_hand_over(r, at);
}

void af_rows_point(struct af_rows *r, const struct af_point *p)
{
	r->nr_points++;
	if (!r->rc && r->sink->point)
		r->rc = r->sink->point(r->sink->arg, p);
}

static int rows_slice(void *rows, const struct af_slice *s)
{
	struct af_rows *r = rows;

	af_rows_put(r, s->track, s);
	return r->rc;
}

static int rows_point(void *rows, const struct af_point *p)
{
	struct af_rows *r = rows;

	af_rows_point(r, p);
	return r->rc;
}

struct af_slices_sink af_rows_sink(struct af_rows *r)
{
	return (struct af_slices_sink){.arg = r, .slice = rows_slice, .point = rows_point};
}

int af_rows_flush(struct af_rows *r)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		struct rows_row *row = &r->rows[i];
		while (row->nr)
			rows_hand_over(r, row);
		row->begin = 0;
		row->spare = row->most;
	}
	return r->rc;
}

void af_rows_free(struct af_rows *r)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		for (uint32_t l = 0; l < r->rows[i].nr_lanes; l++)
			free(r->rows[i].lanes[l].ends_ns);
		free(r->rows[i].lanes);
		free(r->rows[i].held);
		free(r->rows[i].slices);
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

const char *af_slice_arg_text(enum af_slice_arg_name name)
{
#define AF_A(NAME, text) [AF_ARG_##NAME] = text,
	static const char *const names[] = {AF_SLICE_ARGS_NAMES(AF_A)};
#undef AF_A
	return name < AF_ARG_END ? names[name] : "";
}

/* Where the arguments of one slice are put. */
struct arg_list {
	struct af_slice_arg *args;
	int nr;
};

static void arg_number(struct arg_list *l, enum af_slice_arg_name name, uint64_t number)
{
	struct af_slice_arg *a = &l->args[l->nr++];

	a->name = name;
	a->is_text = false;
	a->number = number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static void arg_used(struct arg_list *l, enum af_slice_arg_name name, uint64_t number)
{
	if (number)
		arg_number(l, name, number);
}

static void arg_size(struct arg_list *l, enum af_slice_arg_name name, uint64_t x, uint64_t y,
                     uint64_t z)
{
	struct af_slice_arg *a = &l->args[l->nr++];

	a->name = name;
	a->is_text = true;
	snprintf(a->text, sizeof a->text, "%" PRIu64 " x %" PRIu64 " x %" PRIu64, x, y, z);
}

static void arg_config(struct arg_list *l, const struct af_ev_launch_config *c)
{
	arg_number(l, AF_ARG_REGISTERS, c->registers);
	arg_used(l, AF_ARG_STATIC_SHARED, c->static_shared);
	arg_used(l, AF_ARG_DYNAMIC_SHARED, c->dynamic_shared);
	arg_used(l, AF_ARG_LOCAL, c->local);
	if (c->cluster_x)
		arg_size(l, AF_ARG_CLUSTER, c->cluster_x, c->cluster_y, c->cluster_z);
}

/* OpenCL counts the work items of a launch, CUDA the blocks: the trace has work items. */
static void args_descriptor(struct arg_list *l, const struct af_work_descriptor *descriptor)
{
	if (descriptor->is.op == AF_OP_KERNEL) {
		arg_size(l, AF_ARG_WORK_ITEMS, descriptor->is.global_x, descriptor->is.global_y,
		         descriptor->is.global_z);
		if (descriptor->is.local_x)
			arg_size(l, AF_ARG_GROUP, descriptor->is.local_x, descriptor->is.local_y,
			         descriptor->is.local_z);
	} else {
		arg_number(l, AF_ARG_BYTES, descriptor->is.bytes);
	}
	if (descriptor->config)
		arg_config(l, descriptor->config);
}

static void args_behind(struct arg_list *l, const struct af_slice *s)
{
	if (s->kind == AF_SLICE_WORK) {
		arg_used(l, AF_ARG_QUEUED, s->queued_ns);
		arg_used(l, AF_ARG_GRAPH, s->graph);
	} else if (s->kind == AF_SLICE_RUN) {
		arg_number(l, AF_ARG_SAMPLES, s->value);
	} else if (s->kind == AF_SLICE_LOST) {
		arg_number(l, AF_ARG_LOST, s->value);
	}
	if (s->status) {
		arg_number(l, AF_ARG_ERROR, 0);
		l->args[l->nr - 1].number = s->status;
	}
	if (s->open)
		arg_number(l, AF_ARG_UNFINISHED, 1);
}

int af_slice_args(const struct af_slices *all, const struct af_slice *s, unsigned parts,
                  struct af_slice_arg args[AF_SLICE_ARGS])
{
	struct arg_list l = {.args = args};

	if (parts & AF_SLICE_BEFORE)
		arg_used(&l, AF_ARG_CORRELATION, s->correlation);
	if (parts & AF_SLICE_DESCRIPTOR && s->kind == AF_SLICE_WORK && s->descriptor)
		args_descriptor(&l, &all->world->descriptors[s->descriptor]);
	if (parts & AF_SLICE_BEHIND)
		args_behind(&l, s);
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
