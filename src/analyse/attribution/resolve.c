/* From the address of a sample to the code that lay there, and to the launch groups that ran it. */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/addresses.h"
#include "analyse/world/world.h"
#include "base/arena.h"

enum {
	RESOLVE_CODES = 64, /* at one address */
	RESOLVE_ROWS = 64,
	RESOLVE_STALLS = 64 /* reasons that are remembered */
};

/* When code lay there: in the window; up to a little before it; known from later on only. */
enum lay { LAY_THEN, LAY_BEFORE, LAY_LATER, LAY_END };

struct resolving {
	struct af_attribution *a;
	const struct af_world *w;
	const struct address_device *device;
	const struct attribution_window *win;
	const struct address_index *index;
	bool cut;                        /* the window crosses an end of the time range */
	uint32_t stalls[RESOLVE_STALLS]; /* of the world, plus 1, by the recorder's number */
};

static enum lay lay_of(const struct resolving *r, const struct address_candidate *c)
{
	const struct address_placement *is =
	    &r->a->private_->addresses->placements.all[c->placement];

	if (is->from_ns > r->win->end_ns)
		return LAY_LATER;
	if (c->to_ns >= r->win->start_ns)
		return LAY_THEN;
	return attribution_later(c->to_ns, r->device->near_ns) >= r->win->start_ns ? LAY_BEFORE
	                                                                           : LAY_END;
}

/* The codes of @segment that lay there then. Of those that came later, the first of a process. */
static uint32_t codes_of(const struct resolving *r, const struct address_segment *segment,
                         enum lay lay, struct attribution_alias_code codes[RESOLVE_CODES])
{
	const struct address_placement *all = r->a->private_->addresses->placements.all;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < segment->nr && nr < RESOLVE_CODES; i++) {
		const struct address_candidate *c = &r->index->candidates[segment->first + i];
		const struct address_placement *is = &all[c->placement];
		uint32_t code = af_world_code(r->w, is->process, is->code);
		bool again = false;
		for (uint32_t k = 0; k < nr; k++)
			again |=
			    (codes[k].code == code && codes[k].base == is->address) ||
			    (lay == LAY_LATER && r->w->codes[codes[k].code].process == is->process);
		if (!code || again || lay_of(r, c) != lay)
			continue;
		codes[nr++] = (struct attribution_alias_code){is->address, code, r->index->is_32};
	}
	return nr;
}

/* Keeps those of @codes that touched work ran: in the window, or else near it. */
static uint32_t codes_that_ran(const struct resolving *r,
                               struct attribution_alias_code codes[RESOLVE_CODES], uint32_t nr)
{
	const struct attribution_private *p = r->a->private_;
	uint32_t kept = 0, all = 0;
	bool any_then = false;

	for (uint32_t i = 0; i < nr; i++)
		if (attribution_choose(r->a, r->w, codes[i].code)) {
			any_then |= !p->choices[codes[i].code].near;
			codes[all++] = codes[i];
		}
	for (uint32_t i = 0; i < all; i++)
		if (!any_then || !p->choices[codes[i].code].near)
			codes[kept++] = codes[i];
	return kept;
}

/* Whose are the samples of @segment, in this epoch? */
static void segment_resolve(const struct resolving *r, struct address_segment *segment)
{
	struct attribution_alias_code codes[RESOLVE_CODES];

	segment->epoch = r->a->private_->epoch;
	segment->code = 0;
	for (enum lay lay = LAY_THEN; lay < LAY_END && !segment->code; lay++) {
		uint32_t nr = codes_of(r, segment, lay, codes);
		nr = codes_that_ran(r, codes, nr);
		segment->base = nr == 1 ? codes[0].base : 0;
		if (nr == 1)
			segment->code = codes[0].code;
		else if (nr)
			segment->code =
			    attribution_choose_alias(r->a, r->w, codes, nr) | ATTRIBUTION_ALIAS;
	}
}

static inline uint32_t stall_of(struct resolving *r, uint32_t stall)
{
	if (stall >= RESOLVE_STALLS)
		return af_world_stall(r->w, 0, stall);
	if (!r->stalls[stall])
		r->stalls[stall] = af_world_stall(r->w, 0, stall) + 1;
	return r->stalls[stall] - 1;
}

/* Make @put of row @i, without a code. Phases lie evenly, however many there are. */
static inline void row_put(struct resolving *r, const struct address_row *row, uint32_t i,
                           struct attribution_put *put)
{
	put->place = r->device->place;
	put->code = 0;
	put->stall = stall_of(r, row->stall);
	put->count = row->count;
	put->offset = row->address;
	put->cut = r->cut;
	put->phase = (i + 1) * PHASE_STEP;
}

