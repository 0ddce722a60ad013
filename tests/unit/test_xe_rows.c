/* Rows of Intel's EU stall sampler: every field of every layout by itself, sums, and bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/xe/rows.h"

/* The tables of the kernel's structs, from bit 0: which count begins where. */
static const struct layout {
	enum af_xe_layout layout;
	uint32_t ip_bits;
	struct {
		enum af_xe_reason reason;
		uint32_t bit;
	} counts[AF_XE_NR_REASONS];
	uint32_t nr_counts;
} layouts[] = {
    {AF_XE_PVC,
     29,
     {{AF_XE_ACTIVE, 29},
      {AF_XE_OTHER, 37},
      {AF_XE_CONTROL, 45},
      {AF_XE_PIPE, 53},
      {AF_XE_SEND, 61},
      {AF_XE_DIST, 69},
      {AF_XE_SBID, 77},
      {AF_XE_SYNC, 85},
      {AF_XE_FETCH, 93}},
     9},
    {AF_XE_XE2,
     29,
     {{AF_XE_TDR, 29},
      {AF_XE_OTHER, 37},
      {AF_XE_CONTROL, 45},
      {AF_XE_PIPE, 53},
      {AF_XE_SEND, 61},
      {AF_XE_DIST, 69},
      {AF_XE_SBID, 77},
      {AF_XE_SYNC, 85},
      {AF_XE_FETCH, 93},
      {AF_XE_ACTIVE, 101}},
     10},
    {AF_XE_XE3P,
     61,
     {{AF_XE_TDR, 61},
      {AF_XE_OTHER, 69},
      {AF_XE_CONTROL, 77},
      {AF_XE_PIPE, 85},
      {AF_XE_SEND, 93},
      {AF_XE_DIST, 101},
      {AF_XE_SBID, 109},
      {AF_XE_SYNC, 117},
      {AF_XE_FETCH, 125},
      {AF_XE_ACTIVE, 133}},
     10},
};
enum { NR_LAYOUTS = sizeof layouts / sizeof *layouts };

static void bits_set(uint8_t *row, uint32_t from, uint32_t nr, uint64_t value)
{
	for (uint32_t i = 0; i < nr; i++)
		if (value >> i & 1)
			row[(from + i) / 8] |= (uint8_t)(1u << (from + i) % 8);
}

/* The only row of a table that got @row. */
static struct af_xe_row decoded(enum af_xe_layout layout, const uint8_t *row)
{
	struct af_xe_rows t;
	struct af_xe_row out;

	af_xe_rows_open(&t, layout);
	assert_int_equal(af_xe_rows_add(&t, row, AF_XE_ROW_BYTES), AF_XE_ROW_BYTES);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.nr_rows, 1);
	af_xe_rows_at(&t, 0, &out);
	af_xe_rows_free(&t);
	return out;
}

static void every_count_is_where_the_kernel_has_it(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NR_LAYOUTS; i++)
		for (uint32_t k = 0; k < layouts[i].nr_counts; k++)
			for (uint32_t bit = 0; bit <= 8; bit++) {
				const struct layout *l = &layouts[i];
				uint64_t value = bit == 8 ? 255 : UINT64_C(1) << bit;
				uint8_t row[AF_XE_ROW_BYTES] = {1};
				bits_set(row, l->counts[k].bit, 8, value);
				struct af_xe_row out = decoded(l->layout, row);
				assert_int_equal(out.address, 8);
				for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++)
					assert_int_equal(out.counts[r],
					                 r == l->counts[k].reason ? value : 0);
			}
}

static void every_bit_of_the_address_counts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NR_LAYOUTS; i++)
		for (uint32_t bit = 0; bit < layouts[i].ip_bits; bit++) {
			uint8_t row[AF_XE_ROW_BYTES] = {0};
			bits_set(row, bit, 1, 1);
			struct af_xe_row out = decoded(layouts[i].layout, row);
			assert_true(out.address == UINT64_C(8) << bit);
			for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++)
				assert_int_equal(out.counts[r], 0);
		}
}

