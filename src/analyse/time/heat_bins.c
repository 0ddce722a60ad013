/*
 * Time covered in equal stretches, as differences that are added up when somebody looks: see
 * heat_private.h.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/time/heat_private.h"
#include "base/arena.h"

void heat_bins_free(struct heat_bins *b)
{
	free(b->ns);
	free(b->begins);
	*b = (struct heat_bins){0};
}

void heat_bins_settle(struct heat_bins *b)
{
	int64_t open = 0;

	for (uint32_t i = 0; i < b->nr; i++) {
		open += b->begins[i];
		b->begins[i] = 0;
		b->ns[i] += (uint64_t)open * b->each_ns;
	}
}

void heat_bins_coarsen(struct heat_bins *b, uint32_t factor)
{
	heat_bins_settle(b);
	for (uint32_t i = 0; i < b->nr; i++) {
		uint64_t ns = b->ns[i];
		b->ns[i] = 0;
		b->ns[i / factor] += ns;
	}
	b->nr = (b->nr + factor - 1) / factor;
	b->each_ns *= factor;
}

static void bins_room(struct heat_bins *b, uint32_t nr)
{
	uint32_t cap = b->cap;

	AF_REACH(b->ns, nr - 1, cap);
	AF_REACH(b->begins, nr - 1, b->cap);
	if (nr > b->nr)
		b->nr = nr;
}

void heat_bins_join(struct heat_bins *a, struct heat_bins *b)
{
	heat_bins_settle(a);
	heat_bins_settle(b);
	if (b->nr)
		bins_room(a, b->nr);
	for (uint32_t i = 0; i < b->nr; i++)
		a->ns[i] += b->ns[i];
}

bool heat_bins_add(struct heat_bins *b, uint64_t start_ns, uint64_t end_ns, uint32_t most)
{
	uint64_t first = start_ns / b->each_ns, last = (end_ns - 1) / b->each_ns;

	if (first >= most)
		return false;
	if (end_ns <= start_ns)
		return true;
	if (last >= most) {
		last = most - 1;
		end_ns = (last + 1) * b->each_ns;
	}
	bins_room(b, (uint32_t)last + 2);
	if (first == last) {
		b->ns[first] += end_ns - start_ns;
		return true;
	}
	b->ns[first] += (first + 1) * b->each_ns - start_ns;
	b->ns[last] += end_ns - last * b->each_ns;
	b->begins[first + 1]++;
	b->begins[last]--;
	return true;
}
