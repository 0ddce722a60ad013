/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trace point of i915 at which programs of BPF see that a request is queued, for the stand-in.
 * Source: Linux 6.1, drivers/gpu/drm/i915/i915_trace.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM i915

#if !defined(I915_STANDIN_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define I915_STANDIN_TRACE_H

#include <linux/tracepoint.h>

struct i915_request;

TRACE_EVENT(i915_request_queue, TP_PROTO(struct i915_request *rq, u32 flags), TP_ARGS(rq, flags),
            TP_STRUCT__entry(__field(u32, flags)), TP_fast_assign(__entry->flags = flags;),
            TP_printk("flags=0x%x", __entry->flags));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE i915_standin_trace
#include <trace/define_trace.h>
