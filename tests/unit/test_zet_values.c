/* Values that Level Zero calculated, as rows of the stall sampler. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/zet/values.h"

enum { ROWS_MOST = 32 };

static struct af_xe_row rows[ROWS_MOST];
static uint32_t nr_rows;

static void keep(void *arg, const struct af_xe_row *row)
{
	(void)arg;
	assert_true(nr_rows < ROWS_MOST);
	rows[nr_rows++] = *row;
}

static struct zet_typed_value u64(uint64_t v)
{
	return (struct zet_typed_value){.type = AF_ZET_VALUE_UINT64, .value.u64 = v};
}

static uint32_t decode(const struct af_zet_columns *c, const struct zet_typed_value *values,
                       uint32_t nr, const uint32_t *sets, uint32_t nr_sets)
{
	nr_rows = 0;
	return af_zet_values_rows(c, values, nr, sets, nr_sets, keep, NULL);
}

static struct af_zet_columns of_three(void)
{
	struct af_zet_columns c = {0};

	af_zet_columns_add(&c, "IP", AF_ZET_TYPE_IP_EXP);
	af_zet_columns_add(&c, "SendStall", AF_ZET_TYPE_EVENT);
	af_zet_columns_add(&c, "Active", AF_ZET_TYPE_EVENT);
	return c;
}

static void each_name_is_its_reason(void **state)
{
	static const char *const names[] = {
#define R(NAME, name) [AF_XE_##NAME] = name,
	    AF_XE_REASONS(R)
#undef R
	};

	(void)state;
	for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++) {
		const struct zet_typed_value values[] = {u64(r + 5), u64(0x1234)};
		const uint32_t set = 2;
		struct af_zet_columns c = {0};
		af_zet_columns_add(&c, names[r], AF_ZET_TYPE_EVENT);
		af_zet_columns_add(&c, "IP", AF_ZET_TYPE_IP_EXP);
		assert_int_equal(decode(&c, values, 2, &set, 1), 0);
		assert_int_equal(nr_rows, 1);
		assert_true(rows[0].address == 0x1234 << 3);
		for (uint32_t k = 0; k < AF_XE_NR_REASONS; k++)
			assert_int_equal(rows[0].counts[k], k == r ? r + 5 : 0);
	}
}

static void unknown_counts_are_other_stalls(void **state)
{
	const struct zet_typed_value values[] = {u64(1), u64(10), u64(20), u64(99), u64(40)};
	struct af_zet_columns c = {0};
	const uint32_t set = 5;

	(void)state;
	af_zet_columns_add(&c, "IP", AF_ZET_TYPE_IP_EXP);
	af_zet_columns_add(&c, "NewStall", AF_ZET_TYPE_EVENT);
	af_zet_columns_add(&c, "OtherStall", AF_ZET_TYPE_EVENT);
	af_zet_columns_add(&c, "QueryBeginTime", AF_ZET_TYPE_TIMESTAMP);
	af_zet_columns_add(&c, "NewerStall", AF_ZET_TYPE_EVENT);
	assert_int_equal(c.nr_unknown, 2);
	assert_int_equal(decode(&c, values, 5, &set, 1), 0);
	assert_int_equal(rows[0].counts[AF_XE_OTHER], 70);
}

static void rows_of_all_sets_come(void **state)
{
	const struct zet_typed_value values[] = {u64(1), u64(2), u64(3), u64(4), u64(5),
	                                         u64(6), u64(7), u64(8), u64(9)};
	const uint32_t sets[] = {3, 0, 6};
	struct af_zet_columns c = of_three();

	(void)state;
	assert_int_equal(decode(&c, values, 9, sets, 3), 0);
	assert_int_equal(nr_rows, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(rows[i].address == (3 * i + 1) << 3);
		assert_int_equal(rows[i].counts[AF_XE_SEND], 3 * i + 2);
		assert_int_equal(rows[i].counts[AF_XE_ACTIVE], 3 * i + 3);
	}
}

/* A set begins behind the one before it, wherever that ended. */
static void sets_that_are_cut_are_counted(void **state)
{
	const struct zet_typed_value values[] = {u64(1), u64(2), u64(3), u64(4),
	                                         u64(5), u64(6), u64(7)};
	struct af_zet_columns c = of_three();

	(void)state;
	assert_int_equal(decode(&c, values, 7, (const uint32_t[]){4, 3}, 2), 1);
	assert_int_equal(nr_rows, 2);
	assert_int_equal(rows[1].address, 5 << 3);
	assert_int_equal(decode(&c, values, 7, (const uint32_t[]){UINT32_MAX, UINT32_MAX}, 2), 2);
	assert_int_equal(nr_rows, 2);
	assert_int_equal(decode(&c, values, 0, (const uint32_t[]){3}, 1), 1);
	assert_int_equal(nr_rows, 0);
	assert_int_equal(decode(&c, values, 7, NULL, 0), 0);
}

