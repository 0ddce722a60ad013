/*
 * The samples of windows and the works that ran meanwhile, both in the order in which they began.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/addresses.h"
#include "analyse/attribution/private.h"
#include "analyse/world/world.h"
#include "base/arena.h"

static int piece_order(const void *a, const void *b)
{
	const struct attribution_piece *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->launch_group < y->launch_group ? -1 : x->launch_group > y->launch_group;
}

static void merge_pieces(struct attribution_piece *into, const struct attribution_piece *a,
                         uint32_t nr_a, const struct attribution_piece *b, uint32_t nr_b)
{
	while (nr_a || nr_b) {
		bool first = nr_a && (!nr_b || piece_order(a, b) <= 0);
		*into++ = first ? *a : *b;
		if (first) {
			a++;
			nr_a--;
		} else {
			b++;
			nr_b--;
		}
	}
}

/* Sort the new entries, then merge them with the rest. */
void attribution_sort(struct attribution_place *place)
{
	struct attribution_piece *all = place->pieces, *fresh;
	uint32_t nr = place->nr_pieces - place->nr_sorted, at = 1;

	if (!nr)
		return;
	fresh = all + place->nr_sorted;
	while (at < nr && piece_order(&fresh[at - 1], &fresh[at]) <= 0)
		at++;
	if (at < nr)
		AF_SORT(fresh, nr, piece_order);
	if (place->nr_sorted && piece_order(fresh - 1, fresh) > 0) {
		struct attribution_piece *merged =
		    af_xrealloc(NULL, place->cap_pieces * sizeof *merged);
		merge_pieces(merged, all, place->nr_sorted, fresh, nr);
		free(all);
		place->pieces = merged;
	}
	place->nr_sorted = place->nr_pieces;
}

/* When a piece is over: without times of the device, at once. */
static uint64_t piece_end(const struct attribution_piece *is)
{
	return is->end_ns ? is->end_ns : is->start_ns;
}

void attribution_activate(struct attribution_active *active, const struct attribution_place *place,
                          uint64_t start_ns, uint64_t end_ns)
{
	uint32_t kept = 0;

	while (active->next < place->nr_pieces && place->pieces[active->next].start_ns < end_ns) {
		AF_GROW(active->pieces, active->nr, active->cap);
		active->pieces[active->nr++] = active->next++;
	}
	for (uint32_t i = 0; i < active->nr; i++)
		if (piece_end(&place->pieces[active->pieces[i]]) >= start_ns)
			active->pieces[kept++] = active->pieces[i];
	active->nr = kept;
}

/* Work of no length counts as a nanosecond at its beginning, each alike. */
static struct attribution_span piece_span(const struct af_time_range *in,
                                          const struct attribution_piece *is)
{
	uint64_t least_ns = attribution_later(is->start_ns, 1);

	return attribution_span_of(in, is->start_ns, least_ns > is->end_ns ? least_ns : is->end_ns);
}

/* A work as it is to a window. */
static struct attribution_ran piece_ran(const struct af_time_range *in,
                                        const struct attribution_piece *is,
                                        const struct attribution_window *win)
{
	uint64_t from_ns = is->start_ns > win->start_ns ? is->start_ns : win->start_ns;
	uint64_t to_ns = is->end_ns < win->end_ns ? is->end_ns : win->end_ns;
	struct attribution_ran ran = {0};

	if (!is->end_ns && is->start_ns > win->end_ns)
		return ran;
	if (!is->end_ns) {
		ran.launched = piece_span(in, is);
		return ran;
	}
	ran.near = piece_span(in, is);
	ran.busy = attribution_span_of(in, from_ns, to_ns > from_ns ? to_ns : from_ns);
	return ran;
}

void attribution_touch_active(struct attribution_private *p, const struct af_time_range *in,
                              const struct attribution_place *place,
                              const struct attribution_active *active, uint64_t near_ns,
                              const struct attribution_window *win)
{
	for (uint32_t i = 0; i < active->nr; i++) {
		const struct attribution_piece *is = &place->pieces[active->pieces[i]];
		if (is->start_ns >= attribution_later(win->end_ns, near_ns))
			continue;
		const struct attribution_ran ran = piece_ran(in, is, win);
		attribution_touch(p, is->launch_group, &ran);
	}
}

/*
 * Shares of the pieces that the call numbered @correlation asked for, of kernel @name or, 0, any.
 */
static void share_call(struct af_attribution *a, const struct af_time_range *in,
                       const struct attribution_place *place, uint32_t correlation, uint32_t name,
                       bool everywhere)
{
	struct attribution_private *p = a->private_;
	uint32_t nr = everywhere ? place->nr_pieces : p->active.nr;

	for (uint32_t i = 0; i < nr; i++) {
		const struct attribution_piece *is =
		    &place->pieces[everywhere ? i : p->active.pieces[i]];
		const struct attribution_span span = piece_span(in, is);
		if (is->correlation == correlation &&
		    (!name || a->launch_groups[is->launch_group].name == name))
			attribution_share(p, is->launch_group, &span);
	}
}

