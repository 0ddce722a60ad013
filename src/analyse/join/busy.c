#include "analyse/join/busy.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

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

/* Most intervals begin after the last one, or in it; false: this one may touch others. */
static bool busy_append(struct af_busy *b, struct af_interval is)
{
	struct af_interval *last = b->nr ? &b->open[b->nr - 1] : NULL;

	if (!last || is.start_ns < last->start_ns)
		return false;
	if (is.end_ns > b->last_ns)
		b->last_ns = is.end_ns;
	if (is.start_ns > last->end_ns) {
		b->open[b->nr++] = is;
		if (b->nr == AF_BUSY_OPEN)
			busy_settle(b, AF_BUSY_OPEN / 2);
	} else if (is.end_ns > last->end_ns) {
		last->end_ns = is.end_ns;
	}
	return true;
}

/*
 * The first interval that begins after @ns, or their number. Records of device work come buffer by
 * buffer, so that thousands of intervals may be later than the next one.
 */
static uint32_t busy_after(const struct af_busy *b, uint64_t ns)
{
	uint32_t low = 0, high = b->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (b->open[middle].start_ns > ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void af_busy_add(struct af_busy *b, uint64_t start_ns, uint64_t end_ns)
{
	struct af_interval is = {start_ns, end_ns};

	if (end_ns <= start_ns || busy_append(b, is))
		return;
	if (!b->open)
		b->open = af_xcalloc(AF_BUSY_OPEN, sizeof *b->open);
	if (!b->last_ns || start_ns < b->first_ns)
		b->first_ns = start_ns;
	if (end_ns > b->last_ns)
		b->last_ns = end_ns;
	if (!busy_cut(b, &is))
		return;
	/* open[from] to open[to - 1] touch it and become one with it. */
	uint32_t to = busy_after(b, is.end_ns);
	uint32_t from = to;
	while (from && b->open[from - 1].end_ns >= is.start_ns) {
		from--;
		if (b->open[from].start_ns < is.start_ns)
			is.start_ns = b->open[from].start_ns;
		if (b->open[from].end_ns > is.end_ns)
			is.end_ns = b->open[from].end_ns;
	}
	memmove(b->open + from + 1, b->open + to, (b->nr - to) * sizeof *b->open);
	b->nr = b->nr - (to - from) + 1;
	b->open[from] = is;
	if (b->nr == AF_BUSY_OPEN)
		busy_settle(b, AF_BUSY_OPEN / 2);
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
	if (b->last_ns > from->settled_ns || b->late_ns || from->late_ns)
		return false;
	busy_settle(b, b->nr);
	if (!b->open)
		b->open = af_xcalloc(AF_BUSY_OPEN, sizeof *b->open);
	memcpy(b->open, from->open, from->nr * sizeof *b->open);
	b->nr = from->nr;
	b->busy_ns += from->busy_ns;
	b->last_ns = from->last_ns;
	b->settled_ns = from->settled_ns;
	return true;
}

void af_busy_end(struct af_busy *b)
{
	busy_whole(b);
	busy_settle(b, b->nr);
}

void af_busy_free(struct af_busy *b)
{
	free(b->open);
	free(b->head);
	*b = (struct af_busy){0};
}
