#include "inject/api/shared.h"

#include "inject/core/inject.h"
#include "inject/nvtx/ranges.h"

_Atomic(af_api_stand_in *) af_api_stands_in;

__attribute__((visibility("default"))) const struct af_api_shared *aflame_calls(uint32_t version)
{
	static const struct af_api_shared shared = {
	    .hows = &af_api_hows,
	    .enter = af_api_enter,
	    .waits = af_api_waits,
	    .before = af_api_before,
	    .before_native = af_api_before_native,
	    .end = af_api_end,
	    .done = af_api_done,
	    .done_trimmed = af_api_done_trimmed,
	    .tally = af_api_tally,
	    .put_one = af_api_put_one,
	    .put_array = af_api_put_array,
	    .put_zero = af_api_put_zero,
	    .put_string = af_api_put_string,
	    .put_before = af_api_put_before,
	    .put_native = af_api_put_native,
	    .put_natives = af_api_put_natives,
	    .native_at = af_api_native_at,
	    .sum = af_api_sum,
	    .at = af_api_at,
	    .note = af_inject_note,
	    .stand_in = &af_api_stands_in,
	    .range = af_range_put,
	};

	return version == AF_API_SHARED_VERSION ? &shared : NULL;
}
