/*
 * The mean frequency of a GT by the heads of its observation unit's reports: its time, and the
 * ticks of the GPU's clock by then. Pure: bytes are a driver's, and none is believed. Source:
 * Linux, drivers/gpu/drm/xe/xe_oa.c (oa_timestamp()); igt-gpu-tools, tests/intel/xe_oa.c
 * (read_report_ticks()).
 */
#ifndef AF_COLLECT_XE_OA_CLOCK_H
#define AF_COLLECT_XE_OA_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AF_OA_WIDE_BYTES = 192, AF_OA_BYTES = 256 }; /* of a report */

struct af_oa_clock {
	bool wide;         /* heads have 64-bit numbers, else 32-bit ones that wrap */
	uint64_t stamp_hz; /* of the unit's time */
	bool is_known;     /* the last report's */
	uint64_t stamp, ticks;
	uint64_t all_stamps, all_ticks; /* that passed since af_oa_clock_mean() */
	uint64_t nr_reports, nr_odd;    /* @nr_odd: those that made no sense */
};

/* Take whole reports in order; bytes after the last whole one are odd. */
void af_oa_clock_take(struct af_oa_clock *c, const uint8_t *bytes, size_t size);

/*
 * The mean since the last call, in kHz, and the time that it is of. False: no time passed, or it is
 * the clock of no GPU.
 */
bool af_oa_clock_mean(struct af_oa_clock *c, uint64_t *khz, uint64_t *span_ns);

#endif
