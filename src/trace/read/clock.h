/*
 * Foreign clocks: convert times of a device to times of the trace, by the pairs of readings in its
 * CLOCK events. Later pairs count too, so all pairs are read before the events that need them:
 *
 *	af_clocks_read (or { af_clocks_event }* → af_clocks_build)
 *	    → { af_clocks_find → { af_clock_convert }* }* → af_clocks_free
 */
#ifndef AF_TRACE_READ_CLOCK_H
#define AF_TRACE_READ_CLOCK_H

#include <stdint.h>

#include "base/map.h"

struct af_err;
struct af_trace;
struct af_event;
struct af_near;

/* Both clocks at one moment. */
struct af_clock_pair {
	uint64_t foreign_ns, mono_ns;
	uint64_t uncertainty_ns; /* the moments are at most this far apart */
};

/* One device's clock. */
struct af_clock {
	uint32_t process, device;
	struct af_clock_pair *pairs; /* both times grow from pair to pair */
	uint32_t nr;
	uint32_t last; /* the pair used last: the next query is mostly near it */
};

struct af_clocks {
	struct af_clock *clocks;
	uint32_t nr;

	/* private */
	struct af_map by_device;        /* process and device → index in clocks */
	struct af_map parents;          /* process and device → device it is a part of */
	struct clock_reading *readings; /* as they come; gone after the build */
	uint64_t nr_readings, cap_readings;
	struct af_clock_pair *pairs; /* of all clocks */
};

/* A zeroed struct knows no clocks. */
void af_clocks_free(struct af_clocks *c);

/* Read the clocks of the trace in @dir, near @near: 0, or the error of af_trace_open_near(). */
int af_clocks_read(struct af_clocks *c, const char *dir, const struct af_near *near,
                   struct af_err *err);

/* The same of an open trace, whose place in its events stays. */
void af_clocks_read_again(struct af_clocks *c, const struct af_trace *of,
                          const struct af_near *near);

/* Take a CLOCK or DEVICE event; other events and impossible pairs are ignored. */
void af_clocks_event(struct af_clocks *c, const struct af_event *ev);

/*
 * Choose among the pairs. Of two pairs less than half a second apart, the one with the smaller
 * uncertainty is kept. The same holds for two that contradict one another, and where the better
 * pair, extrapolated with the drift of a bad quartz, is still more exact than the worse one.
 */
void af_clocks_build(struct af_clocks *c);

/*
 * The clock of @device of the process with ordinal @process, or NULL when the trace does not have
 * it. A device without pairs of its own uses the clock of the device that it is a part of.
 */
struct af_clock *af_clocks_find(const struct af_clocks *c, uint32_t process, uint32_t device);

/*
 * The trace's time when the device's clock stood at @foreign_ns: interpolated between the two
 * nearest pairs, and outside of all pairs at the speed of the trace's clock. Where somebody set the
 * device's clock between two pairs, each half counts from its own pair. Never decreases when
 * @foreign_ns grows. *@uncertainty_ns (may be NULL) is the possible error. One thread at a time for
 * each clock.
 */
uint64_t af_clock_convert(struct af_clock *clock, uint64_t foreign_ns, uint64_t *uncertainty_ns);

#endif
