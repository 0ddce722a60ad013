/* Arithmetic of device timers: ticks of few bits that come round, and their nanoseconds. */
#ifndef AF_INJECT_ZE_TIMER_H
#define AF_INJECT_ZE_TIMER_H

#include <stdint.h>

enum { AF_TIMER_HZ_MAX = 2000000000 }; /* so that no product below overflows */

/* Nanoseconds of @ticks at @hz ticks a second, and back. @hz: from 1 to AF_TIMER_HZ_MAX. */
static inline uint64_t af_timer_ns(uint64_t ticks, uint64_t hz)
{
	return ticks / hz * 1000000000 + ticks % hz * 1000000000 / hz;
}

static inline uint64_t af_timer_ticks(uint64_t ns, uint64_t hz)
{
	return ns / 1000000000 * hz + ns % 1000000000 * hz / 1000000000;
}

/* The bits of a stamp that are valid; 0 and 64 mean all. */
static inline uint64_t af_timer_mask(uint32_t bits)
{
	return bits && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/* The first time from @least on whose low @bits bits are @stamp's. */
static inline uint64_t af_timer_from(uint64_t stamp, uint32_t bits, uint64_t least)
{
	return least + ((stamp - least) & af_timer_mask(bits));
}

/* The time nearest to @near whose low @bits bits are @stamp's. */
static inline uint64_t af_timer_near(uint64_t stamp, uint32_t bits, uint64_t near)
{
	uint64_t mask = af_timer_mask(bits), half = mask / 2 + 1;
	uint64_t least = near > half ? near - half : 0;

	return mask == UINT64_MAX ? stamp : af_timer_from(stamp, bits, least);
}

#endif
