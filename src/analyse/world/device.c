/* The world of devices: what they are, what runs on them, and the calls that make it run. */
#include <stdlib.h>
#include <string.h>

#include "analyse/world/private.h"
#include "api/tables/tables.h"
#include "base/arena.h"

void world_learn_device(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_device fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, devices);
	w->devices[i] = (struct af_device){
	    .process = ev->process,
	    .id = fixed.device,
	    .parent = fixed.parent,
	    .type = fixed.type,
	    .api = fixed.api,
	    .name = world_text(w, &tails[0]),
	    .vendor = world_text(w, &tails[1]),
	    .driver = world_text(w, &tails[2]),
	};
	*af_map_at(&w->by_device, world_key(ev->process, fixed.device), NULL) = i;
	if (fixed.api == AF_API_LEVEL_ZERO)
		*af_map_at(&w->by_ze, ev->process, NULL) = 1;
}

void world_learn_device_note(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_device_note fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails) || !tails[1].len)
		return;
	const char *key = (const char *)tails[0].data, *value = (const char *)tails[1].data;
	uint64_t device = world_key(ev->process, fixed.device);
	const uint64_t *known = af_map_get(&w->by_device, device);
	bool uuid = !strcmp(key, "uuid");
	if (uuid || !strcmp(key, "pci"))
		*af_map_at(uuid ? &w->by_gpu : &w->by_pci, device, NULL) =
		    af_strtab_id(&w->strings, value, tails[1].len);
	else if (!strcmp(key, "processors") && known)
		w->devices[*known].processors = (uint32_t)strtoul(value, NULL, 10);
	else if (!strcmp(key, "memory_bytes") && known)
		w->devices[*known].memory_bytes = strtoull(value, NULL, 10);
}

void world_learn_queue(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_queue fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, queues);
	w->queues[i] = (struct af_queue){
	    .process = ev->process,
	    .id = fixed.queue,
	    .device = fixed.device,
	    .context = fixed.context,
	    .flags = fixed.flags,
	    .handle = fixed.handle,
	};
	*af_map_at(&w->by_queue, world_key(ev->process, fixed.queue), NULL) = i;
}

struct world_kernel {
	const char *name; /* for people */
	uint32_t raw;     /* string of the world */
};

/* Compilers of C++ for devices mangle as those for hosts do; a region of OpenMP is a place. */
static const char *kernel_shown(struct af_world *w, uint32_t process, const char *name)
{
	char region[512];

	if (af_region_name(&w->regions, process, name, region, sizeof region))
		return af_arena_strdup(&w->arena, region, strlen(region));
	return world_shown(w, name);
}

void world_learn_kernel(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_kernel fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	struct world_kernel *k = af_arena_alloc(&w->arena, sizeof *k);
	k->raw = af_strtab_id(&w->strings, (const char *)tails[0].data, tails[0].len);
	k->name = kernel_shown(w, ev->process, af_strtab_get(&w->strings, k->raw));
	*af_map_at(&w->by_kernel, world_key(ev->process, fixed.kernel), NULL) = (uintptr_t)k;
}

void world_learn_descriptor(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_descriptor fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, descriptors);
	w->descriptors[i] = (struct af_work_descriptor){.process = ev->process, .is = fixed};
	world_set(w, &w->by_descriptor, world_key(ev->stream, fixed.descriptor), i);
	world_small_set(&w->small_descriptors, ev->stream, fixed.descriptor, i);
}

void world_learn_config(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_launch_config fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	uint32_t descriptor = af_world_descriptor(w, ev, fixed.descriptor);
	if (!descriptor)
		return;
	struct af_ev_launch_config *config = af_arena_alloc(&w->arena, sizeof *config);
	*config = fixed;
	w->descriptors[descriptor].config = config;
}

void world_learn_function(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_function fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, functions);
	w->functions[i] = (struct af_function){
	    .process = ev->process,
	    .id = fixed.function,
	    .api = fixed.api,
	    .category = fixed.category,
	    .name = world_text(w, &tails[0]),
	};
	world_set(w, &w->by_function, world_key(ev->process, fixed.function), i);
	w->api_seen[fixed.function & 255] = world_key(ev->process, fixed.function);
	w->api_function[fixed.function & 255] = i;
}

/* The first call of a function of the tables defines it. */
static void learn_kind(struct af_world *w, uint32_t process, uint16_t kind)
{
	const uint64_t key = world_key(process, kind);
	uint64_t *seen = &w->api_seen[kind & 255];
	bool fresh;

	if (*seen == key)
		return;
	const struct af_api_table *api = af_api_of(kind);
	*seen = key;
	w->api_function[kind & 255] = world_find(&w->by_function, process, kind);
	if (!api || w->api_function[kind & 255])
		return;
	const struct af_api_function *f = af_api_function(kind);
	uint32_t i = WORLD_ADD(w, functions);
	w->functions[i] = (struct af_function){
	    .process = process,
	    .id = kind,
	    .api = api->api,
	    .category = f ? f->category : AF_CATEGORY_OTHER,
	    .name = f ? f->name : "a function that this version does not know",
	};
	*af_map_at(&w->by_function, key, &fresh) = i;
	w->api_function[kind & 255] = i;
}

void af_world_learn_call(struct af_world *w, uint32_t process, uint16_t kind)
{
	learn_kind(w, process, kind);
}

bool world_learns_api(const struct af_world *w, const struct af_event *ev)
{
	return w->api_seen[ev->kind & 255] != world_key(ev->process, ev->kind) &&
	       !world_find(&w->by_function, ev->process, ev->kind);
}