/* All at their most, and what follows the counts set as well: it is not a part of them. */
static void a_row_of_ones_is_all_at_most(void **state)
{
	uint8_t row[AF_XE_ROW_BYTES];

	(void)state;
	memset(row, 0xff, sizeof row);
	for (uint32_t i = 0; i < NR_LAYOUTS; i++) {
		const struct layout *l = &layouts[i];
		struct af_xe_row out = decoded(l->layout, row);
		assert_true(out.address == ((UINT64_C(1) << l->ip_bits) - 1) << 3);
		for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++)
			assert_int_equal(out.counts[r],
			                 l->layout == AF_XE_PVC && r == AF_XE_TDR ? 0 : 255);
	}
}

/* Bits that belong to no field of the layout change nothing. */
static void other_bits_mean_nothing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NR_LAYOUTS; i++) {
		const struct layout *l = &layouts[i];
		uint32_t end = l->counts[l->nr_counts - 1].bit + 8;
		for (uint32_t bit = end; bit < AF_XE_ROW_BYTES * 8; bit++) {
			uint8_t row[AF_XE_ROW_BYTES] = {2};
			bits_set(row, bit, 1, 1);
			struct af_xe_row out = decoded(l->layout, row);
			assert_int_equal(out.address, 16);
			for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++)
				assert_int_equal(out.counts[r], 0);
		}
	}
}

static void rows_without_an_address_are_apart(void **state)
{
	uint8_t rows[3][AF_XE_ROW_BYTES] = {{0}};
	struct af_xe_rows t;

	(void)state;
	bits_set(rows[0], 29, 8, 200);
	bits_set(rows[1], 0, 29, 5);
	bits_set(rows[2], 45, 8, 55);
	af_xe_rows_open(&t, AF_XE_XE2);
	assert_int_equal(af_xe_rows_add(&t, rows[0], sizeof rows), sizeof rows);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.nr_rows, 1);
	assert_int_equal(t.zero_rows, 2);
	assert_int_equal(t.zero_counts, 255);
	af_xe_rows_free(&t);
}

enum { MANY = 100000 };

static void add_one(struct af_xe_rows *t, uint64_t ip, uint32_t nr)
{
	uint8_t row[AF_XE_ROW_BYTES] = {0};

	bits_set(row, 0, 61, ip);
	bits_set(row, 133, 8, nr);
	assert_int_equal(af_xe_rows_add(t, row, sizeof row), sizeof row);
}

/* Sums that others made, also those that a row cannot hold. */
static void counts_are_put_until_they_do_not_fit(void **state)
{
	const enum af_xe_layout all[] = {AF_XE_PVC, AF_XE_XE2, AF_XE_XE3P};
	struct af_xe_row out;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct af_xe_row row = {.address = 0x123456780}, none = {.counts = {7, 8}};
		struct af_xe_rows t;
		for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++)
			row.counts[r] = 1000 * (r + 1);
		af_xe_rows_open(&t, all[i]);
		assert_true(af_xe_rows_put(&t, &row));
		assert_true(af_xe_rows_put(&t, &row));
		assert_true(af_xe_rows_put(&t, &none));
		assert_int_equal(t.nr, 1);
		assert_int_equal(t.zero_counts, 15);
		af_xe_rows_at(&t, 0, &out);
		assert_true(out.address == (all[i] == AF_XE_XE3P ? 0x123456780 : 0x23456780));
		for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++)
			assert_int_equal(out.counts[r], 2000 * (r + 1));
		row.counts[AF_XE_SYNC] = UINT32_MAX;
		assert_false(af_xe_rows_put(&t, &row));
		af_xe_rows_empty(&t);
		assert_true(af_xe_rows_put(&t, &row));
		af_xe_rows_free(&t);
	}
}

/* Through all sizes of the index; emptied and filled again, too. */
static void sums_are_by_address(void **state)
{
	struct af_xe_rows t;
	struct af_xe_row out;

	(void)state;
	af_xe_rows_open(&t, AF_XE_XE3P);
	for (uint32_t time = 0; time < 2; time++) {
		for (uint32_t n = 0; n < 3; n++)
			for (uint64_t i = 0; i < MANY; i++)
				add_one(&t, (i + 1) << 20, (uint32_t)(i % 200) + n);
		assert_int_equal(t.nr, MANY);
		for (uint32_t i = 0; i < MANY; i++) {
			af_xe_rows_at(&t, i, &out);
			assert_true(out.address == (i + UINT64_C(1)) << 23);
			assert_int_equal(out.counts[AF_XE_ACTIVE], 3 * (i % 200) + 3);
			assert_int_equal(out.counts[AF_XE_FETCH], 0);
		}
		assert_true(af_xe_rows_bytes(&t) <= 64ull * MANY);
		af_xe_rows_empty(&t);
		assert_int_equal(t.nr, 0);
	}
	af_xe_rows_free(&t);
}

