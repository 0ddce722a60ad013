/* Windows of samples of addresses: held until they can be joined, as others are. */
#include "analyse/attribution/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/world.h"
#include "base/arena.h"

enum { SPARE_ROWS = AF_ATTRIBUTION_HELD / 2 }; /* for which memory is kept */

static struct attribution_addresses *addresses_of(struct attribution_private *p)
{
	if (!p->addresses) {
		p->addresses = af_xcalloc(1, sizeof *p->addresses);
		p->addresses->need_ns = UINT64_MAX;
	}
	return p->addresses;
}

bool attribution_addresses_take(const struct af_event *ev)
{
	return ev->kind == AF_KIND_CODE_PLACED ||
	       (!ev->process &&
	        (ev->kind == AF_KIND_ADDRESS_SAMPLE || ev->kind == AF_KIND_GPU_WINDOW));
}

static struct address_device *device_of(struct af_attribution *a, uint32_t id)
{
	uint32_t place = attribution_place_of(a, 0, id);
	struct attribution_addresses *s = a->private_->addresses;

	for (uint32_t i = 0; i < s->nr_devices; i++)
		if (s->devices[i].id == id)
			return &s->devices[i];
	AF_GROW(s->devices, s->nr_devices, s->cap_devices);
	s->devices[s->nr_devices] =
	    (struct address_device){.place = place, .id = id, .near_ns = AF_ATTRIBUTION_NEAR_NS};
	return &s->devices[s->nr_devices++];
}

static struct address_window *window_of(struct attribution_addresses *s, uint32_t id)
{
	bool fresh;

	if (s->nr_windows && s->last_id == id)
		return &s->windows[s->last];
	uint64_t *slot = af_map_at(&s->by_window, id, &fresh);
	if (fresh) {
		AF_GROW(s->windows, s->nr_windows, s->cap_windows);
		s->windows[s->nr_windows] = (struct address_window){0};
		*slot = s->nr_windows++;
	}
	s->last = (uint32_t)*slot;
	s->last_id = id;
	return &s->windows[s->last];
}

/* A window is in its device's list as long as it has rows. */
static void window_hold(struct attribution_addresses *s, struct address_window *win,
                        struct address_device *device)
{
	if (!win->is.place || win->is.listed || !win->rows.nr)
		return;
	AF_GROW(device->windows, device->nr_windows, device->cap_windows);
	device->windows[device->nr_windows++] = (uint32_t)(win - s->windows);
	win->is.listed = true;
}

static void take_window(struct af_attribution *a, const struct af_world *w,
                        const struct af_event *ev)
{
	struct attribution_addresses *s = addresses_of(a->private_);
	struct af_ev_gpu_window fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	struct address_window *win = window_of(s, fixed.window);
	if (win->is.place)
		return; /* rings on disk repeat definitions */
	struct address_device *device = device_of(a, fixed.device);
	win->is.place = device->place + 1;
	win->is.flags = fixed.flags;
	win->is.start_ns = fixed.start_ns;
	win->is.end_ns = fixed.end_ns;
	device->near_ns = attribution_near(&win->is, device->near_ns);
	window_hold(s, win, device);
	attribution_device_window(&a->devices[device->place], &w->time_range, &fixed);
}

/* Room for one more row: at first in memory of windows that are joined. */
static void rows_grow(struct attribution_addresses *s, struct address_rows *rows)
{
	if (!rows->all && s->nr_spare) {
		*rows = s->spare[--s->nr_spare];
		s->spare_rows -= rows->cap;
		return;
	}
	AF_GROW(rows->all, rows->nr, rows->cap);
}

/* The rows of a window are joined. New memory costs more than all that is done with it. */
static void rows_spare(struct attribution_addresses *s, struct address_rows *rows)
{
	if (rows->all && rows->cap <= SPARE_ROWS - s->spare_rows) {
		AF_GROW(s->spare, s->nr_spare, s->cap_spare);
		s->spare_rows += rows->cap;
		s->spare[s->nr_spare++] = (struct address_rows){.all = rows->all, .cap = rows->cap};
	} else {
		free(rows->all);
	}
	*rows = (struct address_rows){0};
}

/* As af_event_decode() does it, for one kind: of these a trace may have more than of all others. */
static bool rows_split(const struct af_event *ev, struct af_ev_address_sample *fixed,
                       struct af_tail_view *counts)
{
	const uint8_t *at = ev->payload + sizeof *fixed;
	uint32_t nr;