void world_learn_api(struct af_world *w, const struct af_event *ev)
{
	learn_kind(w, ev->process, ev->kind);
}

void world_learn_call_sum(struct af_world *w, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_call_sum fixed;

	if (af_event_decode(ev, &fixed, sizeof fixed, tails) && fixed.function >= AF_KIND_API &&
	    fixed.function <= UINT16_MAX)
		learn_kind(w, ev->process, (uint16_t)fixed.function);
}

enum {
	WORLD_UPDATES_MAX = 10000, /* of a node while a launch of its graph is under way */
	WORLD_ORIGINALS_MAX = 64,  /* clones of clones; in a damaged trace they may go round */
};

/* Rings on disk repeat definitions. */
static bool node_repeats(const struct af_world *w, uint32_t before,
                         const struct af_ev_graph_node *fixed, uint32_t path)
{
	if (!before)
		return false;
	const struct af_node *b = &w->nodes[before];

	return b->graph == fixed->graph && b->original == fixed->original && b->path == path;
}

void world_learn_node(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_graph_node fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	uint64_t *slot = af_map_at(&w->by_node, world_key(ev->process, fixed.node), NULL);
	uint32_t path = fixed.callpath ? af_world_path(w, ev, fixed.callpath) : 0;
	uint32_t before = (uint32_t)*slot;

	if (node_repeats(w, before, &fixed, path))
		return;
	uint32_t i = WORLD_ADD(w, nodes);
	w->nodes[i] = (struct af_node){
	    .process = ev->process,
	    .id = fixed.node,
	    .graph = fixed.graph,
	    .original = fixed.original,
	    .path = path,
	    .before = before,
	    .since_ns = ev->time_ns,
	};
	*slot = i;
}

static bool counter_same(const struct af_counter *c, const struct af_ev_counter *fixed,
                         const struct af_tail_view *tails)
{
	return c->device == fixed->device && c->flags == fixed->flags &&
	       c->per == (fixed->per ? fixed->per : 1) &&
	       !strcmp(c->name, (const char *)tails[0].data) &&
	       !strcmp(c->unit, (const char *)tails[1].data) &&
	       !strcmp(c->group, (const char *)tails[2].data);
}

void world_learn_counter(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_counter fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	const uint64_t key = world_key(ev->process, fixed.counter);
	const uint32_t known = world_find(&w->by_counter, ev->process, fixed.counter);
	/* Bounded recordings define again what they had defined. */
	if (known && counter_same(&w->counters[known], &fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, counters);
	w->counters[i] = (struct af_counter){
	    .process = ev->process,
	    .id = fixed.counter,
	    .device = fixed.device,
	    .flags = fixed.flags,
	    .per = fixed.per ? fixed.per : 1,
	    .name = world_text(w, &tails[0]),
	    .unit = world_text(w, &tails[1]),
	    .group = world_text(w, &tails[2]),
	};
	world_set(w, &w->by_counter, key, i);
}

uint32_t af_world_large_descriptor(const struct af_world *w, uint32_t stream, uint32_t descriptor)
{
	return world_find(&w->by_descriptor, stream, descriptor);
}

const char *af_world_kernel(const struct af_world *w, uint32_t process, uint32_t kernel)
{
	const uint64_t *v = af_map_get(&w->by_kernel, world_key(process, kernel));
	return v ? ((const struct world_kernel *)(uintptr_t)*v)->name : "";
}

uint32_t af_world_kernel_name(const struct af_world *w, uint32_t process, uint32_t kernel)
{
	const uint64_t *v = af_map_get(&w->by_kernel, world_key(process, kernel));
	return v ? ((const struct world_kernel *)(uintptr_t)*v)->raw : 0;
}

const struct af_device *af_world_device(const struct af_world *w, uint32_t process, uint32_t id)
{
	uint32_t i = world_find(&w->by_device, process, id);
	return i ? &w->devices[i] : NULL;
}

uint32_t af_world_gpu(const struct af_world *w, uint32_t process, uint32_t device)
{
	return world_find(&w->by_gpu, process, device);
}

uint32_t af_world_pci(const struct af_world *w, uint32_t process, uint32_t device)
{
	return world_find(&w->by_pci, process, device);
}

uint32_t af_world_counter(const struct af_world *w, uint32_t process, uint64_t id)
{
	return id <= UINT32_MAX ? world_find(&w->by_counter, process, (uint32_t)id) : 0;
}

const struct af_queue *af_world_queue(const struct af_world *w, uint32_t process, uint32_t id)
{
	uint32_t i = world_find(&w->by_queue, process, id);
	return i ? &w->queues[i] : NULL;
}

uint32_t af_world_any_function(const struct af_world *w, uint32_t process, uint32_t id)
{
	return world_find(&w->by_function, process, id);
}

uint32_t af_world_node(const struct af_world *w, uint32_t process, uint32_t id, uint64_t time_ns)
{
	uint32_t i = world_find(&w->by_node, process, id);

	/* Launches are seen soon after they were made: mostly the latest definition is the one. */
	for (uint32_t n = 0; i && w->nodes[i].since_ns > time_ns && w->nodes[i].before; n++) {
		if (n == WORLD_UPDATES_MAX)
			return 0;
		i = w->nodes[i].before;
	}
	return i;
}

uint32_t af_world_node_path(const struct af_world *w, uint32_t node)
{
	for (uint32_t n = 0; node && n < WORLD_ORIGINALS_MAX; n++) {
		const struct af_node *is = &w->nodes[node];
		if (is->path || !is->original)
			return is->path;
		node = af_world_node(w, is->process, is->original, is->since_ns);
	}
	return 0;
}
