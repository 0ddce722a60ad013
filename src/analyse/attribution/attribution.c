/* Samples and works as they come: held until they can be joined. */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/addresses.h"
#include "analyse/attribution/private.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/arena.h"

#define SETTLE_EVERY_NS 5000000000ull

static struct attribution_private *attribution_open(struct af_attribution *a)
{
	if (!a->private_)
		a->private_ = af_xcalloc(1, sizeof *a->private_);
	return a->private_;
}

void af_attribution_expect(struct af_attribution *a)
{
	attribution_open(a);
}

static uint32_t launch_group_add(struct af_attribution *a, const struct af_launch_group_key *is,
                                 bool recorded, uint32_t name)
{
	struct attribution_private *p = a->private_;
	uint32_t cap = p->cap_launch_groups, cap_seen = cap;
	bool fresh;

	AF_GROW(p->seen, a->nr_launch_groups, cap_seen);
	AF_GROW(p->kernel_of, a->nr_launch_groups, cap);
	AF_GROW(p->always, a->nr_launch_groups, p->cap_always);
	AF_GROW(a->launch_groups, a->nr_launch_groups, p->cap_launch_groups);
	uint64_t *slot = af_map_at(&p->by_name, (uint64_t)is->process << 32 | name, &fresh);
	if (fresh) {
		AF_GROW(p->kernels, p->nr_kernels, p->cap_kernels);
		p->kernels[p->nr_kernels] = (struct attribution_kernel){0};
		*slot = p->nr_kernels++;
	}
	a->launch_groups[a->nr_launch_groups] =
	    (struct af_launch_group){.is = *is, .recorded = recorded, .name = name};
	p->seen[a->nr_launch_groups] = (struct attribution_seen){0};
	p->kernel_of[a->nr_launch_groups] = (uint32_t)*slot;
	struct attribution_kernel *k = &p->kernels[*slot];
	p->always[a->nr_launch_groups] = (struct attribution_always){.next = k->always};
	k->always = ++a->nr_launch_groups;
	return a->nr_launch_groups - 1;
}

uint32_t attribution_place_of(struct af_attribution *a, uint32_t process, uint32_t device)
{
	struct attribution_private *p = a->private_;
	const struct af_launch_group_key none = {.process = process, .device = device};
	bool fresh;
	uint64_t *slot = af_map_at(&p->by_place, (uint64_t)process << 32 | device, &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	uint32_t cap = p->cap_stack_locations, nr = a->nr_devices, place = a->nr_devices++;
	*slot = place;
	AF_GROW(a->devices, nr, cap);
	AF_GROW(p->stack_locations, nr, p->cap_stack_locations);
	a->devices[place] = (struct af_sampled_device){.process = process, .device = device};
	p->stack_locations[place] =
	    (struct attribution_place){.launch_group = launch_group_add(a, &none, false, 0),
	                               .near_ns = AF_ATTRIBUTION_NEAR_NS};
	return place;
}

/* Join what is due; where more is held than there is room for, what is not due yet. */
static void attribution_settle_all(struct af_attribution *a, const struct af_world *w)
{
	struct attribution_private *p = a->private_;
	uint64_t due_ns =
	    p->now_ns > AF_ATTRIBUTION_LATE_NS ? p->now_ns - AF_ATTRIBUTION_LATE_NS : 0;
	const uint64_t until_ns[] = {due_ns, due_ns + (p->now_ns - due_ns) / 2, UINT64_MAX};

	for (int i = 0; i < 3; i++) {
		if (i && p->held <= AF_ATTRIBUTION_HELD / 2 && p->works <= AF_ATTRIBUTION_WORKS / 2)
			break;
		attribution_addresses_settle(a, w, until_ns[i], false);
		for (uint32_t place = 0; place < a->nr_devices; place++)
			attribution_settle(a, w, place, until_ns[i], i == 2);
	}
	p->settled_ns = p->now_ns;
}

static void window_empty(struct attribution_private *p, struct attribution_window *win)
{
	p->held -= win->nr;
	free(win->counts);
	win->counts = NULL;
	win->nr = win->cap = 0;
}

/* Windows that no event described; they may still be held when all else is settled. */
static void attribution_give_up_unknown(struct af_attribution *a, const struct af_world *w)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; i < p->nr_windows; i++) {
		struct attribution_window *win = &p->windows[i];
		if (win->place || !win->nr)
			continue;
		/* When they were is not known, so they are not within any time. */
		if (!w->time_range.to_ns) {
			uint32_t place = attribution_place_of(a, win->process, 0);
			win = &p->windows[i];
			attribution_give_up(a, w, place, win);
		}
		window_empty(p, win);
	}
}

