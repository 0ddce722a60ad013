#include "exchange/events/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"

/* Beginnings without an end so far, of one thread. */
struct open_spans {
	uint64_t *all; /* indexes of spans */
	uint32_t nr, cap;
};

void import_spans_add(struct import_spans *s, const struct import_span *span)
{
	AF_GROW(s->all, s->nr, s->cap);
	s->all[s->nr] = *span;
	s->all[s->nr].order = s->nr;
	s->nr++;
}

void import_spans_free(struct import_spans *s)
{
	free(s->all);
	*s = (struct import_spans){0};
}

static int span_order(const void *a, const void *b)
{
	const struct import_span *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* If two slices are at one time, the first in the file contains the other. */
static void span_put(const struct import_spans *all, struct af_builder *d,
                     const struct import_span *s, uint64_t end_ns)
{
	struct af_builder_slice slice = {
	    .start_ns = s->ns,
	    .busy_ns = end_ns - s->ns,
	    .name = s->name,
	    .thread = s->thread,
	    .external = s->order < UINT32_MAX ? (uint32_t)s->order : UINT32_MAX,
	};

	if (all->ranges) {
		slice.external = 0;
		slice.correlation = af_builder_name(d, "spans", 5);
	}
	af_builder_slice(d, all->ranges ? AF_BUILDER_RANGE : AF_BUILDER_SPAN, &slice);
}

/* Which of the open spans an end of that name closes, the innermost; nr: none has it. As far out as
 * stacks are deep. */
static uint32_t open_find(const struct import_spans *s, const struct open_spans *open,
                          uint32_t name)
{
	for (uint32_t i = open->nr; i-- > 0 && open->nr - i <= AF_BUILDER_DEPTH;)
		if (!name || s->all[open->all[i]].name == name)
			return i;
	return open->nr;
}

static void span_take(struct import_spans *s, struct af_builder *d, struct open_spans *open,
                      uint64_t i)
{
	const struct import_span *span = &s->all[i];

	if (span->phase == 'X') {
		span_put(s, d, span, span->ns + span->busy_ns);
	} else if (span->phase == 'B') {
		AF_GROW(open->all, open->nr, open->cap);
		open->all[open->nr++] = i;
	} else {
		uint32_t at = open_find(s, open, span->name);
		if (at == open->nr) {
			d->unused[AF_BUILDER_HALVES_UNUSED]++;
			return;
		}
		span_put(s, d, &s->all[open->all[at]], span->ns);
		open->nr--;
		memmove(open->all + at, open->all + at + 1, (open->nr - at) * sizeof *open->all);
	}
}

void import_spans_finish(struct import_spans *s, struct af_builder *d, bool ranges)
{
	struct open_spans open = {0};

	s->ranges = ranges;
	AF_SORT(s->all, s->nr, span_order);
	for (uint64_t i = 0; i < s->nr; i++) {
		span_take(s, d, &open, i);
		if (i + 1 < s->nr && s->all[i + 1].thread == s->all[i].thread)
			continue;
		d->unused[AF_BUILDER_HALVES_UNUSED] += open.nr;
		while (open.nr)
			span_put(s, d, &s->all[open.all[--open.nr]], s->all[i].ns);
	}
	free(open.all);
	import_spans_free(s);
}
