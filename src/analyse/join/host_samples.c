#include "analyse/join/host_samples.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/attribution.h"
#include "analyse/world/samples.h"
#include "analyse/world/world.h"

/* How far from the leaf a kernel is looked for: it may have called a library. */
enum { HOST_FRAMES = 8 };

/* The innermost frame of @path in device code, as index of w->host_codes; 0 for none. */
static uint32_t host_find(const struct af_world *w, uint32_t path)
{
	const struct af_stack *stack = &w->stacks[w->paths[path].stack];

	for (uint32_t i = 0; i < stack->nr && i < HOST_FRAMES; i++) {
		const struct af_host_code *h =
		    af_world_host_code(w, stack->process, stack->pcs[i], stack->epoch);
		if (h)
			return (uint32_t)(h - w->host_codes);
	}
	return 0;
}

static uint32_t host_of(struct af_host_samples *h, const struct af_world *w, uint32_t path)
{
	AF_REACH(h->by_path, path, h->nr);
	if (!h->by_path[path])
		h->by_path[path] = host_find(w, path) + 1;
	return h->by_path[path] - 1;
}

bool af_host_samples_take(struct af_host_samples *h, const struct af_world *w,
                          struct af_attribution *a, const struct af_sample *s)
{
	if (!w->nr_host_codes || !s->at.path || s->at.path >= AF_PATH_MISSED ||
	    !w->paths[s->at.path].stack)
		return false;
	uint32_t at = host_of(h, w, s->at.path);
	/* If the process has no such device, no work exists either: it is code like any other. */
	uint32_t device = at ? af_world_host_device(w, s->at.process) : 0;
	if (!device)
		return false;
	if (!a)
		return true;
	const struct af_host_code *code = &w->host_codes[at];
	const struct af_host_sample sample = {
	    .process = s->at.process,
	    .device = device,
	    .code = code->code,
	    .kernel = code->kernel,
	    .offset = code->offset,
	    .time_ns = s->time_ns,
	};
	af_attribution_host_sample(a, w, &sample);
	return true;
}

void af_host_samples_free(struct af_host_samples *h)
{
	free(h->by_path);
	*h = (struct af_host_samples){0};
}