	if (ev->payload_size < sizeof *fixed + sizeof nr)
		return false;
	memcpy(fixed, ev->payload, sizeof *fixed);
	memcpy(&nr, at, sizeof nr);
	*counts = (struct af_tail_view){at + sizeof nr, nr};
	return ev->payload_size - sizeof *fixed - sizeof nr == nr * (uint64_t)sizeof(uint32_t);
}

static void take_rows(struct af_attribution *a, const struct af_event *ev)
{
	struct attribution_private *p = a->private_;
	struct attribution_addresses *s = addresses_of(p);
	struct af_ev_address_sample fixed;
	struct af_tail_view tail;

	if (!rows_split(ev, &fixed, &tail))
		return;
	struct address_window *win = window_of(s, fixed.window);
	struct address_rows *rows = &win->rows;
	uint32_t had = rows->nr;
	for (uint32_t i = 0; i + 1 < tail.len; i += 2) {
		uint32_t counts[2];
		memcpy(counts, tail.data + (size_t)i * 4, sizeof counts);
		if (!counts[1])
			continue;
		if (rows->nr == rows->cap)
			rows_grow(s, rows);
		rows->all[rows->nr++] = (struct address_row){fixed.address, counts[0], counts[1]};
	}
	p->held += rows->nr - had;
	if (win->is.place && !win->is.listed)
		window_hold(s, win, device_of(a, a->devices[win->is.place - 1].device));
}

void attribution_addresses_event(struct af_attribution *a, const struct af_world *w,
                                 const struct af_event *ev)
{
	struct attribution_addresses *s = addresses_of(a->private_);
	struct af_ev_code_placed placed;

	if (ev->kind == AF_KIND_GPU_WINDOW)
		take_window(a, w, ev);
	else if (ev->kind == AF_KIND_ADDRESS_SAMPLE)
		take_rows(a, ev);
	else if (af_event_decode(ev, &placed, sizeof placed, NULL))
		address_placements_event(&s->placements, ev->process, ev->time_ns, &placed);
}

/* The places of processes that are @device, with their works in order. True: some came late. */
static bool device_link(struct af_attribution *a, const struct af_world *w,
                        struct address_device *device)
{
	struct attribution_private *p = a->private_;
	bool late = false;

	device->nr_linked = 0;
	for (uint32_t i = 0; i < a->nr_devices; i++) {
		const struct af_sampled_device *d = &a->devices[i];
		struct attribution_place *place = &p->stack_locations[i];
		if (!place->nr_pieces ||
		    !af_sampled_device_is(w, device->id, d->process, d->device))
			continue;
		uint32_t had = device->cap_linked;
		AF_GROW(device->linked, device->nr_linked, device->cap_linked);
		memset(device->linked + had, 0,
		       (device->cap_linked - had) * sizeof *device->linked);
		attribution_sort(place);
		struct address_linked *linked = &device->linked[device->nr_linked++];
		linked->place = i;
		linked->active.nr = linked->active.next = 0;
		late |= place->late;
	}
	return late;
}

/* The works of the device that ran in @win or near it are touched, in an epoch of their own. */
static void device_touch(struct attribution_private *p, const struct af_world *w,
                         struct address_device *device, const struct attribution_window *win)
{
	uint64_t near_ns = device->near_ns;
	uint64_t from_ns = win->start_ns > near_ns ? win->start_ns - near_ns : 0;
	uint64_t to_ns = attribution_later(win->end_ns, near_ns);

	attribution_epoch(p);
	for (uint32_t i = 0; i < device->nr_linked; i++) {
		struct address_linked *linked = &device->linked[i];
		const struct attribution_place *place = &p->stack_locations[linked->place];
		attribution_activate(&linked->active, place, from_ns, to_ns);
		attribution_touch_active(p, &w->time_range, place, &linked->active, near_ns, win);
	}
}

/* Joins the windows that are complete; what finds nothing waits. */
static void device_join(struct af_attribution *a, const struct af_world *w,
                        struct address_device *device, uint64_t until_ns)
{
	struct attribution_private *p = a->private_;
	struct attribution_addresses *s = p->addresses;
	uint32_t nr = device->nr_windows;
	struct attribution_window_at *order = af_xrealloc(NULL, (nr + 1ull) * sizeof *order);

