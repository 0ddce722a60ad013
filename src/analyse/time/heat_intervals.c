/* Intervals of a heat map, each with the function or the kernel that took most of it. */
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/time/heat_private.h"
#include "base/arena.h"

static bool intervals_room(struct heat *h, uint64_t last)
{
	if (last >= AF_HEAT_INTERVALS)
		return false;
	while (h->nr_intervals <= last) {
		AF_GROW(h->intervals, h->nr_intervals, h->cap_intervals);
		h->intervals[h->nr_intervals++] = (struct heat_interval){0};
	}
	return true;
}

void heat_intervals_add(struct heat *h, const struct af_heat *query, const struct heat_piece *is)
{
	uint64_t first = is->start_ns / query->interval_ns;
	uint64_t last = (is->end_ns ? is->end_ns - 1 : 0) / query->interval_ns;
	uint32_t what =
	    is->at ? af_stack_locations_number(&h->stack_locations, is->at) : is->descriptor;

	if (last >= AF_HEAT_INTERVALS)
		last = AF_HEAT_INTERVALS - 1;
	if (first > last || !intervals_room(h, last))
		return;
	h->intervals[is->at ? last : first].count += !is->out_of_range;
	for (uint64_t i = first; i <= last; i++) {
		uint64_t from_ns = i * query->interval_ns, to_ns = from_ns + query->interval_ns;
		from_ns = from_ns > is->start_ns ? from_ns : is->start_ns;
		to_ns = to_ns < is->end_ns ? to_ns : is->end_ns;
		h->intervals[i].ns += to_ns - from_ns;
		*af_map_at(&h->by_what, i << 32 | what, NULL) += to_ns - from_ns;
	}
}

/*
 * Samples of instructions. Attribution tells which code they are of, also of those that have only
 * an address, and in which of its intervals their windows ended. So all windows of a device that
 * ended in one of these share what was found there, each by its number of samples, which are spread
 * evenly over its time.
 */
enum { DEVICES_MOST = 256, PARTS_MOST = 1 << 24 };

/* Samples of a code, in windows of one device that ended in one interval of attribution. */
struct found_code {
	uint32_t device, interval, code;
	uint64_t samples;
};

struct sampled {
	struct heat *h;
	const struct af_world *w;
	uint64_t each_ns;
	/* Devices that have windows; those of windows are numbers of these. */
	struct {
		uint32_t process, device;
	} devices[DEVICES_MOST];
	uint32_t nr_devices;
	struct found_code *codes;
	uint32_t nr_codes;
	uint64_t *parts, first; /* samples of windows by interval, from their first one on */
	uint32_t nr_parts;
	uint32_t given; /* parts that codes were given: bounded, whatever the trace has */
};

static uint32_t device_number(struct sampled *s, uint32_t process, uint32_t device)
{
	for (uint32_t i = 0; i < s->nr_devices; i++)
		if (s->devices[i].process == process && s->devices[i].device == device)
			return i;
	if (s->nr_devices == DEVICES_MOST)
		return DEVICES_MOST;
	s->devices[s->nr_devices].process = process;
	s->devices[s->nr_devices].device = device;
	return s->nr_devices++;
}

/* The device whose windows have the samples of a launch group; DEVICES_MOST: none. */
static uint32_t device_of(const struct sampled *s, const struct af_launch_group_key *is)
{
	for (uint32_t i = 0; i < s->nr_devices; i++)
		if (s->devices[i].process == is->process && s->devices[i].device == is->device)
			return i;
	for (uint32_t i = 0; i < s->nr_devices && is->process; i++)
		if (!s->devices[i].process &&
		    af_sampled_device_is(s->w, s->devices[i].device, is->process, is->device))
			return i;
	return DEVICES_MOST;
}

static int window_order(const void *a, const void *b)
{
	const struct heat_window *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->interval < y->interval ? -1 : x->interval > y->interval;
}

