#include "collect/disk/ring_rest.h"

#include <string.h>

#include "trace/layout.h"
#include "trace/write/sums.h"

static size_t call_write(const struct af_ring *ring, const struct af_open_call *call, uint8_t depth,
                         uint64_t ns, uint8_t *at)
{
	const struct af_open_call c = *call; /* another process may write it */
	uint32_t nr = c.nr_args < AF_OPEN_ARGS ? c.nr_args : AF_OPEN_ARGS;
	const struct af_ev_call_open ev = {
	    .tid = ring->open.tid,
	    .function = c.kind,
	    .begin_ns = c.begin_ns,
	    .depth = depth,
	};
	size_t args = nr * sizeof *c.args;
	const struct af_event_header h = {AF_KIND_CALL_OPEN,
	                                  (uint16_t)(sizeof h + sizeof ev + sizeof nr + args), ns};

	memcpy(at, &h, sizeof h);
	memcpy(at + sizeof h, &ev, sizeof ev);
	memcpy(at + sizeof h + sizeof ev, &nr, sizeof nr);
	memcpy(at + sizeof h + sizeof ev + sizeof nr, c.args, args);
	return h.size;
}

_Static_assert(AF_OPEN_CALLS *(sizeof(struct af_event_header) + sizeof(struct af_ev_call_open) + 4 +
                               AF_OPEN_ARGS * 8) <= AF_OPEN_CALLS_BYTES,
               "all open calls of a ring have room");

size_t af_open_calls_write(const struct af_ring *ring, uint64_t ns, uint8_t *at)
{
	uint32_t nr = atomic_load_explicit(&ring->open.depth, memory_order_acquire);
	size_t size = 0;

	for (uint32_t i = 0; i < nr && i < AF_OPEN_CALLS; i++)
		size += call_write(ring, &ring->open.calls[i], (uint8_t)i, ns, at + size);
	return size;
}

size_t af_sums_write(const struct af_ring *ring, uint32_t *sum, uint64_t ns, uint8_t *at,
                     size_t room)
{
	const struct af_sum *sums = (const void *)((const char *)ring + AF_RING_SUMS_AT);
	size_t size = 0;

	if (!atomic_load_explicit(&ring->has_sums, memory_order_acquire))
		*sum = AF_SUMS;
	for (; *sum < AF_SUMS; ++*sum) {
		struct af_event_header h = {.time_ns = ns};
		uint8_t payload[AF_SUM_EVENT_BYTES];
		if (!sums[*sum].key)
			continue;
		if (room - size < sizeof h + sizeof payload)
			return size;
		h.size = (uint16_t)(sizeof h +
		                    af_sum_event(&sums[*sum], ring->open.tid, payload, &h.kind));
		memcpy(at + size, &h, sizeof h);
		memcpy(at + size + sizeof h, payload, h.size - sizeof h);
		size += h.size;
	}
	return size;
}