static void counts_of_all_types_are_counts(void **state)
{
	const struct {
		struct zet_typed_value value;
		uint32_t count;
	} all[] = {
	    {{.type = AF_ZET_VALUE_UINT32, .value.u32 = 7}, 7},
	    {{.type = AF_ZET_VALUE_UINT64, .value.u64 = UINT64_MAX}, UINT32_MAX},
	    {{.type = AF_ZET_VALUE_FLOAT32, .value.f32 = 2.75f}, 2},
	    {{.type = AF_ZET_VALUE_FLOAT64, .value.f64 = 1e300}, UINT32_MAX},
	    {{.type = AF_ZET_VALUE_FLOAT64, .value.f64 = -3}, 0},
	    {{.type = AF_ZET_VALUE_FLOAT64, .value.f64 = (double)NAN}, 0},
	    {{.type = AF_ZET_VALUE_BOOL8, .value.b8 = 200}, 1},
	    {{.type = 77, .value.u64 = 5}, 0},
	};
	struct af_zet_columns c = of_three();

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const struct zet_typed_value values[] = {u64(1), all[i].value, u64(1)};
		const uint32_t set = 3;
		assert_int_equal(decode(&c, values, 3, &set, 1), 0);
		assert_int_equal(rows[0].counts[AF_XE_SEND], all[i].count);
		assert_int_equal(rows[0].counts[AF_XE_ACTIVE], 1);
	}
}

static void a_group_without_addresses_has_no_rows(void **state)
{
	const struct zet_typed_value values[] = {u64(1), u64(2)};
	struct af_zet_columns c = {0};
	const uint32_t set = 2;

	(void)state;
	assert_int_equal(decode(&c, values, 2, &set, 1), 1);
	af_zet_columns_add(&c, "Active", AF_ZET_TYPE_EVENT);
	assert_int_equal(decode(&c, values, 2, &set, 1), 1);
	assert_int_equal(nr_rows, 0);
}

static void rows_are_as_long_as_there_are_metrics(void **state)
{
	struct zet_typed_value values[2 * (AF_ZET_COLUMNS_MOST + 6)];
	const uint32_t set = sizeof values / sizeof *values;
	struct af_zet_columns c = of_three();

	(void)state;
	for (uint32_t i = 0; i < set; i++)
		values[i] = u64(i);
	while (c.nr < set / 2)
		af_zet_columns_add(&c, "Time", AF_ZET_TYPE_DURATION);
	assert_int_equal(decode(&c, values, set, &set, 1), 0);
	assert_int_equal(nr_rows, 2);
	assert_int_equal(rows[1].address, (set / 2) << 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_name_is_its_reason),
	    cmocka_unit_test(unknown_counts_are_other_stalls),
	    cmocka_unit_test(rows_of_all_sets_come),
	    cmocka_unit_test(sets_that_are_cut_are_counted),
	    cmocka_unit_test(counts_of_all_types_are_counts),
	    cmocka_unit_test(a_group_without_addresses_has_no_rows),
	    cmocka_unit_test(rows_are_as_long_as_there_are_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
