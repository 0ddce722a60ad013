#include "collect/zet/values.h"

#include <string.h>

enum { UNIT_BITS = 3 }; /* addresses are in units of 8 bytes, as the sampler gives them */

static int8_t column_of(const char *name, uint32_t type, struct af_zet_columns *c)
{
	static const char *const reasons[] = {
#define R(NAME, name) [AF_XE_##NAME] = name,
	    AF_XE_REASONS(R)
#undef R
	};

	if (type == AF_ZET_TYPE_IP_EXP)
		return AF_ZET_COLUMN_ADDRESS;
	for (int i = 0; i < AF_XE_NR_REASONS; i++)
		if (!strcmp(name, reasons[i]))
			return (int8_t)i;
	if (type != AF_ZET_TYPE_EVENT)
		return AF_ZET_COLUMN_IGNORED;
	c->nr_unknown++;
	return AF_XE_OTHER;
}

void af_zet_columns_add(struct af_zet_columns *c, const char *name, uint32_t type)
{
	if (c->nr < AF_ZET_COLUMNS_MOST) {
		int8_t is = column_of(name, type, c);
		/* Only the first address is one. */
		if (is == AF_ZET_COLUMN_ADDRESS && c->has_address)
			is = AF_ZET_COLUMN_IGNORED;
		c->has_address |= is == AF_ZET_COLUMN_ADDRESS;
		c->is[c->nr] = is;
	}
	c->nr++;
}

static uint64_t of_float(double v)
{
	if (!(v > 0)) /* not a number, too */
		return 0;
	return v >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t value_of(const struct zet_typed_value *v)
{
	switch (v->type) {
	case AF_ZET_VALUE_UINT32:
		return v->value.u32;
	case AF_ZET_VALUE_UINT64:
		return v->value.u64;
	case AF_ZET_VALUE_FLOAT32:
		return of_float((double)v->value.f32);
	case AF_ZET_VALUE_FLOAT64:
		return of_float(v->value.f64);
	case AF_ZET_VALUE_BOOL8:
		return v->value.b8 != 0;
	default:
		return 0;
	}
}

static void row_take(const struct af_zet_columns *c, const struct zet_typed_value *values,
                     struct af_xe_row *row)
{
	uint64_t counts[AF_XE_NR_REASONS] = {0};

	*row = (struct af_xe_row){0};
	for (uint32_t i = 0; i < c->nr && i < AF_ZET_COLUMNS_MOST; i++) {
		if (c->is[i] == AF_ZET_COLUMN_IGNORED)
			continue;
		uint64_t v = value_of(&values[i]);
		if (c->is[i] == AF_ZET_COLUMN_ADDRESS)
			row->address = v << UNIT_BITS;
		else if (__builtin_add_overflow(counts[c->is[i]], v, &counts[c->is[i]]))
			counts[c->is[i]] = UINT64_MAX;
	}
	for (uint32_t i = 0; i < AF_XE_NR_REASONS; i++)
		row->counts[i] = counts[i] < UINT32_MAX ? (uint32_t)counts[i] : UINT32_MAX;
}

uint32_t af_zet_values_rows(const struct af_zet_columns *c, const struct zet_typed_value *values,
                            uint32_t nr_values, const uint32_t *set_values, uint32_t nr_sets,
                            void (*take)(void *arg, const struct af_xe_row *row), void *arg)
{
	uint32_t cut = 0, at = 0;
	struct af_xe_row row;

	if (!c->nr || !c->has_address)
		return nr_sets;
	for (uint32_t set = 0; set < nr_sets; set++) {
		uint32_t nr = set_values[set], left = nr_values - at;
		bool beyond = nr > left;
		if (beyond)
			nr = left;
		cut += beyond || nr % c->nr;
		for (uint32_t i = 0; nr - i >= c->nr; i += c->nr) {
			row_take(c, values + at + i, &row);
			take(arg, &row);
		}
		at += nr;
	}
	return cut;
}
