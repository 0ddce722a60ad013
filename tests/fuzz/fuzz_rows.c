/*
 * Rows of Intel's EU stall sampler of hostile bytes, in reads of any length: nothing is lost, as
 * the same sums come out of single rows, and the memory stays in proportion to the addresses.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collect/xe/rows.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t samples_of(const struct af_xe_rows *t)
{
	uint64_t nr = t->zero_counts;
	struct af_xe_row row;

	for (uint32_t i = 0; i < t->nr; i++) {
		af_xe_rows_at(t, i, &row);
		if (!row.address || row.address % 8 ||
		    (t->layout != AF_XE_XE3P && row.address > UINT32_MAX) ||
		    (t->layout == AF_XE_PVC && row.counts[AF_XE_TDR]))
			abort();
		for (uint32_t k = 0; k < AF_XE_NR_REASONS; k++)
			nr += row.counts[k];
	}
	return nr;
}

static void add_and_check(enum af_xe_layout layout, struct input in)
{
	struct af_xe_rows all, one;
	uint64_t samples = 0;
	uint32_t rows = 0;

	af_xe_rows_open(&all, layout);
	af_xe_rows_open(&one, layout);
	while (in.left) {
		size_t n = take_byte(&in) * 3;
		n = n < in.left ? n : in.left;
		/* Exactly the bytes that a read gave, so that a sanitizer sees what lies beyond. */
		uint8_t *read = malloc(n ? n : 1);
		for (size_t i = 0; i < n; i++)
			read[i] = in.data[i];
		if (af_xe_rows_add(&all, read, n) != n / AF_XE_ROW_BYTES * AF_XE_ROW_BYTES)
			abort();
		for (size_t i = 0; i + AF_XE_ROW_BYTES <= n; i += AF_XE_ROW_BYTES, rows++) {
			af_xe_rows_empty(&one);
			af_xe_rows_add(&one, read + i, AF_XE_ROW_BYTES);
			samples += samples_of(&one);
		}
		if (af_xe_rows_marked(read, n / AF_XE_ROW_BYTES) > n / AF_XE_ROW_BYTES)
			abort();
		free(read);
		in.data += n;
		in.left -= n;
	}
	if (samples_of(&all) != samples || all.nr_rows + all.zero_rows != rows || all.nr > rows)
		abort();
	af_xe_rows_free(&all);
	af_xe_rows_free(&one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int layout = AF_XE_PVC; layout <= AF_XE_XE3P; layout++)
		add_and_check((enum af_xe_layout)layout, (struct input){data, size});
	return 0;
}