/*
 * The launch groups of the call numbered @correlation, of a kernel named as the code of the
 * samples: among what ran in the window, else among all, as a kernel may run long after its window
 * was.
 */
static struct attribution_choice *choose_call(struct af_attribution *a, const struct af_world *w,
                                              const struct attribution_place *place, uint32_t code,
                                              uint32_t correlation,
                                              struct attribution_choice *choice)
{
	struct attribution_private *p = a->private_;
	const uint32_t names[] = {w->codes[code].kernel, 0, w->codes[code].kernel, 0};
	uint32_t first = p->nr_shares;

	for (int pass = 0; pass < 4 && p->nr_shares == first; pass++)
		if (names[pass] || pass % 2)
			share_call(a, &w->time_range, place, correlation, names[pass], pass >= 2);
	if (p->nr_shares == first)
		return NULL;
	*choice = attribution_among(a, first);
	return choice;
}

/* Count @i of the window, of the process of @place. Phases lie evenly, however many there are. */
static struct attribution_put window_put(const struct af_world *w,
                                         const struct attribution_window *win, uint32_t place,
                                         uint32_t i)
{
	const struct attribution_count *c = &win->counts[i];
	const struct af_time_range *in = &w->time_range;

	return (struct attribution_put){
	    .place = place,
	    .code = af_world_code(w, win->process, c->code),
	    .stall = af_world_stall(w, win->process, c->stall),
	    .count = c->count,
	    .offset = c->offset,
	    .cut = in->to_ns && (win->start_ns < in->from_ns || win->end_ns > in->to_ns),
	    .phase = (i + 1) * PHASE_STEP,
	};
}

/* Returns how many of the window's counts are left; those that found nothing come first. */
static uint32_t join_counts(struct af_attribution *a, const struct af_world *w,
                            struct attribution_window *win)
{
	struct attribution_private *p = a->private_;
	const struct attribution_place *place = &p->stack_locations[win->place - 1];
	struct attribution_choice memory = {0}, *call = NULL;
	uint32_t left = 0, last_code = 0, last_call = 0;

	for (uint32_t i = 0; i < win->nr; i++) {
		const struct attribution_count c = win->counts[i];
		uint32_t code = af_world_code(w, win->process, c.code);
		bool same = code == last_code && c.correlation == last_call;
		if (!same) {
			attribution_divide_choice(p, &memory);
			call = NULL;
		}
		if (!same && code && c.correlation && win->flags & AF_WINDOW_SERIALIZED)
			call = choose_call(a, w, place, code, c.correlation, &memory);
		last_code = code;
		last_call = c.correlation;
		struct attribution_choice *choice = call ? call : attribution_choose(a, w, code);
		const struct attribution_put put = window_put(w, win, win->place - 1, i);
		if (choice)
			attribution_put(a, w, choice, &put);
		else
			win->counts[left++] = c;
	}
	attribution_divide_choice(p, &memory);
	attribution_divide_all(p);
	return left;
}

/* A sample of a moment that is asked for. */
static const struct attribution_span moment = {1, 0, 1};

/* The one launch group of @place that is no work's, all of it. */
static struct attribution_choice choose_nobody(struct attribution_private *p, uint32_t place,
                                               const struct attribution_span *span)
{
	attribution_epoch(p);
	attribution_share(p, p->stack_locations[place].launch_group, span);
	return (struct attribution_choice){.epoch = p->epoch, .nr = 1, .span = *span};
}

void attribution_put_nobody(struct af_attribution *a, const struct af_world *w,
                            const struct attribution_put *put, const struct attribution_span *span)
{
	struct attribution_choice nobody = choose_nobody(a->private_, put->place, span);

	attribution_put(a, w, &nobody, put);
	attribution_divide_choice(a->private_, &nobody);
}

void attribution_give_up(struct af_attribution *a, const struct af_world *w, uint32_t place,
                         const struct attribution_window *win)
{
	const struct attribution_piece all = {.start_ns = win->start_ns, .end_ns = win->end_ns};
	const struct attribution_span span = piece_span(&w->time_range, &all);

	attribution_at(a, w, win->end_ns);
	for (uint32_t i = 0; i < win->nr; i++) {
		const struct attribution_put put = window_put(w, win, place, i);
		attribution_put_nobody(a, w, &put, &span);
	}
}

/* Join one window. Afterwards only the samples that found no work are kept. */
static void join_window(struct af_attribution *a, const struct af_world *w,
                        struct attribution_window *win, bool all)
{
	struct attribution_private *p = a->private_;
	uint32_t nr = win->nr;

	const struct attribution_place *place = &p->stack_locations[win->place - 1];
	attribution_at(a, w, win->end_ns);
	attribution_epoch(p);
	attribution_touch_active(p, &w->time_range, place, &p->active, place->near_ns, win);
	win->nr = join_counts(a, w, win);
	if (all) {
		attribution_give_up(a, w, win->place - 1, win);
		win->nr = 0;
	}
	p->held -= nr - win->nr;
	win->tried = true;
	if (win->nr)
		return;
	free(win->counts);
	win->counts = NULL;
	win->cap = 0;
	win->listed = false;
}

