/*
 * Answers of a driver called xe, of hostile bytes: the first tells which query it was. A card never
 * has more than there is room for, and a card without an error has a layout and rates.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/xe/private.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t queries[] = {2, 3, 5, 10, 0, 8};
	struct af_xe_card card = {.fd = -1};
	struct input in = {data, size};

	while (in.left) {
		uint32_t query = queries[take_byte(&in) % 6];
		size_t n = take_byte(&in) * 4;
		n = n < in.left ? n : in.left;
		/* Exactly so many bytes, so that a sanitizer sees what lies beyond. */
		uint8_t *answer = malloc(n ? n : 1);
		if (!answer)
			abort();
		memcpy(answer, in.data, n);
		xe_answer_take(&card, query, answer, n);
		free(answer);
		in.data += n;
		in.left -= n;
	}
	if (card.nr_engines > AF_XE_ENGINES_MOST || card.nr_units > AF_XE_UNITS_MOST)
		abort();
	if (card.nr_gts > AF_XE_GTS_MOST || card.nr_rates > AF_XE_RATES_MOST)
		abort();
	for (uint32_t i = 0; i < card.nr_rates; i++)
		if (!card.rates[i])
			abort();
	if (card.nr_rates && !af_xe_period(&card, 1000000))
		abort();
	return 0;
}
