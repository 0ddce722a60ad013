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

/* @samples of a window over its intervals: of @code, or NULL: of all, which are counted. */
static void sampled_spread(struct heat *h, uint64_t each_ns, const struct heat_window *win,
                           uint64_t samples, const uint32_t *code)
{
	uint64_t len_ns = win->end_ns > win->start_ns ? win->end_ns - win->start_ns : 1, given = 0;
	uint64_t first = win->start_ns / each_ns, last = (win->start_ns + len_ns - 1) / each_ns;

	if (last >= AF_HEAT_INTERVALS)
		last = AF_HEAT_INTERVALS - 1;
	if (first > last || !intervals_room(h, last))
		return;
	for (uint64_t i = first; i <= last; i++) {
		uint64_t until_ns = (i + 1) * each_ns - win->start_ns;
		uint64_t upto = i == last
		                    ? samples
		                    : (uint64_t)((unsigned __int128)samples * until_ns / len_ns);
		if (upto == given)
			continue;
		if (code)
			*af_map_at(&h->by_what, i << 32 | *code, NULL) += upto - given;
		else
			h->intervals[i].count += upto - given;
		given = upto;
	}
}

void heat_intervals_sampled(struct heat *h, const struct af_world *w, const struct af_heat *query)
{
	for (uint32_t i = 0; i < h->nr_windows; i++)
		sampled_spread(h, query->interval_ns, &h->windows[i], h->windows[i].samples, NULL);
	for (uint32_t i = 0; i < h->nr_sampled; i++) {
		const struct heat_sampled *s = &h->sampled[i];
		const uint64_t *at =
		    af_map_get(&h->by_window, (uint64_t)s->process << 32 | s->window);
		uint32_t code = af_world_code(w, s->process, s->code);
		if (at)
			sampled_spread(h, query->interval_ns, &h->windows[*at], s->samples, &code);
	}
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
