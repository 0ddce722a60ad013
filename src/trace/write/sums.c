#include "trace/write/sums.h"

#include <string.h>

#include "trace/layout.h"

/* A histogram, up to its last bin that is not empty. */
static uint8_t *bins_write(uint8_t *at, const uint32_t bins[AF_SUM_BINS])
{
	uint32_t nr = AF_SUM_BINS;

	while (nr && !bins[nr - 1])
		nr--;
	memcpy(at, &nr, sizeof nr);
	memcpy(at + sizeof nr, bins, nr * sizeof *bins);
	return at + sizeof nr + nr * sizeof *bins;
}

_Static_assert(sizeof(struct af_ev_call_sum) + 2 * (4 + AF_SUM_BINS * 4) <= AF_SUM_EVENT_BYTES,
               "a sum has room");

size_t af_sum_event(const struct af_sum *s, uint32_t tid, uint8_t at[AF_SUM_EVENT_BYTES],
                    uint16_t *kind)
{
	const struct af_sum sum = *s;
	uint64_t min_ns = sum.count > sum.failed ? sum.min_ns : 0;

	if (sum.key & AF_SUM_WORK) {
		const struct af_ev_work_sum ev = {
		    .descriptor = sum.key & ~AF_SUM_WORK,
		    .count = sum.count,
		    .time_ns = sum.time_ns,
		    .min_ns = min_ns,
		    .max_ns = sum.max_ns,
		};
		*kind = AF_KIND_WORK_SUM;
		memcpy(at, &ev, sizeof ev);
		return (size_t)(bins_write(at + sizeof ev, sum.times) - at);
	}
	const struct af_ev_call_sum ev = {
	    .tid = tid,
	    .function = sum.key,
	    .count = sum.count,
	    .failed = sum.failed,
	    .time_ns = sum.time_ns,
	    .min_ns = min_ns,
	    .max_ns = sum.max_ns,
	    .bytes = sum.bytes,
	};
	*kind = AF_KIND_CALL_SUM;
	memcpy(at, &ev, sizeof ev);
	uint8_t *end = bins_write(at + sizeof ev, sum.times);
	return (size_t)(bins_write(end, sum.sizes) - at);
}