/* A table never holds more rows than its sums can: the rest of a read is not taken. */
static void a_full_table_takes_no_more(void **state)
{
	enum { AT_ONCE = 1 << 14 };
	static uint8_t rows[AT_ONCE * AF_XE_ROW_BYTES];
	struct af_xe_rows t;
	struct af_xe_row out;
	size_t taken = 0, n;

	(void)state;
	memset(rows, 0xff, sizeof rows);
	af_xe_rows_open(&t, AF_XE_XE2);
	while ((n = af_xe_rows_add(&t, rows, sizeof rows)) == sizeof rows)
		taken += n;
	taken += n;
	assert_int_equal(taken, (size_t)AF_XE_ROWS_MOST * AF_XE_ROW_BYTES);
	assert_int_equal(af_xe_rows_room(&t), 0);
	assert_int_equal(af_xe_rows_add(&t, rows, sizeof rows), 0);
	af_xe_rows_at(&t, 0, &out);
	for (uint32_t r = 0; r < AF_XE_NR_REASONS; r++)
		assert_int_equal(out.counts[r], AF_XE_ROWS_MOST * 255u);
	af_xe_rows_empty(&t);
	assert_int_equal(af_xe_rows_room(&t), AF_XE_ADDRESSES_MOST);
	af_xe_rows_free(&t);
}

static void cut_rows_are_left(void **state)
{
	uint8_t rows[2 * AF_XE_ROW_BYTES];
	struct af_xe_rows t;

	(void)state;
	memset(rows, 1, sizeof rows);
	af_xe_rows_open(&t, AF_XE_PVC);
	assert_int_equal(af_xe_rows_add(&t, rows, AF_XE_ROW_BYTES - 1), 0);
	assert_int_equal(t.nr_rows, 0);
	assert_int_equal(af_xe_rows_add(&t, rows, sizeof rows - 1), AF_XE_ROW_BYTES);
	assert_int_equal(t.nr_rows, 1);
	af_xe_rows_free(&t);
}

static void marks_of_i915_are_counted(void **state)
{
	uint8_t rows[3][AF_XE_ROW_BYTES] = {{0}};

	(void)state;
	rows[0][51] = 1;
	rows[1][50] = 0xff;
	rows[2][51] = 3;
	assert_int_equal(af_xe_rows_marked(rows[0], 3), 2);
}

static void versions_have_layouts(void **state)
{
	static const struct {
		uint32_t major, minor;
		int layout;
	} versions[] = {
	    {12, 0, 0},          {12, 55, 0},          {12, 60, AF_XE_PVC}, {12, 61, AF_XE_PVC},
	    {12, 70, 0},         {12, 74, 0},          {13, 0, 0},          {20, 1, AF_XE_XE2},
	    {20, 4, AF_XE_XE2},  {30, 0, AF_XE_XE2},   {30, 5, AF_XE_XE2},  {34, 0, AF_XE_XE2},
	    {35, 0, AF_XE_XE3P}, {35, 11, AF_XE_XE3P},
	};

	(void)state;
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		assert_int_equal(af_xe_layout_of(versions[i].major, versions[i].minor),
		                 versions[i].layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_count_is_where_the_kernel_has_it),
	    cmocka_unit_test(every_bit_of_the_address_counts),
	    cmocka_unit_test(a_row_of_ones_is_all_at_most),
	    cmocka_unit_test(other_bits_mean_nothing),
	    cmocka_unit_test(rows_without_an_address_are_apart),
	    cmocka_unit_test(counts_are_put_until_they_do_not_fit),
	    cmocka_unit_test(sums_are_by_address),
	    cmocka_unit_test(a_full_table_takes_no_more),
	    cmocka_unit_test(cut_rows_are_left),
	    cmocka_unit_test(marks_of_i915_are_counted),
	    cmocka_unit_test(versions_have_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
