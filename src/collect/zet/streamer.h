/*
 * In the child: metric streamers of one group of each GPU, read until the parent ends it. What is
 * made of their values is the user's (struct zet_streamer_ops).
 */
#ifndef AF_COLLECT_ZET_STREAMER_H
#define AF_COLLECT_ZET_STREAMER_H

#include "base/system/clock.h"
#include "collect/zet/private.h"

enum { ZET_WINDOW_NS = 100000000 }; /* what was read is sent so often */

struct zet_streamer {
	struct zet_place *place;
	void *context, *group, *pool, *event;
	void *streamer;          /* NULL: not open */
	uint32_t period_ns;      /* asked for */
	uint32_t given_ns;       /* that the driver gave */
	uint32_t notify_reports; /* asked for */
	uint32_t dropped, cut;   /* since they were sent: warnings, and values without sense */
	uint64_t since_ns;       /* no value that is to be sent is older */
	uint64_t read_ns;        /* when the last read ended */
	uint64_t emptied_ns;     /* when a read began that found no more */
	uint64_t sent_ns;
	uint64_t tried_ns;
	uint32_t nr_tries, nr_errors, nr_failures;
	bool given_up, named;
};

struct zet_streamers {
	struct zet_api *z;
	const struct zet_streamer_ops *ops;
	const void *wanted; /* the argument of the run */
	struct zet_streamer *all[ZET_DEVICES_MOST];
	uint32_t nr;
	uint8_t *raw;
	bool on;
};

struct zet_streamer_ops {
	/*
	 * A streamer for @place, with its group, its periods and its place; NULL where it has no
	 * such group. It is never freed: the child's end does that.
	 */
	struct zet_streamer *(*make)(struct zet_streamers *all, struct zet_place *place);
	/* It can be opened: tell the parent. */
	void (*tell)(struct zet_streamers *all, struct zet_streamer *s);
	/* It was opened: s->given_ns is known. */
	void (*opened)(struct zet_streamer *s);
	/* Values of reports, as zetMetricGroupCalculateMultipleMetricValuesExp gives them. */
	void (*values)(struct zet_streamers *all, struct zet_streamer *s,
	               const struct zet_typed_value *values, uint32_t nr_values,
	               const uint32_t *set_values, uint32_t nr_sets);
	/* Send what there is, ten times a second and at the end. */
	void (*send)(struct zet_streamers *all, struct zet_streamer *s);
};

/* The time-based group called @name, NULL: there is none, or a message says why. */
void *zet_group_named(struct zet_api *z, const struct zet_place *place, const char *name);

/*
 * Load the driver, make a streamer for each GPU, of a device with parts for the whole, and read
 * them while the parent wants it: it writes '1' and '0' for on and off, and closes the pipe at the
 * end, after which all that is left is read. Specification: Level Zero, Tools, "Metric Streamer".
 */
void zet_streamers_run(struct zet_api *z, const struct zet_streamer_ops *ops, const void *wanted);

static inline uint64_t zet_now_ns(void)
{
	return af_clock_ns(CLOCK_MONOTONIC);
}

#endif
