/* A driver's values of metrics as whole numbers. Pure: no type and no number is believed. */
#include "inject/ze/metric.h"

/* False: it is no such number. The largest double below 2^64 still fits. */
static bool of_double(double v, uint32_t per, uint64_t *whole)
{
	const double most = 18446744073709549568.0;

	v = v * per + 0.5;
	if (!(v >= 0.5 && v <= most)) /* not a number, too */
		return false;
	*whole = (uint64_t)v;
	return true;
}

static bool of_whole(uint64_t v, uint32_t per, uint64_t *whole)
{
	return !__builtin_mul_overflow(v, (uint64_t)per, whole);
}

static bool value_whole(const struct af_ze_value *v, uint32_t per, uint64_t *whole)
{
	switch (v->type) {
	case AF_ZE_VALUE_UINT32:
		return of_whole(v->as.u32, per, whole);
	case AF_ZE_VALUE_UINT64:
		return of_whole(v->as.u64, per, whole);
	case AF_ZE_VALUE_BOOL8:
		return of_whole(v->as.b8 != 0, per, whole);
	case AF_ZE_VALUE_FLOAT32:
		return of_double((double)v->as.f32, per, whole);
	case AF_ZE_VALUE_FLOAT64:
		return of_double(v->as.f64, per, whole);
	default:
		return false;
	}
}

uint32_t af_ze_values(const struct af_ze_metric *metrics, uint32_t nr,
                      const struct af_ze_value *values, uint64_t *pairs, uint32_t *left_out)
{
	uint32_t taken = 0;

	*left_out = 0;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t whole;
		if (!value_whole(&values[i], metrics[i].per, &whole)) {
			++*left_out;
			continue;
		}
		pairs[2 * taken] = metrics[i].counter;
		pairs[2 * taken++ + 1] = whole;
	}
	return taken;
}
