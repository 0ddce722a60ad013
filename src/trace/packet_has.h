/*
 * The header of a packet tells what its events are, as far as readers want to know it before they
 * read them: struct af_packet.has. Whoever writes a packet to disk finds it out; a packet may have
 * less than it says.
 */
#ifndef AF_TRACE_PACKET_HAS_H
#define AF_TRACE_PACKET_HAS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/layout.h"

enum {
	AF_HAS_DEFINITIONS = 1 << 0, /* or what holds on: anything but AF_KINDS_MOMENTARY */
	AF_HAS_API_CALLS = 1 << 1,   /* of the tables of APIs */
	AF_HAS_CALLS_SEEN = 1 << 2,
	AF_HAS_DEVICE_SAMPLES = 1 << 3,
	AF_HAS_SUMS = 1 << 5,    /* of another profiler */
	AF_HAS_MOMENTS = 1 << 4, /* the other kinds of AF_KINDS_MOMENTARY */
};

/*
 * Kinds that count at their moment and for the moments next to it. All others define something, or
 * hold from then on: ranges that are open, memory in use.
 */
#define AF_KINDS_MOMENTARY                                                                         \
	(1ull << AF_KIND_SAMPLE | 1ull << AF_KIND_KSAMPLE | 1ull << AF_KIND_COUNTED |              \
	 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_WAKE | 1ull << AF_KIND_LAUNCH |                  \
	 1ull << AF_KIND_WORK | 1ull << AF_KIND_WORK_LONG | 1ull << AF_KIND_CALL |                 \
	 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_CALL_SEEN | 1ull << AF_KIND_GPU_WORK |        \
	 1ull << AF_KIND_GPU_WORK_LONG | 1ull << AF_KIND_OVERHEAD | 1ull << AF_KIND_GPU_WINDOW |   \
	 1ull << AF_KIND_GPU_SAMPLE | 1ull << AF_KIND_SUMMED | 1ull << AF_KIND_API_CALL |          \
	 1ull << AF_KIND_CALL_OPEN | 1ull << AF_KIND_ALLOCATED | 1ull << AF_KIND_API_BIT |         \
	 1ull << AF_KIND_MOMENT_BIT)

/* Kinds from AF_KIND_LATE on that count at their moment: samples and readings of devices. */
#define AF_KINDS_DEVICE_SAMPLES                                                                    \
	(1ull << AF_KIND_GPU_WINDOW | 1ull << AF_KIND_GPU_SAMPLE | 1ull << AF_KIND_MOMENT_BIT)

static inline uint32_t af_kind_has(uint16_t kind)
{
	const uint64_t bit = af_kind_bit(kind);

	if (!(bit & AF_KINDS_MOMENTARY))
		return AF_HAS_DEFINITIONS;
	if (bit == 1ull << AF_KIND_API_BIT)
		return AF_HAS_API_CALLS;
	if (bit == 1ull << AF_KIND_CALL_SEEN)
		return AF_HAS_CALLS_SEEN;
	if (bit & AF_KINDS_DEVICE_SAMPLES)
		return AF_HAS_DEVICE_SAMPLES;
	return bit == 1ull << AF_KIND_SUMMED ? AF_HAS_SUMS : AF_HAS_MOMENTS;
}

/* The kinds that the events of a packet may be, by its header. */
static inline uint64_t af_has_kinds(uint32_t has)
{
	const uint64_t api_calls = 1ull << AF_KIND_API_BIT;
	const uint64_t seen = 1ull << AF_KIND_CALL_SEEN;
	const uint64_t samples = AF_KINDS_DEVICE_SAMPLES;
	const uint64_t sums = 1ull << AF_KIND_SUMMED;

	return (has & AF_HAS_DEFINITIONS ? ~AF_KINDS_MOMENTARY : 0) |
	       (has & AF_HAS_API_CALLS ? api_calls : 0) | (has & AF_HAS_CALLS_SEEN ? seen : 0) |
	       (has & AF_HAS_DEVICE_SAMPLES ? samples : 0) | (has & AF_HAS_SUMS ? sums : 0) |
	       (has & AF_HAS_MOMENTS ? AF_KINDS_MOMENTARY & ~(api_calls | seen | samples | sums)
	                             : 0);
}

/* The bits of all whole events in the @size bytes at @events. */
static inline uint32_t af_packet_has(const void *events, size_t size)
{
	struct af_event_header h;
	uint32_t has = 0;

	for (size_t at = 0; size - at >= sizeof h; at += h.size) {
		memcpy(&h, (const char *)events + at, sizeof h);
		if (h.size < sizeof h || h.size > size - at)
			break;
		has |= af_kind_has(h.kind);
	}
	return has;
}

#endif
