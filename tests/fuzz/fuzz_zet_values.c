/*
 * Values that a driver of Level Zero calculated, with any columns, types and counts of sets: no
 * value beyond them is read, and no more rows come than there is room for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/zet/values.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SETS_MOST = 8, NAMES = AF_XE_NR_REASONS + 1 };

static void count(void *arg, const struct af_xe_row *row)
{
	if (row->address % 8)
		abort();
	++*(uint32_t *)arg;
}

static void columns_take(struct af_zet_columns *c, struct input *in)
{
	static const char *const names[NAMES] = {
#define R(NAME, name) name,
	    AF_XE_REASONS(R)
#undef R
		"unknown",
	};
	uint32_t nr = take_byte(in) % (AF_ZET_COLUMNS_MOST + 8);

	for (uint32_t i = 0; i < nr; i++) {
		uint8_t what = take_byte(in);
		af_zet_columns_add(c, names[what % NAMES],
		                   what & 0x80   ? AF_ZET_TYPE_IP_EXP
		                   : what & 0x40 ? AF_ZET_TYPE_RAW
		                                 : AF_ZET_TYPE_EVENT);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint32_t sets[SETS_MOST], nr_sets = take_byte(&in) % (SETS_MOST + 1), rows = 0;
	struct af_zet_columns c = {0};

	columns_take(&c, &in);
	for (uint32_t i = 0; i < nr_sets; i++) {
		uint8_t n = take_byte(&in);
		sets[i] = n == UINT8_MAX ? UINT32_MAX : n;
	}
	uint32_t nr = (uint32_t)(in.left / sizeof(struct zet_typed_value));
	/* Exactly so many, so that a sanitizer sees what lies beyond. */
	struct zet_typed_value *values = malloc(nr ? nr * sizeof *values : 1);
	if (nr)
		memcpy(values, in.data, nr * sizeof *values);
	uint32_t cut = af_zet_values_rows(&c, values, nr, sets, nr_sets, count, &rows);
	if (cut > nr_sets || (rows && (!c.has_address || rows > nr / c.nr)))
		abort();
	free(values);
	return 0;
}
