#include "analyse/frames/last.h"

#include <stdlib.h>

#include "analyse/tree/tree.h"
#include "analyse/world/stack_locations.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/map.h"

enum { FRAMES_KNOWN_SLOTS = 1 << 15 };

void af_frames_last_free(struct af_frames_last *l)
{
	free(l->pcs);
	free(l->nodes);
	free(l->known);
	*l = (struct af_frames_last){0};
}

uint32_t af_frames_last_shared(struct af_frames_last *l, uint32_t base,
                               const struct af_stack *stack, uint32_t first, uint32_t *node)
{
	uint32_t same = 0, nr = stack->nr - first;

	*node = base;
	if (l->base != base || l->process != stack->process || l->epoch != stack->epoch ||
	    l->at_ns != stack->at_ns)
		l->nr = 0;
	l->base = base;
	l->process = stack->process;
	l->epoch = stack->epoch;
	l->at_ns = stack->at_ns;
	while (same < l->nr && same < nr && l->pcs[same] == stack->pcs[stack->nr - 1 - same])
		same++;
	if (same)
		*node = l->nodes[same - 1];
	l->nr = same;
	return same;
}

void af_frames_last_push(struct af_frames_last *l, uint64_t pc, uint32_t node)
{
	uint32_t cap = l->cap;

	AF_GROW(l->pcs, l->nr, cap);
	AF_GROW(l->nodes, l->nr, l->cap);
	l->pcs[l->nr] = pc;
	l->nodes[l->nr++] = node;
}

static uint32_t known_index(const struct af_frames_last *l, uint64_t pc)
{
	return (uint32_t)af_mix(pc ^ (uint64_t)l->process << 48 ^ l->epoch ^ l->at_ns) %
	       FRAMES_KNOWN_SLOTS;
}

uint32_t af_frames_last_known(const struct af_frames_last *l, struct af_tree *t, uint32_t parent,
                              uint64_t pc)
{
	const struct af_frames_known *k = l->known ? &l->known[known_index(l, pc)] : NULL;

	if (!k || !k->nr || k->pc != pc || k->process != l->process || k->epoch != l->epoch ||
	    k->at_ns != l->at_ns)
		return 0;
	for (uint32_t i = k->nr; i--;)
		parent = af_tree_child(t, parent, k->names[i]);
	return parent;
}

void af_frames_last_learn(struct af_frames_last *l, const struct af_tree *t, uint32_t parent,
                          uint64_t pc, uint32_t node)
{
	struct af_frames_known k = {
	    .pc = pc, .at_ns = l->at_ns, .process = l->process, .epoch = l->epoch};

	for (; node != parent; node = t->nodes[node].parent) {
		if (k.nr == AF_FRAMES_KNOWN || !node)
			return;
		k.names[k.nr++] = t->nodes[node].name;
	}
	if (!l->known)
		l->known = af_xcalloc(FRAMES_KNOWN_SLOTS, sizeof *l->known);
	l->known[known_index(l, pc)] = k;
}

/* The stack of a place; NULL: it has none that is native alone. */
static const struct af_stack *stack_of(const struct af_world *w, const struct af_stack_location *at)
{
	if (!at->path || at->path == AF_PATH_NONE || at->path == AF_PATH_MISSED)
		return NULL;
	const struct af_path *path = &w->paths[at->path];
	return path->stack && !path->py_stack ? &w->stacks[path->stack] : NULL;
}

void af_frames_key(const struct af_world *w, const struct af_stack_location *at,
                   uint64_t key[AF_FRAMES_KEY])
{
	static const uint32_t upto[AF_FRAMES_KEY] = {4, 8, 12, 16, 24, 32, 48, 64};
	const struct af_stack *s = stack_of(w, at);
	uint64_t hash = af_mix((uint64_t)at->process << 32 | at->tid);
	uint32_t i = 0;

	if (s)
		hash = af_mix(hash ^ ((uint64_t)s->epoch << 32 | s->stop) ^ s->at_ns);
	for (uint32_t k = 0; k < AF_FRAMES_KEY; k++) {
		for (; s && i < s->nr && i < upto[k]; i++)
			hash = af_mul_fold(hash ^ s->pcs[s->nr - 1 - i], 0x9e3779b97f4a7c15ull);
		key[k] = hash;
	}
}
