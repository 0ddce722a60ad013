/*
 * Rows of Intel's EU stall sampler: decoding and adding up, as rows a second and against the copy
 * of the same rows, which the kernel makes for each read. tests/bench/xe_rows
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/clock.h"
#include "collect/xe/rows.h"

enum { BATCH = 4096, BATCHES = 1000, TIMES = 20 };

static uint8_t rows[BATCH * AF_XE_ROW_BYTES], copy[sizeof rows];

static uint64_t cpu_ns(void)
{
	return af_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* The first and the ninth count follow an address of 61 bits in Xe3p's rows, of 29 in others. */
static void rows_make(enum af_xe_layout layout, uint32_t addresses)
{
	uint64_t x = 88172645463325252u;
	unsigned first = layout == AF_XE_XE3P ? 61 : 29;

	for (uint32_t i = 0; i < BATCH; i++) {
		uint64_t w[8] = {0};
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		w[0] = (0x1ffa0000 >> 3) + x % addresses * 2;
		w[0] |= (x >> 40 & 3) << first;
		w[1] = (x >> 44 & 7) << first;
		memcpy(rows + i * AF_XE_ROW_BYTES, w, sizeof w);
	}
}

static uint64_t copy_ns(void)
{
	uint64_t begin = cpu_ns();

	for (int i = 0; i < BATCHES; i++) {
		memcpy(copy, rows, sizeof rows);
		__asm__ volatile("" ::"r"(copy) : "memory");
	}
	return cpu_ns() - begin;
}

static uint64_t add_ns(enum af_xe_layout layout)
{
	struct af_xe_rows t;
	uint64_t begin = cpu_ns();

	af_xe_rows_open(&t, layout);
	for (int i = 0; i < BATCHES; i++)
		if (af_xe_rows_add(&t, rows, sizeof rows) != sizeof rows)
			af_xe_rows_empty(&t);
	uint64_t ns = cpu_ns() - begin;
	af_xe_rows_free(&t);
	return ns;
}

static void least(uint64_t *best, uint64_t ns)
{
	if (!*best || ns < *best)
		*best = ns;
}

static double millions(uint64_t ns)
{
	return (double)BATCH * BATCHES / (double)ns * 1e3;
}

static void memory_show(void)
{
	const uint32_t addresses[] = {1000, 24577, 1000000};
	uint64_t w[8] = {0};

	for (unsigned k = 0; k < 3; k++) {
		struct af_xe_rows t;
		af_xe_rows_open(&t, AF_XE_XE2);
		for (uint32_t i = 1; i <= addresses[k]; i++) {
			w[0] = i * 2 | UINT64_C(1) << 29;
			af_xe_rows_add(&t, (uint8_t *)w, sizeof w);
		}
		printf("%8u addresses of one reason %6.1f bytes each (target: at most 64)\n",
		       addresses[k], (double)af_xe_rows_bytes(&t) / addresses[k]);
		af_xe_rows_free(&t);
	}
}

int main(void)
{
	static const char *const names[] = {NULL, "PVC", "Xe2", "Xe3p"};
	const uint32_t addresses[] = {64, 1000, 20000};

	for (unsigned k = 0; k < 3; k++)
		for (int layout = AF_XE_PVC; layout <= AF_XE_XE3P; layout++) {
			uint64_t copied = 0, added = 0;
			rows_make((enum af_xe_layout)layout, addresses[k]);
			for (int i = 0; i < TIMES; i++) {
				least(&copied, copy_ns());
				least(&added, add_ns((enum af_xe_layout)layout));
			}
			printf("%-4s %6u addresses: copied %5.0f, decoded and added up %5.0f M "
			       "rows/s (target: at least 200); %.2f times the copy\n",
			       names[layout], addresses[k], millions(copied), millions(added),
			       (double)added / (double)copied);
		}
	memory_show();
	return 0;
}