static int code_order(const void *a, const void *b)
{
	const struct found_code *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

static void codes_find(struct sampled *s, const struct af_attribution *a)
{
	uint32_t nr = 0;

	s->codes = af_xcalloc(a->nr_found + 1ull, sizeof *s->codes);
	for (uint32_t i = 0; i < a->nr_launch_groups; i++) {
		const struct af_launch_group *group = &a->launch_groups[i];
		uint32_t device = device_of(s, &group->is);
		for (uint32_t j = 0; j < group->nr && device < DEVICES_MOST; j++) {
			const struct af_attributed *f = &a->found[group->first + j];
			if (f->samples)
				s->codes[nr++] =
				    (struct found_code){device, f->interval, f->code, f->samples};
		}
	}
	AF_SORT(s->codes, nr, code_order);
	for (uint32_t i = 0; i < nr; i++) {
		struct found_code *last = s->nr_codes ? &s->codes[s->nr_codes - 1] : NULL;
		if (last && !code_order(last, &s->codes[i]))
			last->samples += s->codes[i].samples;
		else
			s->codes[s->nr_codes++] = s->codes[i];
	}
}

/* The intervals of a window; false: all come after the last one. */
static bool window_reach(const struct sampled *s, const struct heat_window *win, uint64_t *first,
                         uint64_t *last)
{
	uint64_t len_ns = win->end_ns > win->start_ns ? win->end_ns - win->start_ns : 1;

	*first = win->start_ns / s->each_ns;
	*last = (win->start_ns + len_ns - 1) / s->each_ns;
	if (*last >= AF_HEAT_INTERVALS)
		*last = AF_HEAT_INTERVALS - 1;
	return *first <= *last;
}

static void window_spread(struct sampled *s, const struct heat_window *win)
{
	uint64_t len_ns = win->end_ns > win->start_ns ? win->end_ns - win->start_ns : 1;
	uint64_t first, last, given = 0;

	if (!window_reach(s, win, &first, &last))
		return;
	for (uint64_t i = first; i <= last; i++) {
		uint64_t until_ns = (i + 1) * s->each_ns - win->start_ns;
		uint64_t upto =
		    i == last ? win->samples
			      : (uint64_t)((unsigned __int128)win->samples * until_ns / len_ns);
		s->parts[i - s->first] += upto - given;
		given = upto;
	}
}

/* Spread @nr windows, which share what was found. False: they are in no interval. */
static bool windows_spread(struct sampled *s, const struct heat_window *windows, uint32_t nr)
{
	uint64_t from = UINT64_MAX, to = 0, first, last;

	for (uint32_t i = 0; i < nr; i++)
		if (window_reach(s, &windows[i], &first, &last)) {
			from = first < from ? first : from;
			to = last > to ? last : to;
		}
	if (from > to || !intervals_room(s->h, to))
		return false;
	s->first = from;
	s->nr_parts = (uint32_t)(to - from) + 1;
	free(s->parts);
	s->parts = af_xcalloc(s->nr_parts, sizeof *s->parts);
	for (uint32_t i = 0; i < nr; i++)
		window_spread(s, &windows[i]);
	for (uint32_t i = 0; i < s->nr_parts; i++)
		s->h->intervals[from + i].count += s->parts[i];
	return true;
}

/* The samples of @code, in proportion to all @samples of the windows. */
static void code_spread(struct sampled *s, const struct found_code *code, uint64_t samples)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < s->nr_parts && s->given < PARTS_MOST; i++) {
		uint64_t share = af_attribution_share(code->samples, before, s->parts[i], samples);
		before += s->parts[i];
		s->given++;
		if (share)
			*af_map_at(&s->h->by_what, (s->first + i) << 32 | code->code, NULL) +=
			    share;
	}
}

static bool code_before(const struct found_code *code, const struct heat_window *win)
{
	if (code->device != win->device)
		return code->device < win->device;
	return code->interval < win->interval;
}

/* The end of the codes from @first on that are of the windows of @win; *@samples: of all these. */
static uint32_t codes_of(const struct sampled *s, uint32_t first, const struct heat_window *win,
                         uint64_t *samples)
{
	uint32_t end = first;

	*samples = 0;
	for (; end < s->nr_codes && s->codes[end].device == win->device &&
	       s->codes[end].interval == win->interval;
	     end++)
		*samples += s->codes[end].samples;
	return end;
}

static void sampled_spread(struct sampled *s)
{
	const struct heat_window *all = s->h->windows;
	uint32_t code = 0;

	for (uint32_t i = 0, end; i < s->h->nr_windows; i = end) {
		uint64_t samples = 0, found;
		for (end = i; end < s->h->nr_windows && !window_order(&all[end], &all[i]); end++)
			samples += all[end].samples;
		bool in_intervals = windows_spread(s, &all[i], end - i);
		while (code < s->nr_codes && code_before(&s->codes[code], &all[i]))
			code++;
		uint32_t codes_end = codes_of(s, code, &all[i], &found);
		/* At the edges of a time range attribution goes by when kernels ran. */
		if (found > samples)
			samples = found;
		for (; code < codes_end; code++)
			if (in_intervals)
				code_spread(s, &s->codes[code], samples);
	}
}

