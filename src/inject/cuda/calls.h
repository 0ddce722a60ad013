/*
 * Calls of CUDA's driver and runtime with their arguments, by CUPTI's callbacks: the generated
 * encoders (src/api/models/cuda.api, cudart.api) are called with the struct of arguments that CUPTI
 * hands over, which has them as C declares them.
 *
 * Why CUPTI and not wrappers of our own: `tests/bench/api_ways`. See README.md.
 */
#ifndef AF_INJECT_CUDA_CALLS_H
#define AF_INJECT_CUDA_CALLS_H

#include "inject/api/api.h"
#include "inject/cuda/cupti.h"

/* By function number: the encoders. By id of a callback: function numbers, 0 for none. */
extern const struct af_api_callback af_api_cuda_callbacks[], af_api_cudart_callbacks[];
extern const uint16_t af_api_cuda_ids[], af_api_cudart_ids[];
extern const uint32_t af_api_cuda_nr_ids, af_api_cudart_nr_ids;

/* Is this callback wanted to trace calls, as the session says now? */
bool af_cuda_trace_wants(uint32_t domain, uint32_t id);

/*
 * A callback of one of the two domains. At the exit: true when the call was traced, and its event
 * is written.
 */
bool af_cuda_trace(uint32_t domain, uint32_t id, const struct af_cupti_call *call,
                   const struct af_regs *regs);

#endif