static void attribution_now(struct af_attribution *a, const struct af_world *w, uint64_t time_ns)
{
	struct attribution_private *p = a->private_;

	if (time_ns > p->now_ns)
		p->now_ns = time_ns;
	if (!p->settled_ns)
		p->settled_ns = p->now_ns;
	bool full = p->held > AF_ATTRIBUTION_HELD || p->works > AF_ATTRIBUTION_WORKS;
	if (full || p->now_ns - p->settled_ns > SETTLE_EVERY_NS)
		attribution_settle_all(a, w);
	if (p->held > AF_ATTRIBUTION_HELD)
		attribution_give_up_unknown(a, w);
}

static struct attribution_window *window_of(struct attribution_private *p, uint32_t process,
                                            uint32_t id)
{
	bool fresh;
	uint64_t *slot = af_map_at(&p->by_window, (uint64_t)process << 32 | id, &fresh);

	if (fresh) {
		AF_GROW(p->windows, p->nr_windows, p->cap_windows);
		p->windows[p->nr_windows] = (struct attribution_window){.process = process};
		*slot = p->nr_windows++;
	}
	return &p->windows[*slot];
}

/* A window is in its place's list as long as it has counts. */
static void window_hold(struct attribution_private *p, struct attribution_window *win)
{
	if (!win->place || win->listed)
		return;
	struct attribution_place *place = &p->stack_locations[win->place - 1];
	AF_GROW(place->windows, place->nr_windows, place->cap_windows);
	place->windows[place->nr_windows++] = (uint32_t)(win - p->windows);
	win->listed = true;
}

/* How near to windows works are kept for them. */
uint64_t attribution_near(const struct attribution_window *win, uint64_t near_ns)
{
	uint64_t ns = win->end_ns > win->start_ns ? win->end_ns - win->start_ns : 0;

	if (ns > AF_ATTRIBUTION_NEAR_MOST_NS)
		ns = AF_ATTRIBUTION_NEAR_MOST_NS;
	return ns > near_ns ? ns : near_ns;
}

/*
 * The device's count for a window that is cut is scaled by time; of its samples only those that are
 * here count, because they are cut by what ran.
 */
void attribution_device_window(struct af_sampled_device *d, const struct af_time_range *in,
                               const struct af_ev_gpu_window *win)
{
	uint64_t end_ns = win->end_ns > win->start_ns ? win->end_ns : win->start_ns + 1;
	const struct attribution_span span = attribution_span_of(in, win->start_ns, end_ns);
	bool whole = span.in_range_ns == span.all_ns;
	uint64_t dropped =
	    af_attribution_share(win->dropped, span.before_ns, span.in_range_ns, span.all_ns);
	uint64_t other =
	    af_attribution_share(win->other, span.before_ns, span.in_range_ns, span.all_ns);

	if (!span.in_range_ns)
		return;
	if (af_time_range_began(in, win->start_ns)) {
		d->windows++;
		d->full_windows += !!(win->flags & AF_WINDOW_FULL);
		d->serialized_windows += !!(win->flags & AF_WINDOW_SERIALIZED);
	}
	d->period_cycles = win->period_cycles;
	d->samples += whole ? win->samples : dropped + other;
	d->dropped += dropped;
	d->other += other;
}

static void take_window(struct af_attribution *a, const struct af_world *w,
                        const struct af_event *ev)
{
	struct attribution_private *p = a->private_;
	struct af_ev_gpu_window fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	struct attribution_window *win = window_of(p, ev->process, fixed.window);
	if (win->place)
		return; /* rings on disk repeat definitions */
	uint32_t at = attribution_place_of(a, ev->process, fixed.device);
	struct af_sampled_device *d = &a->devices[at];
	win->place = at + 1;
	win->flags = fixed.flags;
	win->start_ns = fixed.start_ns;
	win->end_ns = fixed.end_ns;
	p->stack_locations[at].near_ns = attribution_near(win, p->stack_locations[at].near_ns);
	window_hold(p, win);
	attribution_device_window(d, &w->time_range, &fixed);
}

