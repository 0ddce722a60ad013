/*
 * Only what happened in some time, on one thread, or on one device: the one place that says what of
 * a sample, a piece of work, a wait or any other event is asked for.
 *
 * A sample stands for the time before its moment, as long as its weight; work, a call and a wait
 * for the time from its start to its end: of all of these the part within counts. A sample is one
 * of the samples where its moment is after `from_ns` and not after `to_ns`; a launch, with its
 * bytes, a call and a wait are one where they began, from `from_ns` on and before `to_ns`:
 * elsewhere they are `aside`. So times that lie next to each other have all of it, and nothing
 * twice. Work whose times are not known lies nowhere; other events have a moment. Memory is
 * followed from the start, as what is in use depends on what came before. For samples of
 * instructions see attribution.h.
 *
 * Of a thread is what it did, and the work that it asked for; of a device its work, and of threads
 * nothing.
 */
#ifndef AF_ANALYSE_WORLD_WITHIN_H
#define AF_ANALYSE_WORLD_WITHIN_H

#include <stdbool.h>
#include <stdint.h>

struct af_asked;
struct af_call;
struct af_event;
struct af_sample;
struct af_work;
struct af_world;

/* Zeroed: all of the trace. */
struct af_within {
	const struct af_asked *asked; /* lives as long */
	uint64_t start_ns;            /* of the trace */
	uint64_t from_ns, to_ns;      /* of the trace's clock; to_ns 0: no bounds */
};

/* What is @asked of a trace that began at @start_ns. */
void af_within_set(struct af_within *in, uint64_t start_ns, const struct af_asked *asked);

/* How much of it lies within. */
uint64_t af_within_ns(const struct af_within *in, uint64_t start_ns, uint64_t end_ns);

/* Does what lasts from @start_ns to @end_ns, which may be the same, reach into the time? */
bool af_within_reaches(const struct af_within *in, uint64_t start_ns, uint64_t end_ns);

/* Is it a moment within? And does within count what began at that moment? */
bool af_within_moment(const struct af_within *in, uint64_t time_ns);
bool af_within_began(const struct af_within *in, uint64_t start_ns);

/* Cut to what lies within; false when nothing does. Work needs w->clocks, and keeps its stamps'
 * clock. */
bool af_within_sample(const struct af_within *in, struct af_sample *s);
bool af_within_work(const struct af_within *in, const struct af_world *w, struct af_work *work);
bool af_within_call(const struct af_within *in, struct af_call *call);

/* Are passes to be told of @ev? Also of what nobody asks to be within: definitions. Who reads calls
 * cuts them; af_wait_read() does. */
bool af_within_event(const struct af_within *in, const struct af_event *ev);

#endif
