/*
 * Heads of reports of an observation unit, of hostile bytes in pieces of any size: nothing beyond
 * them is read, and a mean is one that a GPU's clock can have.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/xe_oa/clock.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KHZ_MOST = 100000000, PIECE = 16 };
#define SPAN_NS_MOST UINT64_C(120000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct af_oa_clock c = {.wide = take_byte(&in) & 1};

	c.stamp_hz = (uint64_t)take_byte(&in) << (take_byte(&in) & 63);
	while (in.left) {
		uint64_t khz, span_ns;
		size_t n = (size_t)take_byte(&in) * PIECE;
		n = n < in.left ? n : in.left;
		/* Exactly so many bytes, so that a sanitizer sees what lies beyond. */
		uint8_t *bytes = malloc(n ? n : 1);
		if (n)
			memcpy(bytes, in.data, n);
		af_oa_clock_take(&c, bytes, n);
		free(bytes);
		in.data += n;
		in.left -= n;
		if (af_oa_clock_mean(&c, &khz, &span_ns) &&
		    (khz > KHZ_MOST || span_ns > SPAN_NS_MOST))
			abort();
	}
	return 0;
}