static struct resolving resolving_of(struct af_attribution *a, const struct af_world *w,
                                     struct address_device *device,
                                     const struct attribution_window *win)
{
	struct attribution_private *p = a->private_;
	struct address_index *index = &device->index[!!(win->flags & AF_WINDOW_ADDRESS_32)];

	index->is_32 = win->flags & AF_WINDOW_ADDRESS_32;
	address_index_make(index, &p->addresses->placements, w, device->id);
	const struct af_time_range *in = &w->time_range;
	bool cut = in->to_ns && (win->start_ns < in->from_ns || win->end_ns > in->to_ns);
	return (struct resolving){a, w, device, win, index, cut, {0}};
}

/* Rows that are joined together, as memory is slow: each step is one for all of them. */
struct block {
	const struct address_row *rows;
	const struct address_segment *segments[RESOLVE_ROWS]; /* NULL: of nobody */
	struct attribution_put puts[RESOLVE_ROWS];
	uint32_t nr;
};

static struct attribution_choice *choice_of(struct attribution_private *p, uint32_t code)
{
	return code & ATTRIBUTION_ALIAS ? &p->aliases[code & ~ATTRIBUTION_ALIAS].choice
	                                : &p->choices[code];
}

/* The segments of rows, resolved, and what is to be put where they have a code. */
static void block_find(struct resolving *r, struct block *b, uint32_t first,
                       struct address_segment **last)
{
	struct attribution_private *p = r->a->private_;
	struct address_segment *segment = *last;

	for (uint32_t i = 0; i < b->nr; i++) {
		const struct address_row *row = &b->rows[i];
		segment = address_index_find(r->index, row->address, segment);
		if (segment && segment->epoch != p->epoch)
			segment_resolve(r, segment);
		b->segments[i] = segment && segment->code ? segment : NULL;
		if (!b->segments[i])
			continue;
		struct attribution_put *put = &b->puts[i];
		row_put(r, row, first + i, put);
		put->code = segment->code;
		/* The base of an alias is 0. */
		put->offset -= segment->base;
		if (r->index->is_32)
			put->offset = (uint32_t)put->offset;
	}
	*last = segment;
}

static void block_fetch(const struct resolving *r, const struct block *b)
{
	struct attribution_private *p = r->a->private_;

	for (uint32_t i = 0; i < b->nr; i++) {
		const struct attribution_put *put = &b->puts[i];
		uint32_t group = b->segments[i] ? choice_of(p, put->code)->group : 0;
		if (group)
			attribution_fetch(p, group - 1, put->offset, put->stall);
	}
}

bool address_resolve(struct af_attribution *a, const struct af_world *w,
                     struct address_device *device, const struct attribution_window *win,
                     struct address_rows *rows)
{
	struct resolving r = resolving_of(a, w, device, win);
	struct attribution_private *p = a->private_;
	struct address_segment *last = NULL;
	uint32_t left = 0;
	struct block b;

	for (uint32_t first = 0; first < rows->nr; first += b.nr) {
		b.nr = rows->nr - first < RESOLVE_ROWS ? rows->nr - first : RESOLVE_ROWS;
		b.rows = rows->all + first;
		block_find(&r, &b, first, &last);
		block_fetch(&r, &b);
		for (uint32_t i = 0; i < b.nr; i++) {
			if (b.segments[i])
				attribution_put(a, w, choice_of(p, b.puts[i].code), &b.puts[i]);
			else
				rows->all[left++] = b.rows[i]; /* of this block or before it */
		}
	}
	attribution_divide_all(p);
	rows->nr = left;
	return left;
}

/* The only code that was ever known to lie there, 0 for none or several. */
static uint32_t only_code(const struct resolving *r, const struct address_segment *segment,
                          uint64_t *base)
{
	struct attribution_alias_code codes[RESOLVE_CODES];

	for (enum lay lay = LAY_THEN; lay < LAY_END; lay++) {
		uint32_t nr = codes_of(r, segment, lay, codes);
		*base = nr ? codes[0].base : 0;
		if (nr)
			return nr == 1 ? codes[0].code : 0;
	}
	return 0;
}

void address_give_up(struct af_attribution *a, const struct af_world *w,
                     struct address_device *device, const struct attribution_window *win,
                     struct address_rows *rows)
{
	struct resolving r = resolving_of(a, w, device, win);
	/* A window at the end of all time has some length all the same. */
	uint64_t start_ns = win->start_ns < UINT64_MAX ? win->start_ns : UINT64_MAX - 1;
	uint64_t end_ns = win->end_ns > start_ns ? win->end_ns : start_ns + 1;
	const struct attribution_span span = attribution_span_of(&w->time_range, start_ns, end_ns);
	struct address_segment *segment = NULL;

	for (uint32_t i = 0; i < rows->nr; i++) {
		struct attribution_put put;
		uint64_t base = 0;

		row_put(&r, &rows->all[i], i, &put);
		segment = address_index_find(r.index, rows->all[i].address, segment);
		put.code = segment ? only_code(&r, segment, &base) : 0;
		if (put.code)
			put.offset -= base;
		if (put.code && r.index->is_32)
			put.offset = (uint32_t)put.offset;
		attribution_put_nobody(a, w, &put, &span);
	}
	rows->nr = 0;
}
