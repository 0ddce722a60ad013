/*
 * Restricts a query to a time range, a thread or a device. Only this file decides which part of a
 * sample, a piece of work, a wait or any other event is inside.
 *
 * A sample stands for the time before its moment, as long as its weight. Work, a call and a wait
 * stand for the time from their start to their end. Of all of these the part inside the range
 * counts as time. A sample counts as one sample if its moment is after `from_ns` and not after
 * `to_ns`. A launch with its bytes, a call and a wait count as one if they began from `from_ns` on
 * and before `to_ns`; otherwise they are out of range. So adjacent ranges together have
 * everything, and nothing twice. Work whose times are not known is in no range; other events have a
 * moment. Memory is followed from the start, because the memory in use depends on earlier events.
 * For instruction samples see attribution.h.
 *
 * A thread's events are its own and the work that it launched. A device's events are its work,
 * without any of threads.
 */
#ifndef AF_ANALYSE_WORLD_TIME_RANGE_H
#define AF_ANALYSE_WORLD_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct af_query;
struct af_call;
struct af_event;
struct af_sample;
struct af_work;
struct af_world;

/* Zeroed: all of the trace. */
struct af_time_range {
	const struct af_query *query; /* lives as long */
	uint64_t start_ns;            /* of the trace */
	uint64_t from_ns, to_ns;      /* of the trace's clock; to_ns 0: no bounds */
	bool part;                    /* something is left out */
};

/* The part @query of a trace that began at @start_ns. */
void af_time_range_set(struct af_time_range *in, uint64_t start_ns, const struct af_query *query);

/* How much of the interval is inside. */
uint64_t af_time_range_ns(const struct af_time_range *in, uint64_t start_ns, uint64_t end_ns);

/* Does the interval from @start_ns to @end_ns, which may be equal, reach into the range? */
bool af_time_range_reaches(const struct af_time_range *in, uint64_t start_ns, uint64_t end_ns);

/* Is the moment inside the range? _began: does an event that began then count in it? */
bool af_time_range_moment(const struct af_time_range *in, uint64_t time_ns);
bool af_time_range_began(const struct af_time_range *in, uint64_t start_ns);

/*
 * Cut it to the part inside; false when there is none. Work needs w->clocks, and keeps the clock of
 * its stamps; where there are bounds, its placed_ns is set.
 */
bool af_time_range_sample(const struct af_time_range *in, struct af_sample *s);
bool af_time_range_work(const struct af_time_range *in, const struct af_world *w,
                        struct af_work *work);
bool af_time_range_call(const struct af_time_range *in, struct af_call *call);

/*
 * The call that @ev is, cut by w->time_range: the one at hand or *@room; NULL when @ev is no call,
 * or outside.
 */
const struct af_call *af_time_range_call_at(const struct af_world *w, const struct af_event *ev,
                                            struct af_call *room);

/*
 * Do passes get @ev? Definitions always pass. Readers of calls cut them; af_wait_read() cuts waits.
 */
bool af_time_range_event(const struct af_time_range *in, const struct af_event *ev);

#endif
