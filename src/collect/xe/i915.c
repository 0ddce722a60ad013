/*
 * Intel's own i915 driver for Ponte Vecchio (intel-i915-dkms), whose perf streams have EU stalls;
 * the i915 of the kernel refuses such a stream. Source: i915_drm_prelim.h, "enum
 * prelim_drm_i915_eu_stall_property_id".
 */
#include <errno.h>
#include <string.h>

#include "collect/xe/private.h"
#include "collect/xe/uapi.h"

enum { CYCLES = 251, RATES = 7, BUFFER_BYTES = 512 << 10, ENGINES_MOST = 64 };

/*
 * A stream is of the GT that an engine belongs to, and no query tells which that is: each compute
 * engine is tried, and those of a GT that has its stream are busy.
 */
static void engines_read(struct af_xe_card *card)
{
	struct {
		struct i915_query_engines head;
		struct i915_query_engine all[ENGINES_MOST];
	} engines = {0};
	struct i915_query_item item = {
	    .query = I915_QUERY_ENGINES, .size = sizeof engines, .data = (uintptr_t)&engines};
	struct i915_query query = {.nr = 1, .items = (uintptr_t)&item};

	if (xe_ioctl(card->fd, I915_QUERY_CALL, &query) || item.size < (int32_t)sizeof engines.head)
		return;
	for (uint32_t i = 0; i < engines.head.nr && i < ENGINES_MOST; i++)
		if (engines.all[i].class == I915_CLASS_COMPUTE && card->nr_gts < AF_XE_GTS_MOST) {
			card->gts[card->nr_gts] = (struct af_xe_gt){.id = engines.all[i].instance,
			                                            .optional = card->nr_gts > 0};
			card->nr_gts++;
		}
}

void xe_card_i915(struct af_xe_card *card)
{
	card->layout = AF_XE_PVC;
	card->buffer_bytes = BUFFER_BYTES;
	for (uint32_t i = 1; i <= RATES; i++)
		card->rates[card->nr_rates++] = CYCLES * i;
	engines_read(card);
	if (!card->nr_gts)
		card->gts[card->nr_gts++] = (struct af_xe_gt){0};
}

int xe_i915_open(const struct af_xe_card *card, const struct af_xe_gt *gt, uint64_t period_cycles,
                 uint32_t wait_rows)
{
	uint64_t properties[] = {
	    I915_STALL_BUFFER,    card->buffer_bytes, I915_STALL_RATE,     period_cycles / CYCLES,
	    I915_STALL_CLASS,     I915_CLASS_COMPUTE, I915_STALL_INSTANCE, gt->id,
	    I915_STALL_WAIT_ROWS, wait_rows,
	};
	struct i915_perf_open open = {
	    .flags =
		I915_PERF_CLOEXEC | I915_PERF_NONBLOCK | I915_PERF_DISABLED | I915_PERF_EU_STALL,
	    .nr = sizeof properties / sizeof *properties / 2,
	    .properties = (uintptr_t)properties,
	};

	return xe_ioctl(card->fd, I915_PERF_OPEN_CALL, &open);
}
