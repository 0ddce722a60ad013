/* The tracepoints of api_lttng.c: as LTTng-UST's macros want them. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./api_lttng_tp.h"

#if !defined(API_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define API_LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* One event a call, with the fields of aflame's. */
LTTNG_UST_TRACEPOINT_EVENT(
    bench, call,
    LTTNG_UST_TP_ARGS(uint32_t, callpath, uint32_t, correlation, uint64_t, duration, uint8_t, depth,
                      uint8_t, flags, int32_t, result, const void *, memobj),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, callpath, callpath)
                            lttng_ust_field_integer(uint32_t, correlation, correlation)
                                lttng_ust_field_integer(uint64_t, duration, duration)
                                    lttng_ust_field_integer(uint8_t, depth, depth)
                                        lttng_ust_field_integer(uint8_t, flags, flags)
                                            lttng_ust_field_integer(int32_t, result, result)
                                                lttng_ust_field_integer_hex(uint64_t, memobj,
                                                                            (uint64_t)memobj)))

/* Two events a call: its arguments at the entry, its result at the exit. */
LTTNG_UST_TRACEPOINT_EVENT(bench, call_entry, LTTNG_UST_TP_ARGS(const void *, memobj),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uint64_t, memobj,
                                                                           (uint64_t)memobj)))
LTTNG_UST_TRACEPOINT_EVENT(bench, call_exit, LTTNG_UST_TP_ARGS(int32_t, result),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int32_t, result, result)))

#endif

#include <lttng/tracepoint-event.h>
