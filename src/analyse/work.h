/* A piece of device work, whichever of the two kinds of event told of it. */
#ifndef AF_ANALYSE_WORK_H
#define AF_ANALYSE_WORK_H

#include <stdbool.h>
#include <stdint.h>

struct af_event;
struct af_world;

struct af_work {
	uint32_t shape; /* as in the event */
	uint64_t correlation;
	uint64_t queued_ns, submit_ns, start_ns, end_ns; /* 0: not given */
	int32_t status;                                  /* 0, or the runtime's error */
};

/* False when @ev is not device work, or malformed. The stamps are as the device gave them. */
bool af_work_read(const struct af_event *ev, struct af_work *work);

/*
 * Make the stamps of @work, read from @ev, times of the trace; end stays exactly as long after
 * start as the device had it. Needs w->clocks, and the shape and the queue in @w. False, and
 * nothing is changed, when the trace does not have the clock. *@uncertainty_ns (may be NULL) is how
 * far off they may be.
 */
bool af_work_place(const struct af_world *w, const struct af_event *ev, struct af_work *work,
                   uint64_t *uncertainty_ns);

/* end less start, 0 when the stamps are missing or turned round. */
static inline uint64_t af_work_busy_ns(const struct af_work *w)
{
	return w->start_ns && w->end_ns > w->start_ns ? w->end_ns - w->start_ns : 0;
}

#endif