int attribution_window_order(const void *a, const void *b)
{
	const struct attribution_window_at *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->window < y->window ? -1 : x->window > y->window;
}

/* Joins the windows that are complete. Returns the beginning of the earliest of the others. */
static uint64_t join_windows(struct af_attribution *a, const struct af_world *w,
                             struct attribution_place *place, uint64_t until_ns, bool all)
{
	struct attribution_private *p = a->private_;
	uint32_t nr = place->nr_windows;
	struct attribution_window_at *order = af_xrealloc(NULL, (nr + 1) * sizeof *order);
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; i < nr; i++)
		order[i] = (struct attribution_window_at){p->windows[place->windows[i]].start_ns,
		                                          place->windows[i]};
	AF_SORT(order, nr, attribution_window_order);
	p->active.nr = p->active.next = place->nr_windows = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct attribution_window *win = &p->windows[order[i].window];
		bool due = win->end_ns <= until_ns && (!win->tried || place->late || all);
		uint64_t near_ns = place->near_ns;
		if (due) {
			attribution_activate(&p->active, place,
			                     win->start_ns > near_ns ? win->start_ns - near_ns : 0,
			                     attribution_later(win->end_ns, near_ns));
			join_window(a, w, win, all);
		}
		if (!win->tried && win->start_ns < first_ns)
			first_ns = win->start_ns;
		if (win->listed)
			place->windows[place->nr_windows++] = order[i].window;
	}
	free(order);
	return first_ns;
}

static int host_order(const void *a, const void *b)
{
	const struct af_host_sample *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The launch groups that ran when @s was taken, each once. */
static struct attribution_choice choose_host(struct af_attribution *a,
                                             const struct attribution_place *place,
                                             const struct af_host_sample *s)
{
	static const struct attribution_ran ran = {.busy = {1, 0, 1}};
	struct attribution_private *p = a->private_;

	attribution_epoch(p);
	for (uint32_t i = 0; i < p->active.nr; i++) {
		const struct attribution_piece *is = &place->pieces[p->active.pieces[i]];
		bool named = !s->kernel || s->kernel == a->launch_groups[is->launch_group].name;
		if (named && is->start_ns <= s->time_ns && s->time_ns <= is->end_ns &&
		    p->seen[is->launch_group].epoch != p->epoch) {
			attribution_touch(p, is->launch_group, &ran);
			attribution_share(p, is->launch_group, &moment);
		}
	}
	return attribution_among(a, 0);
}

static void join_hosts(struct af_attribution *a, const struct af_world *w, uint32_t at,
                       uint64_t until_ns, bool all)
{
	struct attribution_private *p = a->private_;
	struct attribution_place *place = &p->stack_locations[at];
	uint32_t nr = place->nr_hosts, kept = 0;

	AF_SORT(place->hosts, nr, host_order);
	p->active.nr = p->active.next = 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct af_host_sample s = place->hosts[i];
		bool tried = s.time_ns <= place->settled_ns && !place->late;
		struct attribution_choice choice = {0};
		attribution_at(a, w, s.time_ns);
		if (s.time_ns <= until_ns && (!tried || all)) {
			attribution_activate(&p->active, place, s.time_ns,
			                     attribution_later(s.time_ns, 1));
			choice = choose_host(a, place, &s);
		}
		const struct attribution_put put = {
		    .place = at, .code = s.code, .count = 1, .offset = s.offset};
		if (choice.nr) {
			attribution_put(a, w, &choice, &put);
			attribution_divide_choice(p, &choice);
		} else if (all && s.time_ns <= until_ns) {
			attribution_put_nobody(a, w, &put, &moment);
		} else {
			place->hosts[kept++] = s;
		}
	}
	p->held -= nr - kept;
	place->nr_hosts = kept;
}

/* A piece is dropped once all windows that begin before its end are joined. */
static void forget(struct attribution_private *p, struct attribution_place *place,
                   uint64_t before_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < place->nr_pieces; i++)
		if (attribution_later(piece_end(&place->pieces[i]), place->near_ns) >= before_ns)
			place->pieces[kept++] = place->pieces[i];
	p->works -= place->nr_pieces - kept;
	place->nr_pieces = place->nr_sorted = kept;
}

void attribution_settle(struct af_attribution *a, const struct af_world *w, uint32_t at,
                        uint64_t until_ns, bool all)
{
	struct attribution_private *p = a->private_;
	struct attribution_place *place = &p->stack_locations[at];

	attribution_sort(place);
	uint64_t first_ns = join_windows(a, w, place, until_ns, all);
	join_hosts(a, w, at, until_ns, all);
	uint64_t before_ns = first_ns < until_ns ? first_ns : until_ns;
	uint64_t addresses_ns = attribution_addresses_need_ns(p);
	if (addresses_ns < before_ns)
		before_ns = addresses_ns;
	/* Keeps the window that is being read: more of its samples may come. */
	forget(p, place, before_ns < p->now_ns ? before_ns : p->now_ns);
	if (until_ns > place->settled_ns && until_ns < UINT64_MAX)
		place->settled_ns = until_ns;
	place->late = false;
}