void heat_intervals_sampled(struct heat *h, const struct af_world *w, const struct af_heat *query,
                            const struct af_attribution *found)
{
	struct sampled s = {.h = h, .w = w, .each_ns = query->interval_ns};

	for (uint32_t i = 0; i < h->nr_windows; i++) {
		struct heat_window *win = &h->windows[i];
		win->device = device_number(&s, win->process, win->device);
		if (found)
			win->interval = af_attribution_interval(w, win->ended_ns, found->apart_ns);
	}
	AF_SORT(h->windows, h->nr_windows, window_order);
	if (found)
		codes_find(&s, found);
	sampled_spread(&s);
	free(s.codes);
	free(s.parts);
}

/* The name of the innermost frame, of the work or of the code. */
static uint32_t what_name(const struct heat *h, const struct af_world *w, struct af_tree *t,
                          bool gpu, uint32_t what)
{
	uint32_t node;

	if (!gpu) {
		node = af_frames_node(t, w, &h->stack_locations.all[what]);
	} else if (!h->busy) {
		const char *shown = what ? w->codes[what].shown : "";
		node = af_frames_under(t, 0, *shown ? shown : "[unknown kernel]", AF_FRAME_GPU);
	} else {
		const struct af_work_descriptor *s = &w->descriptors[what];
		const char *name = s->is.op == AF_OP_KERNEL
		                       ? af_world_kernel(w, s->process, s->is.kernel)
		                       : af_op_text(s->is.op);
		node = af_frames_under(t, 0, *name ? name : "[unnamed kernel]", AF_FRAME_GPU);
	}
	return t->nodes[node].name;
}

struct hottest {
	uint64_t ns;
	uint32_t name;
};

void heat_intervals_names(struct heat *h, const struct af_world *w, const struct af_heat *query)
{
	static const struct af_tree_weight none = {"none", ""};
	struct af_tree t;
	size_t len;

	af_tree_open(&t, &none, 1);
	for (size_t i = 0; i < h->by_what.cap; i++) {
		const struct af_map_slot *slot = &h->by_what.slots[i];
		if (!slot->used)
			continue;
		uint32_t name = what_name(h, w, &t, query->gpu, (uint32_t)slot->key);
		const char *text = af_tree_text(&t, name, &len);
		uint64_t key = slot->key >> 32 << 32 | af_strtab_id(&h->names, text, len);
		*af_map_at(&h->by_name, key, NULL) += slot->value;
	}
	af_tree_close(&t);
}

/* By interval; where two took the same, the one whose name comes first. */
static struct hottest *hottest_of(const struct heat *h)
{
	struct hottest *all = af_xcalloc((size_t)h->nr_intervals + 1, sizeof *all);

	for (size_t i = 0; i < h->by_name.cap; i++) {
		const struct af_map_slot *slot = &h->by_name.slots[i];
		struct hottest *best = &all[slot->key >> 32];
		if (!slot->used || slot->value < best->ns)
			continue;
		const char *text = af_strtab_get(&h->names, (uint32_t)slot->key);
		const char *best_text = af_strtab_get(&h->names, best->name);
		if (slot->value > best->ns || strcmp(text, best_text) < 0)
			*best = (struct hottest){slot->value, (uint32_t)slot->key};
	}
	return all;
}

void heat_intervals_table(const struct heat *h, const struct af_heat *query, uint64_t from_ns,
                          struct af_tables *f)
{
	const bool sampled = h->sampled_only;
	const struct af_column columns[] = {AF_HEAT_INTERVAL_COLUMNS(
	    AF_ROW_COLUMN, query->gpu && !sampled ? "Started" : "Samples",
	    query->gpu ? "Busy" : "Time", query->gpu ? "Most in kernel" : "Most in function")};
	struct af_table *t = AF_TABLE(f, "intervals", "Intervals", columns);
	struct hottest *hottest = hottest_of(h);

	for (uint32_t i = 0; i < h->nr_intervals; i++) {
		const struct heat_interval *is = &h->intervals[i];
		struct af_heat_interval_row *c = af_table_row(f, t);
		c->from_ns.value = from_ns + i * query->interval_ns;
		c->to_ns.value = from_ns + (i + 1) * query->interval_ns;
		c->count.value = is->count;
		c->time_ns.value = is->ns;
		c->function.text =
		    af_tables_text(f, "%s", af_strtab_get(&h->names, hottest[i].name));
		c->share.value = af_tables_ratio(hottest[i].ns, sampled ? is->count : is->ns, 1e4);
	}
	free(hottest);
}
