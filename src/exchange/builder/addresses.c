#include "exchange/builder/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/write.h"

void builder_addresses_free(struct af_builder_addresses *a)
{
	free(a->pcs);
	free(a->stacks);
	free(a->mappings);
	af_map_free(&a->by_stack);
	*a = (struct af_builder_addresses){0};
}

void af_builder_mapping(struct af_builder *d, const struct af_builder_mapping *m)
{
	struct af_builder_addresses *a = &d->addresses;

	AF_GROW(a->mappings, a->nr_mappings, a->cap_mappings);
	a->mappings[a->nr_mappings++] = *m;
}

static bool is_stack(const struct af_builder_addresses *a, uint64_t i, const uint64_t *pcs,
                     uint32_t nr, uint32_t epoch, uint32_t stop)
{
	const struct af_builder_stack *s = &a->stacks[i];

	return s->nr == nr && s->epoch == epoch && s->stop == stop &&
	       !memcmp(a->pcs + s->first, pcs, nr * sizeof *pcs);
}

uint32_t af_builder_stack(struct af_builder *d, const uint64_t *pcs, uint32_t nr, uint32_t epoch,
                          uint32_t stop)
{
	struct af_builder_addresses *a = &d->addresses;
	uint64_t hash = af_scatter_bytes(pcs, nr * sizeof *pcs);
	bool fresh;

	hash = af_mul_fold(hash ^ stop, epoch * 2ull + 0x9e3779b97f4a7c15ull);
	uint64_t *slot = af_map_at(&a->by_stack, hash, &fresh);
	while (!fresh && !is_stack(a, *slot, pcs, nr, epoch, stop))
		slot = af_map_at(&a->by_stack, ++hash, &fresh);
	if (fresh) {
		*slot = a->nr_stacks;
		AF_GROW(a->stacks, a->nr_stacks, a->cap_stacks);
		a->stacks[a->nr_stacks++] = (struct af_builder_stack){
		    .first = a->nr_pcs, .nr = nr, .epoch = epoch, .stop = stop};
		AF_ROOM(a->pcs, a->nr_pcs + nr, a->cap_pcs);
		memcpy(a->pcs + a->nr_pcs, pcs, nr * sizeof *pcs);
		a->nr_pcs += nr;
	}
	return (uint32_t)*slot | AF_BUILDER_ADDRESSES;
}

void builder_define_addresses(struct builder_writer *w, uint32_t node, bool kernel,
                              uint64_t time_ns)
{
	struct af_builder_addresses *a = &w->builder->addresses;
	struct af_builder_stack *s = &a->stacks[node & ~AF_BUILDER_ADDRESSES];
	struct af_tail pcs = {a->pcs + s->first, s->nr * 8, 8};
	struct af_ev_stack stack = {.stack = node, .stop = s->stop, .epoch = s->epoch};
	struct af_ev_kstack kstack = {.kstack = node, .stop = s->stop};

	if (s->defined == w->nr_streams)
		return;
	s->defined = w->nr_streams;
	time_ns += w->shift_ns;
	if (kernel) {
		af_stream_put_tail(&w->stream, AF_KIND_KSTACK, time_ns, &kstack, sizeof kstack,
		                   &pcs, 1);
		return;
	}
	af_stream_put_tail(&w->stream, AF_KIND_STACK, time_ns, &stack, sizeof stack, &pcs, 1);
	af_stream_put(&w->stream, callpath, time_ns, .callpath = node, .stack = node);
}

/* By process; within one as they came. */
static int mapping_order(const void *a, const void *b)
{
	const struct af_builder_mapping *x = a, *y = b;

	return (x->process > y->process) - (x->process < y->process);
}

void builder_sort_mappings(struct af_builder *d)
{
	struct af_builder_addresses *a = &d->addresses;

	AF_SORT(a->mappings, a->nr_mappings, mapping_order);
}

void builder_write_mappings(struct builder_writer *w, uint32_t process)
{
	struct af_builder *d = w->builder;
	struct af_builder_addresses *a = &d->addresses;

	for (; w->nr_mappings < a->nr_mappings; w->nr_mappings++) {
		const struct af_builder_mapping *m = &a->mappings[w->nr_mappings];
		if (m->process != process)
			return;
		const char *path = af_strtab_get(&d->names, m->path);
		struct af_ev_mapping ev = {.start = m->start,
		                           .end = m->end,
		                           .bias = m->bias,
		                           .flags = m->flags,
		                           .epoch = m->epoch};
		struct af_tail tail[2] = {{m->build_id, m->build_id_len, 1},
		                          {path, (uint32_t)strlen(path), 0}};
		af_stream_put_tail(&w->stream, AF_KIND_MAPPING, w->begin_ns + w->shift_ns, &ev,
		                   sizeof ev, tail, 2);
	}
}
