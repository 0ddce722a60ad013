#include "collect/xe_oa/clock.h"

#include <string.h>

/* Where a head has its numbers. */
enum {
	STAMP_AT = 4,
	TICKS_AT = 12,
	WIDE_STAMP_AT = 8,
	WIDE_TICKS_AT = 24,
	SECONDS_MOST = 120, /* between reports; a 32-bit time may wrap in 200 s */
	MHZ_MOST = 100000,
	KHZ_PER_MHZ = 1000,
	NS_PER_S = 1000000000,
};

static uint64_t number_at(const struct af_oa_clock *c, const uint8_t *report, size_t at,
                          size_t wide_at)
{
	uint64_t wide = 0;
	uint32_t word = 0;

	memcpy(&wide, report + wide_at, sizeof wide);
	memcpy(&word, report + at, sizeof word);
	return c->wide ? wide : word;
}

static void report_take(struct af_oa_clock *c, const uint8_t *report)
{
	uint64_t stamp = number_at(c, report, STAMP_AT, WIDE_STAMP_AT);
	uint64_t ticks = number_at(c, report, TICKS_AT, WIDE_TICKS_AT);
	uint64_t mask = c->wide ? UINT64_MAX : UINT32_MAX;
	uint64_t stamps = (stamp - c->stamp) & mask, clocks = (ticks - c->ticks) & mask;
	bool known = c->is_known;

	c->nr_reports++;
	c->stamp = stamp;
	c->ticks = ticks;
	c->is_known = true;
	if (!known)
		return;
	if (stamps > c->stamp_hz * SECONDS_MOST || clocks / MHZ_MOST > UINT32_MAX) {
		c->nr_odd++;
		return;
	}
	c->all_stamps += stamps;
	c->all_ticks += clocks;
}

void af_oa_clock_take(struct af_oa_clock *c, const uint8_t *bytes, size_t size)
{
	size_t one = c->wide ? AF_OA_WIDE_BYTES : AF_OA_BYTES;

	for (; size >= one; bytes += one, size -= one)
		report_take(c, bytes);
	c->nr_odd += size != 0;
}

bool af_oa_clock_mean(struct af_oa_clock *c, uint64_t *khz, uint64_t *span_ns)
{
	double seconds = c->stamp_hz ? (double)c->all_stamps / (double)c->stamp_hz : 0;
	double mean = seconds > 0 ? (double)c->all_ticks / seconds / KHZ_PER_MHZ : 0;

	c->all_stamps = c->all_ticks = 0;
	if (!(seconds > 0) || seconds > SECONDS_MOST)
		return false;
	if (!(mean < (double)MHZ_MOST * KHZ_PER_MHZ)) {
		c->nr_odd++;
		return false;
	}
	*khz = (uint64_t)(mean + 0.5);
	*span_ns = (uint64_t)(seconds * NS_PER_S);
	return true;
}