	for (uint32_t i = 0; i < nr; i++)
		order[i] = (struct attribution_window_at){
		    s->windows[device->windows[i]].is.start_ns, device->windows[i]};
	AF_SORT(order, nr, attribution_window_order);
	device->nr_windows = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct address_window *win = &s->windows[order[i].window];
		if (win->is.end_ns > until_ns) {
			device->windows[device->nr_windows++] = order[i].window;
			continue;
		}
		p->held -= win->rows.nr;
		device_touch(p, w, device, &win->is);
		if (address_resolve(a, w, device, &win->is, &win->rows))
			address_wait(p, &device->waiting[!!(win->is.flags & AF_WINDOW_ADDRESS_32)],
			             &win->is, &win->rows);
		rows_spare(s, &win->rows);
		win->is.listed = false;
	}
	free(order);
}

/* Works whose records came after the windows that they ran in. */
static void epoch_late(struct af_attribution *a, const struct af_world *w,
                       struct address_device *device, struct address_epoch *e)
{
	for (uint32_t i = 0; i < device->nr_linked; i++)
		device->linked[i].active.nr = device->linked[i].active.next = 0;
	device_touch(a->private_, w, device, &e->is);
	address_resolve(a, w, device, &e->is, &e->rows);
}

/* Another attempt for what waits. @last: and for the last time. */
static void device_retry(struct af_attribution *a, const struct af_world *w,
                         struct address_device *device, bool late, bool last)
{
	struct attribution_private *p = a->private_;
	uint32_t version = p->addresses->placements.version;

	for (int i = 0; i < 2; i++) {
		struct address_waiting *waiting = &device->waiting[i];
		bool fresh = waiting->version != version;
		if (!fresh && !late && !last)
			continue;
		for (uint32_t k = 0; k < waiting->nr; k++) {
			struct address_epoch *e = &waiting->epochs[k];
			address_epoch_touch(p, e);
			address_resolve(a, w, device, &e->is, &e->rows);
			if (e->rows.nr && (late || last))
				epoch_late(a, w, device, e);
			if (last)
				address_give_up(a, w, device, &e->is, &e->rows);
		}
		waiting->version = version;
		address_waiting_tidy(waiting);
	}
}

/* Windows that no event described: their samples are of no device that is known. */
static void give_up_unknown(struct af_attribution *a, const struct af_world *w)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; i < p->addresses->nr_windows; i++) {
		struct address_rows rows = p->addresses->windows[i].rows;
		if (!rows.nr)
			continue;
		struct address_device *device = device_of(a, 0);
		p->held -= rows.nr;
		p->addresses->windows[i].rows = (struct address_rows){0};
		/* When they were is not known, so they are not within any time. */
		if (!w->time_range.to_ns)
			address_give_up(a, w, device, &p->addresses->windows[i].is, &rows);
		free(rows.all);
	}
}

void attribution_addresses_settle(struct af_attribution *a, const struct af_world *w,
                                  uint64_t until_ns, bool last)
{
	struct attribution_addresses *s = a->private_->addresses;

	if (!s)
		return;
	s->need_ns = UINT64_MAX;
	for (uint32_t i = 0; i < s->nr_devices; i++) {
		bool late = device_link(a, w, &s->devices[i]);
		struct address_device *device = &s->devices[i];
		/* Notes of devices may have come. */
		device->index[0].version = device->index[1].version = 0;
		device_join(a, w, device, until_ns);
		device_retry(a, w, device, late, last);
		for (uint32_t k = 0; k < device->nr_windows; k++) {
			uint64_t start_ns = s->windows[device->windows[k]].is.start_ns;
			uint64_t need_ns =
			    start_ns > device->near_ns ? start_ns - device->near_ns : 0;
			if (need_ns < s->need_ns)
				s->need_ns = need_ns;
		}
	}
	if (last)
		give_up_unknown(a, w);
}

uint64_t attribution_addresses_need_ns(const struct attribution_private *p)
{
	return p->addresses ? p->addresses->need_ns : UINT64_MAX;
}

void attribution_addresses_free(struct attribution_private *p)
{
	struct attribution_addresses *s = p->addresses;

	for (uint32_t i = 0; s && i < s->nr_devices; i++) {
		struct address_device *d = &s->devices[i];
		for (int k = 0; k < 2; k++) {
			address_index_free(&d->index[k]);
			address_waiting_free(&d->waiting[k]);
		}
		for (uint32_t k = 0; k < d->cap_linked; k++)
			free(d->linked[k].active.pieces);
		free(d->linked);
		free(d->windows);
	}
	for (uint32_t i = 0; s && i < s->nr_windows; i++)
		free(s->windows[i].rows.all);
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nr_spare; i++)
		free(s->spare[i].all);
	free(s->spare);
	address_placements_free(&s->placements);
	af_map_free(&s->by_window);
	free(s->devices);
	free(s->windows);
	free(s);
	p->addresses = NULL;
}
