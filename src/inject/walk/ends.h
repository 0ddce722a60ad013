/*
 * A stack that is deeper than its array keeps both ends. The first frames fill the first half, the
 * rest of the array is a ring of the last frames, and between them stands the number of frames left
 * out (AF_LEFT_OUT). No other memory is used, and entries never move until the walk has ended.
 */
#ifndef AF_INJECT_WALK_ENDS_H
#define AF_INJECT_WALK_ENDS_H

#include <stdint.h>

enum {
	AF_WALK_MOST = 1 << 15, /* frames that a walk goes at most: about 0.3 ms */
	AF_ENDS_LEAST = 8,      /* smaller arrays are filled from the leaf, no more */
};

/* Where in an array of @max the ring begins. */
static inline unsigned af_ends_ring(unsigned max)
{
	return max / 2 + 1;
}

/* Where the @n-th entry of a walk goes. */
static inline unsigned af_ends_slot(unsigned n, unsigned max)
{
	unsigned ring = af_ends_ring(max);

	return __builtin_expect(n < max, 1) ? n : ring + (n - max) % (max - ring);
}

/*
 * The walk had @n entries, more than @max; @left_out frames were overwritten, or will be by the
 * mark. Put the ring in order; returns @max.
 */
unsigned af_ends_close(uint64_t *entries, unsigned max, unsigned n, uint64_t left_out);

#endif
