#include "inject/walk/ends.h"

#include "trace/layout.h"

static void ends_reverse(uint64_t *entries, unsigned from, unsigned to)
{
	while (from + 1 < to) {
		uint64_t first = entries[from];

		entries[from++] = entries[--to];
		entries[to] = first;
	}
}

unsigned af_ends_close(uint64_t *entries, unsigned max, unsigned n, uint64_t left_out)
{
	unsigned ring = af_ends_ring(max), oldest = af_ends_slot(n, max);

	entries[ring - 1] = AF_LEFT_OUT | left_out;
	ends_reverse(entries, ring, oldest);
	ends_reverse(entries, oldest, max);
	ends_reverse(entries, ring, max);
	return max;
}