static uint32_t word(const struct af_tail_view *tail, uint32_t i)
{
	const uint8_t *b = tail->data + (size_t)i * 4;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void take_sample(struct af_attribution *a, const struct af_event *ev)
{
	struct attribution_private *p = a->private_;
	struct af_ev_gpu_sample fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	struct attribution_window *win = window_of(p, ev->process, fixed.window);
	for (uint32_t i = 0; i + 1 < tails[0].len; i += 2) {
		uint32_t count = word(&tails[0], i + 1);
		if (!count)
			continue;
		AF_GROW(win->counts, win->nr, win->cap);
		win->counts[win->nr++] = (struct attribution_count){
		    .code = fixed.code,
		    .stall = word(&tails[0], i),
		    .offset = fixed.offset,
		    .correlation = fixed.correlation,
		    .count = count,
		};
		p->held++;
	}
	win->tried = false;
	window_hold(p, win);
}

void af_attribution_event(struct af_attribution *a, const struct af_world *w,
                          const struct af_event *ev)
{
	attribution_open(a);
	if (attribution_addresses_take(ev))
		attribution_addresses_event(a, w, ev);
	else if (ev->process && ev->kind == AF_KIND_GPU_WINDOW)
		take_window(a, w, ev);
	else if (ev->process && ev->kind == AF_KIND_GPU_SAMPLE)
		take_sample(a, ev);
	attribution_now(a, w, ev->time_ns);
}

static uint32_t launch_group_of(struct af_attribution *a, const struct af_world *w,
                                const struct af_launch_group_key *is)
{
	struct attribution_private *p = a->private_;
	bool fresh;

	if (p->last_launch_group < a->nr_launch_groups &&
	    !memcmp(&a->launch_groups[p->last_launch_group].is, is, sizeof *is))
		return p->last_launch_group;
	uint64_t *slot = af_keys_at(&p->by_launch_group, is, sizeof *is, &fresh);
	if (fresh)
		*slot = launch_group_add(
		    a, is, true,
		    is->op == AF_OP_KERNEL ? af_world_kernel_name(w, is->process, is->kernel) : 0);
	return p->last_launch_group = (uint32_t)*slot;
}

/* Operations that run code; copies run the driver's own, if any. */
static bool runs_code(uint32_t op)
{
	return op == AF_OP_KERNEL || op == AF_OP_NATIVE || op == AF_OP_GRAPH;
}

/* Samples do not tell parts of the host from the whole. */
static uint32_t place_of_work(struct af_attribution *a, const struct af_world *w,
                              const struct af_launch_group_key *is)
{
	const struct af_device *d = af_world_device(w, is->process, is->device);
	bool host = d && d->type == AF_DEVICE_CPU;

	return attribution_place_of(a, is->process,
	                            host ? af_world_host_device(w, is->process) : is->device);
}

struct af_launch_group_key af_launch_group_key(const struct af_world *w, const struct af_work *work)
{
	const struct af_ev_descriptor *descriptor = &w->descriptors[work->descriptor].is;

	return (struct af_launch_group_key){
	    .process = work->process,
	    .device = af_work_device(w, work),
	    .path = work->path,
	    .function = work->function,
	    .doing = work->doing,
	    .node = work->node,
	    .op = descriptor->op,
	    .kernel = descriptor->kernel,
	    .queue = descriptor->queue,
	    .matched = work->matched != 0,
	};
}

/* A work without times of the device is among the launches of its group. */
static void launched_add(struct attribution_private *p, const struct af_time_range *in,
                         const struct attribution_piece *is)
{
	const struct attribution_span one =
	    attribution_span_of(in, is->start_ns, attribution_later(is->start_ns, 1));

	attribution_span_add(&p->always[is->launch_group].launched, &one);
}

void af_attribution_work(struct af_attribution *a, const struct af_world *w,
                         const struct af_work *is)
{
	struct attribution_private *p = a->private_;
	struct af_work work = *is;

	if (!p || work.status || !work.descriptor ||
	    !runs_code(w->descriptors[work.descriptor].is.op))
		return;
	const struct af_launch_group_key key = af_launch_group_key(w, &work);
	uint32_t launch_group = launch_group_of(a, w, &key);
	struct af_work part = work;
	if (af_time_range_work(&w->time_range, w, &part)) {
		a->launch_groups[launch_group].count += !part.out_of_range;
		a->launch_groups[launch_group].time_ns += af_work_busy_ns(&part);
	}
	bool timed = work.start_ns && work.end_ns >= work.start_ns && af_work_place(w, &work, NULL);
	if (!timed && !work.call_start_ns) {
		a->unplaced++;
		return;
	}
	uint32_t at = place_of_work(a, w, &key); /* may move the places */
	struct attribution_place *place = &p->stack_locations[at];
	const struct attribution_piece piece = {
	    .start_ns = timed ? work.start_ns : work.call_start_ns,
	    .end_ns = timed ? work.end_ns : 0,
	    .launch_group = launch_group,
	    .correlation = (uint32_t)work.id,
	};
	if (!timed)
		launched_add(p, &w->time_range, &piece);
	AF_GROW(place->pieces, place->nr_pieces, place->cap_pieces);
	place->pieces[place->nr_pieces++] = piece;
	place->late |= piece.start_ns < place->settled_ns;
	p->works++;
	if (p->works > AF_ATTRIBUTION_WORKS)
		attribution_now(a, w, p->now_ns);
}

void af_attribution_host_sample(struct af_attribution *a, const struct af_world *w,
                                const struct af_host_sample *s)
{
	struct attribution_private *p = attribution_open(a);
	uint32_t at = attribution_place_of(a, s->process, s->device);
	struct attribution_place *place = &p->stack_locations[at];

	AF_GROW(place->hosts, place->nr_hosts, place->cap_hosts);
	place->hosts[place->nr_hosts++] = *s;
	a->devices[at].samples++;
	p->held++;
	attribution_now(a, w, s->time_ns);
}

/* To each launch group its own, and of its time to each its share. */
static void found_deal(struct af_attribution *a)
{
	for (uint32_t i = 0; i < a->nr_found; i++) {
		struct af_launch_group *launch_group = &a->launch_groups[a->found[i].launch_group];
		if (!launch_group->nr++)
			launch_group->first = i;
		launch_group->parts += a->found[i].parts;
	}
	for (uint32_t j = 0; j < a->nr_launch_groups; j++) {
		struct af_launch_group *launch_group = &a->launch_groups[j];
		uint64_t before = 0;
		for (uint32_t i = launch_group->first; i < launch_group->first + launch_group->nr;
		     i++) {
			struct af_attributed *f = &a->found[i];
			f->time_ns = af_attribution_share(launch_group->time_ns, before, f->parts,
			                                  launch_group->parts);
			before += f->parts;
		}
	}
}

void af_attribution_end(struct af_attribution *a, const struct af_world *w)
{
	if (!a->private_)
		return;
	a->private_->last = true;
	attribution_addresses_settle(a, w, UINT64_MAX, true);
	for (uint32_t place = 0; place < a->nr_devices; place++)
		attribution_settle(a, w, place, UINT64_MAX, true);
	attribution_give_up_unknown(a, w);
	attribution_expand(a);
	found_deal(a);
}

int64_t af_attribution_group(const struct af_attribution *a, const struct af_launch_group_key *is)
{
	const uint64_t *slot =
	    a->private_ ? af_keys_get(&a->private_->by_launch_group, is, sizeof *is) : NULL;

	return slot ? (int64_t)*slot : -1;
}

void af_attribution_free(struct af_attribution *a)
{
	struct attribution_private *p = a->private_;

	free(a->launch_groups);
	free(a->found);
	for (uint32_t i = 0; p && i < a->nr_devices; i++) {
		free(p->stack_locations[i].pieces);
		free(p->stack_locations[i].windows);
		free(p->stack_locations[i].hosts);
	}
	free(a->devices);
	for (uint32_t i = 0; p && i < p->nr_windows; i++)
		free(p->windows[i].counts);
	if (p) {
		struct af_map *maps[] = {&p->by_place, &p->by_window, &p->by_name};
		void *arrays[] = {p->stack_locations, p->windows,   p->seen,   p->kernels,
		                  p->choices,         p->kernel_of, p->shares, p->active.pieces,
		                  p->touched,         p->chosen,    p->always, p->aliases,
		                  p->alias_codes};
		for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
			af_map_free(maps[i]);
		af_keys_free(&p->by_launch_group);
		af_keys_free(&p->by_alias);
		attribution_addresses_free(p);
		attribution_sums_free(p);
		attribution_counts_free(p);
		for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++)
			free(arrays[i]);
	}
	free(p);
	*a = (struct af_attribution){0};
}
