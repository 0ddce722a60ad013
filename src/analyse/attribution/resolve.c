/* From the address of a sample to the code that lay there, and to the launch groups that ran it. */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/addresses.h"
#include "analyse/world/world.h"
#include "base/arena.h"

enum {
	RESOLVE_CODES = 64, /* at one address */
	RESOLVE_ROWS = ATTRIBUTION_SAMPLED,
	RESOLVE_STALLS = 64 /* reasons that are remembered */
};

/* When code lay there: in the window; up to a little before it; known from later on only. */
enum lay { LAY_THEN, LAY_BEFORE, LAY_LATER, LAY_END };

struct resolving {
	struct af_attribution *a;
	const struct af_world *w;
	const struct address_device *device;
	const struct attribution_window *win;
	struct address_index *index;
	bool cut; /* the window crosses an end of the time range */
	struct attribution_reason reasons[RESOLVE_STALLS]; /* by the recorder's number */
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

static inline struct attribution_reason reason_of(struct resolving *r, uint32_t stall)
{
	if (stall >= RESOLVE_STALLS)
		return attribution_reason(r->w, af_world_stall(r->w, 0, stall));
	if (!r->reasons[stall].known)
		r->reasons[stall] = attribution_reason(r->w, af_world_stall(r->w, 0, stall));
	return r->reasons[stall];
}

/* The phase of row @i: phases lie evenly, however many there are. */
static inline uint32_t phase_of(uint32_t i)
{
	return (i + 1) * PHASE_STEP;
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
	return (struct resolving){a, w, device, win, index, cut, {{0}}};
}

/* The segments of @nr rows, resolved; NULL: they are nobody's. */
static void block_find(struct resolving *r, const struct address_row *rows, uint32_t nr,
                       const struct address_segment *segments[RESOLVE_ROWS])
{
	for (uint32_t i = 0; i < nr; i++) {
		if (i && rows[i].address == rows[i - 1].address) {
			segments[i] = segments[i - 1];
			continue;
		}
		struct address_segment *segment = address_index_find(r->index, rows[i].address);
		if (segment && segment->epoch != r->a->private_->epoch)
			segment_resolve(r, segment);
		segments[i] = segment && segment->code ? segment : NULL;
	}
}

/* The samples of a row of @segment are those of its choice; false where none is in the range. */
static inline bool row_add(struct resolving *r, const struct address_segment *segment,
                           const struct address_row *row, uint32_t phase,
                           struct attribution_sampled *sampled)
{
	struct attribution_private *p = r->a->private_;
	struct attribution_choice *choice = attribution_choice_of(p, segment->code);
	const struct attribution_reason reason = reason_of(r, row->stall);
	uint32_t count = row->count;
	/* The base of an alias is 0. */
	uint64_t offset = row->address - segment->base;

	if (choice->span.in_range_ns != choice->span.all_ns)
		count = attribution_portion(&choice->span, count, phase);
	if (!count)
		return false;
	if (!choice->group)
		choice->group = attribution_group(p, segment->code, choice) + 1;
	choice->count += reason.latency ? 0 : count;
	*sampled = (struct attribution_sampled){
	    .offset = r->index->is_32 ? (uint32_t)offset : offset,
	    .group = choice->group - 1,
	    .stall = reason.stall,
	    .count = count,
	    .latency = reason.latency,
	};
	return true;
}

bool address_resolve(struct af_attribution *a, const struct af_world *w,
                     struct address_device *device, const struct attribution_window *win,
                     struct address_rows *rows)
{
	struct resolving r = resolving_of(a, w, device, win);
	struct attribution_private *p = a->private_;
	const struct address_segment *segments[RESOLVE_ROWS];
	struct attribution_sampled sampled[RESOLVE_ROWS];
	uint32_t left = 0;

	attribution_at(a, w, win->end_ns);
	for (uint32_t first = 0, nr; first < rows->nr; first += nr) {
		uint32_t nr_sampled = 0;
		nr = rows->nr - first < RESOLVE_ROWS ? rows->nr - first : RESOLVE_ROWS;
		block_find(&r, rows->all + first, nr, segments);
		for (uint32_t i = 0; i < nr; i++) {
			const struct address_row row = rows->all[first + i];
			if (!segments[i])
				rows->all[left++] = row; /* in the place of an earlier one */
			else
				nr_sampled += row_add(&r, segments[i], &row, phase_of(first + i),
				                      &sampled[nr_sampled]);
		}
		attribution_count(p, sampled, nr_sampled);
	}
	attribution_joined_all(p, &a->devices[device->place], r.cut);
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
	attribution_at(a, w, win->end_ns);
	for (uint32_t i = 0; i < rows->nr; i++) {
		const struct address_row *row = &rows->all[i];
		uint64_t base = 0;
		const struct address_segment *segment = address_index_find(r.index, row->address);
		struct attribution_put put = {
		    .place = device->place,
		    .code = segment ? only_code(&r, segment, &base) : 0,
		    .stall = af_world_stall(w, 0, row->stall),
		    .count = row->count,
		    .offset = row->address,
		    .cut = r.cut,
		    .phase = phase_of(i),
		};
		if (put.code)
			put.offset -= base;
		if (put.code && r.index->is_32)
			put.offset = (uint32_t)put.offset;
		attribution_put_nobody(a, w, &put, &span);
	}
	rows->nr = 0;
}
