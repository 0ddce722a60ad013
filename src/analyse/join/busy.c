#include "analyse/join/busy.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static int start_order(const void *a, const void *b)
{
	const struct af_interval *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Put the open intervals in order, and apart from each other. */
static void busy_order(struct af_busy *b)
{
	uint32_t nr = 0;

	if (!b->mixed)
		return;
	AF_SORT(b->open, b->nr, start_order);
	for (uint32_t i = 0; i < b->nr; i++) {
		struct af_interval *last = nr ? &b->open[nr - 1] : NULL;
		if (!last || b->open[i].start_ns > last->end_ns)
			b->open[nr++] = b->open[i];
		else if (b->open[i].end_ns > last->end_ns)
			last->end_ns = b->open[i].end_ns;
	}
	b->nr = nr;
	b->mixed = false;
}

static void busy_settle(struct af_busy *b, uint32_t nr)
{
	bool is_head = b->in_part && !b->head && nr;

	if (is_head) {
		b->head = af_xcalloc(nr, sizeof *b->head);
		memcpy(b->head, b->open, nr * sizeof *b->head);
		b->nr_head = nr;
	}
	for (uint32_t i = 0; i < nr; i++) {
		b->busy_ns += is_head ? 0 : b->open[i].end_ns - b->open[i].start_ns;
		if (b->settled)
			b->settled(b->arg, &b->open[i]);
	}
	if (!nr)
		return;
	b->settled_ns = b->open[nr - 1].end_ns;
	b->nr -= nr;
	memmove(b->open, b->open + nr, b->nr * sizeof *b->open);
}

/* Cut off what lies before all that is settled; false when nothing is left. */
static bool busy_cut(struct af_busy *b, struct af_interval *is)
{
	uint64_t end = is->end_ns < b->settled_ns ? is->end_ns : b->settled_ns;

	if (is->start_ns >= b->settled_ns)
		return true;
	b->late_ns += end - is->start_ns;
	is->start_ns = b->settled_ns;
	return is->end_ns > is->start_ns;
}

/* Too many are open: the earlier half is settled. */
static void busy_room(struct af_busy *b)
{
	busy_order(b);
	if (b->nr > AF_BUSY_OPEN / 2)
		busy_settle(b, b->nr / 2);
}

void af_busy_add(struct af_busy *b, uint64_t start_ns, uint64_t end_ns)
{
	struct af_interval is = {start_ns, end_ns}, *last = b->nr ? &b->open[b->nr - 1] : NULL;

	if (end_ns <= start_ns)
		return;
	if (!b->last_ns || start_ns < b->first_ns)
		b->first_ns = start_ns;
	if (end_ns > b->last_ns)
		b->last_ns = end_ns;
	if (!busy_cut(b, &is))
		return;
	if (last && is.start_ns >= last->start_ns && is.start_ns <= last->end_ns) {
		last->end_ns = is.end_ns > last->end_ns ? is.end_ns : last->end_ns;
		return;
	}
	b->mixed |= last && is.start_ns < last->start_ns;
	if (b->nr == AF_BUSY_OPEN)
		busy_room(b);
	AF_GROW(b->open, b->nr, b->cap);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room where nr < cap */
	b->open[b->nr++] = is;
}

/* Nothing comes before its head any more. */
static void busy_whole(struct af_busy *b)
{
	for (uint32_t i = 0; i < b->nr_head; i++)
		b->busy_ns += b->head[i].end_ns - b->head[i].start_ns;
	b->nr_head = 0;
	b->in_part = false;
}

/* All is known of a part that has not settled anything yet. */
bool af_busy_merge(struct af_busy *b, const struct af_busy *from)
{
	busy_whole(b);
	for (uint32_t i = 0; i < from->nr_head; i++)
		af_busy_add(b, from->head[i].start_ns, from->head[i].end_ns);
	if (!from->nr_head) {
		for (uint32_t i = 0; i < from->nr; i++)
			af_busy_add(b, from->open[i].start_ns, from->open[i].end_ns);
		return !b->late_ns && !from->late_ns;
	}
	if (b->last_ns > from->head[from->nr_head - 1].end_ns || b->late_ns || from->late_ns)
		return false;
	busy_order(b);
	busy_settle(b, b->nr);
	AF_ROOM(b->open, from->nr, b->cap);
	if (from->nr)
		memcpy(b->open, from->open, from->nr * sizeof *b->open);
	b->nr = from->nr;
	b->mixed = from->mixed;
	b->busy_ns += from->busy_ns;
	b->last_ns = from->last_ns;
	b->settled_ns = from->settled_ns;
	return true;
}

void af_busy_end(struct af_busy *b)
{
	busy_whole(b);
	busy_order(b);
	busy_settle(b, b->nr);
}

void af_busy_free(struct af_busy *b)
{
	free(b->open);
	free(b->head);
	*b = (struct af_busy){0};
}
