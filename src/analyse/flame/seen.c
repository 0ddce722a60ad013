#include "analyse/flame/seen.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyse/frames/frames.h"
#include "base/arena.h"

struct flame_seen_sum {
	uint32_t process, path, function;
	uint64_t count;
	bool probed; /* a function of no API, that the user named */
};

/* Is it work that a device is asked for? */
static bool is_work(uint32_t category)
{
	return category == AF_CATEGORY_LAUNCH || category == AF_CATEGORY_GRAPH_LAUNCH ||
	       category == AF_CATEGORY_COPY || category == AF_CATEGORY_FILL;
}

static struct flame_seen_sum *sum_of(struct flame_seen *f, uint32_t process, uint32_t path,
                                     uint32_t function)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&f->by_call, AF_KEY(process, path, function), &fresh);

	if (fresh) {
		AF_GROW(f->sums, f->nr, f->cap);
		f->sums[f->nr] = (struct flame_seen_sum){process, path, function, 0};
		*slot = f->nr++;
	}
	return &f->sums[*slot];
}

void flame_seen_add(struct flame_seen *f, const struct af_world *w, const struct af_call *call)
{
	/* A call with a correlation id is a launch like any other: launches.h joins it. */
	if (call->correlation || !call->function || !is_work(w->functions[call->function].category))
		return;
	sum_of(f, call->process, call->path, call->function)->count++;
}

void flame_seen_probed(struct flame_seen *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_call_sum fixed;
	struct af_call call;
	uint64_t count = 1;

	if (ev->kind == AF_KIND_CALL_SUM) {
		if (w->time_range.to_ns || !af_event_decode(ev, &fixed, sizeof fixed, NULL))
			return;
		call =
		    (struct af_call){.process = ev->process,
		                     .function = af_world_function(w, ev->process, fixed.function)};
		count = fixed.count;
	} else if (af_call_read(w, ev, &call)) {
		/* One that goes on behind the range counts where it ends, as in the tables. */
		if (!af_time_range_call(&w->time_range, &call) || call.out_of_range)
			return;
	} else if (!af_call_seen_read(w, ev, &call)) {
		return;
	}
	if (!af_call_of_program(w, call.function))
		return;
	struct flame_seen_sum *s = sum_of(f, call.process, call.path, call.function);
	s->probed = true;
	s->count += count;
}

void flame_seen_matched(struct flame_seen *f, const struct af_work *work)
{
	struct flame_seen_sum *s = sum_of(f, work->process, work->path, work->matched);

	s->count -= s->count != 0;
}

void flame_seen_merge(struct flame_seen *f, const struct flame_seen *from)
{
	for (uint32_t i = 0; i < from->nr; i++) {
		const struct flame_seen_sum *s = &from->sums[i];
		struct flame_seen_sum *to = sum_of(f, s->process, s->path, s->function);
		to->count += s->count;
		to->probed = s->probed;
	}
}

uint32_t flame_seen_has(const struct flame_seen *f, bool probed)
{
	for (uint32_t i = 0; i < f->nr; i++)
		if (f->sums[i].count && f->sums[i].probed == probed)
			return 1 << AF_WEIGHT_COUNT;
	return 0;
}

void flame_seen_draw(const struct flame_seen *f, const struct af_world *w, struct af_tree *t,
                     const struct af_query *query)
{
	char text[64];

	for (uint32_t i = 0; i < f->nr && query->weights & 1 << AF_WEIGHT_COUNT; i++) {
		const struct flame_seen_sum *s = &f->sums[i];
		const struct af_function *function = &w->functions[s->function];
		if (!s->count || s->probed)
			continue;
		uint32_t node = af_frames_process(t, w, s->process);

		node = af_frames_call(t, w, node, s->path);
		node = af_frames_under(t, node, function->name, AF_FRAME_NATIVE);
		snprintf(text, sizeof text, "[%s seen from outside]",
		         af_call_category_text(function->category));
		node = af_frames_under(t, node, text, AF_FRAME_GPU);
		af_tree_add(t, node, AF_WEIGHT_COUNT, s->count);
	}
}

void flame_seen_draw_probed(const struct flame_seen *f, const struct af_world *w, struct af_tree *t,
                            const struct af_query *query)
{
	for (uint32_t i = 0; i < f->nr && query->weights & 1 << AF_WEIGHT_COUNT; i++) {
		const struct flame_seen_sum *s = &f->sums[i];
		struct af_stack_location at = {.process = s->process, .path = s->path};
		if (!s->count || !s->probed)
			continue;
		uint32_t node = af_frames_process(t, w, s->process);

		/* The stack of a call ends in the function itself. */
		node = af_frames_place(t, w, node, &at);
		if (!s->path)
			node = af_frames_under(t, node, w->functions[s->function].name,
			                       AF_FRAME_NATIVE);
		af_tree_add(t, node, AF_WEIGHT_COUNT, s->count);
	}
}

void flame_seen_free(struct flame_seen *f)
{
	free(f->sums);
	af_keys_free(&f->by_call);
	*f = (struct flame_seen){0};
}
