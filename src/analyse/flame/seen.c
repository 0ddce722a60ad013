#include "analyse/flame/seen.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyse/frames/frames.h"
#include "base/arena.h"

struct flame_seen_sum {
	uint32_t process, path, function;
	uint64_t count;
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

void flame_seen_matched(struct flame_seen *f, const struct af_work *work)
{
	struct flame_seen_sum *s = sum_of(f, work->process, work->path, work->matched);

	s->count -= s->count != 0;
}

void flame_seen_merge(struct flame_seen *f, const struct flame_seen *from)
{
	for (uint32_t i = 0; i < from->nr; i++) {
		const struct flame_seen_sum *s = &from->sums[i];
		sum_of(f, s->process, s->path, s->function)->count += s->count;
	}
}

uint32_t flame_seen_has(const struct flame_seen *f)
{
	for (uint32_t i = 0; i < f->nr; i++)
		if (f->sums[i].count)
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
		if (!s->count)
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

void flame_seen_free(struct flame_seen *f)
{
	free(f->sums);
	af_keys_free(&f->by_call);
	*f = (struct flame_seen){0};
}
